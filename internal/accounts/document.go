package accounts

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// document is a policy file as its owner wrote it: its bytes, and where each
// expression of it stands.
type document struct {
	data  []byte
	exprs []expression
	tree  map[string]any // what the decoder makes of it
}

// expression is a header of a table or a line with a key.
type expression struct {
	header     bool
	path       []string // whole, from the root of the document
	start, end int      // its whole lines, line ends included
	items      []item   // of a value that is a list
	list       bool     // the value is a list
}

// item is one string of a list.
type item struct {
	text       string
	start, end int
}

// parseDocument reads a file that is TOML; it need not be a sound policy.
func parseDocument(data []byte) (*document, error) {
	d := &document{data: data, tree: map[string]any{}}
	if err := toml.Unmarshal(data, &d.tree); err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	var p unstable.Parser
	p.Reset(data)
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		x := expression{header: n.Kind != unstable.KeyValue}
		keys, first, last := keysOf(n)
		if x.header {
			table, x.path = keys, keys
		} else {
			x.path = append(slices.Clone(table), keys...)
			last = int(n.Raw.Offset + n.Raw.Length)
			x.list = n.Value().Kind == unstable.Array
			x.items = items(n.Value())
		}
		x.start = bytes.LastIndexByte(data[:first], '\n') + 1
		x.end = len(data)
		if i := bytes.IndexByte(data[last:], '\n'); i >= 0 {
			x.end = last + i + 1
		}
		d.exprs = append(d.exprs, x)
	}
	return d, p.Error()
}

// keysOf gives an expression's key, and where it begins and ends.
func keysOf(n *unstable.Node) (keys []string, start, end int) {
	for it := n.Key(); it.Next(); {
		raw := it.Node().Raw
		if keys == nil {
			start = int(raw.Offset)
		}
		end = int(raw.Offset + raw.Length)
		keys = append(keys, string(it.Node().Data))
	}
	return keys, start, end
}

// items gives the strings of a list; nothing of a value that is none.
func items(v *unstable.Node) (out []item) {
	if v.Kind != unstable.Array {
		return nil
	}
	for it := v.Children(); it.Next(); {
		if n := it.Node(); n.Kind == unstable.String {
			out = append(out, item{string(n.Data), int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)})
		}
	}
	return out
}

// section gives the tables beneath one, such as persons, by name.
func (d *document) section(name string) map[string]any {
	m, _ := d.tree[name].(map[string]any)
	return m
}

// edit replaces the bytes of a range.
type edit struct {
	start, end int
	text       string
}

// apply makes edits that do not overlap; those at one place in their order.
func (d *document) apply(edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, d.data[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, d.data[at:]...)
}

// append puts a block of tables at the end, behind a blank line.
func (d *document) append(block string) edit {
	gap := "\n"
	switch {
	case len(d.data) == 0:
		gap = ""
	case d.data[len(d.data)-1] != '\n':
		gap = "\n\n"
	}
	return edit{len(d.data), len(d.data), gap + block}
}

// cutTable gives the edits that remove the table section.name, those beneath
// it, what stands between the lines of each, and one blank line above. It is
// for tables with headers of their own: keys of it written anywhere else are
// refused.
func (d *document) cutTable(section, name string) ([]edit, error) {
	var cuts []edit
	open := false // the expression before belongs to the table
	found := false
	for _, x := range d.exprs {
		mine := len(x.path) >= 2 && x.path[0] == section && x.path[1] == name
		switch {
		case !mine:
			open = false
			continue
		case x.header && open:
			cuts[len(cuts)-1].end = x.end
		case x.header:
			cuts = append(cuts, edit{start: d.blankAbove(x.start), end: x.end})
			open = true
		case open:
			cuts[len(cuts)-1].end = x.end
		default:
			return nil, d.inexact(section, name)
		}
		found = true
	}
	if !found {
		return nil, d.inexact(section, name)
	}
	return cuts, nil
}

func (d *document) inexact(section, name string) error {
	return &Refused{What: fmt.Sprintf("%s.%s", section, name), Why: fmt.Sprintf("it is written in a way that cannot be cut out exactly, without a [%s.%s] above all of it", section, name),
		Fix: "take it out of the policy by hand, and call this again"}
}

// blankAbove steps over one empty line that ends at offset.
func (d *document) blankAbove(offset int) int {
	before := d.data[:offset]
	for _, blank := range []string{"\r\n", "\n"} {
		rest, ok := bytes.CutSuffix(before, []byte(blank))
		if ok && (len(rest) == 0 || rest[len(rest)-1] == '\n') {
			return len(rest)
		}
	}
	return offset
}

// list finds a key whose value is a list, and that is written as such once.
func (d *document) list(path ...string) (*expression, error) {
	i := slices.IndexFunc(d.exprs, func(x expression) bool { return !x.header && slices.Equal(x.path, path) })
	if i < 0 || !d.exprs[i].list || len(d.exprs[i].items) == 0 {
		return nil, &Refused{What: strings.Join(path, "."), Why: "it is not written as a list of its own, so it cannot be changed exactly",
			Fix: "change the policy by hand"}
	}
	return &d.exprs[i], nil
}

// addItem puts a name behind the last of a list.
func (d *document) addItem(name string, path ...string) (edit, error) {
	x, err := d.list(path...)
	if err != nil {
		return edit{}, err
	}
	end := x.items[len(x.items)-1].end
	return edit{end, end, ", " + spelled(name)}, nil
}

// cutItem takes a name out of a list that has others too, with the comma and
// white space that part it from its neighbour. A comment there is refused: it
// may speak of either.
func (d *document) cutItem(name string, path ...string) ([]edit, error) {
	x, err := d.list(path...)
	if err != nil {
		return nil, err
	}
	keep := slices.IndexFunc(x.items, func(i item) bool { return i.text != name })
	var cuts []edit
	for i, it := range x.items {
		if it.text != name {
			continue
		}
		e := edit{start: it.start, end: it.end}
		gap := e
		if i > keep {
			e.start = x.items[i-1].end
			gap = edit{start: e.start, end: it.start}
		} else {
			e.end = x.items[i+1].start
			gap = edit{start: it.end, end: e.end}
		}
		if strings.Trim(string(d.data[gap.start:gap.end]), " \t\r\n,") != "" {
			return nil, &Refused{What: strings.Join(path, "."), Why: fmt.Sprintf("a comment stands beside %q in the list", name), Fix: "change the list by hand, and call this again"}
		}
		cuts = append(cuts, e)
	}
	return cuts, nil
}

// exact checks that new says what old said, but for change.
func exact(d *document, fresh []byte, change func(tree map[string]any)) error {
	now := map[string]any{}
	if err := toml.Unmarshal(fresh, &now); err != nil {
		return fmt.Errorf("[unexpected] the changed policy is no TOML: %w", err)
	}
	change(d.tree)
	for _, section := range []string{"persons", "agents"} { // a section goes with its last table
		for _, tree := range []map[string]any{d.tree, now} {
			if m, ok := tree[section].(map[string]any); ok && len(m) == 0 {
				delete(tree, section)
			}
		}
	}
	if !reflect.DeepEqual(d.tree, now) {
		return errors.New("[unexpected] the changed policy says something else than it should")
	}
	return nil
}
