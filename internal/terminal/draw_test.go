package terminal

import (
	"regexp"
	"strings"
	"testing"

	"countersign/internal/visible"
)

// ours is every control sequence that a drawing may hold.
var ours = regexp.MustCompile(`\x1b\[(\d+;\d+H|2J|2K|[0-9;]*m|6n)`)

// hostile is text as no one should have let it come so far.
var hostile = []string{
	"\x1b[2J\x1b[1;1H", "\x1b]0;title\a", "\x1b]8;;http://x\x1b\\", "\x1b]52;c;eA==\a", "a\rb", "a\bb", "\u009b2J", "\u202ex", "a\u200b", "\x00", "\xff", "\n", "\t", "\U000e0041",
}

// O3: nothing goes to a terminal but visible characters and the sequences of
// this package, whatever text is drawn.
func TestPaintIsHarmless(t *testing.T) {
	for _, s := range hostile {
		for _, colour := range []bool{false, true} {
			rows := []Row{{{Text: visible.Text(s)}}, {{Style: Red | Bold, Text: "x"}, {Column: 10, Style: Reverse, Text: visible.Text(s)}}}
			out := string(paint(frame{}, frame{width: 80, height: 24, rows: rows}, colour))
			for _, r := range ours.ReplaceAllString(out, "") {
				if !visible.Rune(r) {
					t.Errorf("%q: %U is drawn: %q", s, r, out)
				}
			}
			if !colour && regexp.MustCompile(`\x1b\[[0-9;]*3[0-9]`).MatchString(out) {
				t.Errorf("%q: a colour is drawn: %q", s, out)
			}
		}
	}
}

// O3: text that is longer than its place is cut there: it reaches into no other
// row, and not past the column where another piece begins.
func TestPaintCuts(t *testing.T) {
	long := visible.Text(strings.Repeat("x", 500))
	out := string(paint(frame{}, frame{width: 20, height: 3, rows: []Row{{{Text: long}, {Column: 8, Text: "right"}, {Column: Behind, Text: long}}}}, true))
	rows := strings.Split(out, "\x1b[2K")
	if text := ours.ReplaceAllString(rows[1], ""); text != strings.Repeat("x", 8)+"right"+strings.Repeat("x", 7) {
		t.Errorf("%q", text)
	}
	if strings.Contains(strings.Join(rows[2:], ""), "x") {
		t.Error("text reaches into another row")
	}
}

// O8: only rows that changed are drawn again, and all of them where the size
// changed.
func TestPaintDrawsChanges(t *testing.T) {
	a := frame{80, 3, []Row{{{Text: "one"}}, {{Text: "two"}}, {{Text: "three"}}}}
	b := frame{80, 3, []Row{{{Text: "one"}}, {{Text: "2"}}}}
	if out := string(paint(a, b, true)); strings.Contains(out, "one") || !strings.Contains(out, "2") || strings.Count(out, "\x1b[2K") != 2 {
		t.Errorf("%q", out)
	}
	if out := paint(a, a, true); len(out) != 0 {
		t.Errorf("the same again: %q", out)
	}
	b.width = 81
	if out := string(paint(a, b, true)); !strings.Contains(out, "one") || !strings.Contains(out, "\x1b[2J") {
		t.Errorf("at another size: %q", out)
	}
}

// O8: a text that is cut says so, and takes no more columns than it may.
func TestShorten(t *testing.T) {
	for in, want := range map[visible.Text]visible.Text{"short": "short", "exactly ten": "exactly …", "日本日本日本": "日本日本…", "": ""} {
		if got := Shorten(in, 10); got != want || Columns(got) > 10 {
			t.Errorf("%s: %s of %d columns, want %s", in, got, Columns(got), want)
		}
	}
	if got := Shorten("abc", 1); Columns(got) > 2 {
		t.Errorf("%s", got)
	}
}
