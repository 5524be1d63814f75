package journal

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"countersign/internal/action"
	"countersign/internal/canon"
)

// Config says where a journal lies and what it is built on. Every field but
// Dir may be left zero.
type Config struct {
	// Dir holds the segments and the lock. It exists already, on a local
	// filesystem, and only the keeper can enter it.
	Dir string
	// SegmentSize is the size, in bytes, from which a segment takes no more
	// records; one call's records may carry it past that. Default 64 MiB.
	SegmentSize int64
	// Now gives the time that records carry. Default time.Now.
	Now func() time.Time
	// Write writes all of b at an offset, or says why not. Default
	// (*os.File).WriteAt. A seam for faults.
	Write func(f *os.File, b []byte, off int64) (int, error)
	// Sync returns when a file's content and size are on disk. Default
	// fdatasync. A seam for faults and for counting.
	Sync func(f *os.File) error
	// SyncDir does that for a directory's names. Default fsync.
	SyncDir func(dir *os.File) error
	// Log hears of what recovery did. Default: nobody.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.SegmentSize <= 0 {
		c.SegmentSize = 64 << 20
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Write == nil {
		c.Write = writeAt
	}
	if c.Sync == nil {
		c.Sync = fdatasync
	}
	if c.SyncDir == nil {
		c.SyncDir = fsync
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Entry is what a caller wants recorded.
type Entry struct {
	Kind    string // 1 to 64 of a-z and hyphen; KindCut is the journal's own
	ID      string // at most 64 bytes of UTF-8; may be empty
	Content any    // what package canon can encode
	Bodies  []Body
}

// Body is bytes that stand behind a record's head. The chain holds its hash
// and size only.
type Body struct {
	Role string // 1 to 64 of a-z and hyphen
	Data []byte // at most MaxBody
}

// Ref says where a body stands. It stays good for the journal's life.
type Ref struct {
	Role string
	Hash action.Hash
	Size int64 // bytes

	segment uint64 // first seq of its segment
	offset  int64
}

// Record is an entry as it stands in the journal.
type Record struct {
	Seq     uint64    // 1 is the first
	Time    time.Time // UTC, to the nanosecond; the clock's word, not monotone
	Kind    string
	ID      string
	Content canon.Raw // a canonical item, not yet decoded
	Bodies  []Ref
	Hash    action.Hash // of the head: the chain's value here
}

// Journal is an open journal. Its methods may be called from several
// goroutines at once.
type Journal struct {
	cfg  Config
	dir  *os.File
	lock *os.File

	mu    sync.Mutex
	moved *sync.Cond // durable, syncing or failed changed

	file *os.File
	head header // of file
	size int64  // of what was written to file
	buf  []byte // for one write

	seq      uint64      // of the last record written
	last     action.Hash // and its hash
	durable  int64       // of file, known to be on disk
	safeSeq  uint64      // of the last record known to be on disk
	safeHash action.Hash

	syncing  bool
	covering int64   // what the sync under way will cover; durable when none is
	owed     []int64 // where writes begin in file that a Commit still waits for

	failed error // ErrFailed with its cause, or ErrClosed
}

// Head gives the last record that is known to be on disk: its seq and the
// chain's value there, zeros before the first. No crash takes it back, so it
// can be told to a witness.
func (j *Journal) Head() (seq uint64, hash action.Hash) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.safeSeq, j.safeHash
}

// Close syncs what was appended, and gives up the files and the lock. The
// error is the sync's, or the one the journal had failed with.
func (j *Journal) Close() error {
	err := j.Sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.syncing {
		j.moved.Wait()
	}
	if errors.Is(j.failed, ErrClosed) {
		return nil
	}
	j.failed = ErrClosed
	j.moved.Broadcast()
	return errors.Join(err, j.release())
}

func (j *Journal) release() error {
	var err error
	for _, f := range []*os.File{j.file, j.dir, j.lock} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// ReadBody reads a body and checks its hash; a *Broken where it does not
// match. The content is the caller's.
func (j *Journal) ReadBody(r Ref) ([]byte, error) {
	if err := j.err(); err != nil {
		return nil, err
	}
	name := segmentName(r.segment)
	f, err := os.OpenFile(filepath.Join(j.cfg.Dir, name), os.O_RDONLY|oNoFollow, 0)
	if err != nil {
		return nil, fmt.Errorf("reading a body: %w", err)
	}
	defer f.Close()
	if r.Size < 0 || r.Size > MaxBody {
		return nil, fmt.Errorf("[unexpected] a reference to a body of %d bytes", r.Size)
	}
	b := make([]byte, r.Size)
	_, err = f.ReadAt(b, r.offset)
	if errors.Is(err, io.EOF) && len(b) > 0 {
		return nil, &Broken{Segment: name, Offset: r.offset, What: "the file ends within a body"}
	}
	if err != nil && len(b) > 0 {
		return nil, fmt.Errorf("reading a body from %s: %w", name, err)
	}
	if action.HashOf(b) != r.Hash {
		return nil, &Broken{Segment: name, Offset: r.offset, What: "a body (" + r.Role + ") does not match its hash"}
	}
	return b, nil
}

func (j *Journal) err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}
