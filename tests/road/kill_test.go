package road

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/tests/lab"
)

// The three kinds of change, as one edit that would show if it were done twice.
type kind struct {
	name   string
	make   func(w *world) (path string, a action.Action)
	before string // of the file; "" is none
	after  string
}

func kinds() []kind {
	return []kind{
		{"replace", func(w *world) (string, action.Action) {
			p := w.put("a.txt", "one\n", 0o644)
			return p, change(action.Change{Path: action.Path(p), Edit: &action.Edit{Edits: []action.Replacement{{Old: []byte("one"), New: []byte("oneone")}}}})
		}, "one\n", "oneone\n"},
		{"create", func(w *world) (string, action.Action) {
			p := w.alice("a.txt")
			return p, write(p, "new\n")
		}, "", "new\n"},
		{"delete", func(w *world) (string, action.Action) {
			p := w.put("a.txt", "one\n", 0o644)
			return p, change(action.Change{Path: action.Path(p), Delete: &action.Delete{}})
		}, "one\n", ""},
	}
}

// stands gives what a file holds; "" where there is none.
func stands(w *world, path string) string {
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(b)
}

// insist proposes with one nonce until an answer comes, as a client does whose
// keeper went away, and gives how the action ended.
func (w *world) insist(a action.Action) protocol.Transaction {
	w.t.Helper()
	in := protocol.ActParams{Action: a}
	rand.Read(in.Nonce[:])
	var t protocol.Transaction
	w.eventually("the proposal is answered", func() bool {
		return w.call(lab.Claude, "keeper/act", protocol.Act, in, &t) == nil
	})
	return w.settled(t.ID)
}

// truthful holds what is said of an action against the disk, and nothing may
// be left behind or told otherwise to the agent.
func (w *world) truthful(k kind, path string, t protocol.Transaction) {
	w.t.Helper()
	want := map[protocol.State]string{protocol.StateLanded: k.after, protocol.StateNotLanded: k.before}
	held, known := want[t.State]
	if got := stands(w, path); !known || got != held {
		w.t.Fatalf("it is %s, and the file holds %q: %+v", t.State, got, t.Outcome)
	}
	w.clean()
	told := w.log(lab.Claude, "keeper/act")
	if len(told) != 1 || told[0].ID != t.ID || told[0].State != t.State {
		w.t.Fatalf("the agent is told %+v", told)
	}
	var v protocol.VerifyResult
	w.must(w.call(lab.Alice, "keeper/consent", protocol.Verify, struct{}{}, &v))
	next := w.propose(lab.Claude, write(w.alice("next.txt"), "next\n"), protocol.StateLanded)
	w.undo(next.ID)
	if t.State == protocol.StateLanded {
		w.undo(t.ID)
		if got := stands(w, path); got != k.before {
			w.t.Fatalf("undone, it holds %q", got)
		}
	}
}

// T16, T18: a scribe that is killed before or after any step of a change
// leaves the file whole, old or new; what is said of it afterwards is so, and
// nothing is done twice.
func TestScribeKilled(t *testing.T) {
	home := func(w *world) []string { return []string{"-P", w.Home("alice")} }
	none := func(*world) []string { return nil }
	for name, at := range map[string]struct {
		call  string
		only  func(*world) []string
		kinds string
		want  protocol.State
	}{
		"staging":            {"fsync", none, "replace create", protocol.StateNotLanded},
		"before the rename":  {"renameat2", none, "replace create delete", protocol.StateNotLanded},
		"after the exchange": {"unlinkat", none, "replace delete", protocol.StateLanded},
		"before the flush":   {"fsync", home, "replace create delete", protocol.StateLanded},
	} {
		for _, k := range kinds() {
			if !strings.Contains(at.kinds, k.name) {
				continue
			}
			t.Run(name+"/"+k.name, func(t *testing.T) {
				w := start(t)
				path, a := k.make(w)
				tr := w.trace([]string{"scribe@alice"}, append(at.only(w), "-e", "trace="+at.call, "-e", "inject="+at.call+":signal=KILL")...)
				got := w.insist(a)
				<-tr.done
				if got.State != at.want {
					t.Errorf("it is %s, want %s: %+v", got.State, at.want, got.Outcome)
				}
				w.truthful(k, path, got)
			})
		}
	}
}

// T14, T16, T18: a keeper that is killed as it writes down an intent, or while
// the scribe carries one out, answers for it when it is back.
func TestKeeperKilled(t *testing.T) {
	k := kinds()[0]
	t.Run("before the intent is on disk", func(t *testing.T) {
		w := start(t)
		path, a := k.make(w)
		tr := w.trace([]string{"keeper"}, "-e", "trace=fdatasync", "-e", "inject=fdatasync:signal=KILL")
		got := w.insist(a)
		<-tr.done
		w.truthful(k, path, got)
	})
	for name, at := range map[string]struct {
		call   string
		opened func(path string) bool // the window is open
	}{
		"before the exchange": {"renameat2", func(path string) bool { return len(lab.Leftovers(filepath.Dir(path))) > 0 }},
		"after the exchange":  {"unlinkat", func(path string) bool { return read(path) == k.after }},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			path, a := k.make(w)
			w.trace([]string{"scribe@alice"}, "-e", "trace="+at.call, "-e", "inject="+at.call+":delay_enter=1s")
			keeper := w.PID("keeper")
			killed := make(chan bool, 1)
			go func() {
				opened := soon(func() bool { return at.opened(path) })
				syscall.Kill(keeper, syscall.SIGKILL)
				killed <- opened
			}()
			got := w.insist(a)
			if !<-killed {
				t.Fatal("the scribe never was at it")
			}
			if got.State != protocol.StateLanded {
				t.Errorf("a request once read runs to its end: %s, %+v", got.State, got.Outcome)
			}
			if now := w.PID("keeper"); now == keeper {
				t.Errorf("the keeper was not killed")
			}
			w.truthful(k, path, got)
		})
	}
}

// T9: what waits goes on waiting under the same prefix when the keeper dies.
func TestKeeperKilledWhileActionsWait(t *testing.T) {
	w := start(t)
	path := w.put("run.sh", "one\n", 0o755)
	waiting := w.propose(lab.Claude, write(path, "two\n"), protocol.StateWaiting)
	w.must(syscall.Kill(w.PID("keeper"), syscall.SIGKILL))
	var again protocol.ShowResult
	w.eventually("a keeper answers", func() bool {
		return w.call(lab.Alice, "keeper/consent", protocol.Show, protocol.IDParams{ID: waiting.ID}, &again) == nil
	})
	if got := again.Transaction; got.State != protocol.StateWaiting || got.Prefix != waiting.Prefix {
		t.Fatalf("it is %s with prefix %s, and was waiting with %s", got.State, got.Prefix, waiting.Prefix)
	}
	w.approve(waiting)
	w.holds(path, "two\n")
}

// T18: a reader that is killed takes nothing with it.
func TestReaderKilled(t *testing.T) {
	w := start(t)
	path := w.put("a.txt", "one\n", 0o644)
	w.propose(lab.Claude, write(path, "two\n"), protocol.StateLanded)
	w.must(syscall.Kill(w.PID("reader@alice"), syscall.SIGKILL))
	if got := w.insist(write(path, "three\n")); got.State != protocol.StateLanded {
		t.Fatalf("%s: %v", got.State, got.Refusal)
	}
	w.holds(path, "three\n")
}

// T16, T18: when `up` is killed its processes end with it; the next one settles
// what was under way and keeps what waits.
func TestUpKilled(t *testing.T) {
	w := start(t)
	k := kinds()[0]
	path, a := k.make(w)
	runs := w.put("run.sh", "one\n", 0o755)
	waiting := w.propose(lab.Claude, write(runs, "two\n"), protocol.StateWaiting)
	w.trace([]string{"scribe@alice"}, "-e", "trace=renameat2", "-e", "inject=renameat2:delay_enter=1s")
	var pids []int
	for _, name := range []string{"keeper", "scribe@alice", "reader@alice", "scribe@bob", "reader@bob"} {
		pids = append(pids, w.PID(name))
	}
	go w.act(lab.Claude, a) // nobody is left to answer
	w.eventually("the scribe is at it", func() bool { return len(lab.Leftovers(w.Home("alice"))) > 0 })
	w.must(w.Kill())
	w.eventually("every process has ended", func() bool {
		for _, pid := range pids {
			if syscall.Kill(pid, 0) == nil {
				return false
			}
		}
		return true
	})
	w.up()
	if still := w.show(lab.Alice, "keeper/consent", waiting.ID); still.Prefix != waiting.Prefix {
		t.Errorf("what waited: %s, prefix %s", still.State, still.Prefix)
	}
	w.approve(waiting)
	for _, tr := range w.log(lab.Claude, "keeper/act") {
		if tr.ID == waiting.ID {
			continue
		}
		got := w.settled(tr.ID)
		want := map[protocol.State]string{protocol.StateLanded: k.after, protocol.StateNotLanded: k.before}
		if held, known := want[got.State]; !known || stands(w, path) != held {
			t.Errorf("it is %s, and the file holds %q", got.State, stands(w, path))
		}
	}
	w.clean()
}
