package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/stage"
	"countersign/internal/testas"
	"countersign/internal/wire/client"
	"countersign/tests/hands"
	"countersign/tests/lab"
)

// BenchmarkOneFile is a durable change of one file of 10 KiB, in one run on one
// filesystem: by a careful program (a new file, fsync, rename, fsync of the
// directory), by the scribe's hands alone, and on the whole road; with how many
// times each waits for the disk. It is made on the filesystem that was chosen
// and on an xfs of its own.
func BenchmarkOneFile(b *testing.B) {
	each(b, func(b *testing.B, base string) {
		l := startIn(b, base)
		defer stop(b, l)
		c := dial(b, l)
		defer c.Close()
		h, flushes := counted(b, filepath.Join(base, "alone"))
		home := l.Home("alice")
		var floor, alone, road []time.Duration
		for b.Loop() {
			content := fresh()
			floor = append(floor, timed(func() error { return carefully(filepath.Join(home, "floor.txt"), content) }, b))
			alone = append(alone, timed(func() error { return landAlone(h, hands.Write(h.Finder.Home+"/a.txt", string(content))) }, b))
			road = append(road, timed(func() error { return land(c, filepath.Join(home, "road.txt"), content) }, b))
		}
		b.ReportMetric(0, "ns/op")
		compare(b, "floor", floor, floor, 2)
		compare(b, "hands", alone, floor, float64(*flushes)/float64(len(alone)))
		compare(b, "road", road, floor, float64(*flushes)/float64(len(alone))+1) // and the intent's
	})
}

// BenchmarkThousandFiles is a change of a thousand files in one action, beside
// a careful program that changes as many, one after another.
func BenchmarkThousandFiles(b *testing.B) {
	const files = 1000
	each(b, func(b *testing.B, base string) {
		l := startIn(b, base)
		defer stop(b, l)
		c := dial(b, l)
		defer c.Close()
		h, flushes := counted(b, filepath.Join(base, "alone"))
		home := l.Home("alice")
		all := func(dir, content string) (changes []action.Change) {
			for i := range files {
				changes = append(changes, hands.Write(fmt.Sprintf("%s/%d.txt", dir, i), content))
			}
			return changes
		}
		var floor, alone, road []time.Duration
		for b.Loop() {
			content := rand.Text() + "\n"
			floor = append(floor, timed(func() (err error) {
				for i := 0; i < files && err == nil; i++ {
					err = carefully(fmt.Sprintf("%s/floor%d.txt", home, i), []byte(content))
				}
				return err
			}, b))
			alone = append(alone, timed(func() error { return landAlone(h, all(h.Finder.Home, content)...) }, b))
			road = append(road, timed(func() error { return landAll(c, all(home, content)) }, b))
		}
		b.ReportMetric(0, "ns/op")
		compare(b, "floor", floor, floor, 2*files)
		compare(b, "hands", alone, floor, float64(*flushes)/float64(len(alone)))
		compare(b, "road", road, floor, float64(*flushes)/float64(len(alone))+1)
	})
}

// each runs a benchmark on the filesystem that was chosen and on an xfs.
func each(b *testing.B, f func(b *testing.B, base string)) {
	testas.Root(b)
	b.Run("here", func(b *testing.B) { f(b, open(b, os.Getenv("COUNTERSIGN_BENCH_DIR"))) })
	b.Run("xfs", func(b *testing.B) {
		dir := open(b, "")
		lab.Filesystem(b, dir, 320, "mkfs.xfs", "-q")
		f(b, dir)
	})
}

// open makes a directory that everybody may walk through.
func open(b *testing.B, base string) string {
	dir, err := os.MkdirTemp(base, "bench")
	if err = errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func startIn(b *testing.B, base string) *lab.Lab {
	b.Helper()
	l, err := lab.New(lab.Config{Base: base})
	if err == nil {
		err = l.Up()
	}
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// counted gives hands on a home of their own, whose waits for the disk are
// counted.
func counted(b *testing.B, home string) (*hands.Hands, *int) {
	if err := os.Mkdir(home, 0o755); err != nil {
		b.Fatal(err)
	}
	n := new(int)
	return hands.New(home, func(c *stage.Config) {
		c.Sync = func(f *os.File) error {
			*n++
			return f.Sync()
		}
	}), n
}

func landAlone(h *hands.Hands, changes ...action.Change) error {
	out, err := h.Do(hands.Changes(changes...))
	if err == nil && out.Result != protocol.Landed {
		err = fmt.Errorf("it is %s: %v", out.Result, out.Refused)
	}
	return err
}

func landAll(c *client.Client, changes []action.Change) error {
	in := protocol.ActParams{Action: hands.Changes(changes...)}
	rand.Read(in.Nonce[:])
	var t protocol.Transaction
	err := c.Call(context.Background(), protocol.Act, in, &t)
	if err == nil && t.State != protocol.StateLanded {
		err = fmt.Errorf("it is %s: %v", t.State, t.Refusal)
	}
	return err
}

func compare(b *testing.B, who string, took, floor []time.Duration, flushes float64) {
	b.ReportMetric(ms(median(took)), who+"-p50-ms")
	b.ReportMetric(float64(median(took))/float64(median(floor)), who+"-x-floor")
	b.ReportMetric(flushes, who+"-flushes")
}
