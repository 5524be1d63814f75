package action

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"countersign/internal/refusal"
)

// S24: an edit is matched on exact bytes, as often as it says, its new text is
// literal, and several are applied in order, each on what the ones before
// left. S25: line ends, a byte-order mark and a missing final newline stay; in
// a file whose line ends are all CRLF, LF in old and new text is read as CRLF
// where Old has no exact match or no line end. S26: a file that is not UTF-8
// is refused.
func TestEdit(t *testing.T) {
	const none, count, text = refusal.NoMatch, refusal.MatchCount, refusal.NotText
	r := func(e ...Replacement) []Replacement { return e }
	for _, c := range []struct {
		name, from string
		edits      []Replacement
		to         string
		want       refusal.Code
	}{
		{"once", "a\nold\nz\n", r(rep("old", "new", 0)), "a\nnew\nz\n", fine},
		{"once, said so", "old", r(rep("old", "new", 1)), "new", fine},
		{"removed", "a old z", r(rep(" old", "", 0)), "a z", fine},
		{"the whole", "old", r(rep("old", "", 0)), "", fine},
		{"thrice", "x.x.x", r(rep("x", "yy", 3)), "yy.yy.yy", fine},
		{"side by side", "xyxy", r(rep("xy", "z", 2)), "zz", fine},
		{"not there", "old", r(rep("olde", "new", 0)), "", none},
		{"longer than the file", "o", r(rep("old", "new", 0)), "", none},
		{"in an empty file", "", r(rep("old", "new", 0)), "", none},
		{"in another case", "Old", r(rep("old", "new", 0)), "", none},
		{"other white space", "a  b", r(rep("a b", "c", 0)), "", none},
		{"composed otherwise", "e\u0301", r(rep("\u00e9", "e", 0)), "", none},
		{"twice, not once", "old old", r(rep("old", "new", 0)), "", count},
		{"once, not twice", "old", r(rep("old", "new", 2)), "", count},
		{"a huge count", "old", r(rep("old", "new", 1<<63)), "", count},
		{"over one another", "aaa", r(rep("aa", "b", 0)), "", count},
		{"over one another, counted", "aaa", r(rep("aa", "b", 2)), "", count},
		{"over one another, further on", "abab.ababab", r(rep("abab", "x", 3)), "", count},
		{"literal", "cost", r(rep("cost", `$& $$ $1 \1 \n %s`, 0)), `$& $$ $1 \1 \n %s`, fine},
		{"literal old", "a.c abc", r(rep("a.c", "x", 0)), "x abc", fine},
		{"in order", "a", r(rep("a", "b", 0), rep("b", "c", 0)), "c", fine},
		{"on what was left", "a b", r(rep("a", "b", 0), rep("b", "c", 0)), "", count},
		{"made by the one before", "a", r(rep("a", "b b", 0), rep("b", "c", 2)), "c c", fine},
		{"gone by the one before", "ab", r(rep("a", "", 0), rep("ab", "c", 0)), "", none},

		{"CRLF, inside a line", "a\r\nold\r\nz\r\n", r(rep("old", "new", 0)), "a\r\nnew\r\nz\r\n", fine},
		{"CRLF, LF in the new text", "a\r\nold\r\n", r(rep("old", "n\ne\nw", 0)), "a\r\nn\r\ne\r\nw\r\n", fine},
		{"CRLF, LF in both", "a\r\nb\r\nc\r\n", r(rep("a\nb\n", "x\ny\nz\n", 0)), "x\r\ny\r\nz\r\nc\r\n", fine},
		{"CRLF in the new text", "a\r\nb\r\n", r(rep("a", "x\r\ny", 0)), "x\r\ny\r\nb\r\n", fine},
		{"CRLF in the old text: exact", "a\r\nb\r\n", r(rep("a\r\n", "x\n", 0)), "x\nb\r\n", fine},
		{"CRLF, LF alone matches: exact", "a\r\nb\r\n", r(rep("\nb", "\nc", 0)), "a\r\nc\r\n", fine},
		{"CRLF, still not there", "a\r\nb\r\n", r(rep("b\na", "x", 0)), "", none},
		{"CRLF, twice", "a\r\nb\r\na\r\nb\r\n", r(rep("a\nb", "x", 0)), "", count},
		{"CRLF, twice and said", "a\r\nb\r\na\r\nb\r\n", r(rep("a\nb", "x\n", 2)), "x\r\n\r\nx\r\n\r\n", fine},
		{"CRLF without the last", "a\r\nb", r(rep("b", "c\nd", 0)), "a\r\nc\r\nd", fine},
		{"mixed: exact only", "a\r\nb\nc\r\n", r(rep("a\nb", "x", 0)), "", none},
		{"mixed, others untouched", "a\r\nb\nc\r\n", r(rep("b\nc", "x\ny", 0)), "a\r\nx\ny\r\n", fine},
		{"mixed, new LF", "a\r\nb\nc\r\n", r(rep("b", "x\ny", 0)), "a\r\nx\ny\nc\r\n", fine},
		{"LF, CRLF in the old text", "a\nb\n", r(rep("a\r\nb", "x", 0)), "", none},
		{"a lone CR stays", "a\rb\r\nc\r\n", r(rep("c", "d", 0)), "a\rb\r\nd\r\n", fine},
		{"byte-order mark", "\ufeffa\r\nb", r(rep("a", "c", 0)), "\ufeffc\r\nb", fine},
		{"no final newline", "a\nb", r(rep("a", "c", 0)), "c\nb", fine},
		{"final newlines", "a\n\n\n", r(rep("a", "b", 0)), "b\n\n\n", fine},

		{"not UTF-8, far away", "old\n" + strings.Repeat("x", 1<<16) + "\x93", r(rep("old", "new", 0)), "", text},
		{"UTF-8 and a NUL", "a\x00old", r(rep("old", "new", 0)), "a\x00new", fine},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, code := planOne(t, change(edit(c.edits...)), standing(c.from))
			if code != c.want {
				t.Fatalf("%q, want %q", code, c.want)
			}
			if code == fine && string(p.New) != c.to {
				t.Errorf("%q, want %q", p.New, c.to)
			}
		})
	}
}

// S24: what matches another number of times is refused with the count and the
// lines, of which the first ten are named.
func TestMatchCountNamesLines(t *testing.T) {
	for _, c := range []struct{ name, text, part, want string }{
		{"two", "x\n\na x\n", "x", "2 times, not 1, at line 1, 3"},
		{"two in a line", "x x", "x", "2 times, not 1, at line 1, 1"},
		{"many", strings.Repeat("x\n", 12), "x", "12 times, not 1, at line 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …"},
		{"overlapping", "\naaa", "aa", "2 times, not 1, at line 2, 2, some over one another"},
	} {
		_, err := change(edit(rep(c.part, "y", 0))).Plan([]Before{standing(c.text)}, 0)
		if codeOf(t, err) != refusal.MatchCount || !strings.HasSuffix(refusal.As(err).Why, c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// S24, S25: an edit changes nothing outside what it replaces, and finds what a
// plain search finds, overlapping or not.
func TestEditChangesOnlyWhatItNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.StringOfN(rapid.SampledFrom([]rune("aab\n\réx$")), 0, 12, -1)
		text := strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(t, "text"), rapid.SampledFrom([]string{"", "\n", "\r\n"}).Draw(t, "line end"))
		from, to := rapid.StringOfN(rapid.SampledFrom([]rune("aab\né")), 1, 3, -1).Draw(t, "old"), piece.Draw(t, "new")
		if strings.Count(text, "\n") == strings.Count(text, "\r\n") && strings.Contains(text, "\n") && strings.Contains(from+to, "\n") {
			return // line ends are the table's
		}
		naive := []int{}
		for i := range len(text) - len(from) + 1 {
			if strings.HasPrefix(text[i:], from) {
				naive = append(naive, i)
			}
		}
		if got := slices.Collect(occurrences([]byte(text), []byte(from))); !slices.Equal(got, naive) && len(got)+len(naive) > 0 {
			t.Fatalf("found at %v, want %v", got, naive)
		}
		n := len(naive)
		got, err := rep(from, to, uint64(n)).apply("x", []byte(text))
		overlap := strings.Count(text, from) != n
		if (err == nil) != (n > 0 && !overlap) {
			t.Fatalf("%d occurrences, overlapping %v: %v", n, overlap, err)
		}
		if err == nil && string(got) != strings.ReplaceAll(text, from, to) {
			t.Fatalf("%q, want %q", got, strings.ReplaceAll(text, from, to))
		}
	})
}

// S25: an edit of a CRLF file by LF habits gives what the same edit of the
// file with LF gives, with CRLF again.
func TestCRLFIsTheSameEdit(t *testing.T) {
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.SampledFrom([]rune("ab\n")), 1, 6, -1)
		text := word.Draw(t, "head") + "\nb" + word.Draw(t, "tail")
		from, to := "b"+word.Draw(t, "old"), word.Draw(t, "new")
		if from == to {
			return
		}
		plain, err := rep(from, to, 0).apply("x", []byte(text))
		other, errCRLF := rep(from, to, 0).apply("x", []byte(crlf(text)))
		if (err == nil) != (errCRLF == nil) {
			t.Fatalf("with LF: %v, with CRLF: %v", err, errCRLF)
		}
		if err == nil && crlf(string(plain)) != string(other) {
			t.Fatalf("with LF %q, with CRLF %q", plain, other)
		}
	})
}

// T18: an edit cannot make a small action into more text than a keeper holds,
// nor search for longer than it has time.
func TestEditIsBounded(t *testing.T) {
	text := strings.Repeat("a", 1<<20)
	for name, c := range map[string]struct {
		edits []Replacement
		want  refusal.Code
	}{
		"many times much":      {[]Replacement{rep("a", strings.Repeat("b", 1<<20), 1<<20)}, refusal.FileTooBig},
		"just over":            {[]Replacement{rep("a", strings.Repeat("b", 17), 1<<20)}, refusal.FileTooBig},
		"as much as may be":    {[]Replacement{rep("c", "", 0), rep("a", strings.Repeat("b", 16), 1<<20)}, fine},
		"twice doubled":        {slices.Repeat([]Replacement{rep("a", "aa", 1<<20)}, 2), refusal.MatchCount},
		"hundreds of searches": {slices.Repeat([]Replacement{rep("c", "d", 0), rep("d", "c", 0)}, 129), refusal.TooLarge},
	} {
		e := Edit{Edits: c.edits}
		if _, err := e.apply("x", []byte(text+"c")); codeOf(t, err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// T18: text that is built to make a search slow does not.
func TestSearchTakesNoLongerForHostileText(t *testing.T) {
	const size = 8 << 20
	unit := "ab" + strings.Repeat("x", 14)
	for name, c := range map[string]struct{ text, part string }{
		"itself over and over": {strings.Repeat("a", size), strings.Repeat("a", size/2)},
		"nearly everywhere":    {strings.Repeat(unit, size/16), strings.Repeat(unit, size/32) + "y"},
		"but for the end":      {strings.Repeat("a", size), strings.Repeat("a", size/2) + "b"},
		"but for the start":    {strings.Repeat("a", size), "b" + strings.Repeat("a", size/2)},
	} {
		start := time.Now()
		find([]byte(c.text), []byte(c.part))
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
}

// S24, S26: whatever is replaced in whatever text, an edit that is taken leaves
// UTF-8 of the length that its parts make, or refuses.
func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\r\n", "a\nb", "c\n", uint64(0))
	f.Add("aaa", "aa", "b", uint64(2))
	f.Add("\ufeffé", "é", "", uint64(1))
	f.Fuzz(func(t *testing.T, text, from, to string, count uint64) {
		a := change(edit(rep(from, to, count)))
		if a.Validate() != nil {
			return
		}
		plans, err := a.Plan([]Before{standing(text)}, 0)
		if err != nil {
			codeOf(t, err)
			return
		}
		p := plans[0]
		if !utf8.Valid(p.New) || bytes.Equal(p.New, p.Old) {
			t.Errorf("%q becomes %q", text, p.New)
		}
	})
}
