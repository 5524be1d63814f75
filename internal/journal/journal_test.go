package journal

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/canon"
	"countersign/internal/refusal"
)

// T14: each record names the hash of the one before, across segments, and is
// replayed as it was given, bodies and all.
func TestChainIsReplayedAcrossSegments(t *testing.T) {
	cfg := testConfig(t.TempDir())
	cfg.SegmentSize = 600
	j, _, _ := reopen(t, cfg)
	var want []Record
	for n := range 30 {
		want = append(want, commit(t, j, entry(n, n, 2*n), entry(100+n))...)
	}
	must(t, j.Close())
	j, rec, got := reopen(t, cfg)
	defer j.Close()
	must(t, same(got, want))
	if rec.Cut != nil || rec.Records != 60 {
		t.Fatalf("recovery of a closed journal: %+v", rec)
	}
	body, err := j.ReadBody(got[58].Bodies[1])
	must(t, err)
	if !bytes.Equal(body, entry(29, 29, 58).Bodies[1].Data) {
		t.Fatalf("body is %x", body)
	}
	report, err := j.Verify(context.Background())
	must(t, err)
	if report.Segments < 5 || report.Records != 60 || report.Bodies != 60 || report.Head != want[59].Hash {
		t.Fatalf("verify: %+v", report)
	}
	if seq, hash := j.Head(); seq != 60 || hash != want[59].Hash {
		t.Fatalf("head is %d %s", seq, hash)
	}
}

// T14: an outcome is appended without a sync, and the head that a witness is
// told is never one a crash could take back.
func TestHeadIsWhatIsOnDisk(t *testing.T) {
	j, _, _ := reopen(t, testConfig(t.TempDir()))
	defer j.Close()
	first := commit(t, j, entry(1))
	if _, err := j.Append(entry(2)); err != nil {
		t.Fatal(err)
	}
	if seq, hash := j.Head(); seq != 1 || hash != first[0].Hash {
		t.Fatalf("head is %d", seq)
	}
	must(t, j.Sync())
	if seq, _ := j.Head(); seq != 2 {
		t.Fatalf("head after a sync is %d", seq)
	}
}

// T14: one journal has one keeper; a second is told so and changes nothing.
func TestOneKeeperAtATime(t *testing.T) {
	cfg := testConfig(t.TempDir())
	j, _, _ := reopen(t, cfg)
	if _, _, err := Open(cfg, nil); !errors.Is(err, ErrLocked) {
		t.Fatalf("second open: %v", err)
	}
	must(t, j.Close())
	must(t, j.Close()) // twice is once
	if _, err := j.Append(entry(1)); !errors.Is(err, ErrClosed) {
		t.Fatalf("append after close: %v", err)
	}
	j, _, _ = reopen(t, cfg)
	must(t, j.Close())
}

// P8: a journal of a newer format is refused by name, and not a byte of it
// changes, not even where its newest segment is too short to hold a record.
func TestNewerFormatIsRefused(t *testing.T) {
	dir, _, _, _ := twoBatches(t)
	whole := readFile(t, dir, 1)
	whole[19] = version + 1
	for _, b := range [][]byte{whole, whole[:headerSize], whole[:20]} {
		writeFile(t, dir, 1, b)
		if _, _, err := Open(testConfig(dir), nil); !errors.Is(err, ErrVersion) {
			t.Fatalf("%d bytes of a newer format: %v", len(b), err)
		}
		if !bytes.Equal(readFile(t, dir, 1), b) {
			t.Fatal("the newer journal was changed")
		}
	}
}

// T14: what the format cannot hold is refused before anything is written, and
// the journal goes on.
func TestWhatDoesNotFitIsRefused(t *testing.T) {
	j, _, _ := reopen(t, testConfig(t.TempDir()))
	defer j.Close()
	deep := any(0)
	for range canon.MaxDepth + 1 {
		deep = []any{deep}
	}
	for name, e := range map[string]Entry{
		"kind":       {Kind: "Not a kind"},
		"cut":        {Kind: KindCut},
		"id":         {Kind: "intent", ID: strings.Repeat("x", 65)},
		"id bytes":   {Kind: "intent", ID: "\xff"},
		"role":       {Kind: "intent", Bodies: []Body{{Role: ""}}},
		"content":    {Kind: "intent", Content: math.Inf},
		"unreadable": {Kind: "intent", Content: deep},
		"head":       {Kind: "intent", Content: make([]byte, MaxHead)},
		"body":       {Kind: "intent", Bodies: []Body{{Role: "capture", Data: make([]byte, MaxBody+1)}}},
	} {
		if recs, err := j.Append(entry(1), e); err == nil || recs != nil || errors.Is(err, ErrFailed) {
			t.Errorf("%s: %v, %v", name, recs, err)
		} else if (name == "head" || name == "body") && !refusal.Is(err, refusal.TooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if recs := commit(t, j, entry(2, MaxBody)); recs[0].Seq != 1 {
		t.Fatalf("the first record is %d", recs[0].Seq)
	}
}

// T15: a missing segment, one under a wrong name, and one of another journal
// are a break, and nothing is touched.
func TestSegmentsFollowEachOther(t *testing.T) {
	for name, spoil := range map[string]func(dir string, firsts []uint64) error{
		"missing": func(dir string, f []uint64) error { return os.Remove(filepath.Join(dir, segmentName(f[1]))) },
		"first":   func(dir string, f []uint64) error { return os.Remove(filepath.Join(dir, segmentName(f[0]))) },
		"named": func(dir string, f []uint64) error {
			return os.Rename(filepath.Join(dir, segmentName(f[2])), filepath.Join(dir, "0.seg"))
		},
		"swapped": func(dir string, f []uint64) error {
			return os.Rename(filepath.Join(dir, segmentName(f[2])), filepath.Join(dir, segmentName(f[1])))
		},
		"a link": func(dir string, f []uint64) error {
			name := filepath.Join(dir, segmentName(f[1]))
			return errors.Join(os.Rename(name, name+".away"), os.Symlink(name+".away", name))
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t.TempDir())
			cfg.SegmentSize = 1
			j, _, _ := reopen(t, cfg)
			for n := range 4 {
				commit(t, j, entry(n))
			}
			must(t, j.Close())
			firsts, err := segments(cfg.Dir)
			must(t, err)
			must(t, spoil(cfg.Dir, firsts))
			if j, _, err := Open(cfg, nil); err == nil {
				j.Close()
				t.Fatal("it opened")
			} else if name != "a link" && !isBroken(err) {
				t.Fatal(err)
			}
		})
	}
}

// T15: what stops replay stops Open.
func TestReplayCanStop(t *testing.T) {
	dir, _, _, _ := twoBatches(t)
	stop := errors.New("stop")
	if _, _, err := Open(testConfig(dir), func(Record) error { return stop }); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	j, _, recs := reopen(t, testConfig(dir)) // and the lock was given back
	defer j.Close()
	if len(recs) != 5 {
		t.Fatalf("%d records", len(recs))
	}
}

// T15: a body that is not what the chain names is never given out.
func TestReadBodyChecksTheHash(t *testing.T) {
	cfg := testConfig(t.TempDir())
	j, _, _ := reopen(t, cfg)
	defer j.Close()
	ref := commit(t, j, entry(1, 20))[0].Bodies[0]
	whole := readFile(t, cfg.Dir, 1)
	for n := range ref.Size {
		whole[ref.offset+n] ^= 1
		writeFile(t, cfg.Dir, 1, whole)
		whole[ref.offset+n] ^= 1
		if b, err := j.ReadBody(ref); !isBroken(err) || b != nil {
			t.Fatalf("byte %d differs: %x, %v", n, b, err)
		}
	}
	writeFile(t, cfg.Dir, 1, whole[:len(whole)-1])
	if _, err := j.ReadBody(ref); !isBroken(err) {
		t.Fatalf("a short file: %v", err)
	}
}
