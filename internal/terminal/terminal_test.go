package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"countersign/internal/testas"
)

// glass is the person's side of a terminal: what is shown on it, and a hand.
type glass struct {
	t          *testing.T
	hand, prog *os.File

	mu    sync.Mutex
	shown strings.Builder
}

func newGlass(t *testing.T, width, height uint16) *glass {
	hand, prog := testas.Terminal(t)
	g := &glass{t: t, hand: hand, prog: prog}
	if err := unix.IoctlSetWinsize(int(hand.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}); err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := hand.Read(buf)
			g.mu.Lock()
			g.shown.Write(buf[:n])
			g.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return g
}

func (g *glass) text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shown.String()
}

func (g *glass) types(s string) {
	g.t.Helper()
	if _, err := g.hand.WriteString(s); err != nil {
		g.t.Fatal(err)
	}
}

func (g *glass) open(ctx context.Context) *Terminal {
	g.t.Helper()
	term, err := Open(ctx, g.prog, g.prog, true)
	if err != nil {
		g.t.Fatal(err)
	}
	return term
}

// next gives the next event, or none where none comes soon.
func next(t *Terminal) (Event, bool) {
	select {
	case e := <-t.Events():
		return e, true
	case <-time.After(500 * time.Millisecond):
		return Event{}, false
	}
}

func answer(row, column int) string { return fmt.Sprintf("\x1b[%d;%dR", row, column) }

// O4: a drawing stands once the terminal has answered for its far corner and
// for the drawing's own place, in that order, and not before; a smaller terminal,
// and the answer to an earlier drawing, are no such answer.
func TestDrawnWhenAnswered(t *testing.T) {
	g := newGlass(t, 80, 24)
	term := g.open(t.Context())
	defer term.Close()
	own := func(n int) int { return 2 + n%places }
	draw := func() int {
		n, err := term.Draw([]Row{{{Text: "x"}}}, true)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, c := range map[string]struct {
		answer func(n int) string
		drawn  bool
	}{
		"no answer":              {func(int) string { return "" }, false},
		"half of it":             {func(int) string { return answer(24, 80) }, false},
		"the other half":         {func(n int) string { return answer(24, own(n)) }, false},
		"the wrong way round":    {func(n int) string { return answer(24, own(n)) + answer(24, 80) }, false},
		"narrower":               {func(n int) string { return answer(24, 79) + answer(24, own(n)) }, false},
		"lower":                  {func(n int) string { return answer(23, 80) + answer(23, own(n)) }, false},
		"of an earlier drawing":  {func(n int) string { return answer(24, 80) + answer(24, own(n-1)) }, false},
		"both":                   {func(n int) string { return answer(24, 80) + answer(24, own(n)) }, true},
		"behind an earlier one":  {func(n int) string { return answer(24, 80) + answer(24, own(n-1)) + answer(24, 80) + answer(24, own(n)) }, true},
		"with a key that is F3":  {func(n int) string { return answer(1, 2) + answer(24, 80) + answer(24, own(n)) }, true},
		"in pieces, and no more": {func(n int) string { return answer(24, 80) + answer(24, own(n)) + answer(24, 80) + answer(24, own(n)) }, true},
	} {
		n := draw()
		g.types(c.answer(n))
		e, came := next(term)
		if came != c.drawn || came && e != (Event{Drawn: n}) {
			t.Errorf("%s: %+v, %v", name, e, came)
		}
	}
}

// O4: keys come in line with what the terminal answers, so that one that was
// typed ahead comes before.
func TestKeysBeforeAndBehind(t *testing.T) {
	g := newGlass(t, 80, 24)
	term := g.open(t.Context())
	defer term.Close()
	n, err := term.Draw(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	g.types("A" + answer(24, 80) + answer(24, 2+n%places) + "A")
	for i, want := range []Event{{Key: Rune, Rune: 'A'}, {Drawn: n}, {Key: Rune, Rune: 'A'}} {
		if e, _ := next(term); e != want {
			t.Errorf("event %d is %+v", i, e)
		}
	}
}

// O4: what was typed before a terminal was taken over is not read, and what is
// typed behind the last key that was wanted is left to nobody.
func TestTypedBeforeAndAfter(t *testing.T) {
	g := newGlass(t, 80, 24)
	raw, err := term.MakeRaw(int(g.prog.Fd())) // so that what is typed would be there at once
	if err != nil {
		t.Fatal(err)
	}
	g.types("AAA")
	time.Sleep(50 * time.Millisecond)
	mine := g.open(t.Context())
	if e, came := next(mine); came {
		t.Errorf("typed before, and it came: %+v", e)
	}
	mine.stop()
	<-mine.done
	g.types("rm -rf /\n")
	time.Sleep(50 * time.Millisecond)
	if err := mine.Close(); err != nil {
		t.Fatal(err)
	}
	ready := []unix.PollFd{{Fd: int32(g.prog.Fd()), Events: unix.POLLIN}}
	if n, err := unix.Poll(ready, 100); n != 0 || err != nil {
		t.Errorf("%d, %v: what was typed at the end is left for the next reader", n, err)
	}
	term.Restore(int(g.prog.Fd()), raw)
}

// O8: a terminal is given back as it was: its modes, its wrapping, its cursor,
// its own buffer.
func TestGivenBack(t *testing.T) {
	g := newGlass(t, 80, 24)
	before, err := unix.IoctlGetTermios(int(g.prog.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	term := g.open(t.Context())
	if during, _ := unix.IoctlGetTermios(int(g.prog.Fd()), unix.TCGETS); *during == *before {
		t.Error("the terminal was not taken over")
	}
	if err := term.Close(); err != nil {
		t.Fatal(err)
	}
	if after, _ := unix.IoctlGetTermios(int(g.prog.Fd()), unix.TCGETS); *after != *before {
		t.Errorf("%+v, and it was %+v", after, before)
	}
	for range 100 {
		if strings.HasSuffix(g.text(), leave) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("it ends in %q", g.text())
}

// O4: after a stop and a change of size everything is to be drawn anew.
func TestResized(t *testing.T) {
	g := newGlass(t, 80, 24)
	term := g.open(t.Context())
	defer term.Close()
	for _, s := range []syscall.Signal{unix.SIGWINCH, unix.SIGCONT} {
		if err := unix.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		if e, _ := next(term); !e.Resized {
			t.Errorf("%v: %+v", s, e)
		}
	}
	if err := unix.IoctlSetWinsize(int(g.hand.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 10, Col: 40}); err != nil {
		t.Fatal(err)
	}
	if w, h := term.Size(); w != 40 || h != 10 {
		t.Errorf("%d x %d", w, h)
	}
}

// O4: the end of a terminal is an error, and the last event.
func TestEnd(t *testing.T) {
	g := newGlass(t, 80, 24)
	term := g.open(t.Context())
	g.hand.Close()
	g.prog.WriteString("x") // so that the reader at the other end comes to see it
	if e, came := next(term); !came || e.Err == nil {
		t.Errorf("%+v, %v", e, came)
	}
	term.Close()
}

// O4: an agent's process that a terminal controls is found, by any of its uids;
// another's, and one on another terminal, are not.
func TestCompanions(t *testing.T) {
	testas.Root(t)
	const agent = 61211
	g, elsewhere := newGlass(t, 80, 24), newGlass(t, 80, 24)
	is := func(uid uint32) bool { return uid == agent }
	run := func(on *glass, uid uint32) *exec.Cmd {
		c := exec.Command("sleep", "60")
		c.Stdin = on.prog
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0, Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	end := func(c *exec.Cmd) { c.Process.Kill(); c.Wait() }
	for name, c := range map[string]struct {
		on    *glass
		uid   uint32
		there bool
	}{"an agent": {g, agent, true}, "a person": {g, 61201, false}, "an agent elsewhere": {elsewhere, agent, false}} {
		p := run(c.on, c.uid)
		found, hidden, err := Companions(g.prog, is)
		end(p)
		if err != nil || hidden || (len(found) == 1) != c.there {
			t.Errorf("%s: %+v, %v, %v", name, found, hidden, err)
		}
		if c.there && len(found) == 1 && (found[0].PID != p.Process.Pid || found[0].UID != agent || found[0].Name != "sleep") {
			t.Errorf("%s: %+v", name, found)
		}
	}
	if found, _, err := Companions(g.prog, is); err != nil || len(found) != 0 {
		t.Errorf("nobody: %+v, %v", found, err)
	}
}

// O4: a name cannot pass for other fields of a process, one that ends meanwhile
// or has ended is passed over, and where others' processes are hidden that is
// said.
func TestCompanionsOfAList(t *testing.T) {
	g := newGlass(t, 80, 24)
	var st unix.Stat_t
	if err := unix.Fstat(int(g.prog.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(pid, name string, tty int, uids string) {
		d := filepath.Join(dir, pid)
		state := "S"
		if name == "ended" {
			state = "Z"
		}
		stat := fmt.Sprintf("%s (%s) %s 1 1 1 %d 1 0\n", pid, name, state, tty)
		status := "Name:\tx\nUid:\t" + uids + "\nGid:\t0\t0\t0\t0\n"
		if err := errors.Join(os.MkdirAll(d, 0o755), os.WriteFile(d+"/stat", []byte(stat), 0o644), os.WriteFile(d+"/status", []byte(status), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if _, hidden, err := companions(dir, g.prog, func(uint32) bool { return true }); err != nil || !hidden {
		t.Errorf("nothing is to be seen, and that is not said: %v, %v", hidden, err)
	}
	here := ttyNumber(st.Rdev)
	put("1", "init", 0, "0\t0\t0\t0")
	put("10", "a) S 1 1 1 0 (b", here, "7\t7\t7\t7")
	put("11", "saved", here, "5\t5\t7\t5")
	put("12", "another", here, "8\t8\t8\t8")
	put("13", fmt.Sprintf("x) S 1 1 1 %d", here), 0, "7\t7\t7\t7")
	put("15", "ended", here, "7\t7\t7\t7")
	if err := os.Mkdir(filepath.Join(dir, "14"), 0o755); err != nil {
		t.Fatal(err)
	}
	found, hidden, err := companions(dir, g.prog, func(uid uint32) bool { return uid == 7 })
	if err != nil || hidden || len(found) != 2 || found[0].PID != 10 || found[1].PID != 11 {
		t.Errorf("%+v, %v", found, err)
	}
}
