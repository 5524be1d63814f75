package fileread

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/protocol"
)

// ripgrep gives the lines that it finds, as path:number:text; it is told to look
// where a walk does.
func ripgrep(t *testing.T, at string, args ...string) []string {
	t.Helper()
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("ripgrep is not installed")
	}
	c := exec.Command(rg, slices.Concat([]string{"--no-config", "--hidden", "--no-ignore-global", "--no-messages", "--no-heading", "-nH"}, args, []string{at})...)
	out, _ := c.Output() // which fails where nothing matches
	var lines []string
	for line := range bytes.Lines(out) {
		lines = append(lines, strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"))
	}
	slices.Sort(lines)
	return lines
}

// R9: on a real tree the lines that are found are ripgrep's, of whatever
// pattern. Three things differ, and are left out of the comparison: files that
// hold a NUL, of which ripgrep searches what stands in front of it and this all
// or, where it is near the beginning, nothing; letters beyond ASCII, which
// ripgrep's \w knows; and the deny list.
func TestAsRipgrep(t *testing.T) {
	home := filepath.Join(runtime.GOROOT(), "src")
	if _, err := os.Stat(home + "/net/http"); err != nil {
		t.Skip("Go's own sources are not there")
	}
	f := files(t, home)
	at := home + "/net"
	for _, c := range []struct {
		in   protocol.GrepParams
		args []string
	}{
		{protocol.GrepParams{Pattern: "DeadlineExceeded"}, []string{"DeadlineExceeded"}},
		{protocol.GrepParams{Pattern: `func \(\w+ \*?[A-Z]\w+\) Close\(\) error`}, []string{`func \(\w+ \*?[A-Z]\w+\) Close\(\) error`}},
		{protocol.GrepParams{Pattern: "deadlineexceeded", IgnoreCase: true}, []string{"-i", "deadlineexceeded"}},
		{protocol.GrepParams{Pattern: `[A-Z]\w+Timeout\b`}, []string{`[A-Z]\w+Timeout\b`}},
		{protocol.GrepParams{Pattern: "skip", IgnoreCase: true, Word: true}, []string{"-iw", "skip"}},
		{protocol.GrepParams{Pattern: "(*", Literal: true}, []string{"-F", "(*"}},
		{protocol.GrepParams{Pattern: `^\t}$`}, []string{`^\t}$`}},
		{protocol.GrepParams{Pattern: `^$`}, []string{"--crlf", `^$`}},
		{protocol.GrepParams{Pattern: `[0-9]{5}`}, []string{`[0-9]{5}`}},
		{protocol.GrepParams{Pattern: `Read|Write|Close`, Include: []string{"*_test.go"}}, []string{"-g", "*_test.go", "Read|Write|Close"}},
	} {
		c.in.Path, c.in.All = action.Path(at), true
		got, _ := grepAll(t, f, c.in)
		var ours []string
		for _, file := range got.Files {
			for _, l := range file.Lines {
				text := l.Text + string(l.Bytes)
				if l.Size > 0 {
					b, err := os.ReadFile(string(file.Path))
					must(t, err)
					text = strings.TrimSuffix(strings.Split(string(b), "\n")[l.Number-1], "\r")
				}
				ours = append(ours, fmt.Sprintf("%s:%d:%s", file.Path, l.Number, text))
			}
		}
		slices.Sort(ours)
		differ(t, c.args, ours, ripgrep(t, at, append([]string{"-uu"}, c.args...)...))
	}
}

// differ says where two lists of lines differ, but in files that hold a NUL.
func differ(t *testing.T, what []string, ours, theirs []string) {
	t.Helper()
	if len(theirs) == 0 {
		t.Errorf("%q: nothing to compare", what)
	}
	count := make(map[string]int)
	for _, l := range ours {
		count[l]++
	}
	for _, l := range theirs {
		count[l]--
	}
	for _, l := range slices.Sorted(maps.Keys(count)) {
		name, _, _ := strings.Cut(l, ":")
		b, err := os.ReadFile(name)
		if count[l] == 0 || err != nil || bytes.IndexByte(b, 0) >= 0 {
			continue
		}
		t.Errorf("%q: %s alone finds %.200s", what, map[bool]string{true: "this", false: "ripgrep"}[count[l] > 0], l)
	}
}

// R10: with the same ignore files the files that are searched are ripgrep's.
func TestIgnoresAsRipgrep(t *testing.T) {
	home := t.TempDir()
	putAll(t, home, map[string]string{
		".git/HEAD": "needle\n", ".gitignore": "*.log\n!keep.log\n/made/\ndeep/**/x\n", "a.log": "needle\n", "keep.log": "needle\n", "made/f": "needle\n",
		"sub/made/f": "needle\n", "deep/1/2/x": "needle\n", "deep/y": "needle\n", "sub/.gitignore": "/only\n!a.log\n", "sub/only": "needle\n", "sub/a.log": "needle\n",
		"sub/.hidden": "needle\n",
	})
	got, _ := grepAll(t, files(t, home), protocol.GrepParams{Path: action.Path(home), Pattern: "needle", Mode: protocol.GrepFiles})
	var ours []string
	for _, f := range got.Files {
		ours = append(ours, string(f.Path)+":1:needle")
	}
	differ(t, []string{"needle"}, ours, ripgrep(t, home, "-g", "!.git", "needle"))
}
