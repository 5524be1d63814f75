package policy

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// lines says at which line each key of a document stands, by its whole path:
// persons.alice.write[0].root. It is read from the parser that the decoder
// itself uses.
type lines map[string]int

// linesOf reads a document that has decoded without error.
func linesOf(data []byte) (lines, error) {
	w := walker{data: data, lines: lines{}, tables: map[string]int{}}
	w.parser.Reset(data)
	table := ""
	for w.parser.NextExpression() {
		e := w.parser.Expression()
		switch e.Kind {
		case unstable.Table:
			table = w.key("", e)
		case unstable.ArrayTable:
			name := w.key("", e)
			table = fmt.Sprintf("%s[%d]", name, w.tables[name])
			w.lines[table] = w.line
			w.tables[name]++
		case unstable.KeyValue:
			w.value(w.key(table, e), e.Value(), 0)
		}
	}
	return w.lines, w.parser.Error()
}

// maxDepth bounds how deep keys are followed. No key of a policy lies so deep,
// and without a bound a key of a million parts would take a day.
const maxDepth = 8

type walker struct {
	parser unstable.Parser
	data   []byte
	lines  lines
	tables map[string]int // how many of each array of tables were met
	line   int            // of offset
	offset int
}

// key gives the whole path of an expression's key beneath a table, and notes
// the line of each part of it that has none yet.
func (w *walker) key(table string, e *unstable.Node) string {
	it := e.Key()
	for depth := 0; it.Next() && depth < maxDepth; depth++ {
		part := it.Node()
		if n := w.tables[table]; n > 0 { // a table beneath the last of an array
			table = fmt.Sprintf("%s[%d]", table, n-1)
		}
		if table != "" {
			table += "."
		}
		table += string(part.Data)
		line := w.lineAt(int(part.Raw.Offset))
		if _, ok := w.lines[table]; !ok {
			w.lines[table] = line
		}
	}
	return table
}

// value notes the keys inside a value.
func (w *walker) value(key string, v *unstable.Node, depth int) {
	if depth == maxDepth {
		return
	}
	it := v.Children()
	switch v.Kind {
	case unstable.InlineTable:
		for it.Next() {
			w.value(w.key(key, it.Node()), it.Node().Value(), depth+1)
		}
	case unstable.Array:
		for i := 0; it.Next(); i++ {
			item := fmt.Sprintf("%s[%d]", key, i)
			if raw := it.Node().Raw; raw.Length > 0 {
				w.lines[item] = w.lineAt(int(raw.Offset))
			}
			w.value(item, it.Node(), depth+1)
		}
	}
}

// lineAt gives the line of an offset; offsets mostly rise, so it counts on
// from the last.
func (w *walker) lineAt(offset int) int {
	if offset < w.offset || w.line == 0 {
		w.line, w.offset = 1, 0
	}
	w.line += bytes.Count(w.data[w.offset:offset], []byte("\n"))
	w.offset = offset
	return w.line
}

// of gives the line of a key, or of the nearest thing around it that has one;
// 0 for none.
func (l lines) of(key string) int {
	for key != "" {
		if n, ok := l[key]; ok {
			return n
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return 0
}

// has says whether the document itself has the key.
func (l lines) has(key string) bool { _, ok := l[key]; return ok }

// cite names a rule with its line, or as the default where the file has none.
func (l lines) cite(key, rule string) string {
	if !l.has(key) {
		return rule + " (default)"
	}
	return fmt.Sprintf("%s (line %d)", rule, l[key])
}
