package action

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/refusal"
	"countersign/internal/visible"
)

// T2: a path is absolute and clean, and nothing is cleaned on its sender's
// behalf. R2: its bytes need not be UTF-8.
func TestPathValidate(t *testing.T) {
	name := strings.Repeat("n", maxName)
	for _, c := range []struct {
		path Path
		ok   bool
	}{
		{"/a", true},
		{"/home/alice/.a..b/...", true},
		{"/home/alice/\xff\n\x1b\" -~", true},
		{Path("/" + name), true},
		{Path(strings.Repeat("/"+strings.Repeat("n", 64), 63)), true},
		{"", false},
		{"/", false},
		{"a", false},
		{"~/a", false},
		{"//a", false},
		{"/a//b", false},
		{"/a/", false},
		{"/.", false},
		{"/..", false},
		{"/a/./b", false},
		{"/a/../b", false},
		{"/a/..", false},
		{"/a\x00b", false},
		{Path("/" + name + "n"), false},
		{Path(strings.Repeat("/"+name, 16)), false}, // 4096 bytes
	} {
		want := fine
		if !c.ok {
			want = refusal.PathNotClean
		}
		if got := codeOf(t, c.path.Validate()); got != want {
			t.Errorf("%.60q: %q, want %q", string(c.path), got, want)
		}
	}
}

// T2: the directory and the name of a path are its own, for paths of one name
// too.
func TestPathParts(t *testing.T) {
	for path, want := range map[Path][2]string{
		"/a":     {"/", "a"},
		"/a/b":   {"/a", "b"},
		"/a/b/c": {"/a/b", "c"},
	} {
		if got := [2]string{string(path.Dir()), path.Name()}; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// R2: a path prints as itself, and in git's quoted form where it begins with a
// quote, is not UTF-8, or holds what does not show; git quotes for no
// bidirectional or zero-width character, and this does.
func TestPathString(t *testing.T) {
	for path, want := range map[Path]string{
		"":              `""`,
		"/a b":          `/a b`,
		"/é/日本":         `/é/日本`,
		`/a"b`:          `/a"b`,
		`/a\b`:          `/a\b`,
		`"/a`:           `"\"/a"`,
		"/a\nb":         `"/a\nb"`,
		"/\a\b\t\v\f\r": `"/\a\b\t\v\f\r"`,
		"/\x1b[2K":      `"/\033[2K"`,
		"/\x7f":         `"/\177"`,
		"/\xff":         `"/\377"`,
		"/é\xff":        `"/é\377"`,
		"/\u202e":       `"/\342\200\256"`,
		"/\u200b":       `"/\342\200\213"`,
		"/\u0085":       `"/\302\205"`,
		"/\ufffd":       `"/\357\277\275"`,
		"/\"\\\n":       `"/\"\\\n"`,
	} {
		if got := path.String(); got != want {
			t.Errorf("%q: %s, want %s", string(path), got, want)
		}
	}
}

// R2: a quoted form that is broken is refused, not read as something near it.
func TestParsePathRefuses(t *testing.T) {
	for _, s := range []string{
		`"`, `"a`, `"a"b`, `"a"b"`, `"\"`, `"\`, `"\x41"`, `"\e"`, `"\1"`, `"\12"`, `"\400"`, `"\777"`,
		`"\89a"`, `"\+12"`, `"\-12"`, `"\ 12"`, `"\0_1"`, `"\N"`,
	} {
		if p, err := ParsePath(s); codeOf(t, err) != refusal.BadRequest {
			t.Errorf("%s: %q, %v", s, string(p), err)
		}
	}
	for s, want := range map[string]Path{``: "", `""`: "", `a\n`: `a\n`, `"a\\n"`: `a\n`, `"\141"`: "a", `"é"`: "é", `a"`: `a"`} {
		if p, err := ParsePath(s); err != nil || p != want {
			t.Errorf("%s: %q, %v, want %q", s, string(p), err, string(want))
		}
	}
}

// R2: whatever bytes a path has, what is printed of it is visible, and reads
// back to the same bytes.
func FuzzPathRoundTrip(f *testing.F) {
	for _, s := range []string{"", "/a", `"`, `\`, "\n", "\xff", "é", "\u202e", "\ufffd", `"\377"`, "\x1b]0;x\a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		printed := Path(s).String()
		for _, r := range printed {
			if !visible.Rune(r) {
				t.Errorf("%q prints as %q, which holds %U", s, printed, r)
			}
		}
		if back, err := ParsePath(printed); err != nil || string(back) != s {
			t.Errorf("%q prints as %s, which reads %q, %v", s, printed, string(back), err)
		}
		if p, err := ParsePath(s); err == nil { // any other spelling may read too, and then prints in one way
			if again, err := ParsePath(p.String()); err != nil || again != p {
				t.Errorf("%q reads %q, which does not read back: %q, %v", s, string(p), string(again), err)
			}
		}
	})
}

// R2: the quoted form is git's. What git prints of a name reads as that name,
// with and without core.quotePath; and where both quote, both write the same,
// but for what does not show and git leaves bare.
func TestPathAgainstGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git here")
	}
	const none, always, never = "", "true", "false"
	names := map[string]string{ // name: the core.quotePath under which git writes as String does
		"plain":                  always,
		"two words":              always,
		"-dash":                  always,
		"~tilde":                 always,
		"é":                      never,
		"\"quote":                always,
		"new\nline":              always,
		"\x1b[2K\r":              always,
		"\a\b\t\v\f\x01\x7f":     always,
		"\xff\xfe":               always, // without quotePath git leaves the bytes bare
		"\x1b\xff":               always,
		"back\\slash\n":          always,
		"bidi\u202e":             always, // likewise
		"zero\u200bwidth":        always,
		"both\né":                never,
		"both\xffé":              none, // git quotes both bytes or neither; é shows
		"in\"side":               none, // git quotes; it cannot be taken for a quoted form, and stays bare
		"back\\slash":            none,
		strings.Repeat("n", 255): always,
	}
	dir := t.TempDir()
	run := func(args ...string) string {
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	run("init", "-q")
	for name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, setting := range []string{always, never} {
		seen := map[string]bool{}
		for line := range strings.Lines(run("-c", "core.quotePath="+setting, "ls-files", "-o")) {
			line = strings.TrimSuffix(line, "\n")
			p, err := ParsePath(line)
			agrees, known := names[string(p)]
			if err != nil || !known {
				t.Errorf("git's %s reads %q, %v", line, string(p), err)
				continue
			}
			seen[string(p)] = true
			if agrees == setting && p.String() != line {
				t.Errorf("%q: git writes %s, this %s", string(p), line, p)
			}
		}
		if len(seen) != len(names) {
			t.Errorf("core.quotePath=%s: %d of %d names came back", setting, len(seen), len(names))
		}
	}
}
