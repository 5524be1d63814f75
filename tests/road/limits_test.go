package road

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/tests/lab"
)

// lines makes n bytes of lines that are no other file's.
func lines(n int) string {
	b := make([]byte, n/2)
	rand.Read(b)
	s := []byte(hex.EncodeToString(b))
	for i := 63; i < len(s); i += 64 {
		s[i] = '\n'
	}
	return string(s)
}

// T3, T12: an action that removes nearly as much as may be kept is taken back
// whole: its undo names every path where it is shown, says what of it did not
// fit there, and is sent in one piece.
func TestLargeUndo(t *testing.T) {
	w := start(t)
	const n, size = 100, 80 << 10
	var all []action.Change
	content := make(map[string]string)
	for i := range n {
		path := w.put(fmt.Sprintf("f%03d.txt", i), lines(size), 0o644)
		content[path] = read(path)
		all = append(all, deletes(path))
	}
	tx := w.lands(changes(all...))
	for path := range content {
		w.gone(path)
	}
	back := w.preview(tx.ID)
	s := w.whole(back.ID)
	if s.Detail == nil || len(s.Detail.Changes) != n {
		t.Fatalf("the prompt names %d paths of %d", len(s.Detail.Changes), n)
	}
	for i, c := range s.Detail.Changes {
		if c.Path != all[i].Path || c.New.Size != size || c.Diff == "" && c.NoDiff == "" {
			t.Errorf("path %d: %s, %v, %q", i, c.Path, c.New, c.NoDiff)
		}
	}
	if s.Action != nil && len(s.Cut) > 0 || s.Action == nil && !strings.HasPrefix(fmt.Sprint(s.Cut), "[the action itself, of ") {
		t.Errorf("what is left out: %q", s.Cut)
	}
	w.carry(tx.ID, back)
	for path, want := range content {
		w.holds(path, want)
	}
	w.clean()
}

// T11, T12, T13: what one action removes beyond what may be kept counts as not
// captured: the action asks and says that it cannot be undone, and its undo
// puts back what was kept and names what was not.
func TestMoreThanIsKept(t *testing.T) {
	w := start(t)
	const n, size = 9, 1000 << 10 // of which eight fit in 8 MiB
	var all []action.Change
	for i := range n {
		all = append(all, deletes(w.put(fmt.Sprintf("f%d.txt", i), lines(size), 0o644)))
	}
	first := read(w.alice("f0.txt"))
	tx := w.propose(lab.Claude, changes(all...), protocol.StateWaiting)
	if tx.Reversible || len(tx.Reasons) == 0 {
		t.Fatalf("can be undone: %v; it asks for %+v", tx.Reversible, tx.Reasons)
	}
	for _, r := range tx.Reasons {
		if r.Name == "not-captured" && r.Path != action.Path(w.alice("f8.txt")) {
			t.Errorf("not captured, it says, is %s", r.Path)
		}
	}
	w.approve(tx)
	back := w.preview(tx.ID)
	if len(back.Leaves) != 1 || back.Leaves[0].Path != action.Path(w.alice("f8.txt")) || !strings.Contains(back.Leaves[0].Why, "no copy") {
		t.Fatalf("it leaves %+v", back.Leaves)
	}
	w.carry(tx.ID, back)
	w.holds(w.alice("f0.txt"), first)
	w.gone(w.alice("f8.txt"))
}

// T2, T11: an action that could not be sent to the scribe with what stands at
// its places is refused by name before anything is written down as begun.
func TestTooLargeToSend(t *testing.T) {
	w := start(t)
	var all []action.Change
	deep := strings.Repeat("/"+strings.Repeat("d", 250), 15)
	for i := range 640 {
		all = append(all, action.Change{Path: action.Path(w.alice(fmt.Sprintf("p%03d%s/x", i, deep))), Write: &action.Write{Content: []byte("x\n")}})
	}
	if _, err := w.act(lab.Claude, changes(all...)); !refusal.Is(err, refusal.TooLarge) {
		t.Errorf("it is answered with %v", err)
	}
	if left, err := os.ReadDir(w.Home("alice")); err != nil || len(left) != 0 {
		t.Errorf("the home holds %v, %v", left, err)
	}
	_, err := w.act(lab.Claude, changes(make([]action.Change, action.MaxChanges+1)...))
	if !refusal.Is(err, refusal.BadAction) {
		t.Errorf("one change too many: %v", err)
	}
}

// T2, S28: as many changes as one action may have are answered path by path,
// within the stated size, and shown whole.
func TestAsManyAsMayBe(t *testing.T) {
	w := start(t)
	dir := w.alice("many")
	w.must(w.MkdirAll(lab.Alice, dir))
	var all []action.Change
	for i := range action.MaxChanges {
		all = append(all, writes(fmt.Sprintf("%s/f%04d", dir, i), "new\n"))
	}
	tx := w.lands(changes(all...))
	if len(tx.Outcome.Changes) != len(all) || tx.Outcome.More != 0 {
		t.Fatalf("what became of %d paths is answered, and %d are left out", len(tx.Outcome.Changes), tx.Outcome.More)
	}
	cut := 0
	for _, c := range tx.Outcome.Changes {
		if c.Did != protocol.Created {
			t.Fatalf("%s was %s", c.Path, c.Did)
		}
		if c.Cut != (c.Version == nil) {
			t.Fatalf("%s: a version is there: %v, something is left out: %v", c.Path, c.Version != nil, c.Cut)
		}
		if c.Cut {
			cut++
		}
	}
	if cut == 0 || cut == len(all) {
		t.Errorf("of %d paths something is left out", cut)
	}
	for _, c := range w.whole(tx.ID).Transaction.Outcome.Changes {
		if c.Cut {
			t.Fatalf("of %s something is left out where it is shown", c.Path)
		}
	}
	w.carry(tx.ID, w.preview(tx.ID))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}
