package classify

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Entry is one line of a table of places. Patterns are doublestar in lower
// case, matched against lowered paths: `~/` is the home, `**/` any depth.
type Entry struct {
	Name     string
	Why      string
	Patterns []string
}

// places is the spellings of one change that a table is asked about, lowered:
// the whole paths without their first slash, and what lies beneath the home.
type places struct{ whole, home []string }

func placesOf(c *Change) places {
	var p places
	for _, s := range []string{string(c.Path), string(c.Real)} {
		if s == "" {
			continue
		}
		whole := fold(strings.TrimPrefix(s, "/"))
		if slices.Contains(p.whole, whole) {
			continue
		}
		p.whole = append(p.whole, whole)
		if rel, ok := strings.CutPrefix(s, c.Home+"/"); ok && c.Home != "" {
			p.home = append(p.home, fold(rel))
		}
	}
	return p
}

func (e *Entry) holds(p places) bool {
	return slices.ContainsFunc(e.Patterns, func(pattern string) bool { return match(pattern, p) })
}

func match(pattern string, p places) bool {
	rel, inHome := strings.CutPrefix(pattern, "~/")
	names := p.whole
	if inHome {
		names = p.home
	}
	return slices.ContainsFunc(names, func(n string) bool { return doublestar.MatchUnvalidated(rel, n) })
}

// fold lowers ASCII letters and leaves every other byte.
func fold(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
