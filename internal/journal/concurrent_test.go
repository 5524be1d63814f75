package journal

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// T14: commits that wait at the same moment share a sync, and each record is
// on disk when its commit returns.
func TestCommitsShareASync(t *testing.T) {
	cfg := testConfig(t.TempDir())
	var syncs atomic.Int64
	cfg.Sync = func(f *os.File) error {
		syncs.Add(1)
		time.Sleep(time.Millisecond)
		return fdatasync(f)
	}
	j, _, _ := reopen(t, cfg)
	syncs.Store(0)
	const callers, each = 16, 10
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			for n := range each {
				recs, err := j.Commit(entry(c*each+n, 10))
				if err != nil {
					t.Error(err)
					return
				}
				if seq, _ := j.Head(); seq < recs[0].Seq {
					t.Errorf("record %d was acknowledged and %d is on disk", recs[0].Seq, seq)
				}
			}
		})
	}
	group.Wait()
	crash(t, j)
	if n := syncs.Load(); n > callers*each/4 {
		t.Errorf("%d syncs for %d commits", n, callers*each)
	}
	j, _, got := reopen(t, testConfig(cfg.Dir))
	defer j.Close()
	if len(got) != callers*each {
		t.Fatalf("%d records", len(got))
	}
}

// T15: verify walks the whole chain while others append, over rotations too.
func TestVerifyBesideAppends(t *testing.T) {
	cfg := testConfig(t.TempDir())
	cfg.SegmentSize = 20_000
	j, _, _ := reopen(t, cfg)
	defer j.Close()
	commit(t, j, entry(0, 100, 50))
	stop := make(chan struct{})
	var group sync.WaitGroup
	for c := range 4 {
		group.Go(func() {
			for n := range 500 { // or a slow verify would chase appends for ever
				select {
				case <-stop:
					return
				default:
				}
				add := j.Append
				if c == 0 {
					add = j.Commit
				}
				recs, err := add(entry(n, 100, 50))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := j.ReadBody(recs[0].Bodies[1]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var before uint64
	for range 30 {
		time.Sleep(2 * time.Millisecond) // so that there is something new
		report, err := j.Verify(context.Background())
		if err != nil {
			t.Error(err)
			break
		}
		if report.Seq < before || report.Records != report.Seq || report.Bodies != 2*report.Records {
			t.Errorf("%+v", report)
		}
		before = report.Seq
	}
	close(stop)
	group.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := j.Verify(ctx); err != context.Canceled {
		t.Errorf("a cancelled verify: %v", err)
	}
}

// T15: verify finds any byte of any segment that differs, bodies too.
func TestVerifyReadsEveryByte(t *testing.T) {
	cfg := testConfig(t.TempDir())
	cfg.SegmentSize = 1
	j, _, _ := reopen(t, cfg)
	defer j.Close()
	commit(t, j, entry(1, 20))
	commit(t, j, entry(2, 20))
	for _, first := range []uint64{1, 2} {
		whole := readFile(t, cfg.Dir, first)
		for n := range whole {
			whole[n] ^= 0x10
			writeFile(t, cfg.Dir, first, whole)
			whole[n] ^= 0x10
			if report, err := j.Verify(t.Context()); err == nil {
				t.Fatalf("byte %d of segment %d differs, and verify says %+v", n, first, report)
			}
		}
		writeFile(t, cfg.Dir, first, whole[:len(whole)-1])
		if _, err := j.Verify(t.Context()); !isBroken(err) {
			t.Fatalf("segment %d is short, and verify says %v", first, err)
		}
		writeFile(t, cfg.Dir, first, whole)
	}
	if _, err := j.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
}
