package visible

import (
	"strings"
	"testing"
	"unicode"
)

// O3: a name that holds letters or signs of another alphabet in the place of
// those they look like is marked, and names that are plainly of one alphabet are
// not.
func TestMarked(t *testing.T) {
	for name, marks := range map[string]string{
		"/home/alice/paypal":      "",
		"/home/alice/pаypаl":      "U+0430 is no a",
		"/home/alice/сору":        "U+0441 is no c, U+043E is no o, U+0440 is no p, U+0443 is no y",
		"/home/alice/документ":    "",
		"/home/alice/Ελλάδα":      "",
		"/home/alice/.bashrс":     "U+0441 is no c",
		"/home/alice∕.bashrc":     "U+2215 is no /",
		"/home/alice/x․sh":        "U+2024 is no .",
		"/home/alice/ｌｓ":          "U+FF4C is no l, U+FF53 is no s",
		"/home/alice/𝐥𝐬":          "U+1D425 is no l, U+1D42C is no s",
		"/home/alice/café–bar":    "U+2013 is no -",
		"/home/alice/日本":          "",
		"/home/alice/αβγδ-latin":  "",
		"/home/alice/аbсdеfоgіhј": "U+0430 is no a, U+0441 is no c, U+0435 is no e, U+043E is no o, and 2 more",
	} {
		want := string(Line(name))
		if marks != "" {
			want += " ⟦look-alike: " + marks + "⟧"
		}
		if got := string(Marked(name)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if forged := string(Marked("x ⟦look-alike: U+0430 is no a⟧")); strings.Contains(forged, "⟦look-alike") {
		t.Errorf("a name forged a mark: %s", forged)
	}
}

// O3: whatever passes for an ASCII character is none, and what it passes for is
// one that shows.
func TestPassesFor(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if as := passesFor(r); as != 0 && (r < 0x80 || as <= ' ' || as > '~') {
			t.Errorf("%U passes for %U", r, as)
		}
	}
}
