package screen

import (
	"fmt"

	"countersign/internal/protocol"
	"countersign/internal/terminal"
	"countersign/internal/visible"
)

// The smallest screen that anything is decided on.
const (
	minWidth  = 40
	minHeight = 10
)

// unseparated is said on every screen where it is true.
const unseparated = visible.Text("NOT SEPARATED: agents run as this user and can approve what they propose")

// unseen is said where an agent at the terminal would not be seen.
const unseen = "Whether an agent has this terminal is not to be seen here (hidepid)."

// render gives the rows of the screen, and what a key would decide on.
func (a *app) render() ([]terminal.Row, text) {
	if a.width < minWidth || a.height < minHeight {
		return []terminal.Row{{{Text: terminal.Shorten("too small: 40x10 at least", a.width)}}}, text{}
	}
	head := a.head()
	rows, about := a.body(a.height - len(head) - 2)
	for len(rows) < a.height-len(head)-2 {
		rows = append(rows, terminal.Row{})
	}
	rows = append(head, rows...)
	return append(rows, a.status(), a.keys()), about
}

// head is the top of the screen: what it is, and what takes a promise away.
func (a *app) head() []terminal.Row {
	title := map[view]string{theList: "what waits", theLog: "the log"}[a.view]
	if a.view == theDetail {
		t := a.detail.whole.Transaction
		name := string(t.ID)
		if a.detail.preview != "" {
			name = a.detail.preview
		}
		title = fmt.Sprintf("%s  %s", visible.Line(name), visible.Line(string(t.State)))
	}
	if a.view == theLog && a.log.filter != "" {
		title += ": " + string(visible.Line(a.log.filter))
	}
	if a.helping {
		title = "help"
	}
	right := visible.Text(fmt.Sprintf("%d waiting", a.list.waiting()))
	left := terminal.Shorten(visible.Text("countersign  "+title), a.width-terminal.Columns(right)-2)
	head := []terminal.Row{{{Style: terminal.Bold, Text: left}, {Column: a.width - terminal.Columns(right), Style: terminal.Bold, Text: right}}}
	if a.open {
		head = append(head, terminal.Row{{Style: terminal.Bold | terminal.Reverse, Text: terminal.Shorten(unseparated, a.width)}})
	}
	return append(head, terminal.Row{})
}

// body is what the screen is about, in so many rows.
func (a *app) body(height int) ([]terminal.Row, text) {
	if a.helping {
		rows := helpRows(a.width)
		a.help = max(min(a.help, len(rows)-height), 0)
		return rows[a.help:min(a.help+height, len(rows))], text{}
	}
	switch a.view {
	case theDetail:
		a.detail.lay(a.width, height, a.width >= beside && !a.below)
		return a.detail.shown(), a.detail.text()
	case theLog:
		return a.log.shown(a.width, height), text{}
	}
	if len(a.list.agents) == 0 {
		if a.trouble != "" {
			return nil, text{}
		}
		return []terminal.Row{{{Text: "Nothing waits for you."}}}, text{}
	}
	return a.list.shown(a.width, height, a.cfg.Now()), text{}
}

// status is the row of what was said last, or what stands in the way.
func (a *app) status() terminal.Row {
	if a.input != nil {
		return a.input.row(a.width)
	}
	var right visible.Text
	if a.view == theDetail && !a.helping {
		right = visible.Text(a.detail.place())
	}
	left, style := a.said, terminal.Bold
	switch {
	case a.sure != nil:
		left = "Approving; any other key stops it."
	case a.busy != "":
		left = visible.Line(a.busy)
	case left == "" && a.hidden && a.view == theDetail && a.detail.preview != "":
		left = unseen
	case left == "" && a.trouble != "":
		left = visible.Line("The keeper is not heard of: " + a.trouble)
	case left == "":
		left, style = "", terminal.Plain
	}
	room := a.width - terminal.Columns(right) - 2
	return terminal.Row{
		{Style: style, Text: terminal.Shorten(untab(left, 0), room)},
		{Column: a.width - terminal.Columns(right), Style: terminal.Dim, Text: right},
	}
}

// keys is the row of the keys that do something here.
func (a *app) keys() terminal.Row {
	var t visible.Text
	switch {
	case a.input != nil:
		t = "Enter " + a.input.enters + "   Esc leaves it"
	case a.helping:
		t = "Esc back   q quits"
	case a.view == theDetail:
		t = a.detailKeys()
	case a.view == theLog:
		t = "Enter looks   u undoes   / searches   f filters   Esc back   ? help   q quits"
	default:
		t = "Enter looks   / searches   l log   ? help   q quits"
	}
	return terminal.Row{{Style: terminal.Dim, Text: terminal.Shorten(t, a.width)}}
}

// detailKeys names what can be done with what is looked at.
func (a *app) detailKeys() visible.Text {
	d := a.detail
	t := d.whole.Transaction
	rest := visible.Text("   Tab next   / searches   Esc back   ? help")
	switch {
	case t.State == protocol.StateWaiting:
		why := a.holds(d)
		if why == "" {
			return "A approves   d denies" + rest
		}
		return visible.Text("("+why+")") + "   d denies" + rest
	case undoable(t):
		return "u undoes" + rest
	}
	return rest[3:]
}

// holds says in a few words why an approval would not count now.
func (a *app) holds(d *detail) string {
	switch {
	case d.preview == "":
		return "no preview to approve"
	case !d.atEnd:
		return "End, then A approves"
	case a.guard.hold(d.text(), a.cfg.Now()) != "":
		return "A approves at once"
	}
	return ""
}
