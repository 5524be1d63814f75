package visible

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// O3: a text is one line of visible characters: control characters, line ends,
// bytes that are no UTF-8, overrides and whatever takes no ink are named between
// brackets, which no text can forge.
func TestLine(t *testing.T) {
	for in, want := range map[string]Text{
		"":                         "",
		"plain text, é, 日本, 🎉":     "plain text, é, 日本, 🎉",
		"tab\tstays":               "tab\tstays",
		`a\nb\x1b`:                 `a\nb\x1b`,
		"a\nb\r\nc":                "a⟦LF⟧b⟦CR⟧⟦LF⟧c",
		"a⟦LF⟧b":                   "a⟦U+27E6⟧LF⟦U+27E7⟧b",
		"\x1b[2K\x1b[1A":           "⟦ESC⟧[2K⟦ESC⟧[1A",
		"\x1b]8;;http://x\x1b\\":   `⟦ESC⟧]8;;http://x⟦ESC⟧\`,
		"\x1b]52;c;eA==\a":         "⟦ESC⟧]52;c;eA==⟦U+0007⟧",
		"\b\v\f\x00\x7f":           "⟦U+0008⟧⟦U+000B⟧⟦U+000C⟧⟦NUL⟧⟦U+007F⟧",
		"\u009b2K":                 "⟦U+009B⟧2K",
		"\xff\xc0\x80\xed\xa0\x80": "⟦xFF⟧⟦xC0⟧⟦x80⟧⟦xED⟧⟦xA0⟧⟦x80⟧",
		"\ufffd":                   "⟦U+FFFD⟧",
		"\u202egnp.exe":            "⟦U+202E⟧gnp.exe",
		"\u2066\u2069\u200e\u061c": "⟦U+2066⟧⟦U+2069⟧⟦U+200E⟧⟦U+061C⟧",
		"zero\u200b\u2060\ufeff":   "zero⟦U+200B⟧⟦U+2060⟧⟦U+FEFF⟧",
		"soft\u00adhyphen":         "soft⟦U+00AD⟧hyphen",
		"\u2028\u2029\u0085":       "⟦U+2028⟧⟦U+2029⟧⟦U+0085⟧",
		"\u00a0\u3000\u2003":       "⟦U+00A0⟧⟦U+3000⟧⟦U+2003⟧",
		"\u3164\uffa0\u115f\u2800": "⟦U+3164⟧⟦U+FFA0⟧⟦U+115F⟧⟦U+2800⟧",
		"\u17b4\u17b5\u034f":       "⟦U+17B4⟧⟦U+17B5⟧⟦U+034F⟧",
		"a\ufe0f\U000e0100\u180b":  "a⟦U+FE0F⟧⟦U+E0100⟧⟦U+180B⟧",
		"\U000e0041\U000e007f":     "⟦U+E0041⟧⟦U+E007F⟧",
		"\U0001d173\U000f0000":     "⟦U+1D173⟧⟦U+F0000⟧",
		"a\u0336b\u20e0":           "a⟦U+0336⟧b⟦U+20E0⟧",
	} {
		if got := Line(in); got != want {
			t.Errorf("%+q: %s, want %s", in, got, want)
		}
	}
}

// O3: no character that takes no ink, moves, or turns text round is shown as
// itself, in any of Unicode's lists of them.
func TestNothingInvisibleShows(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		hidden := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Bidi_Control) ||
			unicode.Is(unicode.White_Space, r) && r != ' '
		if hidden && Rune(r) {
			t.Errorf("%U shows", r)
		}
	}
	for r := rune(' '); r < 0x7f; r++ {
		if !Rune(r) {
			t.Errorf("%q does not show", r)
		}
	}
}

// O3: trailing white space shows, and the rest of a line is as it was.
func TestTrailing(t *testing.T) {
	for in, want := range map[string]Text{
		"":         "",
		"a":        "a",
		"a b":      "a b",
		"a ":       "a⟦SP⟧",
		"a \t ":    "a⟦SP⟧⟦TAB⟧⟦SP⟧",
		"\ta":      "\ta",
		" ":        "⟦SP⟧",
		"+\t":      "+⟦TAB⟧",
		"a \r":     "a ⟦CR⟧",
		"a \u00a0": "a ⟦U+00A0⟧",
	} {
		if got := Trailing(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// O3: whatever goes in, visible characters and tabs come out, what was visible
// comes out as it was, and two texts that differ look different.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b[2K", "\xff", "é\u202e", "a \t", "\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, out := range map[string]Text{"Line": Line(s), "Trailing": Trailing(s)} {
			for _, r := range string(out) {
				if r != '\t' && !Rune(r) {
					t.Errorf("%s(%q) is %q", name, s, out)
				}
			}
			if back := read(string(out)); !utf8.ValidString(string(out)) || back != s {
				t.Errorf("%s(%q) is %q, which reads as %q", name, s, out, back)
			}
		}
		if out := string(Trailing(s)); strings.HasSuffix(out, " ") || strings.HasSuffix(out, "\t") {
			t.Errorf("Trailing(%q) is %q", s, out)
		}
	})
}

// read takes what is shown back to the text it was made of.
func read(shown string) string {
	names := map[string]string{"NUL": "\x00", "TAB": "\t", "LF": "\n", "CR": "\r", "ESC": "\x1b", "SP": " "}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(shown, "⟦")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "⟧")
		code, isRune := strings.CutPrefix(name, "U+")
		n, _ := strconv.ParseUint(strings.TrimPrefix(code, "x"), 16, 32)
		switch {
		case names[name] != "":
			b.WriteString(names[name])
		case isRune:
			b.WriteRune(rune(n))
		default:
			b.WriteByte(byte(n))
		}
		shown = after
	}
}
