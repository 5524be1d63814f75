package grant

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"countersign/internal/refusal"
)

// Op is what is to be done at a path.
type Op int

// The operations that are judged.
const (
	Read Op = iota
	Write
)

// String is the word a refusal uses.
func (op Op) String() string {
	if op == Write {
		return "writing"
	}
	return "reading"
}

// Grant is one granted directory and what is beneath it.
type Grant struct {
	Root        string   // absolute and clean, as bytes
	Include     []string // doublestar, relative to Root; none is everything
	Ignore      []string // doublestar, relative to Root; for walks, never a file that is named
	FollowLinks bool     // whether a symbolic link that ends inside the grant is followed
	CrossMounts bool     // whether a path may lead into another mounted filesystem
	MaxFileSize int64    // bytes
}

// Set is everything that is granted in one person's home. Its zero value
// grants nothing.
type Set struct {
	Home   string // the person's home, absolute and clean
	Reads  []Grant
	Writes []Grant
	Deny   Deny // its zero value is the whole deny list
}

// Roots lists the roots of all grants.
func (s Set) Roots() []string {
	roots := make([]string, 0, len(s.Reads)+len(s.Writes))
	for _, list := range [][]Grant{s.Reads, s.Writes} {
		for _, g := range list {
			roots = append(roots, g.Root)
		}
	}
	return roots
}

// Judge says whether op may be done at path, and gives the grant that says so:
// for a write the one from the write list, though a read grant must cover the
// path as well.
//
// The refusals are path-not-clean, not-granted, denied-place and
// git-directory. They quote the path as it was given and tell nothing of disk.
func (s Set) Judge(op Op, path string) (Grant, error) {
	if !clean(path) {
		return Grant{}, refusal.New(refusal.PathNotClean, what(op, path), "")
	}
	lists := [][]Grant{s.Reads}
	if op == Write {
		lists = append(lists, s.Writes)
	}
	var found *Grant
	included := true
	for i, list := range lists {
		g, inc := longest(list, path)
		if g == nil {
			return Grant{}, refusal.New(refusal.NotGranted, what(op, path), "for %s", Op(i))
		}
		found, included = g, included && inc
	}
	if err := s.forbidden(op, path); err != nil {
		return Grant{}, err
	}
	if !included {
		return Grant{}, refusal.New(refusal.NotGranted, what(op, path), "an include leaves it out")
	}
	return *found, nil
}

// Forbidden judges path by what no grant can open: `.git` for a write, the
// deny list, and names of Countersign's own staged files. It is for a landing
// whose spelling differs from the path that was asked for.
//
// The refusal quotes path. A caller whose agent may not learn where a link
// leads puts the path that was asked for in its place.
func (s Set) Forbidden(op Op, path string) error {
	if !clean(path) {
		return refusal.New(refusal.PathNotClean, what(op, path), "")
	}
	return s.forbidden(op, path)
}

// forbidden judges a path that is known to be clean.
func (s Set) forbidden(op Op, path string) error {
	for name := range strings.SplitSeq(path[1:], "/") {
		switch {
		case name[0] != '.': // as nearly every name is
		case op == Write && equalFold(name, ".git"):
			return refusal.New(refusal.GitDirectory, what(op, path), "")
		case staged(name):
			return refusal.New(refusal.NotGranted, what(op, path), "for %s", op)
		}
	}
	if e := s.Deny.covers(s.Home, path); e != nil {
		return refusal.New(refusal.Denied, what(op, path), "entry %s: %s", e.Name, e.Why)
	}
	return nil
}

// Resolved gives the same set with real paths in place of listed ones: home is
// where s.Home leads, and roots maps listed roots to where they lead. A root
// that is not in the map keeps its place beneath the home, so that a nested
// grant which cannot be looked at still holds over the one around it.
func (s Set) Resolved(home string, roots map[string]string) Set {
	move := func(list []Grant) []Grant {
		out := make([]Grant, len(list))
		for i, g := range list {
			if real, ok := roots[g.Root]; ok {
				g.Root = real
			} else if under(s.Home, g.Root) {
				g.Root = home + g.Root[len(s.Home):]
			}
			out[i] = g
		}
		return out
	}
	s.Reads, s.Writes, s.Home = move(s.Reads), move(s.Writes), home
	return s
}

// longest gives the grant whose root is the longest that holds path, and
// whether its include covers path; nil where no root holds it. Two roots that
// turn out to be one directory must both cover it.
func longest(list []Grant, path string) (found *Grant, included bool) {
	for i := range list {
		g := &list[i]
		if !under(g.Root, path) || found != nil && len(g.Root) < len(found.Root) {
			continue
		}
		same := found != nil && len(g.Root) == len(found.Root)
		if !same {
			found = g
		}
		included = (included || !same) && g.includes(path)
	}
	return found, included
}

// includes says whether g's include covers a path under its root.
func (g *Grant) includes(path string) bool {
	if len(g.Include) == 0 {
		return true
	}
	rel := fold(strings.TrimPrefix(path[len(g.Root):], "/"))
	for _, pattern := range g.Include {
		if doublestar.MatchUnvalidated(fold(pattern), rel) {
			return true
		}
	}
	return false
}

// CheckPattern says why pattern cannot stand in an include or ignore list, or
// gives the empty string.
func CheckPattern(pattern string) string {
	switch {
	case pattern == "":
		return "the pattern is empty"
	case pattern[0] == '/' || strings.HasPrefix(pattern, "~/"):
		return "patterns are relative to the grant's root"
	case !doublestar.ValidatePattern(pattern) || !doublestar.ValidatePattern(fold(pattern)):
		return "the pattern is malformed"
	}
	for name := range strings.SplitSeq(pattern, "/") {
		if name == "" || name == "." || name == ".." {
			return "a path is matched by whole names, so an empty, `.` or `..` one never matches"
		}
	}
	return ""
}
