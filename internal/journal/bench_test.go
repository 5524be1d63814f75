package journal

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
)

// benchDir is on the disk that is to be measured, not on a memory filesystem.
func benchDir(b *testing.B) string {
	dir, err := os.MkdirTemp(os.Getenv("JOURNAL_BENCH_DIR"), "journal")
	must(b, err)
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// BenchmarkCommit measures an intent with a 12 KiB capture, alone and with
// others; syncs/op shows how many a commit took.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("%d", callers), func(b *testing.B) {
			cfg := Config{Dir: benchDir(b)}
			var syncs atomic.Int64
			cfg.Sync = func(f *os.File) error { syncs.Add(1); return fdatasync(f) }
			j, _, _ := reopen(b, cfg)
			defer j.Close()
			e := entry(1, 12<<10)
			b.SetParallelism(callers / 2)
			if callers == 1 {
				for b.Loop() {
					commit(b, j, e)
				}
			} else {
				b.RunParallel(func(p *testing.PB) {
					for p.Next() {
						if _, err := j.Commit(e); err != nil {
							b.Error(err)
						}
					}
				})
			}
			b.ReportMetric(float64(syncs.Load())/float64(b.N), "syncs/op")
		})
	}
}

// BenchmarkFloor is what one sync of as much costs without a journal.
func BenchmarkFloor(b *testing.B) {
	f, err := os.CreateTemp(benchDir(b), "floor")
	must(b, err)
	defer f.Close()
	data, off := make([]byte, 12<<10+200), int64(0)
	for b.Loop() {
		_, err := f.WriteAt(data, off)
		must(b, err)
		must(b, fdatasync(f))
		off += int64(len(data))
	}
}

// BenchmarkOpenMillion measures a start over a million small records.
func BenchmarkOpenMillion(b *testing.B) {
	cfg := Config{Dir: benchDir(b)}
	j, _, _ := reopen(b, cfg)
	for n := range 10_000 {
		entries := make([]Entry, 100)
		for i := range entries {
			entries[i] = Entry{Kind: "outcome", ID: "abcdefghijkmn", Content: map[string]any{
				"digest": make([]byte, 32), "person": "alice", "agent": n, "state": "landed", "why": "a sentence as long as most",
			}}
		}
		_, err := j.Append(entries...)
		must(b, err)
		if n%100 == 0 {
			must(b, j.Sync())
		}
	}
	must(b, j.Close())
	for b.Loop() {
		count := 0
		j, _, err := Open(cfg, func(Record) error { count++; return nil })
		must(b, err)
		if count != 1_000_000 {
			b.Fatal(count)
		}
		must(b, j.Close())
	}
}
