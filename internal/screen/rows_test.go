package screen

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/internal/terminal"
	"countersign/internal/visible"
)

// O3: a line that is laid out says all that it said, in rows that fit, and every
// row but its first begins with the mark that it goes on.
func TestFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(8, 60).Draw(t, "width")
		var line []piece
		want := ""
		for _, s := range rapid.SliceOfN(rapid.StringOf(rapid.RuneFrom([]rune("ab \té日🎉\x1b\n"))), 0, 6).Draw(t, "pieces") {
			p := piece{terminal.Red, visible.Line(s)}
			line, want = append(line, p), want+strings.ReplaceAll(string(p.text), "\t", "")
		}
		got := ""
		words := rapid.Bool().Draw(t, "words")
		for i, row := range layOut(line, 0, width, words) {
			said, columns := "", 0
			for _, s := range row {
				said, columns = said+string(s.Text), columns+terminal.Columns(s.Text)
			}
			if columns > width {
				t.Fatalf("%q takes %d columns of %d", said, columns, width)
			}
			rest, begins := strings.CutPrefix(said, string(goesOn))
			if begins != (i > 0) {
				t.Fatalf("row %d is %q", i, said)
			}
			got += rest
		}
		if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// flat gives rows as text, a line each, with a mark of the colours.
func flat(rows []terminal.Row) string {
	var b strings.Builder
	for _, r := range rows {
		for _, s := range r {
			if s.Style&terminal.Underline != 0 {
				b.WriteString("_" + string(s.Text) + "_")
			} else {
				b.WriteString(string(s.Text))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// O3: a diff shows what differs within a line, white space at its end, tabs
// where they are the difference, and line ends that are missing; a remark that
// text is left out is never taken for one on a line end.
func TestDiffRows(t *testing.T) {
	head := "--- /a\n+++ /a\n@@ -1,2 +1,2 @@\n"
	for name, c := range map[string]struct{ diff, want string }{
		"a word":           {head + " same\n-call one\n+call two\n", "@@ -1,2 +1,2 @@\n same\n-call _one_\n+call _two_\n"},
		"run":              {head + "-a1\n-b1\n+a2\n+b2\n", "@@ -1,2 +1,2 @@\n-a_1_\n-b_1_\n+a_2_\n+b_2_\n"},
		"half a letter":    {head + "-x\u00e9z\n+x\u00e8z\n", "@@ -1,2 +1,2 @@\n-x_é_z\n+x_è_z\n"},
		"its other half":   {head + "-\u00e9zz\n+\u00a9zz\n", "@@ -1,2 +1,2 @@\n-_é_zz\n+_©_zz\n"},
		"a line more":      {head + "-call one\n+first\n+call two\n", "@@ -1,2 +1,2 @@\n-call _one_\n+first\n+call _two_\n"},
		"a line less":      {head + "-x = 1\n-gone\n-y = 1\n+x = 2\n+y = 2\n", "@@ -1,2 +1,2 @@\n-x = _1_\n-gone\n-y = _1_\n+x = _2_\n+y = _2_\n"},
		"space at the end": {head + "-x\n+x  \n", "@@ -1,2 +1,2 @@\n-x\n+x_⟦SP⟧⟦SP⟧_\n"},
		"a tab":            {head + "-    x\n+\tx\n", "@@ -1,2 +1,2 @@\n-_    _x\n+_⟦TAB⟧_x\n"},
		"no line end":      {head + "-x\n\\ No newline at end of file\n+x\n", "@@ -1,2 +1,2 @@\n-x_ ⟦no line end⟧_\n+x\n"},
		"nor after":        {head + "-x\n+y\n\\ No newline at end of file\n", "@@ -1,2 +1,2 @@\n-x\n+y ⟦no line end⟧\n"},
		"nor on either":    {head + "-x1\n\\ No newline at end of file\n+x2\n\\ No newline at end of file\n", "@@ -1,2 +1,2 @@\n-x_1_ ⟦no line end⟧\n+x_2_ ⟦no line end⟧\n"},
		"left out":         {head + "-x\n\\ 99 bytes of old text are not shown here\n+y\n", "@@ -1,2 +1,2 @@\n-x\n\\ 99 bytes of old text are not shown here\n+y\n"},
		"like a header":    {head + "--- x\n+++ y\n", "@@ -1,2 +1,2 @@\n--- x\n+++ y\n"},
		"like a hunk":      {head + "-@@ -1 +1 @@\n", "@@ -1,2 +1,2 @@\n-@@ -1 +1 @@\n"},
		"hostile":          {head + "+\x1b[2J\r\n", "@@ -1,2 +1,2 @@\n+⟦ESC⟧[2J⟦CR⟧\n"},
		"invalid":          {head + "-\xff\n+\xfe\n", "@@ -1,2 +1,2 @@\n-⟦xFF⟧\n+⟦xFE⟧\n"},
	} {
		if got := flat(diffRows(c.diff, 80, false)); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}

// O1: side by side a line before stands beside the one after it, and neither
// reaches into the other's half.
func TestBeside(t *testing.T) {
	diff := "@@ -1,3 +1,2 @@\n same\n-old\n-gone\n+new " + strings.Repeat("long ", 40) + "\n"
	rows := diffRows(diff, 120, true)
	for _, r := range rows[1:] {
		left, right := 0, 0
		for _, s := range r {
			switch {
			case s.Column == 59:
				right = 1
				continue
			case s.Column > 59:
				right = 1
			}
			if right == 0 {
				left += terminal.Columns(s.Text)
			} else {
				right += terminal.Columns(s.Text)
			}
		}
		if left > 59 || right > 60 {
			t.Errorf("%s: %d and %d columns", words(r), left, right)
		}
	}
	if got := words(rows[2]); !strings.HasPrefix(got, "-old|+new long") {
		t.Errorf("%q", got)
	}
}

// O3: no diff makes the layout fail, and none of it is lost but white space.
func FuzzDiffRows(f *testing.F) {
	f.Add("--- a\n+++ b\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n", 80)
	f.Add("@@\n+\t\xff\u202e\n-\n \n", 20)
	f.Fuzz(func(t *testing.T, diff string, width int) {
		width = 8 + max(width, 0)%200
		for _, both := range []bool{false, true} {
			for _, r := range diffRows(diff, width, both) {
				for _, s := range r {
					for _, c := range s.Text {
						if !visible.Rune(c) {
							t.Errorf("%U is laid out", c)
						}
					}
				}
			}
		}
	})
}
