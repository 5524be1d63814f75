package policy

import (
	"fmt"
	"slices"
	"strings"

	"countersign/internal/action"
	"countersign/internal/grant"
)

func item(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }

// grants reads both lists of one person.
func (b *builder) grants(key string, p *Person, f filePerson) {
	p.Grants = grant.Set{Home: string(p.Home), Deny: b.deny}
	p.Grants.Reads = b.grantList(key+".read", p, grant.Read, f.Read)
	p.Grants.Writes = b.grantList(key+".write", p, grant.Write, f.Write)
	for i, w := range p.Grants.Writes {
		readable := slices.ContainsFunc(p.Grants.Reads, func(r grant.Grant) bool { return meet(r.Root, w.Root) })
		if w.Root != "" && !readable {
			b.add(item(key+".write", i), "no read grant of %s covers any of it, and a write needs both", p.Name)
		}
	}
}

// grantList reads one list; a grant that is refused keeps its place, without a
// root.
func (b *builder) grantList(key string, p *Person, op grant.Op, list []fileGrant) []grant.Grant {
	out := make([]grant.Grant, len(list))
	for i, f := range list {
		at := item(key, i)
		g := grant.Grant{FollowLinks: f.FollowLinks, CrossMounts: f.CrossMounts}
		g.Include = b.patterns(at+".include", f.Include)
		g.Ignore = b.patterns(at+".ignore", f.Ignore)
		g.MaxFileSize = b.size(at+".max_file_size", defaultMaxFileSize)
		if f.MaxFileSize != nil {
			g.MaxFileSize = b.size(at+".max_file_size", *f.MaxFileSize)
		}
		g.Root = b.root(at, p, op, f.Root)
		if g.Root != "" && slices.ContainsFunc(out[:i], func(o grant.Grant) bool { return o.Root == g.Root }) {
			b.add(at+".root", "this list has the root already")
		}
		out[i] = g
	}
	return out
}

// root gives a grant's root, or nothing where it cannot be one.
func (b *builder) root(at string, p *Person, op grant.Op, s *string) string {
	if s == nil {
		b.add(at, "its root is missing")
		return ""
	}
	at += ".root"
	root, err := expand(p.Home, *s)
	if err != nil {
		b.add(at, "%s", why(err))
		return ""
	}
	if !within(p.Home, root) {
		b.add(at, "it lies in %s, and a grant of %s lies in their own", b.whose(root), p.Name)
		return ""
	}
	if err := p.Grants.Forbidden(op, string(root)); err != nil {
		b.add(at, "no grant opens it: %s", why(err))
		return ""
	}
	return string(root)
}

// whose names the home that a path lies in, from the file, since not every
// person has been read yet.
func (b *builder) whose(path action.Path) string {
	for name, f := range b.f.Persons {
		if f.Home != nil && action.Path(*f.Home).Validate() == nil && within(action.Path(*f.Home), path) {
			return "the home of " + name
		}
	}
	return "nobody's home"
}

func (b *builder) patterns(key string, list *[]string) []string {
	if list == nil {
		return nil
	}
	if len(*list) == 0 {
		b.add(key, "it has no pattern; leave the key out instead")
	}
	for i, p := range *list {
		if reason := grant.CheckPattern(p); reason != "" {
			b.add(item(key, i), "%s", reason)
		}
	}
	return *list
}

// snapshotRoots gives each person the roots that concern their home, and
// refuses one that could never have a write under it. The default is not the
// owner's setting, so a policy that only reads may have it.
func (b *builder) snapshotRoots() {
	const key = "filesystem.snapshot_roots"
	for i, s := range b.f.Filesystem.SnapshotRoots {
		used, broken := false, false
		for _, p := range b.p.Persons {
			if p.Home == "" {
				broken = true
				continue
			}
			root, err := expand(p.Home, s)
			if err != nil {
				b.add(item(key, i), "%s", why(err))
				broken = true
				break
			}
			if meet(string(root), string(p.Home)) {
				if j := slices.IndexFunc(p.SnapshotRoots, func(o action.Path) bool { return within(o, root) }); j >= 0 {
					b.add(item(key, i), "%q lies beneath the snapshot root %s already", s, p.SnapshotRoots[j])
				}
				p.SnapshotRoots = append(p.SnapshotRoots, root)
			}
			used = used || slices.ContainsFunc(p.Grants.Writes, func(w grant.Grant) bool { return meet(w.Root, string(root)) })
		}
		if !used && !broken && b.has(key) {
			b.add(item(key, i), "%q lies outside every write grant of every person", s)
		}
	}
}

// meet says whether one of two directories lies in the other.
func meet(a, c string) bool {
	return a != "" && c != "" && (strings.HasPrefix(a+"/", c+"/") || strings.HasPrefix(c+"/", a+"/"))
}
