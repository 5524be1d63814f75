package gitread

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"countersign/internal/action"
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

// reader answers about a home, all of which is granted.
type reader struct {
	*Git
	t testing.TB
	b *gitlab.Builder
}

// over makes a reader of a home, with these grants or one of all.
func over(t testing.TB, b *gitlab.Builder, grants ...grant.Grant) *reader {
	t.Helper()
	run, err := gitrun.Start(gitrun.Config{Read: []string{b.Home}})
	must(t, err)
	if why := run.About().Why; why != "" {
		t.Fatal(why)
	}
	if len(grants) == 0 {
		grants = []grant.Grant{{Root: b.Home}}
	}
	t.Cleanup(run.Close)
	f := repo.Finder{UID: uint32(os.Geteuid()), Home: b.Home, Grants: grant.Set{Home: b.Home, Reads: grants}}
	return &reader{&Git{Finder: f, Run: run}, t, b}
}

func (r *reader) root() action.Path { return action.Path(r.b.Root) }

func (r *reader) status() (protocol.GitStatusResult, error) {
	return r.Status(context.Background(), protocol.GitStatusParams{Repository: r.root()})
}

func (r *reader) log() (protocol.GitLogResult, error) {
	return r.Log(context.Background(), protocol.GitLogParams{Repository: r.root(), Limit: protocol.MaxGitCommits})
}

func (r *reader) diff(p protocol.GitDiffParams) (protocol.GitDiffResult, error) {
	p.Repository = r.root()
	return r.Diff(context.Background(), p)
}

func (r *reader) show(p protocol.GitShowParams) (protocol.GitShowResult, error) {
	p.Repository = r.root()
	return r.Show(context.Background(), p)
}

func (r *reader) blame(rev, path string) (protocol.GitBlameResult, error) {
	return r.Blame(context.Background(), protocol.GitBlameParams{Repository: r.root(), Rev: rev, Path: action.Path(path)})
}

// text puts the patches of files one behind the other.
func text(files []protocol.GitFile) string {
	var b strings.Builder
	for _, f := range files {
		b.WriteString(f.Patch + string(f.Raw))
		if f.Left != "" {
			fmt.Fprintf(&b, "%s: %s\n", f.Path, f.Left)
		}
	}
	return b.String()
}
