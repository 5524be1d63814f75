package road

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/tests/lab"
)

// swap replaces one text in a file.
func swap(path, from, to string) action.Action {
	return change(action.Change{Path: action.Path(path), Edit: &action.Edit{Edits: []action.Replacement{{Old: []byte(from), New: []byte(to)}}}})
}

// slowly holds the scribe for a while at every sync, which is before it looks
// at the file for the last time.
func (w *world) slowly() *tracer {
	return w.trace([]string{"scribe@alice"}, "-e", "trace=fsync", "-e", "inject=fsync:delay_enter=500000")
}

// beside lands something, and saves the file as its owner once the change has
// been staged.
func (w *world) beside(land func() (protocol.Transaction, error), path, content string) (tx protocol.Transaction, err error) {
	w.t.Helper()
	landed := make(chan struct{})
	go func() {
		defer close(landed)
		tx, err = land()
	}()
	w.eventually("the change is staged", func() bool { return len(lab.Leftovers(w.Home("alice"))) > 0 })
	w.must(lab.As(lab.Alice, func() error { return os.WriteFile(path, []byte(content), 0o644) }))
	<-landed
	return tx, err
}

// S15: what policy lands is planned again on top of another writer's change,
// which stays, and the answer says that it was; nothing of theirs is lost.
func TestPlannedAgain(t *testing.T) {
	w := start(t)
	path := w.put("a.txt", "agent's line\nowner's line\n", 0o644)
	tr := w.slowly()
	tx, err := w.beside(func() (protocol.Transaction, error) {
		return w.act(lab.Claude, swap(path, "agent's line", "agent's new line"))
	}, path, "agent's line\nowner's new line\n")
	tr.detach()
	w.must(err)
	if tx.State != protocol.StateLanded || tx.Stale != 1 {
		t.Fatalf("it is %s, previewed again %d times: %+v", tx.State, tx.Stale, tx.Outcome)
	}
	w.holds(path, "agent's new line\nowner's new line\n")
	w.clean()
	w.undo(tx.ID)
	w.holds(path, "agent's line\nowner's new line\n")
}

// S15: where the other writer took away what the edit names, it is refused with
// nothing written.
func TestPlannedAgainInVain(t *testing.T) {
	w := start(t)
	path := w.put("a.txt", "agent's line\n", 0o644)
	tr := w.slowly()
	tx, err := w.beside(func() (protocol.Transaction, error) {
		return w.act(lab.Claude, swap(path, "agent's line", "agent's new line"))
	}, path, "owner's line\n")
	tr.detach()
	w.must(err)
	if tx.State != protocol.StateRefused || tx.Refusal.Code != refusal.NoMatch {
		t.Fatalf("it is %s: %+v", tx.State, tx.Refusal)
	}
	w.holds(path, "owner's line\n")
	w.clean()
}

// S15, T7: what an owner approved has one attempt: overtaken, it lands nothing
// and waits under the same ID on a new preview, which can be approved.
func TestApprovedAndOvertaken(t *testing.T) {
	w := start(t)
	path := w.put("run.sh", "#!/bin/sh\necho agent\necho owner\n", 0o755)
	tx := w.propose(lab.Claude, swap(path, "echo agent", "echo the agent"), protocol.StateWaiting)
	tr := w.slowly()
	_, err := w.beside(func() (protocol.Transaction, error) { return w.decide(lab.Alice, tx) },
		path, "#!/bin/sh\necho agent\necho the owner\n")
	tr.detach()
	if !refusal.Is(err, refusal.Stale) {
		t.Fatalf("approving: %v", err)
	}
	w.holds(path, "#!/bin/sh\necho agent\necho the owner\n")
	w.clean()
	again := w.show(lab.Alice, "keeper/consent", tx.ID)
	if again.State != protocol.StateWaiting || again.Prefix == tx.Prefix || again.Stale != 1 {
		t.Fatalf("it is %s under %s, previewed again %d times", again.State, again.Prefix, again.Stale)
	}
	w.approve(again)
	w.holds(path, "#!/bin/sh\necho the agent\necho the owner\n")
}

// T14, T18: nobody withdraws an action in the middle of its landing. Withdrawals
// that hammer on every action that a keeper is carrying out are refused, each
// action ends once, and the keeper starts again over what it wrote.
func TestWithdrawingWhatLands(t *testing.T) {
	w := start(t)
	path := w.put("a.txt", "0\n", 0o644)
	var stop atomic.Bool
	var hammers sync.WaitGroup
	for range 16 {
		hammers.Go(func() { w.withdrawAll(&stop) })
	}
	hammers.Go(func() {
		for i := 0; !stop.Load(); i++ {
			lab.As(lab.Alice, func() error { return os.WriteFile(path, []byte(strings.Repeat("x", i%7)+"\n"), 0o644) })
		}
	})
	for range 150 {
		_, err := w.act(lab.Claude, write(path, "agent\n"))
		if r := refusal.As(err); err != nil && (r == nil || r.Code == refusal.Unavailable || r.Code == refusal.JournalFailed) {
			t.Error(err)
			break
		}
	}
	stop.Store(true)
	hammers.Wait()
	for _, tx := range w.log(lab.Claude, "keeper/act") {
		if !tx.State.Ended() {
			t.Errorf("%s is %s", tx.ID, tx.State)
		}
	}
	w.must(w.Stop())
	w.up()
	w.propose(lab.Claude, write(w.alice("b.txt"), "b\n"), protocol.StateLanded)
}

// withdrawAll withdraws the newest action, over and over.
func (w *world) withdrawAll(stop *atomic.Bool) {
	c, err := w.Dial(lab.Claude, "keeper/act")
	if err != nil {
		w.t.Error(err)
		return
	}
	defer c.Close()
	for !stop.Load() {
		var list protocol.ListResult
		if err := c.Call(w.t.Context(), protocol.Log, protocol.LogParams{Limit: 1, Refused: true}, &list); err != nil {
			w.t.Error(err)
			return
		}
		for range 20 {
			for _, tx := range list.Transactions {
				var out protocol.Transaction
				err := c.Call(w.t.Context(), protocol.Withdraw, protocol.IDParams{ID: tx.ID}, &out)
				if refusal.As(err) == nil {
					w.t.Errorf("withdrawing %s: %v", tx.ID, err)
				}
			}
		}
	}
}
