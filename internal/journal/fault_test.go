package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

var errFault = errors.New("fault")

// faults fails the Nth call of its kind; before it does, the call may have
// been carried out whole, or a part of it.
type faults struct {
	mu           sync.Mutex
	nth          int
	apply        string // none, half, all
	writes, sync bool   // what counts
	seen         int
}

func (f *faults) hit(counts bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if counts {
		f.seen++
	}
	return counts && f.seen == f.nth
}

func (f *faults) wire(cfg *Config) {
	cfg.Write = func(file *os.File, b []byte, off int64) (int, error) {
		if !f.hit(f.writes) {
			return writeAt(file, b, off)
		}
		n := map[string]int{"none": 0, "half": len(b) / 2, "all": len(b)}[f.apply]
		n, _ = writeAt(file, b[:n], off)
		return n, errFault
	}
	cfg.Sync = func(file *os.File) error {
		if !f.hit(f.sync) {
			return nil
		}
		if f.apply != "none" {
			return errors.Join(errFault, fdatasync(file))
		}
		return errFault
	}
	cfg.SyncDir = cfg.Sync
}

// workload commits and appends until something fails. It gives what was
// acknowledged as on disk, and all that was given at all.
func workload(cfg Config) (acked, given []Record, err error) {
	j, _, err := Open(cfg, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		cerr := j.Close()
		if err == nil {
			err = cerr
		}
	}()
	for n := range 8 {
		recs, err := j.Append(entry(2*n, 20))
		if err != nil {
			return acked, given, stillFailed(j, err)
		}
		given = append(given, recs...)
		if recs, err = j.Commit(entry(2*n+1), entry(100+n, 30)); err != nil {
			return acked, given, stillFailed(j, err)
		}
		given = append(given, recs...)
		acked = given
	}
	return acked, given, nil
}

// stillFailed checks that a failed journal does nothing more.
func stillFailed(j *Journal, err error) error {
	if !errors.Is(err, ErrFailed) || !errors.Is(err, errFault) {
		return fmt.Errorf("the failure is %v", err)
	}
	_, aerr := j.Append(entry(1))
	_, cerr := j.Commit(entry(1))
	_, verr := j.Verify(nil)
	_, rerr := j.ReadBody(Ref{})
	for _, e := range []error{aerr, cerr, verr, rerr, j.Sync()} {
		if !errors.Is(e, ErrFailed) {
			return fmt.Errorf("a call after the failure: %v", e)
		}
	}
	return err
}

// T18: whichever write or sync fails, and whether or not it was carried out
// first, what was acknowledged is there at the next start, nothing that was
// called failed is, and the failed journal does nothing more.
func TestEveryWriteAndSyncFails(t *testing.T) {
	for _, kind := range []string{"write", "sync"} {
		for _, apply := range []string{"none", "half", "all"} {
			nth := 1
			for ; ; nth++ {
				f := &faults{nth: nth, apply: apply, writes: kind == "write", sync: kind == "sync"}
				cfg := testConfig(t.TempDir())
				cfg.SegmentSize = 700
				clean := cfg
				f.wire(&cfg)
				acked, given, err := workload(cfg)
				if f.seen < nth {
					must(t, err)
					break
				}
				if !errors.Is(err, errFault) {
					t.Fatalf("%s %d (%s): %v", kind, nth, apply, err)
				}
				j, rec, got := reopen(t, clean)
				if len(got) < len(acked) || len(got) > len(given) || rec.Cut != nil {
					t.Fatalf("%s %d (%s): %d records, acknowledged %d, given %d, %+v",
						kind, nth, apply, len(got), len(acked), len(given), rec)
				}
				must(t, same(got, given[:len(got)]))
				if _, err := j.Verify(t.Context()); err != nil {
					t.Fatal(err)
				}
				must(t, j.Close())
			}
			if nth < 10 {
				t.Fatalf("only %d calls of %s were seen", nth-1, kind)
			}
		}
	}
}

// T18: a start that cannot write its tail again, or sync it, is no start, and
// loses nothing.
func TestEveryWriteAndSyncOfAStartFails(t *testing.T) {
	dir, first, second, _ := twoBatches(t)
	whole := readFile(t, dir, 1)
	want := append(first, second[:2]...)
	for _, kind := range []string{"write", "sync"} {
		for nth := 1; ; nth++ {
			writeFile(t, dir, 1, whole[:len(whole)-1]) // with a cut to be made
			f := &faults{nth: nth, apply: "none", writes: kind == "write", sync: kind == "sync"}
			cfg := testConfig(dir)
			f.wire(&cfg)
			j, _, err := Open(cfg, nil)
			if f.seen < nth {
				must(t, err)
				must(t, j.Close())
				break
			}
			if !errors.Is(err, errFault) {
				t.Fatalf("%s %d: %v", kind, nth, err)
			}
			j, _, got := reopen(t, testConfig(dir))
			must(t, same(got[:4], want))
			must(t, j.Close())
		}
	}
}

// T18: a failed write takes back only itself: a commit whose sync is under way
// keeps its word.
func TestFailedWriteBesideASync(t *testing.T) {
	cfg := testConfig(t.TempDir())
	clean := cfg
	inSync, goOn := make(chan struct{}), make(chan struct{})
	armed := false // under the journal's own order: set before the commits
	cfg.Sync = func(f *os.File) error {
		if armed {
			close(inSync)
			<-goOn
		}
		return fdatasync(f)
	}
	writes := 0
	cfg.Write = func(f *os.File, b []byte, off int64) (int, error) {
		if writes++; writes == 3 { // the header, the first commit, this
			return writeAt(f, b[:len(b)-1], off)
		}
		return writeAt(f, b, off)
	}
	j, _, _ := reopen(t, cfg)
	armed = true
	done := make(chan error)
	go func() {
		_, err := j.Commit(entry(1, 10))
		done <- err
	}()
	<-inSync
	if _, err := j.Commit(entry(2, 10)); !errors.Is(err, ErrFailed) {
		t.Fatalf("the short write: %v", err)
	}
	close(goOn)
	must(t, <-done)
	if err := j.Close(); !errors.Is(err, ErrFailed) {
		t.Fatalf("close: %v", err)
	}
	j, rec, got := reopen(t, clean)
	defer j.Close()
	if len(got) != 1 || rec.Cut != nil {
		t.Fatalf("%d records, %+v", len(got), rec)
	}
}

// T14: a commit in the steady state is one write and one sync; an append is
// one write; a directory is synced where a segment is made, and nowhere else.
func TestSyncsAreCounted(t *testing.T) {
	cfg := testConfig(t.TempDir())
	var writes, syncs, dirs int
	cfg.Write = func(f *os.File, b []byte, off int64) (int, error) { writes++; return writeAt(f, b, off) }
	cfg.Sync = func(f *os.File) error { syncs++; return fdatasync(f) }
	cfg.SyncDir = func(f *os.File) error { dirs++; return fsync(f) }
	cfg.SegmentSize = 4096
	j, _, _ := reopen(t, cfg)
	defer j.Close()
	count := func(what string, w, s, d int, do func()) {
		t.Helper()
		writes, syncs, dirs = 0, 0, 0
		do()
		if writes != w || syncs != s || dirs != d {
			t.Errorf("%s: %d writes, %d syncs, %d of a directory; want %d, %d, %d", what, writes, syncs, dirs, w, s, d)
		}
	}
	count("commit", 1, 1, 0, func() { commit(t, j, entry(1, 20), entry(2), entry(3, 5, 5)) })
	count("append", 1, 0, 0, func() { j.Append(entry(4)) })
	count("sync", 0, 1, 0, func() { must(t, j.Sync()) })
	count("sync of nothing", 0, 0, 0, func() { must(t, j.Sync()) })
	count("commit that fills", 1, 1, 0, func() { commit(t, j, entry(5, 8000)) })
	count("rotation", 2, 2, 1, func() { commit(t, j, entry(6)) })
	must(t, func() error { _, err := j.Append(entry(7, 8000)); return err }())
	count("rotation behind an append", 2, 3, 1, func() { commit(t, j, entry(8)) })
	names, err := filepath.Glob(filepath.Join(cfg.Dir, "*.seg"))
	if err != nil || len(names) != 3 {
		t.Fatalf("segments: %v", names)
	}
}

// T18: a start writes what no later record proves durable over itself before
// it syncs: an earlier process's failed sync may have left pages that read well
// and will never be written.
func TestAStartWritesItsTailAgain(t *testing.T) {
	dir, _, _, start := twoBatches(t)
	whole := readFile(t, dir, 1)
	var wrote []byte
	var at int64
	cfg := testConfig(dir)
	cfg.Write = func(f *os.File, b []byte, off int64) (int, error) {
		wrote, at = append(wrote, b...), off
		return writeAt(f, b, off)
	}
	var synced int
	cfg.Sync = func(f *os.File) error {
		if synced++; len(wrote) != len(whole)-start {
			t.Errorf("synced after %d bytes", len(wrote))
		}
		return fdatasync(f)
	}
	j, _, _ := reopen(t, cfg)
	defer j.Close()
	if !bytes.Equal(wrote, whole[start:]) || at != int64(start) || synced != 1 {
		t.Fatalf("%d bytes at %d, %d syncs; want %d at %d", len(wrote), at, synced, len(whole)-start, start)
	}
}
