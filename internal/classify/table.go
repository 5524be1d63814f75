package classify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Entry is one line of the tables: a kind of place, or of content, that gives
// a reason.
type Entry struct {
	Reason Name   // RunsLater or Credentials
	Name   string // stable: a policy names the entry by it
	Why    string // what a person is told who is asked

	// Patterns are doublestar, in lower case, matched against lowered paths:
	// `~/` is the home, `**/` any depth.
	Patterns []string
	// Form says in words how the entry is known by what a file is, where its
	// place does not say it.
	Form string

	Rest  bool   // counts only where no other entry of the same reason holds the change
	Quiet bool   // counts only where a policy names it in classify.also
	Note  string // why it asks, or why it does not unless it is named
}

// Table gives every entry of both reasons, for those who show them. The slice
// is the caller's; the patterns in it are not to be changed.
func Table() []Entry { return slices.Concat(runsLater, onRequest, credentialNames, markEntries()) }

// Find gives the entry of this name.
func Find(name string) (Entry, bool) {
	all := Table()
	if i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name }); i >= 0 {
		return all[i], true
	}
	return Entry{}, false
}

// Owner is what an owner's policy changes of the tables.
type Owner struct {
	Also    []string // quiet entries that count
	Except  []string // entries that do not count
	Entries []Entry  // of the owner's own, with a Reason, a Name and Patterns
}

// MaxOwn bounds the entries of an owner's own.
const MaxOwn = 64

// Tables is what counts under one policy. It is made by New, never changed
// afterwards, and safe for use by several goroutines.
type Tables struct {
	entries []Entry
	linked  []string
	rest    [2]found // which entries are for the rest, and which they give way to
	index   index
	forms   []formOf // that count
	marks   marksOf
}

// New gives the tables as an owner wants them. A name that no entry has is an
// error, since it would change nothing and look as if it did; package policy
// finds that before, with its line.
func New(o Owner) (*Tables, error) {
	for _, name := range slices.Concat(o.Also, o.Except) {
		if _, ok := Find(name); !ok {
			return nil, fmt.Errorf("the tables have no entry %q", name)
		}
	}
	if len(o.Entries) > MaxOwn {
		return nil, fmt.Errorf("over %d entries of the owner's own", MaxOwn)
	}
	t := &Tables{}
	counts := func(e Entry) bool {
		return !slices.Contains(o.Except, e.Name) && (!e.Quiet || slices.Contains(o.Also, e.Name))
	}
	for _, e := range slices.Concat(Table(), o.Entries) {
		if counts(e) {
			t.entries = append(t.entries, e)
		}
	}
	if t.linked = linkedWith(o.Entries); len(t.linked) > MaxLinked {
		return nil, fmt.Errorf("with the places of the home that entries name, over %d are looked at for links", MaxLinked)
	}
	if len(t.entries) > maxEntries {
		return nil, fmt.Errorf("[unexpected] over %d entries", maxEntries)
	}
	for i, e := range t.entries {
		switch {
		case e.Rest:
			t.rest[0].add(i)
		case e.Reason == RunsLater: // the one reason that has such an entry
			t.rest[1].add(i)
		}
		for _, p := range e.Patterns {
			t.index.add(p, i)
		}
	}
	for _, f := range forms {
		if i := t.entry(f.name); i >= 0 {
			f.entry = i
			t.forms = append(t.forms, f)
		}
	}
	t.marks = marksThat(t.entry)
	return t, nil
}

// entry gives the place of an entry that counts; -1 for none.
func (t *Tables) entry(name string) int {
	return slices.IndexFunc(t.entries, func(e Entry) bool { return e.Name == name })
}

// builtIn is the tables as they are without a policy's word. It never changes.
var builtIn = mustNew(Owner{})

func mustNew(o Owner) *Tables {
	t, err := New(o)
	if err != nil {
		panic("[unexpected] tables: " + err.Error())
	}
	return t
}

// CheckPattern says why pattern cannot stand in an entry of an owner's own, or
// gives the empty string.
func CheckPattern(pattern string) string {
	rest, ok := strings.CutPrefix(pattern, "~/")
	if !ok {
		rest, ok = strings.CutPrefix(pattern, "**/")
	}
	switch {
	case !ok:
		return "a pattern begins with ~/, the home, or **/, any depth"
	case len(pattern) > 1024:
		return "the pattern is over 1024 bytes"
	case !doublestar.ValidatePattern(rest) || !doublestar.ValidatePattern(fold(rest)):
		return "the pattern is malformed"
	}
	for name := range strings.SplitSeq(rest, "/") {
		if name == "" || name == "." || name == ".." {
			return "a path is matched by whole names, so an empty, `.` or `..` one never matches"
		}
	}
	return ""
}

// found is a set of entries that hold a change, by their place in Tables.
type found [4]uint64

// maxEntries is how many entries found can tell apart.
const maxEntries = 256

func (f *found) add(i int)      { f[i/64] |= 1 << (i % 64) }
func (f *found) has(i int) bool { return f[i/64]&(1<<(i%64)) != 0 }

func (f found) without(o found) found {
	for i := range f {
		f[i] &^= o[i]
	}
	return f
}

// holding gives the entries that hold a change, for one reason or another.
func (t *Tables) holding(c *Change) (f found) {
	t.index.look(c, &f)
	for i := range t.forms {
		if form := &t.forms[i]; !f.has(form.entry) && form.holds(c) {
			f.add(form.entry)
		}
	}
	if there(c.New) {
		t.marks.look(c.OldContent, c.NewContent, &f)
	}
	for i := range f {
		if f[i]&t.rest[1][i] != 0 {
			return f.without(t.rest[0])
		}
	}
	return f
}

// fold lowers ASCII letters and leaves every other byte.
func fold(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
