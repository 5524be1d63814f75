package search

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"countersign/internal/refusal"
)

// Bounds on what is searched for. Together they bound the memory of a Matcher
// to some 200 KiB and its time on one byte of text to some 10 µs.
const (
	MaxPattern = 4 << 10 // bytes of a pattern
	maxProgram = 2000    // instructions that an expression may compile to
)

// Query is what to search for.
type Query struct {
	Pattern    string
	Literal    bool // Pattern is text to be found as it is
	IgnoreCase bool // a letter matches in either case, by Unicode's simple folding
	Word       bool // a match neither begins behind nor ends before a letter, mark, digit or `_`
}

// Matcher is a compiled Query. It never changes, and many may use it at once.
type Matcher struct {
	expr    *regexp.Regexp
	group   int      // the submatch that is the match: 1 where flanks stand around it
	needles []needle // one of which stands in every matching line; none where that cannot be told
	literal int      // bytes of the one needle, where finding it is matching; else 0
}

// notWord is what may stand beside a whole word.
const notWord = `[^\pL\pM\p{Nd}\p{Pc}]`

// Compile makes a query's matcher. The refusals are bad-pattern, with what is
// wrong in the pattern, and too-large.
func Compile(q Query) (*Matcher, error) {
	expr, err := expression(q)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, malformed(err)
	}
	if n := size(tree); n > maxProgram {
		return nil, refusal.New(refusal.TooLarge, "the pattern", "it compiles to %d steps, %d are allowed; repetitions multiply what they repeat", n, maxProgram)
	}
	if holdsNewline(tree) {
		return nil, refusal.New(refusal.BadPattern, "the pattern", "it asks for a line end, and lines are searched one by one")
	}
	m := &Matcher{}
	if found := required(tree.Simplify()); found != nil {
		m.needles = needles(found)
		if l := found[0]; len(found) == 1 && !q.Word && l.is(tree) {
			m.literal = len(l.text)
		}
	}
	if q.Word {
		expr, m.group = `(?:^|`+notWord+`)(`+expr+`)(?:$|`+notWord+`)`, 1
	}
	if m.expr, err = regexp.Compile(expr); err != nil {
		return nil, malformed(err)
	}
	return m, nil
}

// expression gives the regular expression of a query, but for whole words.
func expression(q Query) (string, error) {
	switch {
	case q.Pattern == "":
		return "", refusal.New(refusal.BadPattern, "the pattern", "it is empty")
	case len(q.Pattern) > MaxPattern:
		return "", refusal.New(refusal.TooLarge, "the pattern", "%d bytes, %d are allowed", len(q.Pattern), MaxPattern)
	case !utf8.ValidString(q.Pattern):
		return "", refusal.New(refusal.BadPattern, "the pattern", "it is not UTF-8")
	}
	expr := q.Pattern
	if q.Literal {
		expr = regexp.QuoteMeta(expr)
	} else if _, err := syntax.Parse(expr, syntax.Perl); err != nil { // before anything stands around it
		return "", malformed(err)
	}
	if q.IgnoreCase {
		expr = "(?i:" + expr + ")"
	}
	return expr, nil
}

// malformed says what is wrong with a pattern, and with which part of it.
func malformed(err error) error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return refusal.New(refusal.BadPattern, "the pattern", "%v", err)
	}
	if e.Code == syntax.ErrLarge || e.Code == syntax.ErrNestingDepth {
		return refusal.New(refusal.TooLarge, "the pattern", "%s", e.Code)
	}
	part := e.Expr
	if len(part) > 100 {
		part = strings.ToValidUTF8(part[:100], "") + "…"
	}
	return refusal.New(refusal.BadPattern, "the pattern", "%s: %q", e.Code, part)
}

// size estimates the instructions that a tree compiles to, without compiling
// it: repetitions are counted out.
func size(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += size(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1) // at most 1000 by the syntax, as is the product of nested ones
	}
	return n
}

// holdsNewline says whether a tree names a line end by itself: a class may hold
// one among others, and simply never meets it.
func holdsNewline(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == '\n' {
				return true
			}
		}
	case syntax.OpCharClass:
		return len(re.Rune) == 2 && re.Rune[0] == '\n' && re.Rune[1] == '\n'
	}
	for _, sub := range re.Sub {
		if holdsNewline(sub) {
			return true
		}
	}
	return false
}
