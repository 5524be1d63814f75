package action

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// account makes the detail of one change.
func account(t *testing.T, a Action, b Before) ChangeDetail {
	t.Helper()
	plans, err := a.Plan([]Before{b}, umask)
	if err != nil {
		t.Fatal(err)
	}
	return DetailOf(plans).Changes[0]
}

// body gives the lines of a diff behind its two labels.
func body(t *testing.T, diff string) string {
	t.Helper()
	if diff == "" {
		return ""
	}
	lines := strings.SplitAfterN(diff, "\n", 3)
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "--- ") || !strings.HasPrefix(lines[1], "+++ ") || !strings.HasPrefix(lines[2], "@@ ") {
		t.Fatalf("not the beginning of a diff: %.200q", diff)
	}
	return lines[2]
}

// T3: the account of a change is its diff against what stands there, a new
// file's is its whole text; a change that only touches metadata has none.
func TestDiff(t *testing.T) {
	del := change(Change{Path: there, Delete: &Delete{}})
	for name, c := range map[string]struct {
		a      Action
		before Before
		diff   string
	}{
		"replaced": {change(write("a\nc\n")), standing("a\nb\n"), "--- /home/alice/a.txt\n+++ /home/alice/a.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
		"created":  {change(write("a\nb")), nothing(), "--- /dev/null\n+++ /home/alice/a.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"},
		"deleted":  {del, standing("a\n"), "--- /home/alice/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"},
		"no final newline any more": {change(write("a")), standing("a\n"),
			"--- /home/alice/a.txt\n+++ /home/alice/a.txt\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		"mode alone":    {change(Change{Path: there, Write: &Write{Content: []byte("a"), Mode: 0o755}}), standing("a"), ""},
		"created empty": {change(write("")), nothing(), ""},
		"deleted empty": {del, standing(""), ""},
	} {
		if d := account(t, c.a, c.before); d.Diff != c.diff || d.NoDiff != "" {
			t.Errorf("%s: %q (%s), want %q", name, d.Diff, d.NoDiff, c.diff)
		}
	}
}

// gitApply applies a diff with git, which is nobody's here, and gives the
// result.
func gitApply(t *testing.T, dir, diff, old string) (string, error) {
	t.Helper()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	patch := "--- a/f\n+++ b/f\n" + body(t, diff)
	cmd := exec.Command("git", "apply", "--whitespace=nowarn", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch)
	cmd.Env = []string{"GIT_CONFIG_NOSYSTEM=1", "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("git apply: %w\n%s\n%q", err, out, patch)
	}
	got, err := os.ReadFile(file)
	return string(got), err
}

// T3: a diff applied to what stands there gives exactly what is planned, so
// the owner is shown the change itself, for an edit with its line ends too.
func TestDiffApplies(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	dir := t.TempDir()
	b := standing("\ufeffone\r\ntwo\r\nthree")
	d := account(t, change(edit(rep("two\n", "2\nzwei\n", 0), rep("three", "3", 0))), b)
	if got, err := gitApply(t, dir, d.Diff, string(b.Content)); err != nil || got != "\ufeffone\r\n2\r\nzwei\r\n3" {
		t.Errorf("an edit, applied: %q, %v", got, err)
	}
	rapid.Check(t, func(r *rapid.T) {
		piece := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "-- x", "++ y", "@@ -1 +1 @@", "\\ No newline at end of file", " ", "\x00", "é\r", ""}), 0, 12)
		end := rapid.SampledFrom([]string{"", "\n"})
		old := strings.Join(piece.Draw(r, "old"), "\n") + end.Draw(r, "old end")
		now := strings.Join(piece.Draw(r, "new"), "\n") + end.Draw(r, "new end")
		if old == now || old == "" || now == "" { // git tells an empty file from none
			return
		}
		d := account(t, change(write(now)), standing(old))
		if got, err := gitApply(t, dir, d.Diff, old); err != nil || got != now {
			r.Fatalf("applied: %q, %v, want %q", got, err, now)
		}
	})
}

// T3: of old text, what goes beyond 64 KiB is left out and said so, and the
// images name it by size and hash; new text stands in the diff whole.
func TestOldTextIsShortened(t *testing.T) {
	line := strings.Repeat("o", 1023) + "\n"
	big := strings.Repeat(line, 65)
	for name, c := range map[string]struct {
		a      Action
		before Before
		cut    int // bytes left out
	}{
		"just fits":       {change(write("evil\n")), standing(strings.Repeat(line, 64)), 0},
		"one line over":   {change(write("evil\n")), standing(big), 1024},
		"one byte over":   {change(write("evil\n")), standing(strings.Repeat(line, 64) + "\n"), 1},
		"one long line":   {change(write("evil\n")), standing(strings.Repeat("o", 70_000)), 70_000},
		"deleted":         {change(Change{Path: there, Delete: &Delete{}}), standing(big), 1024},
		"edited away":     {change(edit(rep(big, "evil\n", 0))), standing("keep\n" + big + "keep\n"), 1024},
		"between changes": {change(edit(rep("first\n", "evil\n", 0), rep(big, "", 0))), standing("first\n" + big), 2048},
		"put back":        {undo(Restore{Path: there, Left: ptr(standing(big)).Fact.Image(), Back: image("evil\n", 0o600), Content: []byte("evil\n")}), standing(big), 1024},
	} {
		t.Run(name, func(t *testing.T) {
			d := account(t, c.a, c.before)
			if d.Does != Deletes && !strings.Contains(d.Diff, "+evil\n") {
				t.Errorf("the new text is not shown: %.300q", d.Diff)
			}
			if (d.NoDiff != "") != (c.cut > 0) {
				t.Errorf("%d bytes are left out; said: %q", c.cut, d.NoDiff)
			}
			gaps, marker := 0, ""
			for l := range strings.Lines(d.Diff) {
				if strings.HasPrefix(l, "\\ ") && strings.HasSuffix(l, " not shown here\n") {
					gaps, marker = gaps+1, l
				}
			}
			if want := min(c.cut, 1); gaps != want {
				t.Errorf("%d gaps: %q", gaps, marker)
			}
			if c.cut > 0 && !strings.Contains(marker, fmt.Sprintf(" %d bytes ", c.cut)) {
				t.Errorf("%q, want %d bytes", marker, c.cut)
			}
			if *d.Old.Hash != HashOf(c.before.Content) || d.Old.Size != uint64(len(c.before.Content)) {
				t.Errorf("what goes is named %v, %d bytes", d.Old, d.Old.Size)
			}
			if n := len(d.Diff); n > DiffRemoved+8<<10 {
				t.Errorf("the diff has %d bytes", n)
			}
		})
	}
}

// T3: binary content is shown by type, size and hash; but text is text whatever
// it is called, whatever it replaces and whatever NULs are in it, and is shown:
// nobody consents to a script by its hash.
func TestBinary(t *testing.T) {
	typed := func(content string) Action {
		return change(Change{Path: there, Write: &Write{Content: []byte(content), Type: "image/png"}})
	}
	const script = "#!/bin/sh\nevil\n"
	for name, c := range map[string]struct {
		a       Action
		before  Before
		noDiff  string
		shown   bool // the new text
		effects string
	}{
		"bytes":                 {typed("\x89PNG\xff"), nothing(), "binary content (image/png)", false, "written as image/png"},
		"bytes for text":        {typed("\x89PNG\xff"), standing("text\n"), "binary content (image/png)", false, "written as image/png"},
		"a script as a picture": {typed(script), nothing(), "", true, "written as image/png"},
		"a script with a NUL":   {change(write(script + "\x00")), nothing(), "", true, ""},
		"a script for bytes":    {change(write(script)), standing("\x7fELF\xff\x00"), "the file there is binary", true, ""},
		"a script for unread":   {change(write(script)), unread(9 << 20), "the file there was not read: it is over the size limit", true, ""},
		"bytes deleted":         {change(Change{Path: there, Delete: &Delete{}}), standing("\xff\xfe"), "the file there is binary", false, ""},
		"bytes put back": {undo(Restore{Path: there, Left: Image{Absent: true}, Back: image("\xff\xfe", 0o644), Content: []byte("\xff\xfe")}),
			nothing(), "binary content", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := account(t, c.a, c.before)
			if d.NoDiff != c.noDiff || strings.Contains(d.Diff, "+evil\n") != c.shown || !c.shown && d.Diff != "" {
				t.Errorf("%q, diff %q", d.NoDiff, d.Diff)
			}
			if c.effects != "" && !slices.Contains(d.Effects, c.effects) {
				t.Errorf("effects %q", d.Effects)
			}
			if d.Does != Deletes && (d.New.Hash == nil || d.New.Size == 0) {
				t.Errorf("what comes is not named: %+v", d.New)
			}
		})
	}
}

// T3, O3: no name can forge a line of a diff: its labels are one line each.
func TestHostileNamesInLabels(t *testing.T) {
	for _, name := range []string{"x\n+evil", "x\n@@ -1 +1 @@\n-y", "x\r", "x\x1b[2K", "\xff", "\u202e", "\"", "x\ty"} {
		p := Path("/home/alice/" + name)
		b := standing("a\n")
		b.Fact.Path, b.Fact.Real = p, p
		d := account(t, change(Change{Path: p, Write: &Write{Content: []byte("b\n")}}), b)
		want := fmt.Sprintf("--- %s\n+++ %s\n@@ -1 +1 @@\n-a\n+b\n", p, p)
		if d.Diff != want || strings.ContainsAny(p.String(), "\n\r\x1b") {
			t.Errorf("%q: %q", name, d.Diff)
		}
	}
}

// T3: what no line of a diff shows is said in words.
func TestEffects(t *testing.T) {
	linked, setid := standing("a\n"), standing("old")
	linked.Fact.Base.Version.Links = 3
	setid.Fact.Base.Version.Mode = 0o4755
	real := standing("a\n")
	real.Fact.Real, real.Fact.NotKept = "/home/alice/A.txt", []string{"user.tag"}
	group := image("old", 0o644)
	group.GID = 7
	for name, c := range map[string]struct {
		a      Action
		before Before
		want   []string
	}{
		"text alone":      {change(write("b\n")), standing("a\n"), nil},
		"mode":            {change(Change{Path: there, Write: &Write{Content: []byte("a"), Mode: 0o755}}), standing("a"), []string{"mode 0644 becomes 0755"}},
		"new":             {change(write("a")), nothing(), []string{"new file, mode 0640"}},
		"links":           {change(write("b\n")), linked, []string{"2 other names keep the old content"}},
		"deleted links":   {change(Change{Path: there, Delete: &Delete{}}), linked, []string{"2 other names keep the old content"}},
		"line ends":       {change(write("a\r\n")), standing("a\n"), []string{"line ends: LF becomes CRLF"}},
		"mixed line ends": {change(write("a\r\nb\n")), standing("a\r\nb\r\n"), []string{"line ends: CRLF becomes mixed"}},
		"last line end":   {change(write("a")), standing("a\n"), []string{"line ends: LF becomes none"}},
		"mark":            {change(write("a")), standing("\ufeffa"), []string{"the byte-order mark changes"}},
		"group put back": {undo(Restore{Path: there, Left: standing("a\n").Fact.Image(), Back: group, Content: []byte("old")}),
			standing("a\n"), []string{"group 100 becomes 7", "line ends: LF becomes none"}},
	} {
		if d := account(t, c.a, c.before); !slices.Equal(d.Effects, c.want) {
			t.Errorf("%s: %q, want %q", name, d.Effects, c.want)
		}
	}
	if d := account(t, change(write("b\n")), real); d.Real != "/home/alice/A.txt" || !slices.Equal(d.NotKept, []string{"user.tag"}) {
		t.Errorf("landing %q, not kept %q", d.Real, d.NotKept)
	}
	if d := account(t, change(write("b\n")), standing("a\n")); d.Real != "" {
		t.Errorf("a landing that is the path is named: %q", d.Real)
	}
}

// T3: keeper and scribe make the same account of the same change, and its hash
// is of everything in it.
func TestDetailHash(t *testing.T) {
	hash := func(d Detail) Hash {
		h, err := d.Hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	make := func() Detail {
		return Detail{Changes: []ChangeDetail{account(t, change(write("b\n")), standing("a\n"))}}
	}
	want := hash(make())
	if again := hash(make()); again != want {
		t.Errorf("made again: %s, then %s", want, again)
	}
	for name, f := range map[string]func(*ChangeDetail){
		"path":     func(c *ChangeDetail) { c.Path += "x" },
		"landing":  func(c *ChangeDetail) { c.Real = "/x" },
		"does":     func(c *ChangeDetail) { c.Does = Creates },
		"old":      func(c *ChangeDetail) { c.Old.Mode++ },
		"new":      func(c *ChangeDetail) { c.New.GID++ },
		"diff":     func(c *ChangeDetail) { c.Diff += "x" },
		"no diff":  func(c *ChangeDetail) { c.NoDiff = "x" },
		"effects":  func(c *ChangeDetail) { c.Effects = []string{"x"} },
		"not kept": func(c *ChangeDetail) { c.NotKept = []string{"x"} },
	} {
		d := make()
		if f(&d.Changes[0]); hash(d) == want {
			t.Errorf("%s is not in the hash", name)
		}
	}
}

// T18: an account of the largest files there are comes to an end, however they
// differ. The bound is that of a hang, and not of speed.
func TestDetailIsBoundedInTime(t *testing.T) {
	const size = 8 << 20
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size-64; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct{ old, now string }{
		"every other line": {numbered("line %d\nsame\n"), numbered("LINE %d\nsame\n")},
		"short lines":      {strings.Repeat("a\n", size/4), strings.Repeat("b\n", size/4)},
		"one line":         {strings.Repeat("a", size), strings.Repeat("a", size-1) + "b"},
	} {
		start := time.Now()
		d := account(t, change(write(c.now)), standing(c.old))
		took := time.Since(start)
		t.Logf("%s: %v for a diff of %d bytes", name, took, len(d.Diff))
		if took > time.Minute {
			t.Errorf("%s: too long", name)
		}
	}
}

// T3: the old text that all the diffs of one action spell out is bounded
// together, and every path says what of it is left out; new text stands whole.
func TestOldTextIsBoundedTogether(t *testing.T) {
	old := strings.Repeat(strings.Repeat("o", 1023)+"\n", 60)
	var plans []Planned
	const n = 100
	for i := range n {
		p := Planned{Fact: standing(old).Fact, Does: Replaces, Old: []byte(old), New: []byte("new\n"), Result: image("new\n", 0o644)}
		p.Fact.Path = Path(fmt.Sprintf("/home/alice/%03d", i))
		plans = append(plans, p)
	}
	d, shown, cut := DetailOf(plans), 0, 0
	for _, c := range d.Changes {
		if !strings.Contains(c.Diff, "+new\n") || c.Old.Size != uint64(len(old)) {
			t.Fatalf("%s does not say what comes and goes: %.200q", c.Path, c.Diff)
		}
		o := strings.Count(c.Diff, "\n-o")
		shown += o << 10
		if c.NoDiff != "" {
			cut++
		}
		if (o < 60) != (c.NoDiff != "") {
			t.Errorf("%s shows %d lines and says %q", c.Path, o, c.NoDiff)
		}
	}
	if shown != AllRemoved || cut == 0 || cut == n {
		t.Errorf("%d bytes of old text are shown, %d paths are cut", shown, cut)
	}
}
