package journal

import (
	"encoding/binary"
	"fmt"
	"time"
	"unicode/utf8"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/refusal"
)

// keepBuf is the largest buffer kept from one write to the next, in bytes.
const keepBuf = 1 << 20

// Append writes entries behind each other with one write, in their order, and
// does not sync: a crash may take them back, the last first. A later Commit,
// Sync or Close puts them on disk.
//
// The entries of one call are not one unit: after a crash the first few may
// stand alone. An entry that the format cannot hold is refused and nothing of
// the call is written. After any other error the journal has failed.
func (j *Journal) Append(entries ...Entry) ([]Record, error) {
	return j.append(entries, false)
}

// Commit is Append, and returns when the records, and all before them, are on
// disk. Calls that wait at the same time share a sync: the first makes it, and
// one more covers all that were written meanwhile.
func (j *Journal) Commit(entries ...Entry) ([]Record, error) {
	recs, err := j.append(entries, true)
	if err != nil || len(recs) == 0 {
		return recs, err
	}
	if err := j.await(recs[len(recs)-1].Seq); err != nil {
		return nil, err
	}
	return recs, nil
}

// Sync returns when everything appended before the call is on disk.
func (j *Journal) Sync() error {
	j.mu.Lock()
	seq, err := j.seq, j.failed
	j.mu.Unlock()
	if err != nil {
		return err
	}
	return j.await(seq)
}

func (j *Journal) append(entries []Entry, owed bool) ([]Record, error) {
	heads := make([]head, len(entries))
	for i, e := range entries {
		if e.Kind == KindCut {
			return nil, fmt.Errorf("[unexpected] a caller's record of kind %s", e.Kind)
		}
		var err error
		if heads[i], err = prepare(e); err != nil {
			return nil, err
		}
	}
	if len(entries) == 0 {
		return nil, j.err()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.makeRoom(); err != nil {
		return nil, err
	}
	return j.write(heads, entries, owed)
}

// prepare does what needs no lock: it checks an entry, encodes its content and
// hashes its bodies.
func prepare(e Entry) (head, error) {
	if !wordOK(e.Kind) || len(e.ID) > maxWord || !utf8.ValidString(e.ID) {
		return head{}, fmt.Errorf("[unexpected] a record of kind %q with id %q", e.Kind, e.ID)
	}
	content, err := canon.Encode(e.Content)
	if err == nil { // and never write what could not be read again
		var back canon.Raw
		err = canon.Decode(content, &back)
	}
	if err != nil {
		return head{}, fmt.Errorf("a record of kind %s: %w", e.Kind, err)
	}
	h := head{kind: e.Kind, id: e.ID, content: content}
	for _, b := range e.Bodies {
		if !wordOK(b.Role) {
			return head{}, fmt.Errorf("[unexpected] a body with the role %q", b.Role)
		}
		if len(b.Data) > MaxBody {
			return head{}, refusal.New(refusal.TooLarge, "a body ("+b.Role+") of a record", "%d bytes, of at most %d", len(b.Data), MaxBody)
		}
		h.bodies = append(h.bodies, Ref{Role: b.Role, Hash: action.HashOf(b.Data), Size: int64(len(b.Data))})
	}
	// What the lock's holder fills in takes at most these bytes more.
	if n := len(h.appendTo(nil)) + 3*8; n > MaxHead {
		return head{}, refusal.New(refusal.TooLarge, "a record of kind "+e.Kind, "its head takes %d bytes, of at most %d", n, MaxHead)
	}
	return h, nil
}

// write chains the heads, writes them with their bodies, and takes over the
// new end. The caller holds mu.
func (j *Journal) write(heads []head, entries []Entry, owed bool) ([]Record, error) {
	recs := make([]Record, len(heads))
	buf, seq, last := j.buf[:0], j.seq, j.last
	now := j.cfg.Now().UnixNano()
	for i := range heads {
		h := &heads[i]
		seq++
		h.seq, h.time, h.prev, h.durable = seq, max(now, 0), last, j.durable
		buf = append(buf, j.head.marker[:]...)
		buf = binary.BigEndian.AppendUint32(buf, 0)
		front := len(buf)
		buf = h.appendTo(buf)
		binary.BigEndian.PutUint32(buf[front-4:], uint32(len(buf)-front))
		last = action.HashOf(buf[front:])
		buf = append(buf, last[:]...)
		for k, b := range entries[i].Bodies {
			h.bodies[k].segment, h.bodies[k].offset = j.head.first, j.size+int64(len(buf))
			buf = append(buf, b.Data...)
		}
		recs[i] = Record{
			Seq: seq, Time: time.Unix(0, h.time).UTC(), Kind: h.kind, ID: h.id,
			Content: h.content, Bodies: h.bodies, Hash: last,
		}
	}
	if cap(buf) <= keepBuf {
		j.buf = buf[:0]
	}
	if n, err := j.cfg.Write(j.file, buf, j.size); err != nil || n != len(buf) {
		return nil, j.fail(j.covering, "writing %d bytes wrote %d: %w", len(buf), n, err)
	}
	if owed {
		j.owed = append(j.owed, j.size)
	}
	j.size, j.seq, j.last = j.size+int64(len(buf)), seq, last
	return recs, nil
}

// makeRoom waits out what must not be disturbed and begins a new segment where
// this one is full. The caller holds mu, which is given up while it waits.
func (j *Journal) makeRoom() error {
	for j.failed == nil && j.size >= j.cfg.SegmentSize && j.size > headerSize {
		if j.syncing {
			j.moved.Wait()
			continue
		}
		return j.rotate()
	}
	return j.failed
}

// rotate syncs this segment, so that the one behind it proves it whole, and
// begins the next. The caller holds mu, and no sync is under way.
func (j *Journal) rotate() error {
	if j.durable < j.size {
		if err := j.cfg.Sync(j.file); err != nil {
			return j.fail(0, "syncing a full segment: %w", err)
		}
		j.settle(j.size, j.seq, j.last)
	}
	f, h, err := j.createSegment(j.seq+1, j.last)
	if err != nil {
		return j.fail(j.size, "%w", err)
	}
	old := j.file
	j.file, j.head = f, h
	j.size, j.durable, j.covering = headerSize, headerSize, headerSize
	if err := old.Close(); err != nil {
		return j.fail(j.size, "closing a full segment: %w", err)
	}
	return nil
}

// await returns when the record seq is on disk. One caller syncs at a time,
// without mu, so that others write meanwhile.
func (j *Journal) await(seq uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.safeSeq < seq && j.failed == nil {
		if j.syncing {
			j.moved.Wait()
			continue
		}
		f, size, top, hash := j.file, j.size, j.seq, j.last
		j.syncing, j.covering = true, size
		j.mu.Unlock()
		err := j.cfg.Sync(f)
		j.mu.Lock()
		j.syncing = false
		if err != nil {
			j.covering = j.durable
			j.fail(0, "syncing: %w", err)
			break
		}
		j.settle(size, top, hash)
	}
	if j.safeSeq >= seq && seq > 0 {
		return nil // on disk, whatever happened since
	}
	return j.failed
}

// settle takes over that the file is on disk up to size, which is where the
// record seq ends. The caller holds mu.
func (j *Journal) settle(size int64, seq uint64, hash action.Hash) {
	j.durable, j.covering, j.safeSeq, j.safeHash = size, size, seq, hash
	n := 0
	for n < len(j.owed) && j.owed[n] < size {
		n++
	}
	j.owed = append(j.owed[:0], j.owed[n:]...)
	j.moved.Broadcast()
}

// fail makes the journal failed for good and gives the error. What was never
// acknowledged is cut off again from the first write behind `from` that
// somebody waits for, and at the latest where the last whole write ended: so
// a keeper that starts again does not act on what it had called failed. Where
// the cut fails too, such records may stand. The caller holds mu.
func (j *Journal) fail(from int64, format string, args ...any) error {
	err := fmt.Errorf("%w: "+format, append([]any{ErrFailed}, args...)...)
	if j.failed == nil {
		j.failed = err
	}
	for _, at := range j.owed {
		if at >= from {
			j.size = at
			break
		}
	}
	cut := j.file.Truncate(j.size)
	j.cfg.Log.Error("journal failed", "err", err, "cut_to", j.size, "cut_err", cut)
	j.moved.Broadcast()
	return j.failed
}
