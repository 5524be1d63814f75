package policy

import (
	"slices"

	"countersign/internal/classify"
)

// Classes is what classify is told of this policy.
func (p *Policy) Classes() classify.Limits {
	return classify.Limits{Large: p.Limits.Large, Tables: p.tables}
}

// Linked gives the names in a home from which a link may make a file more than
// its own path says, as facts.Finder takes them.
func (p *Policy) Linked() []string { return p.tables.Linked() }

// maxPatterns bounds the patterns of one entry of the owner's own.
const maxPatterns = 64

// classes reads what the policy changes of the tables of classify.
func (b *builder) classes() {
	const also, except = "classify.also", "classify.except"
	f := b.f.Classify
	own := classify.Owner{Also: f.Also, Except: f.Except}
	before := len(b.found)
	b.twice(also, f.Also)
	b.twice(except, f.Except)
	for i, name := range f.Also {
		if e, ok := b.entry(item(also, i), name); ok && !e.Quiet {
			b.add(item(also, i), "the entry %s counts already", name)
		}
	}
	for i, name := range f.Except {
		if e, ok := b.entry(item(except, i), name); ok && e.Quiet {
			b.add(item(except, i), "the entry %s does not count unless classify.also has it", name)
		}
	}
	if len(f.Entry) > classify.MaxOwn {
		b.add("classify.entry", "there are over %d", classify.MaxOwn)
	}
	for i, e := range f.Entry {
		own.Entries = append(own.Entries, b.ownEntry(item("classify.entry", i), e, own.Entries))
	}
	if len(b.found) > before {
		return
	}
	var err error
	if b.p.tables, err = classify.New(own); err != nil {
		b.add("classify", "%s", why(err))
	}
}

// entry gives the entry that a list names, and refuses one whose reason does
// not ask: to change it would change nothing.
func (b *builder) entry(key, name string) (classify.Entry, bool) {
	e, ok := classify.Find(name)
	switch {
	case !ok:
		b.add(key, "there is no entry %q; docs/classification.md has them all", name)
	case !b.p.Asks[e.Reason]:
		b.add(key, "decide.ask does not have %q, so no entry of it could ask", e.Reason)
		ok = false
	}
	return e, ok
}

// ownEntry reads an entry of the owner's own. Its places need not lie in a write
// grant: a link from one may lead into one.
func (b *builder) ownEntry(at string, f fileEntry, earlier []classify.Entry) classify.Entry {
	e := classify.Entry{Why: "the owner's policy names it"}
	b.text(at, "name", f.Name, func(s string) {
		e.Name = s
		_, known := classify.Find(s)
		switch {
		case CheckName(s) != nil:
			b.add(at+".name", "%s", why(CheckName(s)))
		case known || slices.ContainsFunc(earlier, func(o classify.Entry) bool { return o.Name == s }):
			b.add(at+".name", "there is an entry %s already", s)
		}
	})
	b.text(at, "reason", f.Reason, func(s string) {
		e.Reason = classify.Name(s)
		switch {
		case e.Reason != classify.RunsLater && e.Reason != classify.Credentials:
			b.add(at+".reason", "it is %s or %s: the other reasons are about no place", classify.RunsLater, classify.Credentials)
		case !b.p.Asks[e.Reason]:
			b.add(at+".reason", "decide.ask does not have %q, so it could never ask", s)
		}
	})
	if len(f.Patterns) == 0 || len(f.Patterns) > maxPatterns {
		b.add(at+".patterns", "it has 1 to %d patterns", maxPatterns)
	}
	b.twice(at+".patterns", f.Patterns)
	for i, p := range f.Patterns {
		if reason := classify.CheckPattern(p); reason != "" {
			b.add(item(at+".patterns", i), "%s", reason)
		}
	}
	e.Patterns = f.Patterns
	return e
}

// text reads a string that has to be there.
func (b *builder) text(at, key string, s *string, read func(string)) {
	if s == nil {
		b.add(at, "its %s is missing", key)
		return
	}
	read(*s)
}
