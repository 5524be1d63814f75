package gitwrite

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/protocol"
	"countersign/internal/testas"
	"countersign/tests/gitlab"
)

// What a process that is to be killed is told.
const (
	killedHome = "GITWRITE_HOME"
	killedRoot = "GITWRITE_ROOT"
	killedAt   = "GITWRITE_AT"
	killedWhat = "GITWRITE_INTENT"
)

// TestCarryAndDie is the process that others kill: it holds no rule by itself.
func TestCarryAndDie(t *testing.T) {
	home := os.Getenv(killedHome)
	if home == "" {
		return
	}
	raw, err := os.ReadFile(os.Getenv(killedWhat))
	must(t, err)
	var in protocol.Intent
	must(t, canon.Decode(raw, &in))
	x := over(t, &gitlab.Builder{Home: home, Root: os.Getenv(killedRoot)}, func(s Step) error {
		if string(s) == os.Getenv(killedAt) {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	})
	x.hands.Carry(context.Background(), in)
	t.Error("it was not killed")
}

// T16, G5: killed at any step, the repository is sound, and the next scribe finds
// out whether the commit was made: finishes what follows it, or removes what was
// begun; an intent that was settled is never carried out.
func TestKilled(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	ctx := context.Background()
	for step, want := range map[Step]protocol.Result{
		Copy: protocol.NotLanded, Stage: protocol.NotLanded, Lock: protocol.NotLanded, Commit: protocol.NotLanded, Move: protocol.NotLanded,
		Swap: protocol.Landed, Unlock: protocol.Landed,
	} {
		t.Run(string(step), func(t *testing.T) {
			b := gitlab.New(t)
			b.Init()
			person(b)
			b.Append("a.txt", "more\n")
			b.Write("new.txt", "new\n")
			before, tree := state(b), ""
			x := over(t, b, nil)
			in, err := x.intend(commitOf(b, "m"))
			must(t, err)
			tree = in.Git.Plan.Tree
			raw, err := canon.Encode(in)
			must(t, err, os.WriteFile(b.Away+"/intent", raw, 0o600))
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestCarryAndDie$")
			cmd.Env = append(os.Environ(), killedHome+"="+b.Home, killedRoot+"="+b.Root, killedAt+"="+string(step), killedWhat+"="+b.Away+"/intent")
			cmd.Run()
			if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !s.Signaled() {
				t.Fatalf("it was not killed: %v", cmd.ProcessState)
			}
			out, err := x.hands.Settle(ctx, in)
			must(t, err)
			if out.Result != want {
				t.Fatalf("%+v", out)
			}
			if want == protocol.NotLanded {
				if after := state(b); after != before {
					t.Errorf("something was changed:\n%q\n%q", before, after)
				}
			} else if got := b.Git("rev-parse", "HEAD^{tree}"); got != tree || b.Git("status", "--porcelain") != "" {
				t.Errorf("tree %s of %s, status %q", got, tree, b.Git("status", "--porcelain"))
			}
			b.Git("fsck", "--strict")
			if _, err := x.hands.Carry(ctx, in); err == nil {
				t.Error("it was carried out after it was settled")
			}
		})
	}
}

// G5: where anybody changes the repository between the plan and the commit,
// nothing is committed.
func TestOvertaken(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, change := range map[string]func(b *gitlab.Builder){
		"a file":         func(b *gitlab.Builder) { b.Append("a.txt", "other\n") },
		"the index":      func(b *gitlab.Builder) { b.Write("x", "x"); b.Git("add", "x") },
		"the branch":     func(b *gitlab.Builder) { b.Git("commit", "-q", "--allow-empty", "-m", "mine") },
		"another branch": func(b *gitlab.Builder) { b.Git("symbolic-ref", "HEAD", "refs/heads/other") },
		"a lock":         func(b *gitlab.Builder) { b.Write(".git/index.lock", "") },
	} {
		for _, at := range []Step{Copy, Stage, Lock} {
			if at == Lock && name == "a file" {
				continue // its content is in the tree already, which is the planned one
			}
			t.Run(name+" at "+string(at), func(t *testing.T) {
				b := gitlab.New(t)
				b.Init()
				person(b)
				b.Append("a.txt", "more\n")
				before := ""
				x := over(t, b, func(s Step) error {
					if s == at {
						change(b)
						before = b.Git("log", "--all", "--format=%H")
					}
					return nil
				})
				out, err := x.do(commitOf(b, "m"))
				if err == nil || out.Result == protocol.Landed {
					t.Fatalf("%+v, %v", out, err)
				}
				if after := b.Git("log", "--all", "--format=%H"); after != before {
					t.Error("a commit was made")
				}
				if _, err := os.Lstat(b.Root + "/.git/.countersign-0123456789abcdef"); err == nil {
					t.Error("the copy is left")
				}
			})
		}
	}
}

// G8: the undo of a commit moves the branch back, and that alone; once the
// branch points to another commit it does nothing.
func TestUndo(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	undo := func(b *gitlab.Builder, out protocol.Outcome) action.Action {
		return action.Action{Undo: &action.Undo{Transaction: action.NewID(), Restores: []action.Restore{}, Commit: &action.Uncommit{
			Root: action.Path(b.Root), Branch: out.Git.Branch, From: out.Git.Commit, To: out.Git.Was,
		}}}
	}
	for name, build := range map[string]func(b *gitlab.Builder){
		"a branch":     func(b *gitlab.Builder) { b.Init() },
		"detached":     func(b *gitlab.Builder) { b.Init(); b.Git("checkout", "-q", "--detach") },
		"first commit": func(b *gitlab.Builder) { b.Git("init", "-q", "-b", "main") },
	} {
		t.Run(name, func(t *testing.T) {
			b := gitlab.New(t)
			build(b)
			person(b)
			b.Write("new.txt", "new\n")
			was, _ := b.Try(b.Root, "rev-parse", "-q", "--verify", "HEAD")
			x := over(t, b, nil)
			out, err := x.do(commitOf(b, "m"))
			must(t, err)
			if _, err := x.do(undo(b, out)); err != nil {
				t.Fatal(err)
			}
			if now, _ := b.Try(b.Root, "rev-parse", "-q", "--verify", "HEAD"); now != was {
				t.Errorf("%q, it was %q", now, was)
			}
			if got, err := os.ReadFile(b.Root + "/new.txt"); err != nil || string(got) != "new\n" {
				t.Errorf("%q, %v", got, err)
			}
			out, err = x.do(commitOf(b, "m"))
			must(t, err)
			b.Git("commit", "-q", "--allow-empty", "-m", "mine")
			mine := b.Git("rev-parse", "HEAD")
			if _, err := x.do(undo(b, out)); err == nil {
				t.Error("it was taken back")
			}
			if now := b.Git("rev-parse", "HEAD"); now != mine {
				t.Errorf("%s, it was %s", now, mine)
			}
		})
	}
}

// G4: nothing that a repository or a person configures is run by a commit or by
// its undo.
func TestDoors(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, d := range gitlab.Doors() {
		for _, where := range []string{"repository", "person"} {
			if d.Config == "" && where != "repository" {
				continue
			}
			t.Run(d.Name+" in "+where, func(t *testing.T) {
				b := gitlab.New(t)
				b.Arm(d, where)
				person(b)
				if !(d.Filter != "") { // a filter is refused: without it the commit goes all the way
					b.Git("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "checkout", "-q", "--", "t.txt")
				}
				b.Fired()
				x := over(t, b, nil)
				out, err := x.do(commitOf(b, "m"))
				if b.Fired() {
					t.Error("it ran")
				}
				if err == nil {
					_, err := x.do(action.Action{Undo: &action.Undo{Transaction: action.NewID(), Restores: []action.Restore{}, Commit: &action.Uncommit{
						Root: action.Path(b.Root), Branch: out.Git.Branch, From: out.Git.Commit, To: out.Git.Was}}})
					must(t, err)
				}
				if b.Fired() {
					t.Error("the undo ran it")
				}
				t.Logf("%v", err)
			})
		}
	}
}
