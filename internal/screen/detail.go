package screen

import (
	"fmt"
	"slices"
	"strings"

	"countersign/internal/protocol"
	"countersign/internal/show"
	"countersign/internal/terminal"
	"countersign/internal/visible"
)

// detail is one transaction, whole, with what of it is on the screen.
type detail struct {
	whole protocol.ShowResult
	lines []line
	files []int // which lines begin a path's account

	width   int // what rows are laid out for; 0: not yet
	beside  bool
	rows    []terminal.Row
	starts  []int  // the row that each line begins in
	offset  int    // the first row on the screen
	height  int    // rows on the screen
	atEnd   bool   // the last row has been on the screen
	find    string // what is searched for, in lower case
	found   int    // the row of the last hit
	preview string
}

// line is one line of an account: text, or a diff.
type line struct {
	pieces []piece
	diff   string
}

// newDetail makes the account of a transaction.
func newDetail(s protocol.ShowResult) *detail {
	d := &detail{whole: s}
	if t := s.Transaction; t.State == protocol.StateWaiting && t.Prefix != "" && s.Detail != nil {
		d.preview = string(t.ID) + "@" + t.Prefix
	}
	head := show.Lines(func(w show.Writer) { w.Head(s) })[1:] // the first line is the screen's own
	head[0].Strong = true
	d.add(head)
	if s.Detail == nil {
		d.add(show.Lines(func(w show.Writer) { w.Paths(s) }))
		return d
	}
	d.add(show.Lines(func(w show.Writer) { w.Index(*s.Detail) }))
	for _, c := range s.Detail.Changes {
		d.lines = append(d.lines, line{})
		d.files = append(d.files, len(d.lines))
		head := show.Lines(func(w show.Writer) { w.Change(c) })
		head[0].Strong = true
		d.add(head)
		if c.Diff != "" {
			d.lines = append(d.lines, line{diff: c.Diff})
		}
	}
	d.lines = append(d.lines, line{}, line{pieces: []piece{{terminal.Dim, d.last()}}})
	return d
}

// last is the last line of an account.
func (d *detail) last() visible.Text {
	if d.preview == "" {
		return "This is the end."
	}
	return visible.Text("This is the end of " + d.preview + ".")
}

func (d *detail) add(lines []show.Line) {
	for _, l := range lines {
		style := terminal.Plain
		if l.Strong {
			style = terminal.Bold
		}
		d.lines = append(d.lines, line{pieces: []piece{{style, l.Text}}})
	}
}

// lay lays the account out for a screen, where it is not so already, and keeps
// the line at the top of it there.
func (d *detail) lay(width, height int, sideBySide bool) {
	d.height = max(height, 1)
	if d.width == width && d.beside == sideBySide {
		d.scroll(0)
		return
	}
	back := d.mark()
	d.width, d.beside, d.rows, d.starts = width, sideBySide, nil, nil
	for _, l := range d.lines {
		d.starts = append(d.starts, len(d.rows))
		if l.diff != "" {
			d.rows = append(d.rows, diffRows(l.diff, width, sideBySide)...)
		} else {
			d.rows = append(d.rows, wrap(l.pieces, width)...)
		}
	}
	back()
	d.scroll(0)
}

// mark remembers what is at the top of the screen, and gives what goes there
// again once the account is laid out otherwise.
func (d *detail) mark() (back func()) {
	if len(d.starts) == 0 {
		return func() {}
	}
	of := func(i int) (start, rows int) {
		if start = d.starts[i]; i+1 < len(d.starts) {
			return start, d.starts[i+1] - start
		}
		return start, len(d.rows) - start
	}
	top := len(d.starts) - 1
	for top > 0 && d.starts[top] > d.offset {
		top--
	}
	start, rows := of(top)
	into := d.offset - start
	return func() {
		start, now := of(top)
		d.offset = start + into*now/max(rows, 1)
	}
}

// scroll moves the account by rows, within itself.
func (d *detail) scroll(by int) {
	d.offset = max(min(d.offset+by, len(d.rows)-d.height), 0)
}

// shown gives the rows on the screen.
func (d *detail) shown() []terminal.Row {
	out := make([]terminal.Row, 0, d.height)
	for _, r := range d.rows[d.offset:min(d.offset+d.height, len(d.rows))] {
		out = append(out, marked(r, d.find))
	}
	return out
}

// text is what a decision now would be about.
func (d *detail) text() text { return text{preview: d.preview, rows: d.shown()} }

// ends says whether the last row is on the screen.
func (d *detail) ends() bool { return d.offset+d.height >= len(d.rows) }

// file goes to the path behind the one at the top of the screen, or before it.
func (d *detail) file(by int) bool {
	var tops []int
	for _, l := range d.files {
		tops = append(tops, d.starts[l])
	}
	if by < 0 {
		slices.Reverse(tops)
	}
	for _, top := range tops {
		if by > 0 && top > d.offset || by < 0 && top < d.offset {
			was := d.offset
			d.offset = top
			d.scroll(0)
			return d.offset != was
		}
	}
	return false
}

// search goes to the next row that holds the word, in a direction.
func (d *detail) search(by int) bool {
	if d.find == "" {
		return false
	}
	from := d.found
	if from < d.offset || from >= d.offset+d.height {
		from = d.offset - by
	}
	for i := from + by; i >= 0 && i < len(d.rows); i += by {
		if strings.Contains(words(d.rows[i]), d.find) {
			d.offset, d.found = max(i-2, 0), i
			d.scroll(0)
			return true
		}
	}
	return false
}

// place says how much of the account is above and below the screen.
func (d *detail) place() string {
	switch {
	case len(d.rows) <= d.height:
		return "all of it"
	case d.ends():
		return fmt.Sprintf("the end, row %d of %d", len(d.rows), len(d.rows))
	}
	return fmt.Sprintf("rows %d to %d of %d", d.offset+1, d.offset+d.height, len(d.rows))
}
