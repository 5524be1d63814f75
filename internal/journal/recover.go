package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"countersign/internal/action"
)

// KindCut is the kind of the record that recovery writes when it has cut a
// torn tail off; its content is a Cut.
const KindCut = "cut"

// Cut says what recovery cut off the last segment: records that no sync had
// covered, so that nobody was told they stand.
type Cut struct {
	Segment string `cbor:"segment"`
	Offset  uint64 `cbor:"offset"` // the segment ends there now
	Bytes   uint64 `cbor:"bytes"`
	First   uint64 `cbor:"first"` // seq of the first record lost
	Last    uint64 `cbor:"last"`  // the highest seq still legible behind it, else First
	What    string `cbor:"what"`  // what did not hold
}

// Recovery is what Open found.
type Recovery struct {
	Records   uint64 // replayed, a cut record of this start included
	Cut       *Cut   // nil where the last segment ended as it should
	Discarded string // a segment whose making was interrupted; made anew
}

// Open opens the journal in cfg.Dir, makes it where the directory is empty,
// and calls replay once for each record, in order, before it returns.
//
// It reads every head and no bodies, save those of the last records, which a
// crash may have torn. What is torn is cut off, said in the Recovery and the
// log, and recorded; the tail that stays is written once more and synced, so
// that all that was replayed is on disk when Open returns, whatever a sync of
// an earlier process had met.
//
// The error is a *Broken where no crash explains what is there (nothing was
// changed then), ErrLocked, ErrVersion, replay's own, or the system's. What
// replay was told is void if there is one.
func Open(cfg Config, replay func(Record) error) (*Journal, Recovery, error) {
	j := &Journal{cfg: cfg.withDefaults()}
	j.moved = sync.NewCond(&j.mu)
	var rec Recovery
	err := j.open(func(r Record) error {
		rec.Records++
		if replay == nil {
			return nil
		}
		return replay(r)
	}, &rec)
	if err != nil {
		return nil, rec, errors.Join(err, j.release())
	}
	return j, rec, nil
}

func (j *Journal) open(replay func(Record) error, rec *Recovery) (err error) {
	if j.lock, err = lockDir(j.cfg.Dir); err != nil {
		return err
	}
	if j.dir, err = os.Open(j.cfg.Dir); err != nil {
		return fmt.Errorf("opening the journal: %w", err)
	}
	firsts, err := segments(j.cfg.Dir)
	if err != nil {
		return err
	}
	next, last := uint64(1), action.Hash{}
	for i, first := range firsts {
		if next, last, err = j.segment(first, i == len(firsts)-1, next, last, replay, rec); err != nil {
			return err
		}
	}
	j.seq, j.last = next-1, last
	if j.file == nil {
		if j.file, j.head, err = j.createSegment(next, last); err != nil {
			return err
		}
		j.size = headerSize
	}
	j.settle(j.size, j.seq, j.last)
	return j.recordCut(replay, rec.Cut)
}

// segment replays one segment, which must begin with the record next behind
// the hash prev, and gives what the one after it must begin with. The newest
// is recovered and left open, unless its making was interrupted.
func (j *Journal) segment(first uint64, newest bool, next uint64, prev action.Hash, replay func(Record) error, rec *Recovery) (uint64, action.Hash, error) {
	name := segmentName(first)
	if first != next {
		return 0, prev, &Broken{Segment: name, Seq: next, What: "the segment with this record is missing"}
	}
	flag := os.O_RDONLY
	if newest {
		flag = os.O_RDWR
	}
	f, h, size, err := openSegment(j.cfg.Dir, first, flag)
	if errors.Is(err, errHeader) && newest && size <= headerSize {
		rec.Discarded = name
		return next, prev, errors.Join(f.Close(), j.discard(name))
	}
	if errors.Is(err, errHeader) || err == nil && (h.first != next || h.prev != prev) {
		f.Close()
		return 0, prev, &Broken{Segment: name, What: "its header does not hold, or names another record before it"}
	}
	if err != nil {
		return 0, prev, err
	}
	w := newWalker(f, size, h)
	if newest {
		j.file, j.head = f, h
		err = j.tail(w, replay, rec)
		return w.seq, w.prev, err
	}
	for err == nil {
		var r found
		if r, err = w.next(); err == nil {
			err = replay(r.Record)
		}
	}
	f.Close()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return w.seq, w.prev, err
}

// discard removes a newest segment that holds no more than a part of its
// header: a crash met its making, and no record can have been in it.
func (j *Journal) discard(name string) error {
	j.cfg.Log.Warn("journal: discarding a segment whose making was interrupted", "segment", name)
	if err := os.Remove(filepath.Join(j.cfg.Dir, name)); err != nil {
		return fmt.Errorf("discarding a segment: %w", err)
	}
	if err := j.cfg.SyncDir(j.dir); err != nil {
		return fmt.Errorf("discarding a segment: %w", err)
	}
	return nil
}

// tail replays the newest segment. A record is replayed as soon as a later one
// proves it durable; the rest wait until their bodies are checked too.
func (j *Journal) tail(w *walker, replay func(Record) error, rec *Recovery) error {
	t := tail{walker: w}
	if err := t.read(replay); err != nil {
		return err
	}
	for _, r := range t.waiting {
		if err := replay(r.Record); err != nil {
			return err
		}
	}
	j.size = t.end
	if t.torn != nil {
		rec.Cut = &Cut{
			Segment: t.torn.Segment, Offset: uint64(t.end), Bytes: uint64(w.size - t.end),
			First: w.seq, Last: max(w.seq, t.lastSeq), What: t.torn.What,
		}
		j.cfg.Log.Warn("journal: cutting off a torn tail", "segment", rec.Cut.Segment, "offset", rec.Cut.Offset,
			"bytes", rec.Cut.Bytes, "first", rec.Cut.First, "last", rec.Cut.Last, "what", rec.Cut.What)
	}
	return j.rewrite(t.durable)
}

// rewrite cuts the file at j.size, writes what lies between from and there
// over itself, and syncs. An earlier process may have met a failed sync: the
// kernel then keeps pages that read well and are never written, and a new
// sync would say nothing of them.
func (j *Journal) rewrite(from int64) error {
	if err := j.file.Truncate(j.size); err != nil {
		return fmt.Errorf("cutting a torn tail: %w", err)
	}
	buf := make([]byte, min(chunkSize, j.size-from))
	for at := from; at < j.size; {
		b := buf[:min(int64(len(buf)), j.size-at)]
		if _, err := j.file.ReadAt(b, at); err != nil {
			return fmt.Errorf("reading the journal's tail: %w", err)
		}
		if _, err := j.cfg.Write(j.file, b, at); err != nil {
			return fmt.Errorf("writing the journal's tail again: %w", err)
		}
		at += int64(len(b))
	}
	if err := j.cfg.Sync(j.file); err != nil {
		return fmt.Errorf("syncing the journal's tail: %w", err)
	}
	if err := j.cfg.SyncDir(j.dir); err != nil {
		return fmt.Errorf("syncing the journal's directory: %w", err)
	}
	return nil
}

// recordCut writes the cut into the journal itself, and replays that record.
func (j *Journal) recordCut(replay func(Record) error, cut *Cut) error {
	if cut == nil {
		return nil
	}
	e := []Entry{{Kind: KindCut, Content: cut}}
	h, err := prepare(e[0])
	if err != nil {
		return err
	}
	j.mu.Lock()
	recs, err := j.write([]head{h}, e, true)
	j.mu.Unlock()
	if err == nil {
		err = j.await(recs[0].Seq)
	}
	if err != nil {
		return err
	}
	return replay(recs[0])
}

// tail is the reading of the newest segment.
type tail struct {
	*walker
	waiting []found // sound heads that nothing has proven durable yet
	durable int64   // the furthest offset proven to be on disk
	end     int64   // where what holds ends
	torn    *Broken // what did not hold there
	lastSeq uint64  // the highest seq legible behind it
}

// read walks to the end, replays what is proven durable, and leaves the rest
// that holds in waiting.
func (t *tail) read(replay func(Record) error) error {
	for {
		r, err := t.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.As(err, &t.torn) {
			if err := t.judge(); err != nil {
				return err
			}
			break
		}
		if err != nil {
			return err
		}
		t.waiting = append(t.waiting, r)
		if err := t.proven(r.durable, replay); err != nil {
			return err
		}
	}
	if err := t.proven(t.durable, replay); err != nil {
		return err
	}
	t.end = t.pos
	return t.checkBodies()
}

// proven replays what ends before an offset that is known to be on disk.
func (t *tail) proven(durable int64, replay func(Record) error) error {
	t.durable = max(t.durable, durable)
	n := 0
	for ; n < len(t.waiting) && t.waiting[n].end <= t.durable; n++ {
		if err := replay(t.waiting[n].Record); err != nil {
			return err
		}
	}
	t.waiting = t.waiting[n:]
	return nil
}

// judge decides whether the damage that ended the walk can be a torn write:
// not if its head holds, and not if a record behind it knew it on disk.
func (t *tail) judge() error {
	if !t.torn.torn {
		return t.torn
	}
	durable, seq, err := t.proof(t.torn.Offset)
	if err != nil {
		return err
	}
	t.durable, t.lastSeq = max(t.durable, durable), seq
	if t.durable > t.torn.Offset {
		return t.torn
	}
	return nil
}

// checkBodies hashes the bodies of what waits; the first record with one that
// does not match is torn, and all behind it goes with it.
func (t *tail) checkBodies() error {
	for i, r := range t.waiting {
		err := t.bodies(r)
		if err == nil {
			continue
		}
		var broken *Broken
		if !errors.As(err, &broken) || r.start < t.durable {
			return err
		}
		t.lastSeq = max(t.lastSeq, t.seq-1)
		t.torn, t.end, t.seq, t.prev = broken, r.start, r.Seq, r.hashBefore
		t.waiting = t.waiting[:i]
		return nil
	}
	return nil
}
