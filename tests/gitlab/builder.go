// Package gitlab builds repositories of every kind that there is a reason to
// doubt, for tests that compare Countersign's answers and doings with plain
// git's. kinds.go has the table.
//
// It is for tests only: it runs the git that is installed, as whoever runs the
// test, in a directory of the test's own.
package gitlab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Builder builds one repository in a home of its own.
type Builder struct {
	Home string // a person's home, of which all may be granted
	Away string // a directory outside it
	Root string // of the work tree that the kind is about; Home/r unless a kind says otherwise

	t testing.TB
}

// New makes an empty home, and a directory outside it.
func New(t testing.TB) *Builder {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &Builder{Home: dir + "/home", Away: dir + "/away", Root: dir + "/home/r", t: t}
	for _, d := range []string{b.Home, b.Away, b.Root} {
		b.check(os.Mkdir(d, 0o755))
	}
	return b
}

func (b *Builder) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// Env is the environment of plain git, run by the person: their home and
// configuration, an identity and a time that are always the same, and no
// machine's own configuration.
func (b *Builder) Env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.Home, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "TZ=UTC", "GIT_EDITOR=true", "GIT_ALLOW_PROTOCOL=file:ext",
		"GIT_AUTHOR_NAME=Ann Author", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_AUTHOR_DATE=1700000000 +0100",
		"GIT_COMMITTER_NAME=Carl Committer", "GIT_COMMITTER_EMAIL=carl@example.org", "GIT_COMMITTER_DATE=1700000001 +0000"}
}

// Try runs plain git in a directory, and gives its output and how it ended.
func (b *Builder) Try(dir string, args ...string) (string, error) {
	c := exec.Command("git", args...)
	c.Dir, c.Env = dir, b.Env()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("git %q: %w\n%s", args, err, errs.String())
	}
	return out.String(), nil
}

// GitIn runs plain git in a directory.
func (b *Builder) GitIn(dir string, args ...string) string {
	b.t.Helper()
	out, err := b.Try(dir, args...)
	b.check(err)
	return strings.TrimSpace(out)
}

// Git runs plain git in the work tree.
func (b *Builder) Git(args ...string) string { b.t.Helper(); return b.GitIn(b.Root, args...) }

// Fails runs plain git where it must not succeed, as with a conflict.
func (b *Builder) Fails(args ...string) {
	b.t.Helper()
	if out, err := b.Try(b.Root, args...); err == nil {
		b.t.Fatalf("git %q succeeds: %s", args, out)
	}
}

// Write writes a file by its path in the work tree, or an absolute one, with
// the directories on its way.
func (b *Builder) Write(path, content string) {
	b.t.Helper()
	path = b.abs(path)
	b.check(os.MkdirAll(filepath.Dir(path), 0o755))
	b.check(os.WriteFile(path, []byte(content), 0o644))
}

// Append adds to a file.
func (b *Builder) Append(path, content string) {
	b.t.Helper()
	old, err := os.ReadFile(b.abs(path))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	b.Write(path, string(old)+content)
}

// Remove removes a file or a tree.
func (b *Builder) Remove(path string) { b.t.Helper(); b.check(os.RemoveAll(b.abs(path))) }

func (b *Builder) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(b.Root, path)
}

// Init makes a repository with three commits: files, a directory, and a file
// that changes in each.
func (b *Builder) Init(args ...string) {
	b.t.Helper()
	b.Git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	b.Write("a.txt", "one\ntwo\nthree\n")
	b.Write("dir/b.txt", "first\n")
	b.Write("dir/deep/c.txt", "c\n")
	b.Commit("first")
	b.Append("a.txt", "four\n")
	b.Commit("second, with a body\n\nThe body.\n")
	b.Write("a.txt", "one\n2\nthree\nfour\n")
	b.Write("d.txt", "d\n")
	b.Commit("third")
}

// Commit commits everything.
func (b *Builder) Commit(message string) {
	b.t.Helper()
	b.Git("add", "-A")
	b.Git("commit", "-q", "--allow-empty", "-m", message)
}

// Config adds to the repository's configuration file, as text.
func (b *Builder) Config(text string) { b.t.Helper(); b.Append(".git/config", text) }

// Persons adds to the person's own configuration file, as text.
func (b *Builder) Persons(text string) { b.t.Helper(); b.Append(b.Home+"/.gitconfig", text) }

// Link makes a symbolic link.
func (b *Builder) Link(to, path string) { b.t.Helper(); b.check(os.Symlink(to, b.abs(path))) }
