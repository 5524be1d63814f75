package journal

import (
	"context"
	"errors"
	"io"
	"os"

	"countersign/internal/action"
)

// Report is what Verify walked.
type Report struct {
	Segments int
	Records  uint64
	Bodies   uint64
	Bytes    int64       // of the segments' files
	Seq      uint64      // of the last record
	Head     action.Hash // the chain's value there
}

// Verify reads the whole journal from its files, through handles of its own:
// every head, every body, every link of the chain, up to what was written when
// it was called. Others may append meanwhile. A *Broken says where it does not
// hold; the Report then counts what did.
//
// It does not read past the page cache, and it cannot know of records cut off
// the end together with all trace of them: for that, compare Report.Head with
// one that was told to a witness.
func (j *Journal) Verify(ctx context.Context) (Report, error) {
	j.mu.Lock()
	top, last, size, newest, err := j.seq, j.last, j.size, j.head.first, j.failed
	j.mu.Unlock()
	if err != nil {
		return Report{}, err
	}
	firsts, err := segments(j.cfg.Dir)
	if err != nil {
		return Report{}, err
	}
	var r Report
	for _, first := range firsts {
		if first > newest {
			break // made since
		}
		limit := int64(-1)
		if first == newest {
			limit = size
		}
		if err = r.segment(ctx, j.cfg.Dir, first, limit); err != nil {
			break
		}
	}
	if err == nil && (r.Seq != top || r.Head != last) {
		err = &Broken{Segment: segmentName(newest), Seq: top, What: "the files end with another record than was written last"}
	}
	// A journal that failed meanwhile has cut its own tail: that is the news.
	if failed := j.err(); err != nil && failed != nil {
		err = failed
	}
	return r, err
}

// segment walks one segment up to size, or all of it where size is negative.
func (r *Report) segment(ctx context.Context, dir string, first uint64, size int64) error {
	f, h, full, err := openSegment(dir, first, os.O_RDONLY)
	if f != nil {
		defer f.Close()
	}
	if errors.Is(err, errHeader) || err == nil && (first != r.Seq+1 || h.first != first || h.prev != r.Head) {
		return &Broken{Segment: segmentName(first), Seq: r.Seq + 1, What: "its header does not hold, or names another record before it"}
	}
	if err != nil {
		return err
	}
	if size < 0 {
		size = full
	}
	if size > full {
		return &Broken{Segment: segmentName(first), Offset: full, What: "the file is shorter than what was written"}
	}
	w := newWalker(f, size, h)
	r.Segments++
	r.Bytes += size
	for {
		rec, err := w.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = w.bodies(rec)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		r.Records++
		r.Bodies += uint64(len(rec.Bodies))
		r.Seq, r.Head = rec.Seq, rec.Hash
	}
}
