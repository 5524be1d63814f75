package screen

import (
	"slices"
	"strings"

	"countersign/internal/protocol"
	"countersign/internal/show"
	"countersign/internal/terminal"
	"countersign/internal/visible"
)

// logView is the log: what happened, newest first, as far as it was asked for.
type logView struct {
	entries []protocol.Transaction
	asks    protocol.LogParams
	filter  string // as it was typed
	cursor  int
	line    int // of the screen, that the cursor is on
	height  int
	find    string

	round   int // counts filters: what was asked for by an earlier one is dropped
	loading bool
	whole   bool // there is nothing older
}

// piecewise is how many transactions are asked for at once.
const piecewise = 100

// toLog goes to the log, and asks for it anew.
func (a *app) toLog() {
	a.view = theLog
	a.narrow(a.log.filter)
}

// narrow asks for the part of the log that words describe.
func (a *app) narrow(words string) {
	in := protocol.LogParams{Limit: piecewise}
	for word := range strings.FieldsSeq(words) {
		key, value, _ := strings.Cut(word, "=")
		if err := show.Narrow(&in, key, value, a.cfg.Now()); err != nil {
			a.say(err.Error())
			return
		}
	}
	a.log = &logView{asks: in, filter: words, round: a.log.round + 1, find: a.log.find}
	a.older()
}

// older asks for what comes before the last entry.
func (a *app) older() {
	l := a.log
	if l.loading || l.whole {
		return
	}
	l.loading = true
	in, round := l.asks, l.round
	if n := len(l.entries); n > 0 {
		in.Before = l.entries[n-1].ID
	}
	var some protocol.ListResult
	a.call(protocol.Log, in, &some, false, func(a *app, err error) {
		l := a.log
		if l.round != round {
			return
		}
		if l.loading = false; err != nil {
			a.say(failed(err))
			return
		}
		l.whole = len(some.Transactions) == 0
		l.entries = append(l.entries, some.Transactions...)
	})
}

// take takes in a transaction as it stands now. One that is new comes above all
// others, and the cursor stays where it was; with a filter it is not for this
// side to say whether it belongs there.
func (l *logView) take(t protocol.Transaction) {
	i := slices.IndexFunc(l.entries, func(e protocol.Transaction) bool { return e.ID == t.ID })
	switch {
	case i >= 0:
		l.entries[i] = t
	case l.filter == "" && len(l.entries) > 0 && t.State != protocol.StateRefused && t.Proposed > l.entries[0].Proposed:
		l.entries = slices.Insert(l.entries, 0, t)
		l.cursor++
	}
}

func (a *app) logKey(e terminal.Event) {
	l := a.log
	if rows, moves := by(e, l.height); moves {
		to := max(min(l.cursor+rows, len(l.entries)-1), 0)
		l.line += to - l.cursor
		l.cursor = to
		if len(l.entries)-to < piecewise/2 {
			a.older()
		}
		return
	}
	switch {
	case e.Key == terminal.Escape, e.Key == terminal.Left:
		a.view = theList
		a.list.sweep()
	case len(l.entries) == 0 && (e.Key != terminal.Rune || e.Rune != 'f'):
	case e.Key == terminal.Enter, e.Key == terminal.Right:
		a.look(l.entries[l.cursor].ID)
	case e.Key != terminal.Rune:
	case e.Rune == 'u':
		a.undo(l.entries[l.cursor])
	case e.Rune == 'f':
		a.input = &input{asks: "Only:", enters: "filters; " + show.Filters, text: l.filter, most: 500, take: (*app).narrow}
	case e.Rune == '/':
		a.search(&l.find, l.search)
	case e.Rune == 'n':
		a.found(l.search(1))
	case e.Rune == 'N':
		a.found(l.search(-1))
	}
}

// search goes to the next entry that holds the word, in a direction, among
// those that are here.
func (l *logView) search(by int) bool {
	for i := l.cursor + by; l.find != "" && i >= 0 && i < len(l.entries); i += by {
		t := l.entries[i]
		if strings.Contains(strings.ToLower(string(show.Story(t))+" "+string(t.ID)), l.find) {
			l.line += i - l.cursor
			l.cursor = i
			return true
		}
	}
	return false
}

// day says when a transaction was proposed.
func day(t protocol.Transaction) visible.Text {
	return visible.Text(t.Proposed.Time().Format("Jan _2 15:04  "))
}

// shown lays the log out in so many rows.
func (l *logView) shown(width, height int) []terminal.Row {
	if len(l.entries) == 0 {
		t := visible.Text("Nothing happened yet.")
		if l.loading {
			t = ""
		} else if l.filter != "" {
			t = "Nothing of that kind happened."
		}
		return []terminal.Row{{{Text: t}}}
	}
	l.height = height
	l.line = max(min(l.line, height-1, l.cursor), 0)
	first := l.cursor - l.line
	if last := max(len(l.entries)-height, 0); first > last {
		first, l.line = last, l.cursor-last
	}
	var out []terminal.Row
	for i, t := range l.entries[first:min(first+height, len(l.entries))] {
		style, mark := terminal.Plain, visible.Text("  ")
		if first+i == l.cursor {
			style, mark = terminal.Reverse, "> "
		}
		row := terminal.Row{{Style: style, Text: terminal.Shorten(untab(mark+day(t)+show.Story(t), 0), width)}}
		out = append(out, marked(row, l.find))
	}
	return out
}
