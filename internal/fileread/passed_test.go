package fileread

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/grant"
	"countersign/internal/protocol"
)

// filesOf keeps the names that are no directories'.
func filesOf(home string, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return isDir(home + "/" + n) })
}

// R10: a whole walk passes over repositories' own files, dependencies and
// builds, by name or by what stands beside, caches by their place in the home,
// what a grant's ignore list covers, and what ignore files cover in a
// repository; a switch turns all of it off. It says how much was passed over.
func TestPassesOver(t *testing.T) {
	home := t.TempDir()
	kept := []string{".gitignore", "js/build.js", "lib/build/source.go", "lib/target/x.go", "lib/vendor/x", "outside.log", "repo/.gitignore", "repo/a.go", "repo/deep/.gitignore", "repo/deep/keep.log",
		"repo/inner/a.log", "repo/inner/out/x", "rust/Cargo.toml", "rust/src/target.rs", "go/src/x"}
	passed := []string{".cache/x", "js/node_modules/m/index.js", "repo/.git/config", "repo/x.log", "repo/deep/other.log", "repo/out/x", "repo/private/x", "repo/inner/.git/x", "repo/inner/skip",
		"rust/target/debug/x", "go/pkg/mod/x", "p/__pycache__/a.pyc", "own/ignored/x", "own/Ignored.TMP"}
	put(t, home, append(slices.Clone(kept), passed...)...)
	must(t, os.WriteFile(home+"/.gitignore", []byte("*\n"), 0o644), // no repository's
		os.WriteFile(home+"/repo/.gitignore", []byte("*.log\n/out/\n"), 0o644), os.WriteFile(home+"/repo/deep/.gitignore", []byte("!keep.log\n"), 0o644))
	put(t, home, "repo/.git/info/", "repo/inner/.git/info/")
	must(t, os.WriteFile(home+"/repo/.git/info/exclude", []byte("private\n"), 0o644), os.WriteFile(home+"/repo/inner/.git/info/exclude", []byte("skip\n"), 0o644))
	f := granting(t, home, grant.Grant{Root: home, Ignore: []string{"own/ignored/**", "**/*.tmp"}})
	names, last := listed(t, f, protocol.ListParams{Path: action.Path(home)})
	slices.Sort(kept)
	got := filesOf(home, names)
	slices.Sort(got)
	if !slices.Equal(got, kept) {
		t.Errorf("%q\nwant\n%q", got, kept)
	}
	if want := uint64(len(passed)); last.Passed != want {
		t.Errorf("%d passed over, want %d", last.Passed, want)
	}
	names, last = listed(t, f, protocol.ListParams{Path: action.Path(home), All: true})
	if got := filesOf(home, names); len(got) != len(filesOf(home, onDisk(t, home))) || last.Passed != 0 {
		t.Errorf("with the switch: %d of %d, %d passed over", len(got), len(onDisk(t, home)), last.Passed)
	}
	if l, err := f.List(context.Background(), protocol.ListParams{Path: action.Path(home + "/repo")}); err != nil || len(l.Entries) != 8 {
		t.Errorf("a plain listing passes over nothing: %d, %v", len(l.Entries), err)
	}
}

// R10: a path that the caller names is walked whatever covers it, and the rest
// of what is passed over still is beneath it.
func TestNamedIsWalked(t *testing.T) {
	home := t.TempDir()
	put(t, home, "r/.git/x", "r/node_modules/m/a.js", "r/node_modules/m/node_modules/n/b.js", "r/build/gen/a.o", "r/build/gen/a.go", "r/all/x/y", "r/all/x/z.o", "r/star/w/v", "r/star/w/v.o", "ig/a/b.tmp", "ig/a/c")
	must(t, os.WriteFile(home+"/r/.gitignore", []byte("build/\n*.o\nall/**\n/star\n"), 0o644))
	f := granting(t, home, grant.Grant{Root: home, Ignore: []string{"ig/**", "**/*.tmp"}})
	for start, want := range map[string][]string{
		"r/node_modules": {"m/a.js"}, "r/build": {"gen/a.go"}, "r/build/gen": {"a.go"}, "r/all": {"x/y"}, "r/all/x": {"y"}, "r/star/w": {"v"}, "ig": {"a/c"}, "ig/a": {"c"},
		"r/node_modules/m/node_modules": {"n/b.js"}, "r/.git": {"x"}, "r/build/gen/a.o": {""},
	} {
		names, _ := listed(t, f, protocol.ListParams{Path: action.Path(home + "/" + start)})
		if got := filesOf(home+"/"+start, names); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", start, got, want)
		}
	}
}

// R10: on a repository of many ignore files a walk shows exactly what git
// itself does not ignore.
func TestWalkAgainstGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("this test needs git")
	}
	home := t.TempDir()
	for _, d := range []string{"", "a/", "a/b/", "a/b/c/", "x y/", "é/", "a/log/"} {
		put(t, home, "r/"+d+"f.go", "r/"+d+"f.o", "r/"+d+"f.log", "r/"+d+"keep.log", "r/"+d+"tmp/in", "r/"+d+"doc/in.md", "r/"+d+"doc/in.txt", "r/"+d+"#x", "r/"+d+" s ")
	}
	for dir, text := range map[string]string{
		"": "*.o\n!keep.o\n/tmp/\n**/doc/*.txt\n\\#x\n", "a": "*.log\n!keep.log\nb/c/\n", "a/b": "!c\n!f.o\n*\\ \n", "x y": "*\n!*.go\n!.gitignore\n", "é": "doc/**\n",
	} {
		must(t, os.WriteFile(home+"/r/"+dir+"/.gitignore", []byte(text), 0o644))
	}
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-c", "core.excludesFile="}, args...)...)
		cmd.Dir, cmd.Env = home+"/r", append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+home)
		out, err := cmd.Output()
		must(t, err)
		return string(out)
	}
	git("init", "-q", "--template=", ".")
	want := strings.Split(strings.TrimSuffix(git("ls-files", "-z", "--others", "--exclude-standard"), "\x00"), "\x00")
	names, _ := listed(t, granting(t, home, grant.Grant{Root: home}), protocol.ListParams{Path: action.Path(home + "/r")})
	got := filesOf(home+"/r", names)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q\ngit\n%q", got, want)
	}
}
