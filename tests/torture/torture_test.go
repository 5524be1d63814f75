// Package torture lets programs of every habit save a file while an agent edits
// it, and counts what they lose: a save that is not there any more, was not
// overtaken by a later one of theirs, and was not handed over either.
//
// COUNTERSIGN_TORTURE, a duration, is how long each pair of habit and way of
// editing goes on.
package torture

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"countersign/internal/testas"
)

// tally is what became of one pair.
type tally struct {
	saves  int // by the owner
	landed int // edits by the agent
	hidden int // saves that were not there for an instant, between exchange and taking back
	handed int // saves that the answer handed over
	lost   int // saves that are gone and nobody said so
	half   int // edits that landed on half a save
	torn   int // reads that saw half a file, where nobody writes in place
	left   []string
}

// S14, S27: whatever the habit of the program that saves beside an agent, no
// save of its is lost unreported, no edit lands on half a save, no reader sees
// half a file, and nothing of ours is left. The table has the two other ways
// beside it.
func TestNothingIsLost(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	each, err := time.ParseDuration(os.Getenv("COUNTERSIGN_TORTURE"))
	if err != nil {
		each = 500 * time.Millisecond
	}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "habit of the one who saves\tthe edit's way\tsaves\tedits\thidden an instant\thanded over\tlost")
	for _, h := range habits() {
		dir := t.TempDir()
		for i, way := range ways(dir) {
			got := race(t, filepath.Join(dir, fmt.Sprint(i)), h, way, each)
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\n", h.name, way.name, got.saves, got.landed, got.hidden, got.handed, got.lost)
			if way.name != "as it is" {
				continue
			}
			if got.lost+got.half+got.torn+len(got.left) > 0 {
				t.Errorf("%s: %+v", h.name, got)
			}
		}
	}
	w.Flush()
	t.Logf("%v each:\n%s", each, table.String())
}

// contest is a pair under way.
type contest struct {
	habit
	way
	path string
	stop atomic.Bool
	busy sync.RWMutex // held by the agent while it edits, so that the owner can wait for its answer

	mu       sync.Mutex
	reported [][]byte
}

func race(t *testing.T, dir string, h habit, way way, each time.Duration) (got tally) {
	t.Helper()
	c := &contest{habit: h, way: way, path: filepath.Join(dir, "f")}
	content := text(0)
	if h.appends {
		content = []byte("agent 0\n")
	}
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(c.path, content, 0o644), os.Chdir(dir)); err != nil {
		t.Fatal(err)
	}
	var agent, reader tally
	var wait sync.WaitGroup
	wait.Go(func() { agent = c.edits(t) })
	if !h.inPlace && !h.appends {
		wait.Go(func() { reader.torn = c.reads(t) })
	}
	got = c.saves(t, time.Now().Add(each))
	c.stop.Store(true)
	wait.Wait()
	got.landed, got.half, got.torn = agent.landed, agent.half, reader.torn
	if h.appends {
		got.lost, got.handed = c.missing(t, got.saves)
	}
	got.left = c.leftovers(dir)
	return got
}

// saves is the owner, who saves one number after another and looks whether it
// is there.
func (c *contest) saves(t *testing.T, until time.Time) (got tally) {
	const few = 5 // however slow the machine is
	for n := 1; n <= few || time.Now().Before(until) || c.appends && n%50 != 1; n++ {
		if err := c.save(c.path, n); err != nil {
			t.Errorf("%s: %v", c.habit.name, err)
			return got
		}
		got.saves = n
		if !c.appends && c.stands() < n {
			got.hidden++
			c.busy.RLock() // once the agent has its answer
			there, handed := c.stands() >= n, c.handedOver(n)
			c.busy.RUnlock()
			switch {
			case there:
			case handed:
				got.handed++
			default:
				got.lost++
			}
		}
		time.Sleep(time.Duration(n%7) * 60 * time.Microsecond)
	}
	return got
}

// stands gives the number that stands at the name; -1 where that cannot be
// said.
func (c *contest) stands() int {
	b, err := os.ReadFile(c.path)
	if err != nil {
		return -1
	}
	n, _ := number(b)
	return n
}

func (c *contest) handedOver(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.reported {
		if got, _ := number(b); got == n {
			return true
		}
	}
	return false
}

// edits is the agent.
func (c *contest) edits(t *testing.T) (got tally) {
	for !c.stop.Load() {
		c.busy.Lock()
		e, err := c.edit(c.path)
		if err != nil && strings.Contains(err.Error(), "[unexpected]") {
			t.Error(err)
		}
		c.mu.Lock()
		c.reported = append(c.reported, e.reported...)
		c.mu.Unlock()
		c.busy.Unlock()
		if !e.landed {
			time.Sleep(50 * time.Microsecond)
			continue
		}
		got.landed++
		if _, whole := number(e.base); !whole && !c.appends {
			got.half++
		}
	}
	return got
}

// reads is somebody who reads all the time, and counts halves.
func (c *contest) reads(t *testing.T) (torn int) {
	for !c.stop.Load() {
		b, err := os.ReadFile(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.habit.name, err)
			return torn
		}
		if _, whole := number(b); !whole {
			torn++
		}
	}
	return torn
}

// missing counts the lines of a log that are not in it, and those that were
// handed over.
func (c *contest) missing(t *testing.T, saves int) (lost, handed int) {
	final, err := os.ReadFile(c.path)
	if err != nil {
		t.Error(err)
	}
	for n := 1; n <= saves; n++ {
		entry := fmt.Appendf(nil, "entry %d\n", n)
		in := func(b []byte) bool { return bytes.Contains(b, entry) }
		if in(final) {
			continue
		}
		lost++
		for _, b := range c.reported {
			if in(b) {
				lost, handed = lost-1, handed+1
				break
			}
		}
	}
	return lost, handed
}

// leftovers lists what is beside the file and is not the owner's.
func (c *contest) leftovers(dir string) (names []string) {
	fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if path != "." && path != "f" && !(c.keeps && path == "f~") {
			names = append(names, path)
		}
		return err
	})
	return names
}
