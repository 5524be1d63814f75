package road

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/tests/lab"
)

// S27: a program of the person's that reads a file of two thousand lines all
// the time, during hundreds of edits, sees one edit's whole text or another's.
func TestReaderBesideTheRoad(t *testing.T) {
	const edits, lines = 200, 2000
	w := start(t)
	text := func(i int) string { return strings.Repeat(fmt.Sprintf("edit %03d\n", i), lines) }
	path := w.put("a.txt", text(0), 0o644)
	var stop atomic.Bool
	reads := make(chan int)
	go func() {
		n := 0
		for ; !stop.Load(); n++ {
			b, err := os.ReadFile(path)
			if err != nil || len(b) != len(text(0)) || bytes.Count(b, b[:len("edit 000\n")]) != lines {
				t.Errorf("read %d bytes, %v", len(b), err)
				break
			}
		}
		reads <- n
	}()
	for i := range edits {
		a := swap(path, fmt.Sprintf("edit %03d\n", i), fmt.Sprintf("edit %03d\n", i+1))
		a.FileWrite.Changes[0].Edit.Edits[0].Count = lines
		w.propose(lab.Claude, a, protocol.StateLanded)
	}
	stop.Store(true)
	if n := <-reads; n < edits {
		t.Errorf("%d reads during %d edits", n, edits)
	}
	w.holds(path, text(edits))
}

// S15: beside a program that saves a file every millisecond, an edit is refused
// at its third attempt, or earlier by a read that finds the file being saved,
// with nothing written.
func TestWriterEveryMillisecond(t *testing.T) {
	w := start(t)
	path := w.put("a.txt", "agent\n0\n", 0o644)
	w.slowly() // so that the writer never rests for as long as the scribe takes
	var stop atomic.Bool
	wrote := make(chan int)
	go func() {
		n := 0
		for !stop.Load() {
			n++
			err := lab.As(lab.Alice, func() error {
				err := os.WriteFile(path+".save", fmt.Appendf(nil, "agent\n%d\n", n), 0o644)
				return errors.Join(err, os.Rename(path+".save", path))
			})
			if err != nil {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
		}
		wrote <- n
	}()
	third := false
	for try := 0; try < 200 && !third; try++ {
		tx, err := w.act(lab.Claude, swap(path, "agent", "the agent"))
		if refusal.Is(err, refusal.Changed) {
			continue // the first read found it being saved
		}
		r := tx.Refusal
		if r == nil && tx.Outcome != nil {
			r = tx.Outcome.Refused
		}
		if err != nil || tx.State == protocol.StateLanded || r == nil || r.Code != refusal.Changed || tx.Stale > 2 {
			t.Errorf("it is %s, previewed again %d times: %v, %v, %+v", tx.State, tx.Stale, err, r, tx.Outcome)
			break
		}
		third = tx.Stale == 2 // or already the next read refused it
	}
	stop.Store(true)
	last := fmt.Sprintf("agent\n%d\n", <-wrote)
	if !third {
		t.Error("no edit came to its third attempt")
	}
	w.holds(path, last)
	w.clean()
}

// asAlice prepares a program that alice runs in her home.
func (w *world) asAlice(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = w.Home("alice")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: lab.Alice, Gid: lab.Alice}}
	return c
}

// S9: a script that was edited still runs, as its person.
func TestEditedScriptRuns(t *testing.T) {
	w := start(t)
	path := w.put("run.sh", "#!/bin/sh\necho before\n", 0o755)
	w.approve(w.propose(lab.Claude, swap(path, "before", "after"), protocol.StateWaiting))
	if out, err := w.asAlice(path).CombinedOutput(); err != nil || string(out) != "after\n" {
		t.Errorf("it says %q, %v", out, err)
	}
}

// S6, S9: with a person's umask of 002, a new file is 0664 and a directory made
// for it 0775, as that person's shell makes them.
func TestUmaskOfThePerson(t *testing.T) {
	w := build(t, lab.Config{})
	w.must(w.UpWithPolicy(strings.Replace(w.Policy("[filesystem]\nsnapshot_roots = [\"~\"]\n"), "[persons.alice]\n", "[persons.alice]\numask = \"002\"\n", 1)))
	w.propose(lab.Claude, write(w.alice("new/a.txt"), "x\n"), protocol.StateLanded)
	w.must(w.asAlice("sh", "-c", "umask 002; mkdir shell; : >shell/a.txt").Run())
	for _, name := range []string{"", "/a.txt"} {
		var ours, theirs unix.Stat_t
		w.must(unix.Stat(w.alice("new"+name), &ours))
		w.must(unix.Stat(w.alice("shell"+name), &theirs))
		if ours.Mode != theirs.Mode || ours.Uid != theirs.Uid || ours.Gid != theirs.Gid {
			t.Errorf("%q: %o %d:%d, and a shell makes %o %d:%d", name, ours.Mode, ours.Uid, ours.Gid, theirs.Mode, theirs.Uid, theirs.Gid)
		}
	}
}

// S18, S28: a thousand files of one action that policy lands alone change
// together, and the answer says what became of each.
func TestThousandFilesByPolicy(t *testing.T) {
	const files = 1000
	w := start(t)
	path := func(i int) string { return w.alice(fmt.Sprintf("many/%03d.txt", i)) }
	var all action.FileWrite
	for i := range files {
		w.put(fmt.Sprintf("many/%03d.txt", i), "zero\n", 0o644)
		all.Changes = append(all.Changes, swap(path(i), "zero", "one").FileWrite.Changes...)
	}
	tx := w.propose(lab.Claude, action.Action{FileWrite: &all}, protocol.StateLanded)
	for i := range files {
		w.holds(path(i), "one\n")
	}
	w.clean()
	if n := len(tx.Outcome.Changes); n != files || tx.Outcome.More != 0 {
		t.Fatalf("the answer tells of %d files, and leaves out %d", n, tx.Outcome.More)
	}
	for i, c := range tx.Outcome.Changes {
		same := c.Cut || c.Version != nil && c.Version.Hash == action.HashOf([]byte("one\n"))
		if c.Path != action.Path(path(i)) || c.Did != protocol.Replaced || !same {
			t.Fatalf("file %d: %+v", i, c)
		}
	}
}
