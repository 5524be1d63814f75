package policy

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"countersign/internal/action"
	"countersign/internal/grant"
	"countersign/internal/refusal"
)

// builder makes a policy of a file, and reports what cannot stand.
type builder struct {
	*report
	f    *file
	p    *Policy
	deny grant.Deny
}

// build gives the policy; it is of use only where r found nothing.
func build(f *file, r *report) *Policy {
	b := &builder{report: r, f: f, p: &Policy{
		Persons: map[string]*Person{}, Agents: map[string]*Agent{}, lines: r.lines}}
	b.settings()
	b.denyList()
	b.homes()
	if len(f.Persons) == 0 {
		b.add("persons", "a policy names at least one person")
	}
	for _, name := range slices.Sorted(maps.Keys(f.Persons)) {
		b.person(name, f.Persons[name])
	}
	for _, name := range slices.Sorted(maps.Keys(f.Agents)) {
		b.agent(name, f.Agents[name])
	}
	b.owners()
	b.uids()
	b.overlaps()
	b.snapshotRoots()
	b.idle()
	b.classes()
	return b.p
}

func (b *builder) homes() {
	b.p.Homes = action.Path(b.f.Homes)
	if b.f.Homes == "/" {
		return
	}
	if err := b.p.Homes.Validate(); err != nil {
		b.add("homes", "%s", why(err))
	}
}

// why is what a person reads of an error: the reason alone of a refusal, since
// the key already says what was refused.
func why(err error) string {
	if r := refusal.As(err); r != nil {
		return r.Why
	}
	return err.Error()
}

func (b *builder) person(name string, f filePerson) {
	key := "persons." + name
	if err := CheckName(name); err != nil {
		b.add(key, "%s", why(err))
		return
	}
	p := &Person{Name: name, UID: b.uid(key, f.UID)}
	b.p.Persons[name] = p
	umask := defaultUmask
	if f.Umask != nil {
		umask = *f.Umask
	}
	var err error
	if p.Umask, err = parseUmask(umask); err != nil {
		b.add(key+".umask", "%s", why(err))
	}
	p.Owners = []string{name}
	if f.Owners != nil {
		p.Owners = *f.Owners
	}
	if f.Home == nil {
		b.add(key+".home", "it is missing")
		return
	}
	home := action.Path(*f.Home)
	if err := home.Validate(); err != nil {
		b.add(key+".home", "%s", why(err))
		return
	}
	if !within(b.p.Homes, home) || home == b.p.Homes {
		b.add(key+".home", "it does not lie beneath homes = %q", b.f.Homes)
	}
	p.Home = home
	b.grants(key, p, f)
}

// uid reads a uid. Root is refused unless nothing is separated; two more are
// refused always: 65534 is what the kernel shows for any user it cannot name,
// and 4294967295 is what it takes for none.
func (b *builder) uid(key string, uid *uint32) uint32 {
	switch {
	case uid == nil:
		b.add(key+".uid", "it is missing")
		return 0
	case *uid == 0 && !b.f.Consent.Unseparated:
		b.add(key+".uid", "root is neither a person nor an agent, unless consent.unseparated = true")
	case *uid == 65534 || *uid == 1<<32-1:
		b.add(key+".uid", "uid %d stands for users that have no uid here", *uid)
	}
	return *uid
}

func (b *builder) agent(name string, f fileAgent) {
	key := "agents." + name
	if err := CheckName(name); err != nil {
		b.add(key, "%s", why(err))
		return
	}
	if _, both := b.f.Persons[name]; both {
		b.add(key, "a person has this name")
	}
	b.p.Agents[name] = &Agent{Name: name, UID: b.uid(key, f.UID), Persons: f.Persons}
	if len(f.Persons) == 0 {
		b.add(key+".persons", "it names no person, so the agent could do nothing")
	}
	for i, person := range f.Persons {
		if _, ok := b.f.Persons[person]; !ok {
			b.add(item(key+".persons", i), "there is no person %q", person)
		}
	}
}

func (b *builder) owners() {
	for _, p := range b.p.Persons {
		key := "persons." + p.Name + ".owners"
		if len(p.Owners) == 0 {
			b.add(key, "it names nobody, so what asks could never be decided")
		}
		for i, owner := range p.Owners {
			_, person := b.f.Persons[owner]
			_, agent := b.f.Agents[owner]
			switch {
			case person: // one that is an agent too was refused as such
			case agent:
				b.add(item(key, i), "%q is an agent, and an agent never decides", owner)
			default:
				b.add(item(key, i), "there is no person %q", owner)
			}
		}
	}
}

// uids refuses users that the kernel could not tell apart.
func (b *builder) uids() {
	persons, agents := map[uint32]string{}, map[uint32]string{}
	for _, name := range slices.Sorted(maps.Keys(b.p.Persons)) {
		key, uid := "persons."+name+".uid", b.p.Persons[name].UID
		if !b.has(key) {
			continue
		}
		if other, taken := persons[uid]; taken {
			b.add(key, "person %s has this uid", other)
		}
		persons[uid] = name
	}
	for _, name := range slices.Sorted(maps.Keys(b.p.Agents)) {
		key, uid := "agents."+name+".uid", b.p.Agents[name].UID
		if !b.has(key) || b.f.Consent.Unseparated {
			continue
		}
		if person, taken := persons[uid]; taken {
			b.add(key, "person %s has this uid: an agent that is the person could approve what it proposes, unless consent.unseparated = true allows that", person)
		}
		if other, taken := agents[uid]; taken {
			b.add(key, "agent %s has this uid, unless consent.unseparated = true allows that", other)
		}
		agents[uid] = name
	}
}

func (b *builder) has(key string) bool { return b.lines.has(key) }

// overlaps refuses a home that is another's or lies in it. In the order of
// their paths a home comes right before those inside it.
func (b *builder) overlaps() {
	all := slices.DeleteFunc(slices.Collect(maps.Values(b.p.Persons)), func(p *Person) bool { return p.Home == "" })
	slices.SortFunc(all, func(x, y *Person) int {
		return cmp.Or(strings.Compare(string(x.Home)+"/", string(y.Home)+"/"), strings.Compare(x.Name, y.Name))
	})
	for i := 1; i < len(all); i++ {
		if outer, p := all[i-1], all[i]; within(outer.Home, p.Home) {
			b.add("persons."+p.Name+".home", "it is, or lies in, the home of %s", outer.Name)
		}
	}
}

func (b *builder) denyList() {
	var err error
	for i, name := range b.f.Filesystem.DenyExcept {
		if _, err = grant.DenyExcept([]string{name}); err != nil {
			b.add(item("filesystem.deny_except", i), "%s", why(err))
		}
	}
	if err == nil {
		b.deny, _ = grant.DenyExcept(b.f.Filesystem.DenyExcept)
	}
}

// expand gives the path that a root of the file stands for in one home. A root
// in git's quoted form can name bytes that are not text.
func expand(home action.Path, s string) (action.Path, error) {
	p, err := action.ParsePath(s)
	switch {
	case err != nil:
		return "", err
	case p == "":
		return "", errors.New("it is empty")
	case p == "~":
		return home, nil
	case strings.HasPrefix(string(p), "~/"):
		p = home + p[1:]
	}
	return p, p.Validate()
}
