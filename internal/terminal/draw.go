package terminal

import (
	"bytes"
	"fmt"
	"slices"

	"countersign/internal/visible"
)

// Style is how text looks. Colours are of the sixteen that every terminal has.
type Style uint8

// The styles; one piece of text has one colour and any of the others.
const (
	Plain Style = 0
	Red   Style = 1
	Green Style = 2
	Cyan  Style = 3

	colours Style = 7

	Bold      Style = 8
	Dim       Style = 16
	Underline Style = 32
	Reverse   Style = 64
)

// Behind is the column of a span that follows the one before it, wherever that
// really ended.
const Behind = -1

// Span is a piece of a row, in one style, from a column that counts from 0, or
// Behind.
type Span struct {
	Column int
	Style  Style
	Text   visible.Text
}

// Row is one row of the screen: spans from left to right. Where one with a
// column of its own begins, those before it end.
type Row []Span

// Width says how many columns a rune takes at most: one that may be wide is
// taken for wide, and one that takes none for one that takes one.
func Width(r rune) int {
	if r >= 0x1100 {
		return 2
	}
	return 1
}

// Columns says how many columns a text takes at most.
func Columns(t visible.Text) (n int) {
	for _, r := range t {
		n += Width(r)
	}
	return n
}

// Cut gives the beginning of a text that takes at most so many columns, and the
// rest.
func Cut(t visible.Text, columns int) (head, rest visible.Text) {
	for i, r := range t {
		if columns -= Width(r); columns < 0 {
			return t[:i], t[i:]
		}
	}
	return t, ""
}

// Shorten gives a text in at most so many columns, with a sign where it was
// cut.
func Shorten(t visible.Text, columns int) visible.Text {
	if Columns(t) <= columns {
		return t
	}
	head, _ := Cut(t, max(columns-2, 0))
	return head + "…"
}

// frame is what stands on a terminal.
type frame struct {
	width, height int
	rows          []Row
}

// paint gives the bytes that bring a terminal from one frame to the next: the
// rows that differ.
func paint(was, is frame, colour bool) []byte {
	var b bytes.Buffer
	whole := was.width != is.width || was.height != is.height
	if whole {
		b.WriteString("\x1b[0m\x1b[2J")
	}
	for i := range is.height {
		var old, row Row
		if i < len(is.rows) {
			row = is.rows[i]
		}
		if i < len(was.rows) {
			old = was.rows[i]
		}
		if whole || !slices.Equal(old, row) {
			paintRow(&b, i, row, is.width, colour)
		}
	}
	return b.Bytes()
}

// paintRow clears one row and writes its spans, each at its column and in its
// style, and cut where the next one or the screen's edge is.
func paintRow(b *bytes.Buffer, i int, row Row, width int, colour bool) {
	fmt.Fprintf(b, "\x1b[%d;1H\x1b[0m\x1b[2K", i+1)
	column := 0 // at most, where the cursor is
	for n, s := range row {
		end := width
		for _, next := range row[n+1:] {
			if next.Column != Behind {
				end = min(end, next.Column)
				break
			}
		}
		if s.Column != Behind {
			column = s.Column
			fmt.Fprintf(b, "\x1b[%d;%dH", i+1, column+1)
		}
		text, _ := Cut(s.Text, end-column)
		if column += Columns(text); text == "" {
			continue
		}
		b.WriteString(s.Style.codes(colour))
		for _, r := range text {
			if !visible.Rune(r) {
				r = '?' // [unexpected]: text is visible by its type
			}
			b.WriteRune(r)
		}
		if s.Style != Plain {
			b.WriteString("\x1b[0m")
		}
	}
}

// codes gives the control sequence of a style; without colour, of what is left
// of it.
func (s Style) codes(colour bool) string {
	out := ""
	for _, of := range []struct {
		style Style
		code  string
	}{{Bold, "1"}, {Dim, "2"}, {Underline, "4"}, {Reverse, "7"}} {
		if s&of.style != 0 {
			out += ";" + of.code
		}
	}
	if c := map[Style]string{Red: ";31", Green: ";32", Cyan: ";36"}[s&colours]; colour {
		out += c
	}
	if out == "" {
		return ""
	}
	return "\x1b[" + out[1:] + "m"
}
