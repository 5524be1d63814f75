package road

import (
	"sync"
	"syscall"
	"testing"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/tests/lab"
)

// crash kills processes of the lab at once, `up` last, with no chance for any
// of them to see the others end.
func (w *world) crash(names ...string) {
	w.t.Helper()
	w.must(syscall.Kill(w.PIDOfUp(), syscall.SIGSTOP))
	var pids []int
	for _, name := range []string{"keeper", "scribe@alice", "reader@alice", "scribe@bob", "reader@bob"} {
		pids = append(pids, w.PID(name))
	}
	for _, name := range names {
		w.must(syscall.Kill(w.PID(name), syscall.SIGKILL))
	}
	w.must(w.Kill())
	w.eventually("every process has ended", func() bool {
		for _, pid := range pids {
			if syscall.Kill(pid, 0) == nil {
				return false
			}
		}
		return true
	})
}

// underWay proposes a change, holds its scribe at the exchange, and gives the
// file once the new content is staged beside it.
func underWay(t *testing.T, k kind) (w *world, path string) {
	t.Helper()
	w = start(t)
	path, a := k.make(w)
	w.trace([]string{"scribe@alice"}, "-e", "trace=renameat2", "-e", "inject=renameat2:delay_enter=1s")
	go w.act(lab.Claude, a) // nobody is left to answer
	w.eventually("the change is staged", func() bool { return len(lab.Leftovers(w.Home("alice"))) > 0 })
	return w, path
}

// only gives the one transaction of the agent's, once it has ended.
func (w *world) only() protocol.Transaction {
	w.t.Helper()
	list := w.log(lab.Claude, "keeper/act")
	if len(list) != 1 {
		w.t.Fatalf("the agent has %d actions", len(list))
	}
	return w.settled(list[0].ID)
}

// T16, T18: when everything dies at once with a change staged, the next start
// finds that it did not land, and takes the staged file away.
func TestEverythingKilled(t *testing.T) {
	k := kinds()[0]
	w, path := underWay(t, k)
	w.crash("scribe@alice", "keeper", "reader@alice")
	if len(lab.Leftovers(w.Home("alice"))) == 0 {
		t.Fatal("the crash came too late: nothing staged is left")
	}
	w.up()
	got := w.only()
	if got.State != protocol.StateNotLanded {
		t.Errorf("it is %s: %+v", got.State, got.Outcome)
	}
	w.truthful(k, path, got)
}

// T16: disk that is neither what it was nor what was planned is not guessed
// at: the outcome is unknown, says so, and the file is left alone.
func TestUnknownIsSaid(t *testing.T) {
	w, path := underWay(t, kinds()[0])
	w.crash("keeper") // the scribe finishes what it has read
	w.put("a.txt", "the owner's, since\n", 0o644)
	w.up()
	got := w.only()
	if got.State != protocol.StateUnknown || got.Outcome.Words == "" {
		t.Fatalf("it is %s: %+v", got.State, got.Outcome)
	}
	w.holds(path, "the owner's, since\n")
	w.clean()
	if r := w.Run(lab.Claude, "", "await", string(got.ID)); r.Code != 8 {
		t.Errorf("await ends with %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	err := w.call(lab.Alice, "keeper/consent", protocol.Undo, protocol.UndoParams{ID: got.ID}, &got)
	if !refusal.Is(err, refusal.WrongState) {
		t.Errorf("undone: %v", err)
	}
}

// T18: a reader or a scribe that hangs holds up its own person's actions and
// nobody else's; once it goes on, each of them lands once.
func TestHangingProcess(t *testing.T) {
	const many = 20 // more than a person's actions under way at once
	for _, name := range []string{"reader@alice", "scribe@alice"} {
		w := start(t)
		paths := make([]string, many)
		var wait sync.WaitGroup
		pid := w.PID(name)
		w.must(syscall.Kill(pid, syscall.SIGSTOP))
		answers := make([]protocol.Transaction, many)
		errs := make([]error, many)
		for i := range many {
			paths[i] = w.put(itoa(i)+".txt", "one\n", 0o644)
			wait.Go(func() { answers[i], errs[i] = w.act(lab.Claude, write(paths[i], "two\n")) })
		}
		bobs := w.Home("bob") + "/b.txt"
		for i := range 5 {
			w.propose(lab.Claude, write(bobs, text(100+i)), protocol.StateLanded)
		}
		w.must(syscall.Kill(pid, syscall.SIGCONT))
		wait.Wait()
		for i := range many {
			if errs[i] != nil || answers[i].State != protocol.StateLanded {
				t.Errorf("%s: action %d: %v, %s", name, i, errs[i], answers[i].State)
			}
			w.holds(paths[i], "two\n")
		}
		w.clean()
	}
}
