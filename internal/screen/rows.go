package screen

import (
	"strings"

	"countersign/internal/terminal"
	"countersign/internal/visible"
)

// piece is text in one style, within a line.
type piece struct {
	style terminal.Style
	text  visible.Text
}

// goesOn begins a row that goes on with the line above it, which no text can
// begin a row with otherwise.
const goesOn = visible.Text("⤷ ")

// tabWidth is how far apart the columns are that a tab goes on to.
const tabWidth = 8

// untab puts spaces for the tabs of a text that begins at a column.
func untab(t visible.Text, column int) visible.Text {
	if !strings.Contains(string(t), "\t") {
		return t
	}
	var b strings.Builder
	for _, r := range t {
		if r != '\t' {
			b.WriteRune(r)
			column += terminal.Width(r)
			continue
		}
		n := tabWidth - column%tabWidth
		b.WriteString("        "[:n])
		column += n
	}
	return visible.Text(b.String())
}

// fold lays a line out in rows of at most width columns, from a column on.
func fold(line []piece, from, width int) []terminal.Row { return layOut(line, from, width, false) }

// wrap is fold for a line of words, which is cut between them where it can be.
func wrap(line []piece, width int) []terminal.Row { return layOut(line, 0, width, true) }

func layOut(line []piece, from, width int, words bool) []terminal.Row {
	width = max(width, 8)
	rows := []terminal.Row{{}}
	column := 0
	put := func(style terminal.Style, t visible.Text) {
		last, at := &rows[len(rows)-1], terminal.Behind
		if len(*last) == 0 {
			at = from
		}
		*last = append(*last, terminal.Span{Column: at, Style: style, Text: t})
		column += terminal.Columns(t)
	}
	for _, p := range line {
		rest := untab(p.text, column)
		for rest != "" {
			head, more := terminal.Cut(rest, width-column)
			if i := strings.LastIndexByte(string(head), ' ') + 1; words && more != "" && i > len(head)*2/3 {
				head, more = rest[:i], rest[i:]
			}
			if head != "" {
				put(p.style, head)
			}
			if rest = more; rest != "" {
				rows, column = append(rows, terminal.Row{}), 0
				put(terminal.Dim, goesOn)
			}
		}
	}
	return rows
}

// words gives what a row says, for searching in it.
func words(r terminal.Row) string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(string(s.Text))
	}
	return strings.ToLower(b.String())
}

// marked gives a row with a word of it, in lower case, set off.
func marked(r terminal.Row, word string) terminal.Row {
	if word == "" {
		return r
	}
	var out terminal.Row
	for _, s := range r {
		column, rest := s.Column, s.Text
		for rest != "" {
			at := strings.Index(strings.ToLower(string(rest)), word)
			if at < 0 || at+len(word) > len(rest) {
				break
			}
			before, hit := rest[:at], rest[at:at+len(word)]
			rest = rest[at+len(word):]
			if before != "" {
				out = append(out, terminal.Span{Column: column, Style: s.Style, Text: before})
				column = terminal.Behind
			}
			out = append(out, terminal.Span{Column: column, Style: s.Style | terminal.Reverse, Text: hit})
			column = terminal.Behind
		}
		if rest != "" || s.Text == "" {
			out = append(out, terminal.Span{Column: column, Style: s.Style, Text: rest})
		}
	}
	return out
}
