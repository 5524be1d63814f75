package repo

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// byGit gives what git reads in a configuration file: each setting's whole
// name, and its value where it has one.
func byGit(t testing.TB, text string) (list []string, ok bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("git", "config", "--file", file, "--list", "-z", "--no-includes")
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	var out bytes.Buffer
	c.Stdout = &out
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for rec := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\x00"), "\x00") {
		if rec != "" {
			list = append(list, rec)
		}
	}
	return list, err == nil
}

func byUs(entries []entry) (list []string) {
	for _, e := range entries {
		name := e.section
		if e.sub != "" || strings.Contains(e.section, ".") {
			name += "." + e.sub
		}
		if name != "" {
			name += "."
		}
		name += e.key
		if !e.bare {
			name += "\n" + e.value
		}
		list = append(list, name)
	}
	return list
}

// alike holds our reading of a text to git's: the same settings in the same
// order, or a refusal. What git refuses is never read.
func alike(t testing.TB, text string) {
	t.Helper()
	entries, err := parse(text)
	want, ok := byGit(t, text)
	if err != nil {
		return // refused; the table says where that would be too much
	}
	if !ok {
		t.Errorf("%q: git refuses it, and it is read as %q", text, byUs(entries))
		return
	}
	if slices.ContainsFunc(entries, func(e entry) bool { return e.odd }) {
		return // versions of git differ, and such a value is never followed
	}
	got := byUs(entries)
	// An empty subsection has a name with two dots, which ours spells with one.
	flat := func(list []string) []string {
		out := slices.Clone(list)
		for i, s := range out {
			name, value, _ := strings.Cut(s, "\n")
			out[i] = strings.ReplaceAll(name, "..", ".") + "\n" + value
		}
		return out
	}
	if !slices.Equal(flat(got), flat(want)) {
		t.Errorf("%q: git reads %q, and we %q", text, want, got)
	}
}

func samples() []string {
	return []string{
		"[core]\n\tx = 1\n", "[core] x=1\n", "[core]x=1", "[core]\nx\n", "[core]\nx=\n", "[Core]\nXy = Z\n", "[filter \"a=b\"] clean = x\n",
		"[filter \"A\"]\nclean=1\n[FILTER \"a\"]\nClean=2\n", "[filter.Dotted]\nclean=1\n", "[a.B.c]\nx=1\n", "[a.b \"C\"]\nx=1\n", "[filter \"\"]\nclean=1\n",
		"[filter \"q\\\"d\\\\e\\f\"]\nclean=1\n", "[filter \"a]b\"]\nclean=1\n", "[filter\t \"x\"]\nclean=1\n", "[core]\nx = a\\\n  b\n", "[include]\npath = a\\\nb\n",
		"[core]\nx = \"a ; b\" # c\ny = a ; b\n", "[core]\nx = \"a\"b\"c\"\n", "[core]\nx = a\\tb\\n\\\"\\\\\n", "[core]\r\nx = 1\r\n", "[core]\nx = a\r\ny = b\rc\n",
		"\xef\xbb\xbf[core]\nx=1\n", "# c\n; c\n[core] # c\nx=1\n", "[core]\n# c \\\nx=1\n", "[core]\nx = 1 # c \\\ny = 2\n", "[core]\nx =   \n", "[core]\nx = a   b  \n",
		"x = 1\n", "[core]\nx = caf\xe9\n", "[core]\na-b=1\na1=2\n", "", "\n\n", "[core]", "[core]\nx=1\n[core]\nx=2\n", "[core]\nx = \"\"\n", "[core]\nx = \" a \"\n",
	}
}

// R15: a configuration file is read exactly as git reads it, and what git
// refuses is refused.
func TestConfigAsGit(t *testing.T) {
	for _, text := range samples() {
		alike(t, text)
		if _, err := parse(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{
		"[core\n", "[core]\n1x=1\n", "[core]\nx y\n", "[core]\nx = \"a\n", "[core]\nx = a\\q\n", "[core \"a\n\"]\n", "[core \"a\"x]\n", "[core 'a']\n", "[co_re]\nx=1\n", "=\n", "[core]\nx\x00=1\n", "[core] ]\n",
		"[core]\nx.y = 1\n", "[core \"a\\\n\"]\nx=1\n", "[core]\n\"x\" = 1\n",
	} {
		if entries, err := parse(text); err == nil {
			t.Errorf("%q is read as %q", text, byUs(entries))
		}
		alike(t, text)
	}
}

// FuzzConfig looks for a text that git and this package read differently.
func FuzzConfig(f *testing.F) {
	for _, s := range samples() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 4096 {
			alike(t, text)
		}
	})
}
