// Package pattern matches paths with doublestar patterns, and says of a
// directory whether anything beneath it could match, so that a walk enters no
// directory in vain.
//
// It is pure. Patterns and paths are bytes, relative, with `/` between names;
// a pattern is to be validated before it is compiled.
package pattern

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Pattern is a compiled pattern, safe for concurrent use.
type Pattern struct {
	text  string
	tail  string     // the literal bytes that whatever matches ends with
	ways  [][]string // the names of the pattern, once for each choice of its braces
	whole bool       // it cannot be looked at name by name: anything could match
}

// maxWays bounds how many choices of braces are kept apart.
const maxWays = 64

// Valid says whether text is a pattern.
func Valid(text string) bool { return text != "" && doublestar.ValidatePattern(text) }

// Compile prepares a valid pattern.
func Compile(text string) *Pattern {
	p := &Pattern{text: text, tail: tail(text)}
	ways, ok := expand(text)
	// To doublestar a slash is one of the bytes that a negated class matches.
	if p.whole = !ok || strings.Contains(text, "[!") || strings.Contains(text, "[^"); p.whole {
		return p
	}
	for _, w := range ways {
		names := strings.Split(w, "/")
		p.ways = append(p.ways, names)
		for _, n := range names {
			p.whole = p.whole || n != "**" && strings.Contains(n, "**") // a `**` that a brace began with
		}
	}
	return p
}

// Text is the pattern as it was given.
func (p *Pattern) Text() string { return p.text }

// Match says whether the pattern matches a path as a whole.
func (p *Pattern) Match(path string) bool {
	return strings.HasSuffix(path, p.tail) && doublestar.MatchUnvalidated(p.text, path)
}

// MatchesName says whether a last name alone keeps the pattern from matching:
// false is certain. It spares a caller from spelling the whole path.
func (p *Pattern) MatchesName(name string) bool {
	if len(name) >= len(p.tail) {
		return strings.HasSuffix(name, p.tail)
	}
	return strings.HasSuffix(p.tail, name)
}

// Within says whether the pattern could match something beneath a directory;
// the empty string is the directory that patterns are relative to.
func (p *Pattern) Within(dir string) bool {
	if p.whole {
		return true
	}
	for _, names := range p.ways {
		if within(names, dir) {
			return true
		}
	}
	return false
}

// within walks through dir's names and keeps every place in the pattern that
// could have been reached; something beneath can match where one is left that
// is not the end.
func within(names []string, dir string) bool {
	at := make([]bool, len(names)+1)
	at[0] = true
	for dir != "" {
		var name string
		name, dir, _ = strings.Cut(dir, "/")
		next := make([]bool, len(names)+1)
		for i, here := range at[:len(names)] {
			if !here {
				continue
			}
			if names[i] == "**" { // this name is one of those, or the first that is not
				next[i] = true
				at[i+1] = true
			} else if doublestar.MatchUnvalidated(names[i], name) {
				next[i+1] = true
			}
		}
		at = next
	}
	for _, here := range at[:len(names)] {
		if here {
			return true
		}
	}
	return false
}

// Fixed splits a pattern into the directory that its beginning spells out and
// the pattern beneath that. The directory is empty where the first name is a
// pattern already; the last name is never part of it.
func Fixed(text string) (dir, rest string) {
	end := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*', '?', '[', '{', '\\':
			return strings.TrimSuffix(text[:end], "/"), text[end:]
		case '/':
			end = i + 1
		}
	}
	return strings.TrimSuffix(text[:end], "/"), text[end:]
}

// tail gives the literal bytes behind the last byte that means something. A
// slash that they begin with may be part of a `**/` that matches nothing.
func tail(text string) string {
	return strings.TrimPrefix(text[strings.LastIndexAny(text, `*?[]{},\`)+1:], "/")
}

// expand gives a pattern once for each choice of its braces; false where there
// are too many, or where a brace does not close.
func expand(text string) ([]string, bool) {
	open := braceAt(text)
	if open < 0 {
		return []string{text}, true
	}
	choices, end := choicesOf(text, open)
	if end < 0 {
		return nil, false
	}
	var out []string
	for _, c := range choices {
		more, ok := expand(text[:open] + c + text[end:])
		if out = append(out, more...); !ok || len(out) > maxWays {
			return nil, false
		}
	}
	return out, true
}

// braceAt finds the first opening brace that is neither escaped nor in a class.
func braceAt(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			i = classEnd(text, i)
		case '{':
			return i
		}
	}
	return -1
}

// choicesOf gives what stands between the commas of the braces that open at a
// place, and the place behind them; -1 where they do not close.
func choicesOf(text string, open int) (choices []string, end int) {
	depth, from := 0, open+1
	for i := open; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			i = classEnd(text, i)
		case '{':
			depth++
		case ',':
			if depth == 1 {
				choices, from = append(choices, text[from:i]), i+1
			}
		case '}':
			if depth--; depth == 0 {
				return append(choices, text[from:i]), i + 1
			}
		}
	}
	return nil, -1
}

// classEnd gives the place of the bracket that closes a class, or the last of
// the text.
func classEnd(text string, open int) int {
	for i := open + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case ']':
			if i > open+1 {
				return i
			}
		}
	}
	return len(text) - 1
}
