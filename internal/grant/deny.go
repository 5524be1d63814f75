package grant

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"countersign/internal/refusal"
)

// Entry is one line of the deny list. Patterns use `*`, `?` and classes within
// one name, in lower case, and are matched against lowered names.
type Entry struct {
	Name string // stable; an owner's policy takes the entry off by it
	Why  string

	Home    []string // relative to the home: the place and everything beneath it
	Names   []string // one name at any depth: the place and everything beneath it
	Files   []string // one name at any depth, only as the last of a path
	Except  []string // names that Names and Files leave alone
	Content []string // names whose files are denied when they hold a private key
}

// Deny is the deny list in force: the whole of it, less the entries that the
// owner took off. The zero value is the whole of it.
type Deny struct{ off []string }

// DenyExcept gives the deny list without the entries named. A name that no
// entry has is an error: it would take nothing off and look as if it did.
func DenyExcept(names []string) (Deny, error) {
	for _, n := range names {
		if !slices.ContainsFunc(denyTable, func(e Entry) bool { return e.Name == n }) {
			return Deny{}, fmt.Errorf("the deny list has no entry %q", n)
		}
	}
	return Deny{off: slices.Clone(names)}, nil
}

// DenyList gives the whole deny list, for those who show it. The slice is the
// caller's; the patterns in it are not to be changed.
func DenyList() []Entry { return slices.Clone(denyTable) }

// DeniedByContent judges a file that is denied for what it holds: under a name
// such as `*.pem`, a private key, where a certificate would do no harm. content
// is the whole file; a window of it could begin behind the line that tells.
func (s Set) DeniedByContent(op Op, p string, content []byte) error {
	name := fold(p[strings.LastIndexByte(p, '/')+1:])
	for i := range denyTable {
		e := &denyTable[i]
		if matches(e.Content, name) && !matches(e.Except, name) && !s.Deny.lifted(e) && holdsPrivateKey(content) {
			return refusal.New(refusal.Denied, what(op, p), "entry %s: it holds a private key", e.Name)
		}
	}
	return nil
}

// holdsPrivateKey looks for the line that opens a private key in PEM, in
// OpenPGP armour and in the form of RFC 4716. How far it looks from each
// beginning is bounded: a file could be made of nothing else.
func holdsPrivateKey(content []byte) bool {
	const begin, label = "BEGIN ", 64
	for at := 0; ; {
		i := bytes.Index(content[at:], []byte(begin))
		if i < 0 {
			return false
		}
		start := at + i
		at = start + len(begin)
		line := content[at:min(at+label, len(content))]
		if end := bytes.IndexAny(line, "\r\n"); end >= 0 {
			line = line[:end]
		}
		dashes := bytes.TrimRight(content[max(start-8, 0):start], " ")
		if bytes.HasSuffix(dashes, []byte("----")) && bytes.Contains(line, []byte("PRIVATE KEY")) {
			return true
		}
	}
}

func (d Deny) lifted(e *Entry) bool { return slices.Contains(d.off, e.Name) }

// covers gives the entry that holds a clean path, or nil. Walks ask this of
// every file they meet, so patterns are filed by their first byte and a name
// is lowered only where one could match it.
func (d Deny) covers(home, p string) *Entry {
	if home != "" && home != "/" && under(home, p) && len(p) > len(home) {
		rel := p[len(home)+1:]
		for _, k := range denyIndex.home[lower(rel[0])] {
			if !d.lifted(k.entry) && beneath(k.pattern, rel) {
				return k.entry
			}
		}
	}
	for rest := p[1:]; rest != ""; {
		name, after, more := strings.Cut(rest, "/")
		for _, list := range [][]filed{denyIndex.names[lower(name[0])], denyIndex.names['*']} {
			for _, k := range list {
				if k.last && more || d.lifted(k.entry) {
					continue
				}
				if n := fold(name); matches([]string{k.pattern}, n) && !matches(k.entry.Except, n) {
					return k.entry
				}
			}
		}
		rest = after
	}
	return nil
}

// beneath says whether rel begins with names that match pattern's, one by one.
func beneath(pattern, rel string) bool {
	for pattern != "" {
		var want, name string
		want, pattern, _ = strings.Cut(pattern, "/")
		name, rel, _ = strings.Cut(rel, "/")
		if name == "" || !matches([]string{want}, fold(name)) {
			return false
		}
	}
	return true
}

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if name == "" || !alike(p, name) {
			continue
		}
		if ok, _ := path.Match(p, name); ok { // a bad pattern matches nothing; a test holds the table to none
			return true
		}
	}
	return false
}

// filed is one pattern of the table, ready to be looked up.
type filed struct {
	pattern string
	last    bool // only as the last name of a path
	entry   *Entry
}

type index struct{ home, names [256][]filed }

// denyIndex is the table by the first byte of each pattern; it never changes.
var denyIndex = indexed(denyTable)

func indexed(table []Entry) *index {
	var x index
	for i := range table {
		e := &table[i]
		for _, p := range e.Home {
			x.home[p[0]] = append(x.home[p[0]], filed{pattern: p, entry: e})
		}
		for _, p := range e.Names {
			x.names[p[0]] = append(x.names[p[0]], filed{pattern: p, entry: e})
		}
		for _, p := range e.Files {
			x.names[p[0]] = append(x.names[p[0]], filed{pattern: p, last: true, entry: e})
		}
	}
	return &x
}
