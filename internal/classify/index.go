package classify

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// index is the patterns of the tables, filed by their first name, so that a
// path is asked about few of them: the tables hold hundreds, and every change
// of every agent goes through them. What a lookup costs is linear in the path.
type index struct {
	home, any filing // `~/` patterns by the first name beneath the home; `**/` patterns by the name they begin at
	whole     []filed
}

// filing holds patterns of one kind by how their first name is known.
type filing struct {
	names map[string][]filed // a literal name
	ends  map[string][]filed // `*` and a literal with a dot: by what follows its last dot
	first [256][]filed       // a literal byte, and wildcards later
	wild  []filed            // anything else
}

// filed is one pattern, without `~/` or `**/`.
type filed struct {
	entry int
	name  string // pattern of the first name; empty where it is filed by its whole name
	must  string // a literal that a name has which name matches
	rest  string // pattern of what follows the first name
	plain bool   // rest has no wildcards but a `/**` at its end
}

// add files a pattern that CheckPattern lets stand.
func (x *index) add(pattern string, entry int) {
	for _, p := range braces(fold(pattern)) {
		rest, inHome := strings.CutPrefix(p, "~/")
		to := &x.home
		if !inHome {
			rest, to = strings.TrimPrefix(p, "**/"), &x.any
		}
		if strings.ContainsAny(rest, "{}\\") || strings.HasPrefix(rest, "**") {
			x.whole = append(x.whole, filed{entry: entry, name: p})
			continue
		}
		to.add(rest, entry)
	}
}

func (f *filing) add(pattern string, entry int) {
	name, rest, _ := strings.Cut(pattern, "/")
	k := filed{entry: entry, rest: rest, plain: !wild(strings.TrimSuffix(rest, "**"))}
	if !wild(name) {
		if f.names == nil {
			f.names = map[string][]filed{}
		}
		f.names[name] = append(f.names[name], k)
		return
	}
	k.name, k.must = name, longestLiteral(name)
	switch end := strings.LastIndexByte(name, '.'); {
	case name[0] == '*' && !wild(name[1:]) && end >= 0:
		if f.ends == nil {
			f.ends = map[string][]filed{}
		}
		f.ends[name[end+1:]] = append(f.ends[name[end+1:]], k)
	case !wild(name[:1]):
		f.first[name[0]] = append(f.first[name[0]], k)
	default:
		f.wild = append(f.wild, k)
	}
}

func wild(s string) bool { return strings.ContainsAny(s, "*?[") }

// longestLiteral gives the longest piece of a pattern of one name that every
// match has; nothing where it has a class, in which bytes stand for others.
func longestLiteral(pattern string) string {
	longest := ""
	if strings.Contains(pattern, "[") {
		return ""
	}
	for piece := range strings.FieldsFuncSeq(pattern, func(r rune) bool { return r == '*' || r == '?' }) {
		if len(piece) > len(longest) {
			longest = piece
		}
	}
	return longest
}

// maxBraces bounds what one pattern is spelled out into; one of more is matched
// as it stands.
const maxBraces = 128

// braces spells out `{a,b}` where no brace stands in another.
func braces(pattern string) []string {
	open := strings.IndexByte(pattern, '{')
	if open < 0 || strings.Contains(pattern, "\\") {
		return []string{pattern}
	}
	end := strings.IndexByte(pattern[open:], '}')
	if end < 0 || strings.Contains(pattern[open+1:open+end], "{") {
		return []string{pattern}
	}
	var out []string
	for choice := range strings.SplitSeq(pattern[open+1:open+end], ",") {
		out = append(out, braces(pattern[:open]+choice+pattern[open+end+1:])...)
		if len(out) > maxBraces {
			return []string{pattern}
		}
	}
	return out
}

// look finds the entries that hold a change by its place: the path it was
// given, where that lands, and the names by which links of the home lead there.
func (x *index) look(c *Change, f *found) {
	x.path(c, string(c.Path), f)
	if c.Real != c.Path {
		x.path(c, string(c.Real), f)
	}
	for _, a := range c.Aliases {
		x.path(c, string(a), f)
	}
}

func (x *index) path(c *Change, path string, f *found) {
	if path == "" {
		return
	}
	home := -1 // where what is beneath the home begins
	if c.Home != "" && strings.HasPrefix(path, c.Home) && len(path) > len(c.Home) && path[len(c.Home)] == '/' {
		home = len(c.Home) + 1
	}
	path = fold(path)
	for i := range x.whole {
		rel, inHome := strings.CutPrefix(x.whole[i].name, "~/")
		switch {
		case inHome && home >= 0 && doublestar.MatchUnvalidated(rel, path[home:]),
			!inHome && doublestar.MatchUnvalidated(rel, strings.TrimPrefix(path, "/")):
			f.add(x.whole[i].entry)
		}
	}
	for at := 0; at < len(path); {
		name, rest, more := strings.Cut(path[at:], "/")
		if name != "" {
			x.any.look(name, rest, more, f)
			if at == home {
				x.home.look(name, rest, more, f)
			}
		}
		if !more {
			return
		}
		at += len(name) + 1
	}
}

// look asks about one name of a path and what follows it.
func (x *filing) look(name, rest string, more bool, f *found) {
	x.ask(x.names[name], name, rest, more, f)
	x.ask(x.first[name[0]], name, rest, more, f)
	if len(x.ends) > 0 {
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
			x.ask(x.ends[name[dot+1:]], name, rest, more, f)
		}
	}
	x.ask(x.wild, name, rest, more, f)
}

func (x *filing) ask(list []filed, name, rest string, more bool, f *found) {
	for i := range list {
		k := &list[i]
		if f.has(k.entry) || !strings.Contains(name, k.must) || !k.follows(rest, more) {
			continue
		}
		if k.name == "" || doublestar.MatchUnvalidated(k.name, name) {
			f.add(k.entry)
		}
	}
}

// follows says whether what follows the first name, if there is more, is what
// the pattern has there. A `/**` at its end holds the directory itself too.
func (k *filed) follows(rest string, more bool) bool {
	switch {
	case k.rest == "**":
		return true
	case k.rest == "" || !more:
		return (k.rest == "") == !more
	case !k.plain:
		return doublestar.MatchUnvalidated(k.rest, rest)
	}
	dir, beneath := strings.CutSuffix(k.rest, "/**")
	after, ok := strings.CutPrefix(rest, dir)
	return ok && (after == "" || beneath && after[0] == '/')
}
