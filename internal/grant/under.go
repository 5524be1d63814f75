package grant

import (
	"path"
	"slices"
	"strings"

	"countersign/internal/pattern"
)

// Under judges for reading what a walk meets in one directory, name by name:
// what Judge would say of each path, at the cost of a name. It is made for a
// directory that was judged, and handed down from each directory to those in
// it. It is safe for concurrent use.
//
// A file is shown exactly where Judge lets its path be read. A directory is
// shown where something beneath it may be: an include that could match there,
// or a nested grant. Entries of the deny list that are about files alone hide
// no directory.
type Under struct {
	set    *Set
	dir    string   // "" is the root directory
	speaks []*Grant // for what is in dir; more than one where roots are one directory
	nested []*Grant // whose roots are beneath dir
	home   []homely // entries of the home that could hold something in or beneath dir
	denied bool     // the deny list holds dir itself
	lists  map[*Grant]lists
}

// lists is a grant's patterns, compiled, in lower case.
type lists struct{ include, ignore []*pattern.Pattern }

// homely is what is left of a pattern of the home beneath some directory.
type homely struct {
	names []string
	entry *Entry
}

// Under prepares to judge what is in a directory: a clean path, or `/`, that a
// walk starts in. The set is not to be changed afterwards.
func (s *Set) Under(dir string) *Under {
	u := &Under{set: s, lists: make(map[*Grant]lists)}
	for i := range s.Reads {
		g := &s.Reads[i]
		if !strings.HasPrefix(g.Root, "/") {
			continue // no path is beneath it
		}
		u.nested = append(u.nested, g)
		u.lists[g] = lists{compiled(g.Include), compiled(g.Ignore)}
	}
	u.speak("/")
	for name := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if name != "" {
			u = u.Enter(name)
		}
	}
	for _, g := range u.speaks {
		l := u.lists[g]
		l.ignore = slices.DeleteFunc(l.ignore, func(p *pattern.Pattern) bool { return coversDir(p, relative(g, u.dir)) })
		u.lists[g] = l
	}
	return u
}

func compiled(patterns []string) []*pattern.Pattern {
	var out []*pattern.Pattern
	for _, p := range patterns {
		out = append(out, pattern.Compile(fold(p)))
	}
	return out
}

// relative gives a path under a grant's root from there, in lower case.
func relative(g *Grant, path string) string {
	return fold(strings.TrimPrefix(path[min(len(path), len(strings.TrimSuffix(g.Root, "/"))):], "/"))
}

// coversDir says whether a pattern matches a directory or one above it.
func coversDir(p *pattern.Pattern, dir string) bool {
	for i := range len(dir) + 1 {
		if (i == len(dir) || dir[i] == '/') && p.Match(dir[:i]) {
			return true
		}
	}
	return false
}

// Enter gives the judge of a directory in this one.
func (u *Under) Enter(name string) *Under {
	child := &Under{set: u.set, dir: u.dir + "/" + name, speaks: u.speaks, lists: u.lists, denied: u.denied || u.denies(name, true)}
	for _, g := range u.nested {
		if under(child.dir, g.Root) {
			child.nested = append(child.nested, g)
		}
	}
	child.speak(child.dir)
	if u.set.Home != "/" && child.dir == u.set.Home {
		child.home = u.set.Deny.homely()
		return child
	}
	for _, h := range u.home {
		if len(h.names) > 1 && alike(h.names[0], name) && matches(h.names[:1], fold(name)) {
			child.home = append(child.home, homely{h.names[1:], h.entry})
		}
	}
	return child
}

// speak lets the grants whose root is dir itself speak from here on.
func (u *Under) speak(dir string) {
	isRoot := func(g *Grant) bool { return g.Root == dir }
	if slices.ContainsFunc(u.nested, isRoot) {
		u.speaks = nil
		for _, g := range u.nested {
			if isRoot(g) {
				u.speaks = append(u.speaks, g)
			}
		}
		u.nested = slices.DeleteFunc(slices.Clone(u.nested), isRoot)
	}
}

// Grant gives the grant that speaks for what is in the directory, or nil.
func (u *Under) Grant() *Grant {
	if len(u.speaks) == 0 {
		return nil
	}
	return u.speaks[0]
}

// Judge gives the grant that shows a name in the directory; nil where none
// does. The grant is another than the directory's where the name is a nested
// grant's root.
func (u *Under) Judge(name string, isDir bool) *Grant {
	if u.denied || u.denies(name, isDir) {
		return nil
	}
	speaks, holds := u.speaks, false
	var own []*Grant // whose root the name is
	for _, g := range u.nested {
		switch rest := g.Root[len(u.dir)+1:]; {
		case rest == name:
			own = append(own, g)
		case strings.HasPrefix(rest, name) && rest[len(name)] == '/':
			holds = true
		}
	}
	if own != nil {
		speaks = own
	}
	if len(speaks) == 0 {
		return nil
	}
	for _, g := range speaks {
		if !u.includes(g, name, isDir) && !(isDir && holds) {
			return nil
		}
	}
	return speaks[0]
}

// includes says whether g's include covers a name, or something beneath it.
func (u *Under) includes(g *Grant, name string, isDir bool) bool {
	if len(g.Include) == 0 {
		return true
	}
	rel := relative(g, u.dir+"/"+name)
	for _, p := range u.lists[g].include {
		if p.Match(rel) || isDir && p.Within(rel) {
			return true
		}
	}
	return false
}

// Ignores says whether the ignore list of the grant that speaks for a name has
// walks pass over it. Patterns that cover the directory Under was asked for do
// not count: somebody named it.
func (u *Under) Ignores(g *Grant, name string) bool {
	l := u.lists[g].ignore
	if len(l) == 0 {
		return false
	}
	rel := relative(g, u.dir+"/"+name)
	return slices.ContainsFunc(l, func(p *pattern.Pattern) bool { return p.Match(rel) })
}

// denies says whether the deny list, or a staged name, hides a name for
// itself; what is above it was judged before.
func (u *Under) denies(name string, isDir bool) bool {
	if name[0] == '.' && staged(name) {
		return true
	}
	for _, h := range u.home {
		if len(h.names) == 1 && alike(h.names[0], name) && matches(h.names, fold(name)) {
			return true
		}
	}
	for _, list := range [][]filed{denyIndex.names[lower(name[0])], denyIndex.names['*']} {
		for i := range list {
			k := &list[i]
			if k.last && isDir || !alike(k.pattern, name) || u.set.Deny.lifted(k.entry) {
				continue
			}
			n := fold(name)
			if ok, _ := path.Match(k.pattern, n); ok && !matches(k.entry.Except, n) {
				return true
			}
		}
	}
	return false
}

// alike says whether a pattern of the deny list could match a name, by the
// first and last byte of each.
func alike(pattern, name string) bool {
	could := func(p, n byte) bool { return p == lower(n) || strings.IndexByte(`*?[]\`, p) >= 0 }
	return could(pattern[0], name[0]) && could(pattern[len(pattern)-1], name[len(name)-1])
}

// homely gives the patterns of the home that are in force, name by name.
func (d Deny) homely() []homely {
	var out []homely
	for i := range denyTable {
		if e := &denyTable[i]; !d.lifted(e) {
			for _, p := range e.Home {
				out = append(out, homely{strings.Split(p, "/"), e})
			}
		}
	}
	return out
}

// Fold lowers a name's ASCII letters, as the deny list's patterns are.
func Fold(name string) string { return fold(name) }

// DeniedInHome gives the deny list's places in the home that are in force, as
// patterns of single names, relative to the home, in lower case.
func (s Set) DeniedInHome() [][]string {
	if s.Home == "" || s.Home == "/" {
		return nil
	}
	var out [][]string
	for _, h := range s.Deny.homely() {
		out = append(out, h.names)
	}
	return out
}
