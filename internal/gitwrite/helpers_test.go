package gitwrite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/gitplan"
	"countersign/internal/gitrun"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/repo"
	"countersign/tests/gitlab"
)

func TestMain(m *testing.M) {
	if gitrun.IsRunner(os.Args[1:]) {
		if err := gitrun.Serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// both are a reader's planner and a scribe's hands over one home.
type both struct {
	t     testing.TB
	b     *gitlab.Builder
	reads gitplan.Planner
	hands *Hands
}

func over(t testing.TB, b *gitlab.Builder, at func(Step) error) *both {
	t.Helper()
	start := func(c gitrun.Config) gitplan.Planner {
		run, err := gitrun.Start(c)
		must(t, err)
		if why := run.About().Why; why != "" {
			t.Fatal(why)
		}
		t.Cleanup(run.Close)
		all := []grant.Grant{{Root: b.Home}}
		return gitplan.Planner{Finder: repo.Finder{UID: uint32(os.Geteuid()), Home: b.Home, Grants: grant.Set{Home: b.Home, Reads: all, Writes: all}}, Run: run}
	}
	return &both{
		t: t, b: b, reads: start(gitrun.Config{Read: []string{b.Home}}),
		hands: New(Config{Planner: start(gitrun.Config{Trees: []string{b.Home}}), At: at}),
	}
}

// person gives the person an identity.
func person(b *gitlab.Builder) { b.Persons("[user]\n\tname = Alice\n\temail = alice@example.org\n") }

func commitOf(b *gitlab.Builder, message string) action.Action {
	return action.Action{GitWrite: &action.GitWrite{Commit: &action.Commit{Root: action.Path(b.Root), Message: message}}}
}

// intend previews an action as the keeper has it done, and makes its intent.
func (x *both) intend(a action.Action) (protocol.Intent, error) {
	seen, err := x.reads.Preview(context.Background(), a)
	if err != nil {
		return protocol.Intent{}, err
	}
	hash, err := seen.Detail.Hash()
	must(x.t, err)
	return protocol.Intent{
		ID: action.NewID(), Action: a, Approved: &hash,
		Git: &protocol.GitIntent{Plan: seen.Plan, When: 1_700_000_000, Staged: ".countersign-0123456789abcdef"},
	}, nil
}

// do previews an action and carries it out.
func (x *both) do(a action.Action) (protocol.Outcome, error) {
	in, err := x.intend(a)
	if err != nil {
		return protocol.Outcome{}, err
	}
	return x.hands.Carry(context.Background(), in)
}

// plain runs plain git on another index.
func plain(b *gitlab.Builder, index string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = b.Root, append(b.Env(), "GIT_INDEX_FILE="+index)
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// wouldMake gives the tree that plain git would commit.
func wouldMake(t testing.TB, b *gitlab.Builder) (string, error) {
	t.Helper()
	dir, err := b.Try(b.Root, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return "", err
	}
	index := strings.TrimSpace(dir) + "/plain-index"
	defer os.Remove(index)
	if raw, err := os.ReadFile(strings.TrimSpace(dir) + "/index"); err == nil {
		must(t, os.WriteFile(index, raw, 0o600))
	}
	if _, err := plain(b, index, "add", "-A"); err != nil {
		return "", err
	}
	return plain(b, index, "write-tree")
}

// state is what a refused action must leave as it was.
func state(b *gitlab.Builder) string {
	head, _ := b.Try(b.Root, "rev-parse", "HEAD")
	branch, _ := b.Try(b.Root, "symbolic-ref", "-q", "HEAD")
	status, _ := b.Try(b.Root, "--no-optional-locks", "status", "--porcelain=v2", "-z")
	entries, _ := b.Try(b.Root, "ls-files", "--stage", "-v", "-z")
	left, _ := exec.Command("find", b.Home, "-name", ".countersign-*", "-o", "-name", "index.lock").Output()
	return fmt.Sprintf("%s%s%s%s%s", head, branch, status, entries, left)
}
