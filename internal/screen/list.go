package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/show"
	"countersign/internal/terminal"
	"countersign/internal/visible"
)

// list is what waits: a row for each agent, and below it what it proposed,
// oldest first. What ends meanwhile keeps its row until the list is come back
// to, and what is new comes last with its agent; nothing moves the row that the
// cursor is on.
type list struct {
	agents []*agentRow
	byID   map[action.ID]*waits

	cursor key
	line   int // of the screen, that the cursor is on
	height int
	find   string
}

// agentRow is everything of one proposer.
type agentRow struct {
	by    string
	uid   uint32
	items []*waits
	open  bool // all of them are shown
}

// waits is one action that waits, or waited when the list was come to.
type waits struct {
	t    protocol.Transaction
	gone bool // it waits no more, and what became of it was not heard
}

// waiting says whether it can still be decided on.
func (w *waits) waiting() bool { return w.t.State == protocol.StateWaiting && !w.gone }

// key names a row: an agent's, or with an ID an action's; with more it is the
// row behind an agent's first few.
type key struct {
	uid  uint32
	by   string
	id   action.ID
	more bool
}

// agent says whether it is an agent's own row.
func (k key) agent() bool { return k.id == "" && !k.more }

// few is how many actions of an agent are shown where it has more, until they
// are asked for: many of one agent bury none of another's.
const few = 6

func newList() *list { return &list{byID: make(map[action.ID]*waits)} }

// take takes in a transaction as it stands now.
func (l *list) take(t protocol.Transaction) {
	if w := l.byID[t.ID]; w != nil {
		w.t, w.gone = t, false
		return
	}
	if t.State != protocol.StateWaiting {
		return
	}
	w := &waits{t: t}
	l.byID[t.ID] = w
	i := slices.IndexFunc(l.agents, func(a *agentRow) bool { return a.by == t.By && a.uid == t.UID })
	if i < 0 {
		i, l.agents = len(l.agents), append(l.agents, &agentRow{by: t.By, uid: t.UID})
	}
	a := l.agents[i]
	at, _ := slices.BinarySearchFunc(a.items, t, func(w *waits, t protocol.Transaction) int {
		return cmp.Or(cmp.Compare(w.t.Proposed, t.Proposed), strings.Compare(string(w.t.ID), string(t.ID)))
	})
	a.items = slices.Insert(a.items, at, w)
	// What is under the cursor is never folded away.
	a.open = a.open || slices.IndexFunc(a.items, func(w *waits) bool { return w.t.ID == l.cursor.id }) >= few
	if l.cursor == (key{}) {
		l.cursor = key{uid: t.UID, by: t.By, id: t.ID}
		l.line = 1
	}
}

// keep leaves of what waits only what a whole list has.
func (l *list) keep(all []protocol.Transaction) {
	there := make(map[action.ID]bool, len(all))
	for _, t := range all {
		there[t.ID] = true
		l.take(t)
	}
	for id, w := range l.byID {
		w.gone = w.gone || !there[id]
	}
}

// sweep takes away what has ended, but for the row that the cursor is on.
func (l *list) sweep() {
	rows := l.rows()
	at := max(slices.Index(rows, l.cursor), 0)
	gone := func(w *waits) bool { return !w.waiting() }
	if w := l.byID[l.cursor.id]; w != nil && gone(w) {
		for _, r := range append(slices.Clone(rows[min(at+1, len(rows)):]), rows[:at]...) {
			if w := l.byID[r.id]; w != nil && !gone(w) {
				l.cursor = r
				break
			}
		}
	}
	for _, a := range l.agents {
		a.items = slices.DeleteFunc(a.items, gone)
	}
	l.agents = slices.DeleteFunc(l.agents, func(a *agentRow) bool { return len(a.items) == 0 })
	for id, w := range l.byID {
		if gone(w) {
			delete(l.byID, id)
		}
	}
	if rows = l.rows(); !slices.Contains(rows, l.cursor) {
		l.cursor = key{}
		if len(rows) > 1 {
			l.cursor, l.line = rows[1], 1
		}
	}
}

// waiting counts what waits.
func (l *list) waiting() (n int) {
	for _, w := range l.byID {
		if w.waiting() {
			n++
		}
	}
	return n
}

// rows gives the rows of the list, from top to bottom.
func (l *list) rows() []key {
	var out []key
	for _, a := range l.agents {
		out = append(out, key{uid: a.uid, by: a.by})
		for i, w := range a.items {
			if i == few && !a.open {
				out = append(out, key{uid: a.uid, by: a.by, more: true})
				break
			}
			out = append(out, key{uid: a.uid, by: a.by, id: w.t.ID})
		}
	}
	return out
}

// move moves the cursor by rows.
func (l *list) move(by int) {
	rows := l.rows()
	if len(rows) == 0 {
		return
	}
	at := slices.Index(rows, l.cursor)
	to := max(min(at+by, len(rows)-1), 0)
	for back := by < 0; rows[to].agent(); { // an agent's own row is a heading
		if back = back && to > 0; back {
			to--
		} else {
			to++
		}
	}
	l.line += to - at
	l.cursor = rows[to]
}

// next gives the action that waits behind one, or before it, round the end.
func (l *list) next(id action.ID, by int) action.ID {
	var all []action.ID
	for _, a := range l.agents {
		for _, w := range a.items {
			if w.waiting() || w.t.ID == id {
				all = append(all, w.t.ID)
			}
		}
	}
	at := slices.Index(all, id)
	if len(all) == 0 {
		return ""
	}
	if at < 0 {
		at = len(all) - max(by, 0)
	}
	return all[(at+by+len(all))%len(all)]
}

// to puts the cursor on an action.
func (l *list) to(id action.ID) {
	for _, a := range l.agents {
		for i, w := range a.items {
			if w.t.ID == id {
				a.open = a.open || i >= few
				l.cursor = key{uid: a.uid, by: a.by, id: id}
			}
		}
	}
}

// fold shows all of an agent's actions, or the first few again.
func (l *list) fold(open bool) {
	for _, a := range l.agents {
		if a.by != l.cursor.by || a.uid != l.cursor.uid {
			continue
		}
		if a.open = open; l.cursor.more && open && len(a.items) > few {
			l.cursor = key{uid: a.uid, by: a.by, id: a.items[few].t.ID}
		}
		if !slices.Contains(l.rows(), l.cursor) {
			l.cursor = key{uid: a.uid, by: a.by, more: true}
		}
	}
}

// search goes to the next action that holds the word, in a direction, wherever
// it is.
func (l *list) search(by int) bool {
	if l.find == "" {
		return false
	}
	var all []*waits
	for _, a := range l.agents {
		all = append(all, a.items...)
	}
	at := slices.IndexFunc(all, func(w *waits) bool { return w.t.ID == l.cursor.id })
	for i := range all {
		w := all[((at+by*(i+1))%len(all)+len(all))%len(all)]
		if strings.Contains(strings.ToLower(string(said(w.t))+" "+string(w.t.ID)), l.find) {
			l.to(w.t.ID)
			return true
		}
	}
	return false
}

// shown lays the list out in so many rows.
func (l *list) shown(width, height int, now time.Time) []terminal.Row {
	rows := l.rows()
	at := max(slices.Index(rows, l.cursor), 0)
	// The cursor stays on its row of the screen, unless there would be none.
	l.line = max(min(l.line, height-1, at), 0)
	first := at - l.line
	if last := max(len(rows)-height, 0); first > last {
		first = last
		l.line = at - first
	}
	l.height = height
	var out []terminal.Row
	for _, k := range rows[first:min(first+height, len(rows))] {
		out = append(out, l.row(k, width, now))
	}
	return out
}

// row is one row of the list.
func (l *list) row(k key, width int, now time.Time) terminal.Row {
	style, mark := terminal.Plain, visible.Text("  ")
	if k == l.cursor {
		style, mark = terminal.Reverse, "> "
	}
	var t visible.Text
	switch w := l.byID[k.id]; {
	case w != nil && !w.waiting():
		style |= terminal.Dim
		became := visible.Line(string(w.t.State))
		if w.gone {
			became = "ended"
		}
		t = visible.Text(fmt.Sprintf("  %-11s ", became)) + said(w.t)
	case w != nil:
		t = visible.Text(fmt.Sprintf("  %4s  ", age(w.t.Proposed, now))) + said(w.t)
	default:
		style |= terminal.Bold
		t = l.agent(k, now)
	}
	t = untab(mark+t, 0)
	row := terminal.Row{{Style: style, Text: terminal.Shorten(t, width)}}
	return marked(row, l.find)
}

// agent is the row of an agent, or the one that stands for what is not shown.
func (l *list) agent(k key, now time.Time) visible.Text {
	for _, a := range l.agents {
		if a.by != k.by || a.uid != k.uid {
			continue
		}
		if k.more {
			return visible.Text(fmt.Sprintf("        and %d more: Enter shows them", len(a.items)-few))
		}
		return visible.Line(a.by) + visible.Text(fmt.Sprintf(": %d, the oldest %s ago", len(a.items), age(a.items[0].t.Proposed, now)))
	}
	return ""
}

// said says of an action why it asks and what it is.
func said(t protocol.Transaction) visible.Text {
	var why []string
	for _, r := range t.Reasons {
		if name := string(visible.Line(string(r.Name))); !slices.Contains(why, name) {
			why = append(why, name)
		}
	}
	if t.UndoOf != "" {
		why = append(why, "undo of "+string(visible.Line(string(t.UndoOf))))
	}
	if !t.Reversible {
		why = append(why, "CANNOT BE UNDONE")
	}
	out := show.What(t)
	if len(why) > 0 {
		out = visible.Text("["+strings.Join(why, ", ")+"] ") + out
	}
	return out
}

// age says in few letters how long ago something was.
func age(at protocol.Time, now time.Time) string {
	switch d := now.Sub(at.Time()); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(int(d.Seconds()), 0))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}
