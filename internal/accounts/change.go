package accounts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"countersign/internal/policy"
)

// The sections of the policy that name who there is.
const (
	persons = "persons"
	agents  = "agents"
)

// change is a policy that is being changed: the file, the edits, and what they
// are to make of it.
type change struct {
	doc   *document
	edits []edit
	tree  []func(map[string]any) // the same changes, made on what the decoder reads
}

// newChange begins with the file's bytes, or with a file of its own making
// where there is none. That one's homes lie wherever each person's does.
func newChange(old []byte) (*change, error) {
	if old == nil {
		old = []byte("# Who may do what. `countersign policy check` says whether it is sound.\nversion = 1\nhomes = \"/\"\n")
	}
	doc, err := parseDocument(old)
	if err != nil {
		return nil, err
	}
	return &change{doc: doc}, nil
}

func (c *change) then(edits []edit, on func(map[string]any)) {
	c.edits = append(c.edits, edits...)
	c.tree = append(c.tree, on)
}

// fresh gives the changed file's bytes, once they are known to say exactly
// what was meant.
func (c *change) fresh() ([]byte, error) {
	out := c.doc.apply(c.edits)
	err := exact(c.doc, out, func(tree map[string]any) {
		for _, f := range c.tree {
			f(tree)
		}
	})
	return out, err
}

// sound refuses bytes that no daemon would read, with every problem of theirs.
func sound(path string, fresh []byte) (*policy.Policy, error) {
	p, err := policy.Parse(fresh)
	if err != nil {
		return nil, &Refused{What: path, Why: "the policy as it would be cannot stand, so it stays as it is:\n" + err.Error()}
	}
	return p, nil
}

// put adds a table at the end. The tree's change is what the block itself
// decodes to.
func (c *change) put(section, name, block string) error {
	added, err := parseDocument([]byte(block))
	if err != nil {
		return err
	}
	c.then([]edit{c.doc.append(block)}, func(tree map[string]any) {
		m, ok := tree[section].(map[string]any)
		if !ok {
			m = map[string]any{}
			tree[section] = m
		}
		m[name] = added.section(section)[name]
	})
	return nil
}

func (c *change) putPerson(name string, uid uint32, home string) error {
	return c.put(persons, name, fmt.Sprintf("[persons.%s]\nuid = %d\nhome = %s\nowners = [%s]\n\n[[persons.%[1]s.read]]\nroot = \"~\"\n\n[[persons.%[1]s.write]]\nroot = \"~\"\n",
		name, uid, spelled(home), spelled(name)))
}

func (c *change) putAgent(name string, uid uint32, forPersons []string) error {
	var list []string
	for _, p := range forPersons {
		list = append(list, spelled(p))
	}
	return c.put(agents, name, fmt.Sprintf("[agents.%s]\nuid = %d\npersons = [%s]\n", name, uid, strings.Join(list, ", ")))
}

// cut removes a table of a section.
func (c *change) cut(section, name string) error {
	edits, err := c.doc.cutTable(section, name)
	if err != nil {
		return err
	}
	c.then(edits, func(tree map[string]any) {
		if m, ok := tree[section].(map[string]any); ok {
			delete(m, name)
		}
	})
	return nil
}

// serve adds persons to those of an agent that the policy has.
func (c *change) serve(agent string, more []string) error {
	for _, person := range more {
		e, err := c.doc.addItem(person, agents, agent, persons)
		if err != nil {
			return err
		}
		c.then([]edit{e}, func(tree map[string]any) {
			edited(tree, agents, agent, persons, func(l []any) []any { return append(l, person) })
		})
	}
	return nil
}

// forget takes a person's name out of a list of another table.
func (c *change) forget(person, section, name, key string) error {
	edits, err := c.doc.cutItem(person, section, name, key)
	if err != nil {
		return err
	}
	c.then(edits, func(tree map[string]any) {
		edited(tree, section, name, key, func(l []any) []any {
			return slices.DeleteFunc(l, func(v any) bool { return v == person })
		})
	})
	return nil
}

// edited changes a list of the tree.
func edited(tree map[string]any, section, name, key string, f func([]any) []any) {
	tables, _ := tree[section].(map[string]any)
	table, _ := tables[name].(map[string]any)
	if list, ok := table[key].([]any); ok {
		table[key] = f(list)
	}
}

// listed gives the strings of a list of a table of the document.
func (c *change) listed(section, name, key string) (out []string) {
	table, _ := c.doc.section(section)[name].(map[string]any)
	list, _ := table[key].([]any)
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// has says whether the document has a table.
func (c *change) has(section, name string) bool {
	_, ok := c.doc.section(section)[name]
	return ok
}

// names lists the tables of a section.
func (c *change) names(section string) []string {
	return slices.Sorted(maps.Keys(c.doc.section(section)))
}

// cutPerson removes a person, and with them every mention: from the lists of
// other homes' owners, and of agents. An agent that is left with nobody goes
// too, and is named.
func (c *change) cutPerson(person string) (gone []string, err error) {
	if err := c.cut(persons, person); err != nil {
		return nil, err
	}
	for _, other := range c.names(persons) {
		owners := c.listed(persons, other, "owners")
		if other == person || !slices.Contains(owners, person) {
			continue
		}
		if alone(owners, person) {
			return nil, &Refused{What: "person " + person, Why: "nobody else decides for the home of " + other, Fix: fmt.Sprintf("name another in persons.%s.owners first", other)}
		}
		if err := c.forget(person, persons, other, "owners"); err != nil {
			return nil, err
		}
	}
	for _, agent := range c.names(agents) {
		served := c.listed(agents, agent, persons)
		switch {
		case !slices.Contains(served, person):
		case alone(served, person):
			gone = append(gone, agent)
			err = c.cut(agents, agent)
		default:
			err = c.forget(person, agents, agent, persons)
		}
		if err != nil {
			return nil, err
		}
	}
	return gone, nil
}

func alone(list []string, name string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return s != name })
}

// spelled writes a string of the policy: JSON's form is one of TOML's.
func spelled(s string) string {
	b, _ := json.Marshal(s) // a string always has a form
	return string(b)
}
