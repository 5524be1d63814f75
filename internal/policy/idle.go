package policy

import (
	"maps"
	"slices"
	"strings"

	"countersign/internal/action"
	"countersign/internal/classify"
	"countersign/internal/grant"
)

// idle refuses settings that are sound one by one and could never act beside
// the others: an owner who wrote one believes that it holds.
func (b *builder) idle() {
	b.twice("filesystem.snapshot_roots", b.f.Filesystem.SnapshotRoots)
	b.twice("filesystem.deny_except", b.f.Filesystem.DenyExcept)
	b.twice("decide.ask", b.f.Decide.Ask)
	for _, name := range slices.Sorted(maps.Keys(b.p.Persons)) {
		p := b.p.Persons[name]
		key := "persons." + name
		b.twice(key+".owners", p.Owners)
		b.idleGrants(key+".read", p, grant.Read, p.Grants.Reads)
		b.idleGrants(key+".write", p, grant.Write, p.Grants.Writes)
	}
	for _, name := range slices.Sorted(maps.Keys(b.p.Agents)) {
		b.idleAgent("agents."+name, b.p.Agents[name])
	}
	b.idleExcept()
	b.idleLarge()
	for i, s := range b.f.Decide.Ask {
		if classify.Name(s) == classify.Publication {
			b.add(item("decide.ask", i), "a push has no hands, so nothing is ever published")
		}
	}
}

// twice refuses what stands in a list a second time.
func (b *builder) twice(key string, list []string) {
	for i, s := range list {
		if slices.Contains(list[:i], s) {
			b.add(item(key, i), "%q is in the list already", s)
		}
	}
}

func (b *builder) idleAgent(key string, a *Agent) {
	b.twice(key+".persons", a.Persons)
	some := false
	for _, name := range a.Persons {
		p := b.p.Persons[name]
		some = some || p == nil || len(p.Grants.Reads) > 0
	}
	if !some && len(a.Persons) > 0 {
		b.add(key+".persons", "none of them has a read grant, so the agent could do nothing")
	}
}

func (b *builder) idleGrants(key string, p *Person, op grant.Op, list []grant.Grant) {
	for i, g := range list {
		at := item(key, i)
		b.twice(at+".include", g.Include)
		b.twice(at+".ignore", g.Ignore)
		for j, pattern := range g.Include {
			if g.Root == "" || grant.CheckPattern(pattern) != "" {
				continue
			}
			path, whole := literal(g.Root, pattern)
			if o := b.nested(list, g, path); o != "" {
				b.add(item(at+".include", j), "the nested grant of %q speaks for everything that it matches", o)
			} else if err := forbiddenBeneath(p, op, path, whole); err != nil {
				b.add(item(at+".include", j), "no grant opens what it matches: %s", why(err))
			}
		}
	}
}

// literal gives the path beneath which everything lies that a pattern matches,
// and whether it is the one path.
func literal(root, pattern string) (path string, whole bool) {
	path = root
	for name := range strings.SplitSeq(pattern, "/") {
		if strings.ContainsAny(name, `*?[{\`) {
			return path, false
		}
		path = strings.TrimSuffix(path, "/") + "/" + name
	}
	return path, true
}

// nested gives the root of another grant of the list that holds path and is
// longer than g's; nothing where none does.
func (b *builder) nested(list []grant.Grant, g grant.Grant, path string) string {
	for _, o := range list {
		if len(o.Root) > len(g.Root) && within(action.Path(g.Root), action.Path(o.Root)) && within(action.Path(o.Root), action.Path(path)) {
			return o.Root
		}
	}
	return ""
}

// forbiddenBeneath says why everything at or beneath a path is forbidden
// whatever is granted, or gives nil.
func forbiddenBeneath(p *Person, op grant.Op, path string, whole bool) error {
	if !whole {
		path = strings.TrimSuffix(path, "/") + "/x" // any name beneath it: entries about files alone do not count
	}
	return p.Grants.Forbidden(op, path)
}

// idleExcept refuses an exception to the deny list that opens no place of any
// grant.
func (b *builder) idleExcept() {
	for i, name := range b.f.Filesystem.DenyExcept {
		reached, known := false, false
		for _, e := range grant.DenyList() {
			if e.Name != name {
				continue
			}
			known = true
			for _, p := range b.p.Persons {
				reached = reached || slices.ContainsFunc(p.Grants.Reads, func(g grant.Grant) bool { return reaches(p, g, e) })
			}
		}
		if known && !reached {
			b.add(item("filesystem.deny_except", i), "no read grant reaches any place of the entry %s", name)
		}
	}
}

// reaches says whether a grant holds a place that an entry of the deny list
// would deny. A pattern of the home is compared up to its first wildcard.
func reaches(p *Person, g grant.Grant, e grant.Entry) bool {
	if g.Root == "" {
		return true // it was refused for something else
	}
	if len(e.Names)+len(e.Files)+len(e.Content) > 0 {
		return true
	}
	return slices.ContainsFunc(e.Home, func(h string) bool {
		path, _ := literal(string(p.Home), h)
		return meet(strings.ToLower(path), strings.ToLower(g.Root))
	})
}

// idleLarge refuses a bound that no file could be over: a file is written whole
// within what one action may bring, or edited where a grant lets it be so large.
func (b *builder) idleLarge() {
	const key = "limits.large"
	if !b.has(key) || b.p.Limits.Large == 0 {
		return // nobody set it, or it was refused already
	}
	if !b.p.Asks[classify.Large] {
		b.add(key, "decide.ask does not have %q, so it could never ask", classify.Large)
	}
	most := int64(0)
	for _, p := range b.p.Persons {
		for _, g := range p.Grants.Writes {
			most = max(most, g.MaxFileSize)
		}
	}
	if most += b.p.Limits.AutoBytes; b.p.Limits.Large > most && b.p.Limits.AutoBytes > 0 {
		b.add(key, "no file could be over it: by limits.auto_bytes and the grants, none gets larger than %d bytes", most)
	}
}
