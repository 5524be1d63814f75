package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// testConfig syncs nothing: nothing here cuts power, and what a crash takes is
// taken by the tests themselves. Those that count or fail syncs bring their own.
func testConfig(dir string) Config {
	now := time.Unix(1_700_000_000, 0)
	return Config{
		Dir: dir, Sync: noSync, SyncDir: noSync,
		Now: func() time.Time { now = now.Add(time.Second); return now },
	}
}

func noSync(*os.File) error { return nil }

// fail stops a test or a rapid check alike.
type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// reopen opens a journal and gives what it replayed.
func reopen(t failer, cfg Config) (*Journal, Recovery, []Record) {
	t.Helper()
	var recs []Record
	j, rec, err := Open(cfg, func(r Record) error { recs = append(recs, r); return nil })
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return j, rec, recs
}

// crash gives up the files as the end of the process would.
func crash(t failer, j *Journal) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed = ErrClosed
	if err := j.release(); err != nil {
		t.Fatalf("crash: %v", err)
	}
}

func commit(t failer, j *Journal, entries ...Entry) []Record {
	t.Helper()
	recs, err := j.Commit(entries...)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return recs
}

func entry(n int, bodies ...int) Entry {
	e := Entry{Kind: "intent", ID: fmt.Sprintf("id-%d", n), Content: map[string]uint64{"n": uint64(n)}}
	for i, size := range bodies {
		e.Bodies = append(e.Bodies, Body{Role: "capture", Data: bytes.Repeat([]byte{byte(n + i + 1)}, size)})
	}
	return e
}

func same(a, b []Record) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d records, want %d", len(a), len(b))
	}
	for i := range a {
		if a[i].Hash != b[i].Hash || a[i].Seq != b[i].Seq || a[i].Kind != b[i].Kind || a[i].ID != b[i].ID ||
			!a[i].Time.Equal(b[i].Time) || !bytes.Equal(a[i].Content, b[i].Content) || len(a[i].Bodies) != len(b[i].Bodies) {
			return fmt.Errorf("record %d is %+v, want %+v", i, a[i], b[i])
		}
		for k := range a[i].Bodies {
			if a[i].Bodies[k] != b[i].Bodies[k] {
				return fmt.Errorf("record %d, body %d is %+v, want %+v", i, k, a[i].Bodies[k], b[i].Bodies[k])
			}
		}
	}
	return nil
}

func must(t failer, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func readFile(t failer, dir string, first uint64) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, segmentName(first)))
	must(t, err)
	return b
}

func writeFile(t failer, dir string, first uint64, b []byte) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, segmentName(first)), b, 0o600))
}

func isBroken(err error) bool {
	var b *Broken
	return errors.As(err, &b)
}

// twoBatches gives a directory whose one segment holds a committed batch and
// then another, with the records and the offset where the second begins.
func twoBatches(t *testing.T) (dir string, first, second []Record, start int) {
	dir = t.TempDir()
	j, _, _ := reopen(t, testConfig(dir))
	first = commit(t, j, entry(1, 40), entry(2))
	start = int(j.size)
	second = commit(t, j, entry(3, 30, 0), entry(4), entry(5, 50))
	must(t, j.Close())
	return dir, first, second, start
}
