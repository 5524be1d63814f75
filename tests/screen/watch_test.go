package screen

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/protocol"
	"countersign/tests/lab"
)

// watched is a `countersign watch` and the lines it writes.
type watched struct {
	t     *testing.T
	lines chan string
	end   func() int // interrupts it, and gives its exit code
}

func (w *world) watch(args ...string) *watched {
	w.t.Helper()
	c := w.Command(context.Background(), lab.Alice, append([]string{"watch"}, args...)...)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	got := &watched{t: w.t, lines: make(chan string, 100)}
	go func() {
		defer close(got.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadString('\n')
			if err == io.EOF {
				return
			}
			got.lines <- line
		}
	}()
	got.end = func() int {
		c.Process.Signal(syscall.SIGINT)
		for range got.lines { // to its end
		}
		c.Wait()
		return c.ProcessState.ExitCode()
	}
	return got
}

func (w *watched) next() string {
	w.t.Helper()
	select {
	case line := <-w.lines:
		return line
	case <-time.After(time.Minute):
		w.t.Fatal("nothing is told")
		return ""
	}
}

// O2: watch writes what waits, and then a line for each thing that happens, in a
// form for people and in one for programs, until it is interrupted.
func TestWatch(t *testing.T) {
	w := newWorld(t)
	path := w.script("a.sh", "a\n")
	first := w.propose(lab.Claude, path, "b\n", "never shown: \x1b[2J")
	lines, programs := w.watch(), w.watch("--json")
	next := func(tx protocol.Transaction, state protocol.State, words string) {
		t.Helper()
		line := lines.next()
		if !strings.Contains(line, string(tx.ID)+"  "+words+"  ") || strings.Contains(line, "never shown") {
			t.Errorf("%q, want %s %s", line, tx.ID, words)
		}
		var got protocol.Transaction
		if err := json.Unmarshal([]byte(programs.next()), &got); err != nil || got.ID != tx.ID || got.State != state {
			t.Errorf("%+v, %v, want %s %s", got, err, tx.ID, state)
		}
	}
	next(first, protocol.StateWaiting, "waiting")
	second := w.propose(lab.Other, w.script("b.sh", "a\n"), "b\n", "")
	next(second, protocol.StateWaiting, "waiting")
	if r := w.Run(lab.Alice, "", "approve", string(first.ID)+"@"+first.Prefix); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	next(first, protocol.StateLanded, "landed, approved by alice")
	if r := w.Run(lab.Alice, "", "deny", string(second.ID)); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	next(second, protocol.StateDenied, "denied by alice")
	for _, x := range []*watched{lines, programs} {
		if code := x.end(); code != 130 {
			t.Errorf("it ended with %d", code)
		}
	}
}

// T8: an agent is told nothing by watch.
func TestWatchIsForOwners(t *testing.T) {
	w := newWorld(t)
	if r := w.Run(lab.Claude, "", "watch"); r.Code != 3 || !strings.Contains(r.Stderr, "not-permitted") {
		t.Errorf("%+v", r)
	}
}
