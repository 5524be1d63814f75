package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"countersign/internal/action"
)

const (
	prefixSize = markerSize + 4 // what stands before a head
	windowSize = 32 << 10       // small, so that bodies can be stepped over
	chunkSize  = 256 << 10      // for hashing and searching
)

// window reads a file through a buffer that is moved to where it is needed.
type window struct {
	f     io.ReaderAt
	size  int64 // the file is looked at up to here
	buf   []byte
	start int64 // offset of buf[0]
}

// at gives n bytes at off, valid until the next call. off+n is within size.
func (w *window) at(off, n int64) ([]byte, error) {
	if off < w.start || off+n > w.start+int64(len(w.buf)) {
		want := min(max(n, windowSize), w.size-off)
		if int64(cap(w.buf)) < want {
			w.buf = make([]byte, want)
		}
		w.buf, w.start = w.buf[:want], off
		if _, err := w.f.ReadAt(w.buf, off); err != nil {
			w.buf = w.buf[:0]
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("reading a segment: %w", err)
		}
	}
	return w.buf[off-w.start : off-w.start+n], nil
}

// hash hashes n bytes at off.
func (w *window) hash(off, n int64) (action.Hash, error) {
	sum := sha256.New()
	for n > 0 {
		b, err := w.at(off, min(n, chunkSize))
		if err != nil {
			return action.Hash{}, err
		}
		sum.Write(b)
		off, n = off+int64(len(b)), n-int64(len(b))
	}
	return action.Hash(sum.Sum(nil)), nil
}

// walker reads the records of one segment in order.
type walker struct {
	window
	first uint64 // names the segment
	mark  marker
	pos   int64
	seq   uint64      // what the next record must carry
	prev  action.Hash // and name
}

func newWalker(f io.ReaderAt, size int64, h header) *walker {
	return &walker{
		window: window{f: f, size: size},
		first:  h.first, mark: h.marker, pos: headerSize, seq: h.first, prev: h.prev,
	}
}

// found is a record with where it lies.
type found struct {
	Record
	start, end int64
	durable    int64
	hashBefore action.Hash
}

func (w *walker) broken(off int64, torn bool, what string) *Broken {
	return &Broken{Segment: segmentName(w.first), Offset: off, Seq: w.seq, What: what, torn: torn}
}

// next reads the record at pos and moves behind it; its bodies are skipped.
// At the very end it gives io.EOF, at anything else that is not a record of
// this chain a *Broken.
func (w *walker) next() (found, error) {
	if w.pos == w.size {
		return found{}, io.EOF
	}
	r, err := w.record(w.pos)
	if err != nil {
		return found{}, err
	}
	if r.Seq != w.seq || r.hashBefore != w.prev {
		return found{}, w.broken(w.pos, false, fmt.Sprintf("the chain breaks: record %d stands here, or it names another before it", r.Seq))
	}
	w.pos, w.seq, w.prev = r.end, r.Seq+1, r.Hash
	return r, nil
}

// record reads a record at any offset, without a look at the chain. One
// whose head holds and whose bodies are cut short is given beside the error.
func (w *walker) record(off int64) (r found, err error) {
	left := w.size - off
	if left < prefixSize {
		return r, w.broken(off, true, "the file ends within a record")
	}
	b, err := w.at(off, prefixSize)
	if err != nil {
		return r, err
	}
	if !bytes.Equal(b[:markerSize], w.mark[:]) {
		return r, w.broken(off, true, "no record begins here")
	}
	n := int64(binary.BigEndian.Uint32(b[markerSize:]))
	if n > MaxHead || prefixSize+n+sha256.Size > left {
		return r, w.broken(off, true, "the head is longer than the file or the format allows")
	}
	if b, err = w.at(off+prefixSize, n+sha256.Size); err != nil {
		return r, err
	}
	sum := action.HashOf(b[:n])
	if !bytes.Equal(sum[:], b[n:]) {
		return r, w.broken(off, true, "the head does not match its hash")
	}
	h, err := decodeHead(b[:n])
	if err != nil || h.durable > off {
		return r, w.broken(off, false, "the head matches its hash, but no keeper writes such a head")
	}
	return w.place(off, off+prefixSize+n+sha256.Size, h, sum)
}

// place puts a sound head and the bodies that follow it at their offsets.
func (w *walker) place(off, at int64, h head, sum action.Hash) (found, error) {
	r := found{start: off, durable: h.durable, hashBefore: h.prev, Record: Record{
		Seq: h.seq, Time: time.Unix(0, h.time).UTC(), Kind: h.kind, ID: h.id,
		Content: h.content, Bodies: h.bodies, Hash: sum,
	}}
	for i := range h.bodies {
		b := &h.bodies[i]
		b.segment, b.offset = w.first, at
		if b.Size > w.size-at {
			return r, w.broken(off, true, "the file ends within a body")
		}
		at += b.Size
	}
	r.end = at
	return r, nil
}

// bodies hashes a record's bodies: a *Broken for the first that is not what
// the head names.
func (w *walker) bodies(r found) error {
	for _, b := range r.Bodies {
		sum, err := w.hash(b.offset, b.Size)
		if err != nil {
			return err
		}
		if sum != b.Hash {
			broken := w.broken(b.offset, true, "a body ("+b.Role+") does not match its hash")
			broken.Seq = r.Seq
			return broken
		}
	}
	return nil
}

// proof looks behind damage at off for records that still hold: the furthest
// offset that one of them knew to be on disk, and the highest seq.
func (w *walker) proof(off int64) (durable int64, seq uint64, err error) {
	for off++; w.size-off >= markerSize; {
		b, err := w.at(off, min(chunkSize, w.size-off))
		if err != nil {
			return 0, 0, err
		}
		i := bytes.Index(b, w.mark[:])
		if i < 0 {
			off += int64(len(b)) - markerSize + 1
			continue
		}
		off += int64(i)
		r, err := w.record(off)
		if broken := (*Broken)(nil); err != nil && !errors.As(err, &broken) {
			return 0, 0, err
		}
		durable, seq = max(durable, r.durable), max(seq, r.Seq) // zeros where no head holds
		off++
	}
	return durable, seq, nil
}
