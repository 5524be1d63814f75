package ignore

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// repository is a tree to try: directories and files, relative, and the ignore
// files in it by their directory.
type repository struct {
	dirs, files map[string]bool
	lists       map[string]string
	exclude     string
}

// fataler is what both a test and a property are.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// gitIgnores asks git which paths of a repository are ignored.
func gitIgnores(t fataler, top string, paths []string) map[string]bool {
	t.Helper()
	cmd := exec.Command("git", "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Dir = top
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+top, "XDG_CONFIG_HOME="+top, "LC_ALL=C")
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("git check-ignore: %v: %s", err, stderr.String())
	}
	ignored := map[string]bool{}
	for p := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		ignored[p] = p != ""
	}
	return ignored
}

// weIgnore asks this package, as a walk from the top would.
func weIgnore(r repository, target string) bool {
	var rules *Rules
	if r.exclude != "" {
		rules = rules.With(Parse([]byte(r.exclude)), "")
	}
	dir := ""
	names := strings.Split(target, "/")
	for i, name := range names {
		if text, ok := r.lists[dir]; ok {
			rules = rules.With(Parse([]byte(text)), dir)
		}
		here := path.Join(dir, name)
		if rules.Ignores(dir, name, i < len(names)-1 || r.dirs[here]) {
			return true
		}
		dir = here
	}
	return false
}

func build(t fataler, top string, r repository) {
	t.Helper()
	if err := os.RemoveAll(top); err != nil {
		t.Fatal(err)
	}
	for d := range r.dirs {
		if err := os.MkdirAll(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for f := range r.files {
		if err := os.MkdirAll(filepath.Join(top, filepath.Dir(f)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for d, text := range r.lists {
		if err := os.MkdirAll(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, d, ".gitignore"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", "--template=", top).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	if err := os.Mkdir(filepath.Join(top, ".git/info"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, ".git/info/exclude"), []byte(r.exclude), 0o644); err != nil {
		t.Fatal(err)
	}
}

// complete adds the directories that hold what is there.
func (r *repository) complete() []string {
	for _, all := range []map[string]bool{maps.Clone(r.dirs), r.files} {
		for p := range all {
			for d := path.Dir(p); d != "."; d = path.Dir(d) {
				r.dirs[d] = true
			}
		}
	}
	for f := range r.files {
		if r.dirs[f] {
			delete(r.files, f)
		}
	}
	for d := range r.lists {
		for ; d != "." && d != ""; d = path.Dir(d) {
			r.dirs[d] = true
			delete(r.files, d)
		}
	}
	return slices.Sorted(func(yield func(string) bool) {
		for p := range r.dirs {
			if !yield(p) {
				return
			}
		}
		for p := range r.files {
			if !yield(p) {
				return
			}
		}
	})
}

func line() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"a", "b", "ab", "x.o", ".o", "o", "*", "**", "***", "?", "/", "/", "/**/", "/**", "**/", "[ab]", "[!a]", "[^a-c]", "[]a]", "[a", "[[:alpha:]]",
		"[[:nope:]]", "[a-]", "[\\]a]", "[--0]", "[a/b]", "[/]", "\\", "\\a", "\\*", "\\/", "\\ ", " ", "#", "!", "\t", "é", "\xff", "[[:digit:]x]", "-", "A", "[b-a]", "[[:]a]", "\\!",
	})
	return rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "pieces"), "")
		if rapid.IntRange(0, 4).Draw(t, "negated") == 0 {
			s = "!" + s
		}
		return s + rapid.SampledFrom([]string{"", "", "/", "\r", " ", "/**", "\\ "}).Draw(t, "end")
	})
}

func listText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(line(), 1, 5).Draw(t, "lines"), "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "last")
	})
}

// R10: what is passed over is what `git check-ignore` says is ignored: nested
// files, negation, anchors, spaces, stars, classes, escapes, directories only,
// and .git/info/exclude, on trees and patterns of no particular kind.
func TestAgainstGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("this test needs git")
	}
	top := filepath.Join(t.TempDir(), "repository")
	name := rapid.SampledFrom([]string{"a", "b", "ab", "x.o", "a.o", "o", "!a", "#", "a ", " a", "é", "\xff", "[a", "A", "*", "\\a", "-", "a\t", "aab", "a\r", "0", "]", "b*"})
	trees := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "names"), "/") })
	rapid.Check(t, func(t *rapid.T) {
		r := repository{dirs: map[string]bool{}, files: map[string]bool{}, lists: map[string]string{"": listText().Draw(t, "list")}}
		for _, p := range rapid.SliceOfN(trees, 5, 40).Draw(t, "files") {
			r.files[p] = true
		}
		for _, p := range rapid.SliceOfN(trees, 0, 8).Draw(t, "dirs") {
			r.dirs[p] = true
		}
		if rapid.Bool().Draw(t, "nested") {
			r.lists[rapid.SampledFrom([]string{"a", "a/b", "ab"}).Draw(t, "where")] = listText().Draw(t, "list")
		}
		if rapid.Bool().Draw(t, "excludes") {
			r.exclude = listText().Draw(t, "exclude")
		}
		paths := r.complete()
		build(t, top, r)
		git := gitIgnores(t, top, paths)
		for _, p := range paths {
			if got := weIgnore(r, p); got != git[p] {
				t.Fatalf("%q: ignored is %v, and git says %v; lists %q, exclude %q", p, got, git[p], r.lists, r.exclude)
			}
		}
	})
}

// R10: a pattern made to go back and forth takes no longer than pattern times
// path, and a file of patterns beyond the bound counts up to it.
func TestHostilePatterns(t *testing.T) {
	path := strings.Repeat("a/", 2000) + strings.Repeat("a", 200)
	for _, text := range []string{
		strings.Repeat("*a", 120) + "b", strings.Repeat("**/a*", 60) + "/b", strings.Repeat("**/", 300) + "b", "x/" + strings.Repeat("?*", 200) + "b", strings.Repeat("[a-z]*", 100) + "!",
	} {
		if l := Parse([]byte(text)); l.Match(path, path[len(path)-200:], false) != Undecided || len(l.patterns) != 1 {
			t.Errorf("%.20q matches", text)
		}
	}
	l := Parse([]byte(strings.Repeat("x\n", MaxPatterns) + "last\n"))
	if l.Match("x", "x", false) != Ignored || l.Match("last", "last", false) != Undecided {
		t.Error("the bound on patterns")
	}
}
