// Package bench measures the whole road beside what the disk alone takes for
// the same, in one run on one filesystem, so that the ratio means something on
// any machine. It never fails on time.
//
// COUNTERSIGN_BENCH_DIR chooses the filesystem.
package bench

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"countersign/internal/action"
	"countersign/internal/testas"
	"countersign/internal/wire/client"
	"countersign/tests/lab"
)

func TestMain(m *testing.M) { os.Exit(lab.Main(m, nil)) }

const size = 10 << 10 // of a write, in bytes

// BenchmarkRoad is one agent's write of 10 KiB, from proposal to answer, on a
// kept connection; x-floor is how many times what a careful program needs
// that writes a file by itself: a new file, fsync, rename, fsync.
func BenchmarkRoad(b *testing.B) {
	l := start(b)
	defer stop(b, l)
	c := dial(b, l)
	defer c.Close()
	path, own := filepath.Join(l.Home("alice"), "road.txt"), filepath.Join(l.Home("alice"), "floor.txt")
	var road, floor []time.Duration
	for b.Loop() {
		content := fresh()
		floor = append(floor, timed(func() error { return carefully(own, content) }, b))
		road = append(road, timed(func() error { return land(c, path, content) }, b))
	}
	b.ReportMetric(0, "ns/op") // an iteration is both
	b.ReportMetric(ms(median(road)), "road-p50-ms")
	b.ReportMetric(ms(median(floor)), "floor-p50-ms")
	b.ReportMetric(float64(median(road))/float64(median(floor)), "x-floor")
}

// BenchmarkMany is 64 writes to 64 files, by 64 proposers at once and by one
// after another; x-one is how many times faster the many are together.
func BenchmarkMany(b *testing.B) {
	const many = 64
	l := start(b)
	defer stop(b, l)
	var clients []*client.Client
	for range many {
		c := dial(b, l)
		defer c.Close()
		clients = append(clients, c)
	}
	path := func(i int) string { return filepath.Join(l.Home("alice"), fmt.Sprintf("%d.txt", i)) }
	var together, alone []time.Duration
	for b.Loop() {
		content := fresh()
		alone = append(alone, timed(func() error {
			for i := range many {
				if err := land(clients[0], path(i), content); err != nil {
					return err
				}
			}
			return nil
		}, b))
		content = fresh()
		together = append(together, timed(func() error {
			errs := make([]error, many)
			var wait sync.WaitGroup
			for i, c := range clients {
				wait.Go(func() { errs[i] = land(c, path(i), content) })
			}
			wait.Wait()
			for _, err := range errs {
				if err != nil {
					return err
				}
			}
			return nil
		}, b))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(many/median(alone).Seconds(), "one-writes/s")
	b.ReportMetric(many/median(together).Seconds(), "many-writes/s")
	b.ReportMetric(float64(median(alone))/float64(median(together)), "x-one")
}

func start(b *testing.B) *lab.Lab {
	b.Helper()
	testas.Root(b)
	return startIn(b, os.Getenv("COUNTERSIGN_BENCH_DIR"))
}

func stop(b *testing.B, l *lab.Lab) {
	b.Helper()
	if err := l.Close(); err != nil {
		b.Error(err)
	}
}

func dial(b *testing.B, l *lab.Lab) *client.Client {
	b.Helper()
	c, err := l.Dial(lab.Claude, "keeper/act")
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// fresh is content that no vault has yet, one line of it text as good as any.
func fresh() []byte {
	return bytes.Repeat([]byte(rand.Text()+"\n"), size/27+1)[:size]
}

func timed(f func() error, b *testing.B) time.Duration {
	b.Helper()
	begin := time.Now()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}

func land(c *client.Client, path string, content []byte) error {
	return landAll(c, []action.Change{{Path: action.Path(path), Write: &action.Write{Content: content}}})
}

// carefully is what every editor that cares does.
func carefully(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "floor-")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

func median(of []time.Duration) time.Duration {
	slices.Sort(of)
	return of[len(of)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
