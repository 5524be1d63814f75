package journal

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"countersign/internal/action"
)

const (
	magic      = "countersign-seg\n"
	version    = 1
	headerSize = 104
	markerSize = 8
	suffix     = ".seg"
	lockName   = "lock"
)

// marker begins every record of one segment. It is random, so that no bytes an
// agent chose for a body can pass for a record when damage is looked at.
type marker [markerSize]byte

// header is the front of a segment.
type header struct {
	first  uint64      // seq of the first record
	prev   action.Hash // of the record before it; zeros for record 1
	marker marker
}

func newHeader(first uint64, prev action.Hash) header {
	h := header{first: first, prev: prev}
	rand.Read(h.marker[:]) // never fails: crypto/rand ends the program instead
	return h
}

func (h header) encode() []byte {
	b := make([]byte, 0, headerSize)
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint32(b, version)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint64(b, h.first)
	b = append(b, h.prev[:]...)
	b = append(b, h.marker[:]...)
	sum := action.HashOf(b)
	return append(b, sum[:]...)
}

var errHeader = errors.New("the segment's header does not hold")

// decodeHeader reads a header; ErrVersion where a newer program wrote it.
func decodeHeader(b []byte) (header, error) {
	const front = len(magic)
	if len(b) >= front+4 && string(b[:front]) == magic {
		if v := binary.BigEndian.Uint32(b[front:]); v > version {
			return header{}, fmt.Errorf("%w: format %d, this program knows %d", ErrVersion, v, version)
		}
	}
	if len(b) < headerSize {
		return header{}, errHeader
	}
	h := header{first: binary.BigEndian.Uint64(b[24:]), prev: action.Hash(b[32:64]), marker: marker(b[64:72])}
	if !bytes.Equal(h.encode(), b[:headerSize]) {
		return header{}, errHeader
	}
	return h, nil
}

func segmentName(first uint64) string { return fmt.Sprintf("%016d%s", first, suffix) }

// segments lists the first seqs of a directory's segments, ascending.
func segments(dir string) ([]uint64, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing the journal: %w", err)
	}
	var firsts []uint64
	for _, e := range names {
		digits, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok {
			continue
		}
		first, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || segmentName(first) != e.Name() {
			return nil, &Broken{Segment: strconv.Quote(e.Name()), What: "no segment has such a name"}
		}
		firsts = append(firsts, first)
	}
	slices.Sort(firsts)
	return firsts, nil
}

// openSegment opens a segment and reads its header. Where the header does not
// hold, the error is errHeader and the file is given all the same.
func openSegment(dir string, first uint64, flag int) (*os.File, header, int64, error) {
	f, err := os.OpenFile(filepath.Join(dir, segmentName(first)), flag|oNoFollow, 0)
	if err != nil {
		return nil, header{}, 0, fmt.Errorf("opening a segment: %w", err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &Broken{Segment: segmentName(first), What: "it is not a regular file"}
	}
	if err != nil {
		f.Close()
		return nil, header{}, 0, err
	}
	b := make([]byte, min(headerSize, st.Size()))
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, int64(len(b))), b); err != nil {
		f.Close()
		return nil, header{}, 0, fmt.Errorf("reading a segment's header: %w", err)
	}
	h, err := decodeHeader(b)
	if err != nil && !errors.Is(err, errHeader) {
		f.Close()
		return nil, header{}, 0, fmt.Errorf("segment %s: %w", segmentName(first), err)
	}
	return f, h, st.Size(), err
}

// createSegment makes a segment that holds a header only, and puts it and its
// name on disk. The caller has synced every segment before it.
func (j *Journal) createSegment(first uint64, prev action.Hash) (*os.File, header, error) {
	h := newHeader(first, prev)
	name := filepath.Join(j.cfg.Dir, segmentName(first))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|oNoFollow, 0o600)
	if err != nil {
		return nil, h, fmt.Errorf("making a segment: %w", err)
	}
	if _, err = j.cfg.Write(f, h.encode(), 0); err == nil {
		err = j.cfg.Sync(f)
	}
	if err == nil {
		err = j.cfg.SyncDir(j.dir)
	}
	if err != nil {
		f.Close()
		return nil, h, fmt.Errorf("making a segment: %w", err)
	}
	return f, h, nil
}
