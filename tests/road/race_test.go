package road

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/tests/lab"
)

// T2: two agents who both saw the same file and write to it at the same moment
// do not both land, and the one that does not is told what it missed.
func TestTwoProposalsOnOneBase(t *testing.T) {
	w := start(t)
	path := w.put("a.txt", "0\n", 0o644)
	for round := 1; round <= 50; round++ {
		base := read(path)
		var wait sync.WaitGroup
		got := make([]protocol.Transaction, 2)
		errs := make([]error, 2)
		for i, uid := range []uint32{lab.Claude, lab.Other} {
			wait.Go(func() {
				got[i], errs[i] = w.act(uid, expecting(write(path, fmt.Sprintf("%d by %d\n", round, uid)), base))
			})
		}
		wait.Wait()
		landed := 0
		for i, tr := range got {
			w.must(errs[i])
			switch {
			case tr.State == protocol.StateLanded:
				landed++
				w.holds(path, fmt.Sprintf("%d by %d\n", round, tr.UID))
			case tr.State != protocol.StateRefused || tr.Refusal.Code != refusal.Outdated:
				t.Fatalf("round %d: %s, %v", round, tr.State, tr.Refusal)
			}
		}
		if landed != 1 {
			t.Fatalf("round %d: %d landed", round, landed)
		}
	}
	w.clean()
}

// T7: of two approvals on what one file was, the second is stale; on its new
// preview it lands.
func TestSecondApprovalIsStale(t *testing.T) {
	w := start(t)
	path := w.put("run.sh", "0\n", 0o755)
	first := w.propose(lab.Claude, write(path, "1\n"), protocol.StateWaiting)
	second := w.propose(lab.Other, write(path, "2\n"), protocol.StateWaiting)
	w.approve(first)
	if _, err := w.decide(lab.Alice, second); !refusal.Is(err, refusal.Stale) {
		t.Fatalf("the second approval: %v", err)
	}
	w.holds(path, "1\n")
	again := w.show(lab.Alice, "keeper/consent", second.ID)
	if again.State != protocol.StateWaiting || again.Prefix == second.Prefix || again.Stale != 1 {
		t.Fatalf("it is %s, stale %d times, prefix %s after %s", again.State, again.Stale, again.Prefix, second.Prefix)
	}
	w.approve(again)
	w.holds(path, "2\n")
}

// T7: two owners' words at one moment on one action land it once.
func TestTwoApprovalsAtOnce(t *testing.T) {
	w := start(t)
	path := w.put("run.sh", "x", 0o755)
	for range 10 {
		grow := change(action.Change{Path: action.Path(path), Edit: &action.Edit{Edits: []action.Replacement{{Old: []byte("x"), New: []byte("xy")}}}})
		before := read(path)
		waiting := w.propose(lab.Claude, grow, protocol.StateWaiting)
		var wait sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			wait.Go(func() { _, errs[i] = w.decide(lab.Alice, waiting) })
		}
		wait.Wait()
		landed := 0
		for _, err := range errs {
			if err == nil {
				landed++
			} else if !refusal.Is(err, refusal.WrongState) && !refusal.Is(err, refusal.Busy) {
				t.Fatal(err)
			}
		}
		if landed != 1 {
			t.Fatalf("%d of 4 approvals landed", landed)
		}
		w.holds(path, "xy"+before[1:])
	}
}

// T7: a change of the file, or of what the owner was told of it, makes an
// approval stale; a touch or a backup that reads it does not.
func TestWhatMakesStale(t *testing.T) {
	w := start(t)
	for name, row := range map[string]struct {
		change func(path string) error
		stale  bool
	}{
		"touch":     {func(p string) error { return os.Chtimes(p, time.Now(), time.Now()) }, false},
		"read":      {func(p string) error { _, err := os.ReadFile(p); return err }, false},
		"hard link": {func(p string) error { return os.Link(p, p+".link") }, true},
		"content":   {func(p string) error { return os.WriteFile(p, []byte("mine"), 0o755) }, true},
		"mode":      {func(p string) error { return os.Chmod(p, 0o700) }, true},
		"group":     {func(p string) error { return os.Chown(p, lab.Alice, lab.Bob) }, true},
		"deletion":  {os.Remove, true},
	} {
		path := w.put(name+".sh", "0\n", 0o755)
		waiting := w.propose(lab.Claude, write(path, "1\n"), protocol.StateWaiting)
		w.must(row.change(path))
		changed := read(path)
		_, err := w.decide(lab.Alice, waiting)
		if row.stale {
			if !refusal.Is(err, refusal.Stale) || read(path) != changed {
				t.Errorf("%s: %v, and the file holds %q", name, err, read(path))
			}
		} else if err != nil || read(path) != "1\n" {
			t.Errorf("%s: %v, and the file holds %q", name, err, read(path))
		}
	}
	w.clean()
}

// T9: the action over an agent's bound is refused by name, and buries none of
// those before it; another agent's are not counted.
func TestFlood(t *testing.T) {
	w := start(t)
	const bound = 200
	var first protocol.Transaction
	for i := range bound {
		tr := w.propose(lab.Claude, script(w.alice(fmt.Sprintf("%d.sh", i)), "x\n"), protocol.StateWaiting)
		if i == 0 {
			first = tr
		}
	}
	if _, err := w.act(lab.Claude, script(w.alice("more.sh"), "x\n")); !refusal.Is(err, refusal.Flood) {
		t.Fatalf("one more: %v", err)
	}
	w.propose(lab.Claude, write(w.alice("auto.txt"), "x\n"), protocol.StateLanded)
	w.propose(lab.Other, script(w.alice("other.sh"), "x\n"), protocol.StateWaiting)
	var list protocol.ListResult
	w.must(w.call(lab.Alice, "keeper/consent", protocol.Pending, struct{}{}, &list))
	if n := uint64(len(list.Transactions)) + list.More; n != bound+1 || list.Transactions[0].ID != first.ID {
		t.Fatalf("%d wait, and the oldest is %s", n, list.Transactions[0].ID)
	}
	w.approve(first)
}

// T9, T18: an agent that proposes and withdraws without end is told to wait,
// long before it has filled the keeper's disk, and holds up nobody else.
func TestProposingAndWithdrawing(t *testing.T) {
	w := start(t)
	path := w.put("long.sh", "#"+strings.Repeat("x", 900<<10)+"\n", 0o755)
	for n := 1; ; n++ {
		tx, err := w.act(lab.Claude, swap(path, "#x", "# x"))
		if refusal.Is(err, refusal.Busy) {
			break
		}
		w.must(err)
		if tx.State != protocol.StateWaiting || n > 100 {
			t.Fatalf("proposal %d, whose account takes about a MiB, is %s", n, tx.State)
		}
		var out protocol.Transaction
		w.must(w.call(lab.Claude, "keeper/act", protocol.Withdraw, protocol.IDParams{ID: tx.ID}, &out))
	}
	w.propose(lab.Claude, write(w.alice("auto.txt"), "x\n"), protocol.StateLanded)
	w.propose(lab.Other, script(w.alice("other.sh"), "x\n"), protocol.StateWaiting)
}
