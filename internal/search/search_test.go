package search

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"countersign/internal/refusal"
)

func compile(t testing.TB, q Query) *Matcher {
	t.Helper()
	m, err := Compile(q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return m
}

// plainly is what an answer must be: the expression on every line.
func plainly(expr *regexp.Regexp, text []byte) (out []Line) {
	number := uint64(0)
	for line := range bytes.Lines(text) {
		number++
		if bare, ok := bytes.CutSuffix(line, []byte("\n")); ok {
			line = bytes.TrimSuffix(bare, []byte("\r"))
		}
		if at := expr.FindIndex(line); at != nil {
			out = append(out, Line{number, line, true, at[0], at[1]})
		}
	}
	return out
}

func spelled(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%d:%q[%d:%d] ", l.Number, l.Text, l.From, l.To)
	}
	return b.String()
}

func same(a, b []Line) bool {
	return slices.EqualFunc(a, b, func(a, b Line) bool {
		return a.Number == b.Number && string(a.Text) == string(b.Text) && a.Match == b.Match && a.From == b.From && a.To == b.To
	})
}

// holds compares a matcher with the plain way, in each of its forms.
func holds(t rapid.TB, q Query, expr *regexp.Regexp, text []byte) {
	m, err := Compile(q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	want, ctx := plainly(expr, text), context.Background()
	if got := slices.Collect(m.Lines(ctx, text, 0)); !same(got, want) {
		t.Fatalf("%+v in %q:\n got %s\nwant %s\nneedles %v", q, text, spelled(got), spelled(want), m.needles)
	}
	if n := m.Count(ctx, text); n != uint64(len(want)) || m.Any(ctx, text) != (n > 0) {
		t.Fatalf("%+v in %q: %d lines counted of %d", q, text, n, len(want))
	}
}

// pattern draws an expression, of few letters so that many lines match.
func pattern() *rapid.Generator[string] {
	atom := rapid.SampledFrom([]string{
		"a", "b", "ab", "k", "s", "K", "\u212a", "\u017f", "é", "É", ".", `\w`, `\s`, `\b`, `\B`, "^", "$", "[ab]", "[^a]", "[a-f]", "[kK]", "[é\ufffd]",
		"\ufffd", `\x{fffd}`, `\pL`, "foo", "Foo bar", `\r`, "", "(?i:k)", "(?i)s", `\*`, "日本", "[0-9]", "\x00",
	})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			part := atom.Draw(t, "atom")
			for range rapid.IntRange(0, 2).Draw(t, "depth") {
				part = "(" + part + rapid.SampledFrom([]string{"|" + atom.Draw(t, "other"), atom.Draw(t, "more"), ""}).Draw(t, "how") + ")"
			}
			b.WriteString("(?:" + part + ")" + rapid.SampledFrom([]string{"", "", "", "*", "+", "?", "{2}", "{0,2}", "{2,}", "*?", "+?"}).Draw(t, "times"))
		}
		return b.String()
	})
}

// hay draws a text of the same letters, with every kind of line end.
func hay() *rapid.Generator[[]byte] {
	part := rapid.SampledFrom([]string{
		"a", "b", "ab", "k", "K", "S", "s", "\u212a", "\u017f", "é", "É", "foo", "Foo bar", "FOO", "*", " ", "\xff", "\xc3", "\ufffd", "\x00", "日本", "7",
		"\n", "\n", "\r\n", "\r", "\n\n", "_", "\r\r\n",
	})
	return rapid.Map(rapid.SliceOfN(part, 0, 40), func(p []string) []byte { return []byte(strings.Join(p, "")) })
}

// R9: an answer is exactly that of the expression on every line by itself,
// whatever literals it is looked for by.
func TestAsPlainly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := Query{Pattern: pattern().Draw(t, "pattern"), IgnoreCase: rapid.Bool().Draw(t, "ignore case")}
		expr := q.Pattern
		if q.IgnoreCase {
			expr = "(?i:" + expr + ")"
		}
		holds(t, q, regexp.MustCompile(expr), hay().Draw(t, "text"))
	})
}

// R9: a literal is found as it is, in one case or in either.
func TestLiterals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := hay().Draw(t, "text")
		needle := rapid.OneOf(rapid.StringMatching(`[abkKs*.\r(]{1,5}|foo.|\x{212a}a|é+`), rapid.Custom(func(t *rapid.T) string {
			line := strings.ToValidUTF8(string(text), "")
			from := rapid.IntRange(0, len(line)).Draw(t, "from")
			line = line[from:rapid.IntRange(from, len(line)).Draw(t, "to")]
			return strings.ToValidUTF8(strings.ReplaceAll(line, "\n", ""), "")
		})).Filter(func(s string) bool { return s != "" }).Draw(t, "needle")
		q := Query{Pattern: needle, Literal: true, IgnoreCase: rapid.Bool().Draw(t, "ignore case")}
		expr := regexp.QuoteMeta(needle)
		if q.IgnoreCase {
			expr = "(?i)" + expr
		}
		holds(t, q, regexp.MustCompile(expr), text)
	})
}

// R9: a CR that ends a line with its LF is no part of it, and every other is; so
// is an empty last line none.
func TestLineEnds(t *testing.T) {
	text := []byte("a\r\na\r\r\na\rb\n\r\n\na\r")
	for pattern, want := range map[string]string{
		`a\r`: "2 3 6 ", "a$": "1 ", `a\r$`: "2 6 ", "^$": "4 5 ", "b$": "3 ",
	} {
		var got strings.Builder
		for l := range compile(t, Query{Pattern: pattern}).Lines(context.Background(), text, 0) {
			fmt.Fprintf(&got, "%d ", l.Number)
		}
		if got.String() != want {
			t.Errorf("%q: lines %s, want %s", pattern, &got, want)
		}
	}
}

// R9: a whole word is a match with no letter, mark, digit or underscore before
// and behind it, in any script, at the leftmost place where there is one.
func TestWords(t *testing.T) {
	word := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.Nd, r) || unicode.Is(unicode.Pc, r)
	}
	rapid.Check(t, func(t *rapid.T) {
		needle := rapid.SampledFrom([]string{"a", "ab", "foo", "k", "é", "日", "*", "a*", "_", "7"}).Draw(t, "needle")
		text := hay().Draw(t, "text")
		m, err := Compile(Query{Pattern: needle, Literal: true, Word: true})
		if err != nil {
			t.Fatal(err)
		}
		var want []Line
		for _, l := range plainly(regexp.MustCompile(""), text) {
			for l.From = 0; l.From+len(needle) <= len(l.Text); l.From++ {
				before, behind := []rune(string(l.Text[:l.From])), []rune(string(l.Text[l.From+len(needle):]))
				if strings.HasPrefix(string(l.Text[l.From:]), needle) &&
					(len(before) == 0 || !word(before[len(before)-1])) && (len(behind) == 0 || !word(behind[0])) {
					l.To = l.From + len(needle)
					want = append(want, l)
					break
				}
			}
		}
		if got := slices.Collect(m.Lines(context.Background(), text, 0)); !same(got, want) {
			t.Fatalf("%q in %q:\n got %s\nwant %s", needle, text, spelled(got), spelled(want))
		}
	})
}

// R9: lines around a match are given once, in order, with their numbers.
func TestAround(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, around := hay().Draw(t, "text"), rapid.IntRange(0, 3).Draw(t, "around")
		all, hit := plainly(regexp.MustCompile(""), text), regexp.MustCompile("a")
		var want []Line
		for i, l := range all {
			near := false
			for j := max(0, i-around); j <= min(len(all)-1, i+around); j++ {
				near = near || hit.Match(all[j].Text)
			}
			at := hit.FindIndex(l.Text)
			if l.Match = at != nil; l.Match {
				l.From, l.To = at[0], at[1]
			} else {
				l.From, l.To = 0, 0
			}
			if near {
				want = append(want, l)
			}
		}
		m, err := Compile(Query{Pattern: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Collect(m.Lines(context.Background(), text, around)); !same(got, want) {
			t.Fatalf("%d around in %q:\n got %s\nwant %s", around, text, spelled(got), spelled(want))
		}
	})
}

// R9: from an expression follow the literals that its matches must hold: these
// are what makes it fast.
func TestNeedles(t *testing.T) {
	for expr, want := range map[string]string{
		`func \(\w+ \*?[A-Z]\w+\) Close\(\) error`: `") Close() error"`,
		`[A-Z]\w+Timeout\b`:                        `"Timeout"`,
		`(?i)DeadlineExceeded`:                     `i"deadlineexceeded"`,
		`(?i)skis`:                                 `i"i"`,
		`foo|bar`:                                  `"foo" "bar"`,
		`gr[ae]y`:                                  `"gray" "grey"`,
		`colou?r`:                                  `"colour" "color"`,
		`(abc)+d`:                                  `"abc"`,
		`(abc){2,}`:                                `"abc"`,
		`^package main$`:                           `"package main"`,
		`\bint\b|\buint\b`:                         `"int" "uint"`,
		`a\x{fffd}bcd`:                             `"bcd"`,
		`x*|y`:                                     ``,
		`(a|b|c|d)(e|f|g|h)z+`:                     `"z"`,
		`\d+`:                                      ``,
		`.`:                                        ``,
		`foo|`:                                     ``,
	} {
		var got []string
		for _, f := range compile(t, Query{Pattern: expr}).needles {
			s := fmt.Sprintf("%q", f.text)
			if f.folded {
				s = "i" + s
			}
			got = append(got, s)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s; want %s", expr, got, want)
		}
	}
}

// R9: a pattern that cannot be searched for is refused, with what is wrong in
// it; one that would take too much is refused before it is compiled.
func TestBadPatterns(t *testing.T) {
	for pattern, code := range map[string]refusal.Code{
		"": refusal.BadPattern, "(": refusal.BadPattern, "a)(b": refusal.BadPattern, "[z-a]": refusal.BadPattern, "a**": refusal.BadPattern, "(?=a)": refusal.BadPattern,
		"a\nb": refusal.BadPattern, `a\n`: refusal.BadPattern, `[\n]`: refusal.BadPattern, "\xff": refusal.BadPattern, `\1`: refusal.BadPattern,
		`(?:\w{1000}){2}`: refusal.BadPattern, `(?:abc){1000}`: refusal.TooLarge, strings.Repeat("a", 4097): refusal.TooLarge,
		strings.Repeat("(", 2000) + "a" + strings.Repeat(")", 2000): refusal.TooLarge,
		`\w{1000}`: "", `.{0,500}`: "", `[^a]`: "", `\s`: "", `a\.`: "",
	} {
		_, err := Compile(Query{Pattern: pattern})
		if code == "" && err != nil || code != "" && !refusal.Is(err, code) {
			t.Errorf("%.40q: %v, wanted %q", pattern, err, code)
		}
	}
	if _, err := Compile(Query{Pattern: "a\nb", Literal: true}); !refusal.Is(err, refusal.BadPattern) {
		t.Error(err)
	}
	if _, err := Compile(Query{Pattern: "a)(b", Literal: true, IgnoreCase: true, Word: true}); err != nil {
		t.Error(err)
	}
}

// R13: the end of a caller ends a search, in the midst of a long line too.
func TestEnds(t *testing.T) {
	ended, end := context.WithCancel(context.Background())
	end()
	many, long := bytes.Repeat([]byte("aab\n"), 10_000), bytes.Repeat([]byte("a"), 2*longLine)
	m := compile(t, Query{Pattern: "a.*b"})
	if n := m.Count(ended, many); n > 256 {
		t.Errorf("%d lines after the end", n)
	}
	if r := (runes{ctx: ended, line: long}); m.expr.FindReaderIndex(&r) != nil || r.at > 8192 {
		t.Errorf("%d bytes of a long line were searched", r.at)
	}
	if m.Any(ended, append(long, 'b')) {
		t.Error("a search that was given up found something")
	}
	if !m.Any(context.Background(), append(long, 'b')) {
		t.Error("a long line is not searched")
	}
}

// R9: a long line is answered as a short one is, bytes that are no UTF-8 and
// all.
func TestLongLines(t *testing.T) {
	for _, expr := range []string{`b\xffc`, `b.c`, `é$`, `[^a]+`, `\bb`} {
		for _, tail := range []string{"b\xffc é", "b\xc3", "\xe2\x84 bc", ""} {
			text := append(bytes.Repeat([]byte("a"), longLine+1), tail...)
			holds(t, Query{Pattern: expr}, regexp.MustCompile(expr), text)
		}
	}
}

// R9: what is shown of a line is bounded, holds the match's beginning, and
// cuts no character in two.
func TestShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.SampledFrom([]string{"a", "é", "日", "\U0001f600", "\xff", "\x80"}).Draw(t, "of"), rapid.IntRange(0, 2000).Draw(t, "many"))
		l := Line{Text: []byte(text), Match: true}
		l.From = len([]byte(text)) * rapid.IntRange(0, 100).Draw(t, "part") / 100
		part, at := l.Shown()
		if len(part) > MaxShown || string(l.Text[at:at+len(part)]) != string(part) || len(text) <= MaxShown && string(part) != text {
			t.Fatalf("%d bytes at %d of %d", len(part), at, len(text))
		}
		if len(text) > MaxShown && (at > l.From || at+len(part) < min(l.From, len(text))) {
			t.Fatalf("%d bytes at %d, for a match at %d of %d", len(part), at, l.From, len(text))
		}
		if valid := strings.ToValidUTF8(text, ""); valid == text && strings.ToValidUTF8(string(part), "") != string(part) {
			t.Fatalf("a character is cut: %q", part[:8])
		}
	})
}

// R9: a text is binary where a NUL stands in its first 8 KiB, and not behind.
func TestBinary(t *testing.T) {
	text := make([]byte, 0, HeadSize+2)
	text = append(text, bytes.Repeat([]byte("a"), HeadSize)...)
	if text = append(text, 0); Binary(text) || Binary(nil) {
		t.Error("text is taken for binary")
	}
	if text[HeadSize-1] = 0; !Binary(text) || !Binary(text[:HeadSize]) || !Binary([]byte{0}) {
		t.Error("binary is taken for text")
	}
}

// R9: whatever a pattern and a text hold, the answer is the plain one.
func FuzzAsPlainly(f *testing.F) {
	f.Add(`func \(\w+ \*?[A-Z]\w+\) Close\(\) error`, []byte("func (x *Y) Close() error {\r\n}"), false, false)
	f.Add("k|ſ", []byte("K\nS\n\u212a\xff"), true, false)
	f.Add("\ufffd", []byte("\xff\n\xc3\xa9"), false, true)
	f.Fuzz(func(t *testing.T, pattern string, text []byte, ignoreCase, literal bool) {
		q := Query{Pattern: pattern, IgnoreCase: ignoreCase, Literal: literal}
		if _, err := Compile(q); err != nil {
			if refusal.As(err) == nil {
				t.Fatal(err)
			}
			return
		}
		if literal {
			pattern = regexp.QuoteMeta(pattern)
		}
		if ignoreCase {
			pattern = "(?i:" + pattern + ")"
		}
		holds(t, q, regexp.MustCompile(pattern), text)
	})
}
