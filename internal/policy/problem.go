package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"countersign/internal/visible"
)

// Problem is one thing that is wrong with a policy. Its text is for a
// terminal: what the file says in it has no control character.
type Problem struct {
	Line int    `json:"line,omitempty"` // from 1; 0 where the matter has no line
	Key  string `json:"key,omitempty"`  // such as persons.alice.write[0].root
	Why  string `json:"why"`
}

// String gives the problem in one line.
func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	return b.String() + p.Why
}

// Invalid is everything that is wrong with a policy, in the order of its lines.
type Invalid struct{ Problems []Problem }

// Error gives one problem a line.
func (e *Invalid) Error() string {
	out := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		out[i] = p.String()
	}
	return strings.Join(out, "\n")
}

// report collects problems while a policy is looked through.
type report struct {
	lines lines
	found []Problem
}

// add notes a problem at a key, at its line or that of what it stands in.
func (r *report) add(key, why string, args ...any) {
	r.found = append(r.found, problem(r.lines.of(key), key, fmt.Sprintf(why, args...)))
}

// maxShown bounds how much of a key or an account is shown, in bytes.
const maxShown = 512

func problem(line int, key, why string) Problem {
	return Problem{Line: line, Key: shown(key), Why: shown(why)}
}

// shown writes out what would not show, and cuts what nobody would read.
func shown(s string) string {
	if len(s) > maxShown {
		return string(visible.Line(s[:maxShown])) + "…"
	}
	return string(visible.Line(s))
}

// err gives what was found, in the order of the lines, or nil.
func (r *report) err() error {
	if len(r.found) == 0 {
		return nil
	}
	slices.SortStableFunc(r.found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key))
	})
	return &Invalid{Problems: r.found}
}
