package road

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/tests/lab"
)

// actAgain proposes until what refuses it can no longer simply be tried again.
func (w *world) actAgain(a action.Action) (t protocol.Transaction, err error) {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		t, err = w.act(lab.Claude, a)
		r := refusal.As(err)
		if r == nil && t.Outcome != nil {
			r = t.Outcome.Refused
		}
		if r == nil || r.Again != refusal.Retry {
			return t, err
		}
	}
	return t, err
}

// P12: a home that was replaced by another of the same name is worked in again
// by itself, in the new one: what was walled into the old one is started anew.
func TestReplacedHome(t *testing.T) {
	w := start(t)
	path := w.put("a.txt", "0\n", 0o644)
	w.propose(lab.Claude, write(path, "1\n"), protocol.StateLanded)
	old := filepath.Join(w.Dir, "old")
	w.must(errors.Join(os.Rename(w.Home("alice"), old), os.Mkdir(w.Home("alice"), 0o700), os.Chown(w.Home("alice"), lab.Alice, lab.Alice)))
	w.put("a.txt", "new\n", 0o644)
	done, err := w.actAgain(write(path, "2\n"))
	w.must(err)
	if done.State != protocol.StateLanded {
		t.Fatalf("it is %s: %v %+v", done.State, done.Refusal, done.Outcome)
	}
	w.holds(path, "2\n")
	w.holds(filepath.Join(old, "a.txt"), "1\n")
}

// P12: a grant's root that comes to be after the start is written to without
// anybody's restarting anything; until then it is refused, and nothing dies of
// it.
func TestRootThatComesLater(t *testing.T) {
	w := build(t, lab.Config{})
	text := strings.Replace(w.Policy(""), "[[persons.alice.write]]\nroot = \"~\"\n", "[[persons.alice.write]]\nroot = \"~/later\"\n", 1)
	w.must(w.UpWithPolicy(text))
	if done, err := w.act(lab.Claude, write(w.alice("later/a.txt"), "x\n")); err == nil && done.State == protocol.StateLanded {
		t.Fatal("it landed in a root that is not there")
	}
	path := w.put("later/a.txt", "0\n", 0o644)
	done, err := w.actAgain(write(path, "1\n"))
	w.must(err)
	if done.State != protocol.StateLanded {
		t.Fatalf("it is %s: %v %+v", done.State, done.Refusal, done.Outcome)
	}
	w.holds(path, "1\n")
	if log := w.Log(); strings.Contains(log, "died; restarting") {
		t.Errorf("something died:\n%s", log)
	}
}

// P12: every daemon takes up a policy that was changed under it, in the midst of
// traffic: every proposal is landed once, or refused and to be tried again.
func TestPolicyChangesInTraffic(t *testing.T) {
	w := build(t, lab.Config{})
	text := w.Policy("")
	w.must(w.UpWithPolicy(text))
	first := w.status().Policy
	const files, writes = 4, 12
	var traffic sync.WaitGroup
	failed := make(chan error, files)
	for i := range files {
		path := w.put(string(rune('a'+i))+".txt", "0\n", 0o644)
		traffic.Go(func() {
			for n := range writes {
				time.Sleep(20 * time.Millisecond)
				done, err := w.actAgain(write(path, strings.Repeat("x", n+1)+"\n"))
				if err == nil && done.State != protocol.StateLanded {
					err = errors.New("it is " + string(done.State))
				}
				if err != nil && !errors.Is(err, unix.ECONNRESET) && !refusal.Is(err, refusal.NoChange) {
					failed <- err
					return
				}
			}
		})
	}
	file := filepath.Join(w.Dir, "policy.toml")
	w.must(errors.Join(w.Put(0, file+".new", text+"# another\n", 0o644), os.Rename(file+".new", file)))
	traffic.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	w.eventually("all hold the new policy", func() bool {
		s := w.status()
		return s.Policy != first && !slices.ContainsFunc(s.Persons, func(p protocol.PersonStatus) bool {
			return p.Reader != "answers" || p.Scribe != "answers"
		})
	})
	for i := range files {
		w.holds(w.alice(string(rune('a'+i))+".txt"), strings.Repeat("x", writes)+"\n")
	}
}

// P4: status names the walls of all three processes as they say themselves:
// files, calls, and under root's `up` the mounts.
func TestStatusNamesWalls(t *testing.T) {
	w := start(t)
	s := w.status()
	for process, walls := range map[string][]string{"keeper": s.Walls, "reader": s.Persons[0].ReaderWalls, "scribe": s.Persons[0].ScribeWalls} {
		want := []string{"no_new_privs", "undumpable", "seccomp", "other homes hidden"}
		if process == "reader" {
			want = append(want, "home mounted read-only")
		}
		for _, wall := range want {
			if !slices.Contains(walls, wall) {
				t.Errorf("the %s has no %s: %q", process, wall, walls)
			}
		}
	}
	r := w.Run(lab.Alice, "", "status")
	for _, want := range []string{"walls of the reader: ", "walls of the scribe: "} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("no %q:\n%s", want, r.Stdout)
		}
	}
}
