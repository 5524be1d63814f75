package pattern

import (
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"
)

func patterns() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{"a", "b", "*", "**", "/", "/**/", "?", "[ab]", "{a,b}", "{a,b/c}", "{a,{b,**/c}}", "\\*", ".go", "[!a]", "{a/,}"})
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(t, "pieces"), "") })
}

// R8: a walk that a pattern prunes meets every path that the pattern matches.
func TestWithin(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "*", "ab.go", "a.go", "é"})
	rapid.Check(t, func(t *rapid.T) {
		text := patterns().Filter(Valid).Draw(t, "pattern")
		names := rapid.SliceOfN(name, 1, 4).Draw(t, "path")
		path := strings.Join(names, "/")
		p, want := Compile(text), doublestar.MatchUnvalidated(text, path)
		if got := p.Match(path); got != want {
			t.Fatalf("%q matches %q: %v", text, path, got)
		}
		if !want {
			return
		}
		if !p.MatchesName(names[len(names)-1]) {
			t.Fatalf("%q matches %q, and its name is said not to", text, path)
		}
		for i := range names {
			if dir := strings.Join(names[:i], "/"); !p.Within(dir) {
				t.Fatalf("%q matches %q, and nothing in %q is said to", text, path, dir)
			}
		}
		dir, rest := Fixed(text)
		if dir != "" && path != dir && (!strings.HasPrefix(path, dir+"/") || !Compile(rest).Match(path[len(dir)+1:])) {
			t.Fatalf("%q matches %q, and from %q %q does not", text, path, dir, rest)
		}
	})
}

// R8: what cannot match is not entered, and a pattern's fixed beginning is where
// the walk starts.
func TestPrunes(t *testing.T) {
	for _, c := range []struct {
		pattern, dir string
		want         bool
	}{
		{"src/*.go", "", true}, {"src/*.go", "src", true}, {"src/*.go", "src/a", false}, {"src/*.go", "doc", false},
		{"**/x", "any/depth", true}, {"{a,b/c}/*", "b", true}, {"{a,b/c}/*", "b/d", false}, {"*/x/**", "q/y", false}, {"a", "a", false},
	} {
		if got := Compile(c.pattern).Within(c.dir); got != c.want {
			t.Errorf("%q within %q: %v", c.pattern, c.dir, got)
		}
	}
	for text, path := range map[string]string{"**/x": "x", "a/**/": "a", "**/a/**/b": "a/b"} {
		if !Compile(text).Match(path) {
			t.Errorf("%q does not match %q", text, path)
		}
	}
	for text, want := range map[string][2]string{
		"/h/src/**/*.go": {"/h/src", "**/*.go"}, "a/b": {"a", "b"}, "*.go": {"", "*.go"}, "a\\*/b": {"", "a\\*/b"}, "/x": {"", "x"}, "a/{b,c}/d": {"a", "{b,c}/d"},
	} {
		if dir, rest := Fixed(text); dir != want[0] || rest != want[1] {
			t.Errorf("%q: %q and %q", text, dir, rest)
		}
	}
}
