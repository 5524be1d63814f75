package road

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/tests/lab"
)

// changes makes one action of several changes.
func changes(all ...action.Change) action.Action {
	return action.Action{FileWrite: &action.FileWrite{Changes: all}}
}

func writes(path, content string) action.Change {
	return action.Change{Path: action.Path(path), Write: &action.Write{Content: []byte(content)}}
}

func edits(path, from, to string) action.Change {
	return action.Change{Path: action.Path(path), Edit: &action.Edit{Edits: []action.Replacement{{Old: []byte(from), New: []byte(to)}}}}
}

func deletes(path string) action.Change {
	return action.Change{Path: action.Path(path), Delete: &action.Delete{}}
}

// whole gives a transaction as its owner is shown it.
func (w *world) whole(id action.ID) (s protocol.ShowResult) {
	w.t.Helper()
	w.must(w.call(lab.Alice, "keeper/consent", protocol.Show, protocol.IDParams{ID: id}, &s))
	return s
}

// preview asks for the undo of a transaction, which must wait.
func (w *world) preview(id action.ID) (t protocol.Transaction) {
	w.t.Helper()
	w.must(w.call(lab.Alice, "keeper/consent", protocol.Undo, protocol.UndoParams{ID: id}, &t))
	if t.State != protocol.StateWaiting {
		w.t.Fatalf("the undo of %s is %s: %v", id, t.State, t.Refusal)
	}
	return t
}

// carry carries a previewed undo out, whatever comes of it.
func (w *world) carry(id action.ID, preview protocol.Transaction) (t protocol.Transaction) {
	w.t.Helper()
	w.patiently(func() error {
		return w.call(lab.Alice, "keeper/consent", protocol.Undo, protocol.UndoParams{ID: id, Prefix: preview.Prefix}, &t)
	})
	return t
}

// patiently calls again what is refused as busy: files are held for a second at
// most, and a machine that runs other tests may need longer for very many.
func (w *world) patiently(call func() error) {
	w.t.Helper()
	const tries = 20
	for try := 1; ; try++ {
		err := call()
		if try == tries || !refusal.Is(err, refusal.Busy) {
			w.must(err)
			return
		}
	}
}

// lands proposes what policy lands, patiently.
func (w *world) lands(a action.Action) (t protocol.Transaction) {
	w.t.Helper()
	w.patiently(func() (err error) {
		if t, err = w.act(lab.Claude, a); err == nil && t.Refusal != nil {
			err = t.Refusal
		}
		return err
	})
	if t.State != protocol.StateLanded {
		w.t.Fatalf("it is %s: %+v", t.State, t.Outcome)
	}
	return t
}

// gone says that nothing stands at a path.
func (w *world) gone(paths ...string) {
	w.t.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			w.t.Fatalf("%s is still there: %v", path, err)
		}
	}
}

// did holds an answer to what became of each path.
func (w *world) did(t protocol.Transaction, want ...protocol.Did) {
	w.t.Helper()
	if t.Outcome == nil || len(t.Outcome.Changes) != len(want) {
		w.t.Fatalf("%s, with the outcome %+v", t.State, t.Outcome)
	}
	for i, c := range t.Outcome.Changes {
		if c.Did != want[i] {
			w.t.Errorf("%s was %s, want %s", c.Path, c.Did, want[i])
		}
	}
}

// S1, S18, T12: an edit, a deletion, a program and a new file beneath new
// directories are one action: asked in one prompt, landed as one, told path by
// path with what changed, and taken back as one, directories too.
func TestSeveralFilesAreOneAction(t *testing.T) {
	w := start(t)
	a := w.put("a.txt", "one\ntwo\nthree\n", 0o640)
	gone := w.put("old/gone.txt", "precious\n", 0o600)
	run := w.put("run.sh", "#!/bin/sh\necho one\n", 0o755)
	fresh := w.alice("new/deep/b.txt")
	tx := w.propose(lab.Claude, changes(edits(a, "two", "2"), deletes(gone), edits(run, "echo one", "echo 1"), writes(fresh, "b\n")), protocol.StateWaiting)
	if d := w.whole(tx.ID).Detail; d == nil || len(d.Changes) != 4 || tx.Prefix == "" {
		t.Fatalf("one prompt should show all of it: %+v", d)
	}
	w.holds(a, "one\ntwo\nthree\n")
	w.gone(fresh, w.alice("new"))
	done, err := w.decide(lab.Alice, tx)
	w.must(err)
	w.did(done, protocol.Replaced, protocol.Deleted, protocol.Replaced, protocol.Created)
	if len(done.Regions) != 2 || done.Regions[0].From != 1 || done.Regions[0].Text != "one\n2\nthree\n" {
		t.Errorf("the regions: %+v", done.Regions)
	}
	w.holds(a, "one\n2\nthree\n")
	w.holds(run, "#!/bin/sh\necho 1\n")
	w.holds(fresh, "b\n")
	w.gone(gone)
	w.clean()
	back := w.carry(tx.ID, w.preview(tx.ID))
	w.did(back, protocol.Replaced, protocol.Created, protocol.Replaced, protocol.Deleted)
	w.holds(a, "one\ntwo\nthree\n")
	w.holds(gone, "precious\n")
	w.holds(run, "#!/bin/sh\necho one\n")
	w.gone(fresh, w.alice("new"))
	for path, want := range map[string]fs.FileMode{a: 0o640, gone: 0o600, run: 0o755} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	w.clean()
	// The undo is an action like any other: taken back, all of it stands again.
	w.undo(back.ID)
	w.holds(fresh, "b\n")
	w.gone(gone)
	w.undo(tx.ID)
	w.gone(fresh, w.alice("new"))
	w.holds(gone, "precious\n")
}

// S18: an action of three files whose third cannot be done changes none: not
// where planning refuses it, not where disk does once the others are staged.
func TestThirdFailsNoneChange(t *testing.T) {
	w := start(t)
	a, b, c := w.put("a.txt", "one\n", 0o644), w.put("b.txt", "one\n", 0o644), w.put("c/c.txt", "one\n", 0o644)
	all := func() {
		t.Helper()
		for _, path := range []string{a, b, c} {
			w.holds(path, "one\n")
		}
		w.clean()
	}
	tx := w.propose(lab.Claude, changes(edits(a, "one", "1"), edits(b, "one", "1"), edits(c, "two", "2")), protocol.StateRefused)
	if tx.Refusal.Code != refusal.NoMatch {
		t.Errorf("refused with %v", tx.Refusal)
	}
	all()
	w.must(os.Chmod(filepath.Dir(c), 0o555))
	tx = w.propose(lab.Claude, changes(edits(a, "one", "1"), writes(w.alice("new/n.txt"), "n\n"), edits(c, "one", "1")), protocol.StateNotLanded)
	if tx.Outcome.Refused.Code != refusal.NotWritable {
		t.Errorf("refused with %v", tx.Outcome.Refused)
	}
	all()
	w.gone(w.alice("new"))
	// And once more with the third in use by a program, which is noticed when the
	// others are staged already.
	w.must(os.Chmod(filepath.Dir(c), 0o755))
	busy := w.open(c, os.O_RDWR)
	defer busy.Close()
	tx = w.propose(lab.Claude, changes(edits(a, "one", "1"), writes(w.alice("new/n.txt"), "n\n"), edits(c, "one", "1")), protocol.StateRefused)
	if tx.Refusal.Code != refusal.InUse {
		t.Errorf("refused with %v", tx.Refusal)
	}
	all()
	w.gone(w.alice("new"))
}

// S15, T7: a file that a program has open for writing is tried again, and never
// replaced under it: what policy lands is refused by name, what an owner approved
// waits again, with its prefix, and lands once the program has closed it.
func TestInUse(t *testing.T) {
	w := start(t)
	a, run := w.put("a.txt", "one\n", 0o644), w.put("run.sh", "one\n", 0o755)
	busy := w.open(a, os.O_WRONLY|os.O_APPEND)
	tx := w.propose(lab.Claude, swap(a, "one", "two"), protocol.StateRefused)
	if tx.Refusal.Code != refusal.InUse || tx.Refusal.Again != refusal.Retry || tx.Stale != 2 {
		t.Errorf("read again %d times, refused with %v", tx.Stale, tx.Refusal)
	}
	_, err := busy.WriteString("the program's\n")
	w.must(err)
	busy.Close()
	w.holds(a, "one\nthe program's\n")
	w.propose(lab.Claude, swap(a, "one", "two"), protocol.StateLanded)
	w.holds(a, "two\nthe program's\n")

	busy = w.open(run, os.O_RDWR)
	tx = w.propose(lab.Claude, swap(run, "one", "two"), protocol.StateWaiting)
	again, err := w.decide(lab.Alice, tx)
	if !refusal.Is(err, refusal.InUse) {
		t.Errorf("approving: %v, %s", err, again.State)
	}
	w.holds(run, "one\n")
	if now := w.show(lab.Alice, "keeper/consent", tx.ID); now.State != protocol.StateWaiting || now.Prefix != tx.Prefix || now.Stale != 1 {
		t.Errorf("it is %s under %s, read again %d times", now.State, now.Prefix, now.Stale)
	}
	busy.Close()
	w.approve(tx)
	w.holds(run, "two\n")
	w.clean()
}

// S5: two paths that reach one file are refused in one change, whatever makes
// them reach it, and so is a file with a path beneath it.
func TestSamePlaceTwice(t *testing.T) {
	w := following(t)
	a := w.put("a.txt", "one\n", 0o644)
	hard, soft, way := w.alice("hard.txt"), w.alice("soft.txt"), w.alice("way")
	w.must(os.Link(a, hard))
	w.must(os.Symlink("a.txt", soft))
	w.must(os.Symlink(".", way))
	for name, other := range map[string]string{"a hard link": hard, "a link": soft, "a way through a link": way + "/a.txt"} {
		tx := w.propose(lab.Claude, changes(writes(a, "two\n"), writes(other, "three\n")), protocol.StateRefused)
		if tx.Refusal.Code != refusal.SamePlace {
			t.Errorf("%s: %v", name, tx.Refusal)
		}
		w.holds(a, "one\n")
	}
	fresh := w.alice("x")
	tx := w.propose(lab.Claude, changes(writes(fresh, "a file\n"), writes(fresh+"/y", "beneath it\n")), protocol.StateRefused)
	if tx.Refusal.Code != refusal.SamePlace {
		t.Errorf("a file and a directory: %v", tx.Refusal)
	}
	w.gone(fresh)
}

// S20: a file with another name gets one of its own, and the answer says how
// many names keep the old text, after the prompt did.
func TestOtherNamesAreSaid(t *testing.T) {
	w := start(t)
	run, hard := w.put("run.sh", "one\n", 0o755), w.alice("hard.sh")
	w.must(os.Link(run, hard))
	tx := w.propose(lab.Claude, swap(run, "one", "two"), protocol.StateWaiting)
	if e := fmt.Sprint(w.whole(tx.ID).Detail.Changes[0].Effects); !strings.Contains(e, "1 other names keep the old content") {
		t.Errorf("the prompt says %s", e)
	}
	done, err := w.decide(lab.Alice, tx)
	w.must(err)
	if done.Outcome.Changes[0].Links != 1 {
		t.Errorf("the answer: %+v", done.Outcome)
	}
	w.holds(run, "two\n")
	w.holds(hard, "one\n")
}

// S6, T12: directories that a change made go again with its undo as far as they
// are empty, and stay with what somebody has put there since.
func TestMadeDirectories(t *testing.T) {
	w := start(t)
	one, two := w.alice("d/e/one.txt"), w.alice("d/two.txt")
	tx := w.propose(lab.Claude, changes(writes(one, "1\n"), writes(two, "2\n")), protocol.StateLanded)
	for dir, want := range map[string]fs.FileMode{w.alice("d"): 0o755, w.alice("d/e"): 0o755} {
		info, err := os.Stat(dir)
		w.must(err)
		if st := info.Sys().(*syscall.Stat_t); info.Mode().Perm() != want || st.Uid != lab.Alice {
			t.Errorf("%s: %v of uid %d", dir, info.Mode(), st.Uid)
		}
	}
	back := w.preview(tx.ID)
	if e := fmt.Sprint(w.whole(back.ID).Detail.Changes[0].Effects); !strings.Contains(e, "2 directories above it") {
		t.Errorf("the undo's prompt says %s", e)
	}
	w.carry(tx.ID, back)
	w.gone(w.alice("d"))
	w.undo(back.ID) // and back
	w.holds(one, "1\n")
	mine := w.put("d/mine.txt", "mine\n", 0o644)
	w.undo(tx.ID)
	w.gone(w.alice("d/e"), two)
	w.holds(mine, "mine\n")
}

// T2, S18: a thousand files are one proposal, one prompt that names every one of
// them, one approval, one answer and one undo.
func TestThousandFiles(t *testing.T) {
	w := start(t)
	const n = 1000
	var all []action.Change
	dir := w.alice("many")
	w.must(w.MkdirAll(lab.Alice, dir))
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("f%04d.sh", i))
		w.must(w.Put(lab.Alice, path, "#!/bin/sh\necho old\n", 0o755))
		all = append(all, edits(path, "echo old", "echo new"))
	}
	before := survey(t, dir)
	tx := w.propose(lab.Claude, changes(all...), protocol.StateWaiting)
	if len(tx.Paths) != protocol.MaxPaths || tx.More != n-protocol.MaxPaths {
		t.Errorf("a list names %d paths and %d more", len(tx.Paths), tx.More)
	}
	detail := w.whole(tx.ID).Detail
	if len(detail.Changes) != n {
		t.Fatalf("%d paths are shown", len(detail.Changes))
	}
	for i, c := range detail.Changes {
		if c.Path != all[i].Path || !strings.Contains(c.Diff, "+echo new") {
			t.Fatalf("path %d is %s: %q", i, c.Path, c.Diff)
		}
	}
	var done protocol.Transaction
	w.patiently(func() (err error) { done, err = w.decide(lab.Alice, tx); return err })
	if done.State != protocol.StateLanded || len(done.Outcome.Changes) != n || done.Outcome.More != 0 {
		t.Fatalf("it is %s with %d paths and %d more: %v", done.State, len(done.Outcome.Changes), done.Outcome.More, done.Refusal)
	}
	for _, c := range done.Outcome.Changes {
		if c.Did != protocol.Replaced {
			t.Fatalf("%s was %s", c.Path, c.Did)
		}
	}
	if len(done.Regions) == 0 || done.MoreRegions == 0 || uint64(len(done.Regions))+done.MoreRegions != n {
		t.Errorf("%d regions and %d more", len(done.Regions), done.MoreRegions)
	}
	for path := range survey(t, dir) {
		if path != dir {
			w.holds(path, "#!/bin/sh\necho new\n")
		}
	}
	var list protocol.ListResult
	w.must(w.call(lab.Alice, "keeper/consent", protocol.Log, protocol.LogParams{Limit: 1}, &list))
	if o := list.Transactions[0].Outcome; len(o.Changes) != protocol.MaxPaths || o.More != n-protocol.MaxPaths {
		t.Errorf("the log tells %d paths and %d more", len(o.Changes), o.More)
	}
	w.clean()
	w.carry(tx.ID, w.preview(tx.ID))
	touched := make(map[string]bool)
	for _, c := range all {
		touched[string(c.Path)] = true
	}
	compare(t, before, survey(t, dir), touched)
	w.clean()
}

// O2: what a person reads of it names each path and what became of it, and of
// many the first and how many more.
func TestManyInWords(t *testing.T) {
	w := start(t)
	var all []action.Change
	for i := range 30 {
		path := w.put(fmt.Sprintf("f%02d.txt", i), "old\n", 0o644)
		all = append(all, edits(path, "old", "new"))
	}
	w.must(os.Link(w.alice("f29.txt"), w.alice("other.txt")))
	tx := w.propose(lab.Claude, changes(all...), protocol.StateLanded)
	log := w.Run(lab.Alice, "", "log")
	if want := fmt.Sprintf("claude: write %s, %s and 28 more\n", w.alice("f00.txt"), w.alice("f01.txt")); !strings.Contains(log.Stdout, want) {
		t.Errorf("the log:\n%s", log.Stdout)
	}
	answer := w.Run(lab.Claude, "", "await", string(tx.ID)).Stdout
	for _, want := range []string{
		"  replaced " + w.alice("f00.txt") + "\n", "  and 13 paths more likewise\n",
		"  replaced " + w.alice("f29.txt") + "\n    1 other name keeps the old text\n",
		w.alice("f00.txt") + " now, from line 1:\n     1  new\n",
	} {
		if !strings.Contains(answer, want) {
			t.Errorf("%q is not in:\n%s", want, answer)
		}
	}
	shown := w.Run(lab.Alice, "", "show", string(tx.ID)).Stdout
	for _, c := range all {
		if !strings.Contains(shown, "  replaced "+string(c.Path)+"\n") || !strings.Contains(shown, "+1 -1  "+string(c.Path)+"\n") {
			t.Errorf("%s is not in what is shown", c.Path)
		}
	}
	if bytes.Count([]byte(shown), []byte("\n+new\n")) != 30 {
		t.Errorf("not every diff is shown:\n%.2000s", shown)
	}
}
