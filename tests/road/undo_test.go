package road

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/tests/lab"
)

// T12: of an undo of several files, one that changed since is left as it is with
// its three versions, in the preview and in the answer; all the others go back.
// What was left can be put back later, once it stands again as the action left it.
func TestUndoLeavesWhatChangedSince(t *testing.T) {
	w := start(t)
	a, b, gone := w.put("a.txt", "one\n", 0o644), w.put("b.txt", "one\n", 0o644), w.put("gone.txt", "precious\n", 0o644)
	fresh := w.alice("new/fresh.txt")
	tx := w.propose(lab.Claude, changes(edits(a, "one", "two"), edits(b, "one", "two"), deletes(gone), writes(fresh, "new\n")), protocol.StateLanded)
	w.put("b.txt", "mine since\n", 0o644)
	w.put("gone.txt", "mine again\n", 0o644)

	back := w.preview(tx.ID)
	if len(back.Leaves) != 2 || back.Leaves[0].Path != action.Path(b) || back.Leaves[1].Path != action.Path(gone) {
		t.Fatalf("it leaves %+v", back.Leaves)
	}
	base, theirs, ours := action.HashOf([]byte("two\n")), action.HashOf([]byte("mine since\n")), action.HashOf([]byte("one\n"))
	if l := back.Leaves[0]; *l.Left.Hash != base || *l.Now.Hash != theirs || *l.Back.Hash != ours {
		t.Errorf("the three versions: %+v", l)
	}
	shown := w.Run(lab.Alice, "", "show", string(back.ID)).Stdout
	for _, want := range []string{"left as it is, it changed since: " + b, base.String(), theirs.String(), ours.String()} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in the preview:\n%s", want, shown)
		}
	}
	done := w.carry(tx.ID, back)
	w.did(done, protocol.Replaced, protocol.Deleted)
	if done.State != protocol.StateLanded || len(done.Leaves) != 2 {
		t.Errorf("the answer: %s, leaving %+v", done.State, done.Leaves)
	}
	w.holds(a, "one\n")
	w.holds(b, "mine since\n")
	w.holds(gone, "mine again\n")
	w.gone(fresh, w.alice("new"))
	if now := w.show(lab.Alice, "keeper/consent", tx.ID); now.UndoneBy != done.ID || !now.InPart {
		t.Errorf("it is undone by %q, in part: %v", now.UndoneBy, now.InPart)
	}
	// Nothing that is left can be put back: that is refused by name.
	var out protocol.Transaction
	w.must(w.call(lab.Alice, "keeper/consent", protocol.Undo, protocol.UndoParams{ID: tx.ID}, &out))
	if out.State != protocol.StateRefused || out.Refusal.Code != refusal.Conflict {
		t.Errorf("the rest is %s: %v", out.State, out.Refusal)
	}
	w.put("b.txt", "two\n", 0o644)
	rest := w.carry(tx.ID, w.preview(tx.ID))
	w.did(rest, protocol.Replaced)
	w.holds(a, "one\n")
	w.holds(b, "one\n")
	w.holds(gone, "mine again\n")
}

// T7, T12: a file that changes between an undo's preview and the word on it is
// not written; another preview leaves it out, and takes the place of the first.
func TestUndoIsComposedAgain(t *testing.T) {
	w := start(t)
	a, b := w.put("a.txt", "one\n", 0o644), w.put("b.txt", "one\n", 0o644)
	tx := w.propose(lab.Claude, changes(edits(a, "one", "two"), edits(b, "one", "two")), protocol.StateLanded)
	first := w.preview(tx.ID)
	if again := w.preview(tx.ID); again.ID != first.ID || again.Prefix != first.Prefix {
		t.Errorf("the same undo waits twice: %s and %s", first.ID, again.ID)
	}
	w.put("b.txt", "mine since\n", 0o644)
	second := w.preview(tx.ID)
	if second.ID == first.ID || len(second.Leaves) != 1 {
		t.Fatalf("%s is previewed again as %s, leaving %+v", first.ID, second.ID, second.Leaves)
	}
	if old := w.show(lab.Alice, "keeper/consent", first.ID); old.State != protocol.StateRefused || old.Refusal.Code != refusal.Stale {
		t.Errorf("the first is %s: %v", old.State, old.Refusal)
	}
	w.put("a.txt", "mine too\n", 0o644)
	if done := w.carry(tx.ID, second); done.State != protocol.StateRefused || done.Refusal.Code != refusal.Conflict {
		t.Errorf("carried out, it is %s: %v", done.State, done.Refusal)
	}
	w.holds(a, "mine too\n")
	w.holds(b, "mine since\n")
	w.clean()
}

// T12: what stands at a path now may be nothing that can be looked at as a file:
// that path is left too, and says why.
func TestUndoLeavesWhatIsNoFile(t *testing.T) {
	w := start(t)
	a, b, c := w.put("a.txt", "one\n", 0o644), w.put("d/b.txt", "one\n", 0o644), w.put("c.txt", "one\n", 0o644)
	tx := w.propose(lab.Claude, changes(edits(a, "one", "two"), deletes(b), edits(c, "one", "two")), protocol.StateLanded)
	w.must(os.Remove(a))
	w.must(w.MkdirAll(lab.Alice, a))
	w.must(os.RemoveAll(w.alice("d")))
	w.put("d", "a file where the directory was\n", 0o644)
	back := w.preview(tx.ID)
	if len(back.Leaves) != 2 || back.Leaves[0].Now != nil || !strings.Contains(back.Leaves[0].Why, "[not-regular]") {
		t.Fatalf("it leaves %+v", back.Leaves)
	}
	w.did(w.carry(tx.ID, back), protocol.Replaced)
	w.holds(c, "one\n")
}

// T12: an action among later ones on the same file is taken back once those are,
// and not before.
func TestUndoAmongLaterOnes(t *testing.T) {
	w := start(t)
	a, b := w.put("a.txt", "one\n", 0o644), w.put("b.txt", "one\n", 0o644)
	first := w.propose(lab.Claude, changes(edits(a, "one", "two"), edits(b, "one", "two")), protocol.StateLanded)
	later := w.propose(lab.Claude, changes(edits(a, "two", "three")), protocol.StateLanded)
	back := w.preview(first.ID)
	if len(back.Leaves) != 1 || back.Leaves[0].Path != action.Path(a) {
		t.Fatalf("it leaves %+v", back.Leaves)
	}
	w.undo(later.ID)
	w.holds(a, "two\n")
	w.undo(first.ID)
	w.holds(a, "one\n")
	w.holds(b, "one\n")
}

// T12: an undo of an undo of several files, some of which have changed, puts
// back those that have not.
func TestUndoOfAnUndoInPart(t *testing.T) {
	w := start(t)
	a, b := w.put("a.txt", "one\n", 0o644), w.put("b.txt", "one\n", 0o644)
	tx := w.propose(lab.Claude, changes(edits(a, "one", "two"), edits(b, "one", "two")), protocol.StateLanded)
	back := w.carry(tx.ID, w.preview(tx.ID))
	w.put("a.txt", "mine\n", 0o644)
	again := w.preview(back.ID)
	if len(again.Leaves) != 1 || again.Leaves[0].Path != action.Path(a) {
		t.Fatalf("it leaves %+v", again.Leaves)
	}
	w.carry(back.ID, again)
	w.holds(a, "mine\n")
	w.holds(b, "two\n")
	if now := w.show(lab.Alice, "keeper/consent", tx.ID); now.UndoneBy != "" {
		t.Errorf("it is still undone by %s", now.UndoneBy)
	}
}

// T12: a hundred files of which every third changed: every path that is left is
// told where one action is shown, and counted where there is no room.
func TestUndoLeavesMany(t *testing.T) {
	w := start(t)
	var all []action.Change
	for i := range 100 {
		all = append(all, edits(w.put(fmt.Sprintf("f%03d.txt", i), "old\n", 0o644), "old", "new"))
	}
	tx := w.propose(lab.Claude, changes(all...), protocol.StateLanded)
	for i := 0; i < 100; i += 3 {
		w.put(fmt.Sprintf("f%03d.txt", i), "mine\n", 0o644)
	}
	back := w.preview(tx.ID)
	if len(back.Leaves) != protocol.MaxPaths || back.MoreLeaves != 34-protocol.MaxPaths {
		t.Errorf("%d are told and %d more", len(back.Leaves), back.MoreLeaves)
	}
	if s := w.whole(back.ID).Transaction; len(s.Leaves) != 34 || s.MoreLeaves != 0 {
		t.Errorf("shown, %d are told and %d more", len(s.Leaves), s.MoreLeaves)
	}
	done := w.carry(tx.ID, back)
	if len(done.Leaves) != 34 || len(done.Outcome.Changes) != 66 {
		t.Errorf("answered, %d are told, and what became of %d", len(done.Leaves), len(done.Outcome.Changes))
	}
	for i := range 100 {
		w.holds(w.alice(fmt.Sprintf("f%03d.txt", i)), map[bool]string{true: "mine\n", false: "old\n"}[i%3 == 0])
	}
}
