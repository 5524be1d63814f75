// Package show puts transactions into words for a person at a terminal or in a
// pipe. Whatever it is given, from an agent, a file, a journal or a peer, goes
// through package visible on its way out: a line of output is one line, and
// holds no control character but colours of this package's own.
package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/visible"
)

// Writer writes for one reader.
type Writer struct {
	Out    io.Writer
	Colour bool
	Width  int  // of the screen, in columns; 0 where there is none
	Screen bool // whether a person looks at it

	collect *[]Line // where lines go in place of Out
}

const (
	red, green, cyan, bold, plain = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1m", "\x1b[0m"
)

// painted is text in a colour.
type painted struct {
	colour string
	text   visible.Text
}

// line writes one line. The format is this package's own; what it is given is
// made harmless, where it is not so already, and painted where colours are on.
// A line that is too long for the screen goes on in the next row behind a mark
// of its own, so that no text can put its words where a line begins.
func (w Writer) line(format string, args ...any) {
	colour := ""
	for i, a := range args {
		switch a := a.(type) {
		case int, int64, uint32, uint64, visible.Text:
		case painted:
			args[i] = a.text
			colour = a.colour
		default:
			args[i] = visible.Line(fmt.Sprint(a))
		}
	}
	text := fmt.Sprintf(format, args...)
	if w.collect != nil {
		*w.collect = append(*w.collect, Line{Text: visible.Text(text), Strong: colour == bold})
		return
	}
	for i, row := range fold(text, w.Width) {
		if i > 0 {
			row = goesOn + row
		}
		if w.Colour && colour != "" {
			row = colour + row + plain
		}
		io.WriteString(w.Out, row+"\n")
	}
}

// goesOn begins a row that goes on with the line above it.
const goesOn = "⤷ "

// fold cuts a line into rows of at most width columns; 0 is no limit. A rune
// that may be wide counts as two columns and a tab as eight: a row is cut early
// rather than by the terminal.
func fold(line string, width int) []string {
	if width <= len(goesOn) {
		return []string{line}
	}
	var rows []string
	start, column := 0, 0
	for i, r := range line {
		wide := 1
		if r == '\t' {
			wide = 8
		} else if r >= 0x1100 {
			wide = 2
		}
		if column+wide > width {
			rows, start, column = append(rows, line[start:i]), i, 2
		}
		column += wide
	}
	return append(rows, line[start:])
}

// unseparated is said on every screen where it is true.
const unseparated = "NOT SEPARATED: agents run as this user and can approve what they propose"

// Banner warns where the separation of users is missing.
func (w Writer) Banner(missing bool) {
	if missing {
		w.line("%s", painted{bold, unseparated})
	}
}

// Warn says what takes a promise away.
func (w Writer) Warn(what string) { w.line("%s", painted{bold, "WARNING: " + visible.Line(what)}) }

// Rows lists transactions, one line each. What an agent chose, the path, comes
// last: nothing behind it can be its own.
func (w Writer) Rows(list []protocol.Transaction) {
	for _, t := range list {
		undo := ""
		switch {
		case t.UndoneBy != "":
			undo = "undone by " + string(t.UndoneBy) + "; "
		case t.UndoOf != "":
			undo = "undo of " + string(t.UndoOf) + "; "
		}
		w.line("%s  %s  %-10s  %s%s", t.Proposed.Time().Format(time.DateTime), t.ID, t.State, undo, w.Sentence(t))
	}
}

// Sentence is the machine's own: who wants what, where.
func (w Writer) Sentence(t protocol.Transaction) visible.Text {
	who := visible.Line(t.By)
	if t.Self && t.UndoOf == "" {
		who += " (self-proposed)"
	}
	if t.Unseparated {
		who += " (unseparated)"
	}
	return who + ": " + What(t)
}

// What is what a transaction does, where: the end of its sentence.
func What(t protocol.Transaction) visible.Text {
	what := map[action.Capability]string{
		action.CapFileWrite: "write", action.CapFileDelete: "delete", action.CapGitCommit: "commit in",
		action.CapGitDiscard: "discard work in", action.CapGitPush: "push", action.CapUndo: "put back",
	}[t.Capability]
	return visible.Text(what + " " + places(t))
}

// places names the places of a transaction: all of a few, the first two of many.
func places(t protocol.Transaction) string {
	const few, first = 3, 2
	paths, more := t.Paths, t.More
	if len(paths) > few || more > 0 {
		n := min(first, len(paths))
		paths, more = paths[:n], more+uint64(len(paths)-n)
	}
	where := make([]string, len(paths))
	for i, p := range paths {
		where[i] = named(p)
	}
	list := strings.Join(where, ", ")
	if more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// named spells a path within a line: quoted where it holds what stands between
// words, and marked where letters of it pass for others.
func named(p action.Path) string {
	if strings.ContainsAny(string(p), " ,;:()") {
		return string(visible.Marked(p.Quoted()))
	}
	return string(visible.Marked(p.String()))
}

// Transaction shows one whole, with the account of what it does or did.
func (w Writer) Transaction(s protocol.ShowResult) {
	w.Account(s)
	if t := s.Transaction; t.State == protocol.StateWaiting {
		w.line("")
		w.line("approve: countersign approve %s@%s", t.ID, t.Prefix)
		w.line("deny:    countersign deny %s --why TEXT", t.ID)
	}
}

// Account is Transaction without the commands that decide on it.
func (w Writer) Account(s protocol.ShowResult) {
	w.Head(s)
	if s.Detail != nil {
		w.Detail(*s.Detail)
	} else {
		w.Paths(s)
	}
}

// Head shows a transaction without the account of what it does: first the
// machine's own words, and the agent's, labelled, below them.
func (w Writer) Head(s protocol.ShowResult) {
	t := s.Transaction
	w.line("%s  %s", painted{bold, visible.Line(string(t.ID))}, visible.Line(string(t.State)))
	w.line("  %s", w.Sentence(t))
	for _, c := range s.Cut {
		w.line("  left out here, since it does not fit one answer: %s", c)
	}
	if t.Person != "" {
		w.line("  in the home of %s, proposed %s", t.Person, t.Proposed.Time().Format(time.DateTime))
	}
	w.reasons(t.Reasons)
	if t.Rule != "" {
		w.line("  decided by: %s: %s", t.Verdict, t.Rule)
		w.line("  can be undone: %s", undoing(s))
	}
	if t.DecidedBy != "" {
		w.line("  decision: %s, %s", t.DecidedBy, t.Decided.Time().Format(time.DateTime))
	}
	if t.Why != "" {
		w.line("  owner says: %s", t.Why)
	}
	if t.Sentence != "" {
		w.line("  agent says: %s", t.Sentence)
	}
	w.ending(t)
	w.leaves(t)
	w.outcome(t, everyPath)
}

// Refusal is a refusal in one harmless line.
func Refusal(r *refusal.Refusal) visible.Text { return visible.Line(r.Error()) }
