package screen

import (
	"unicode/utf8"

	"countersign/internal/terminal"
	"countersign/internal/visible"
)

// input is a line that is being typed.
type input struct {
	asks   visible.Text
	enters visible.Text // what Enter does with it
	text   string
	most   int // bytes
	take   func(*app, string)
}

// key takes a key in. done says that the line is finished, and ok that it is to
// be taken.
func (i *input) key(e terminal.Event) (done, ok bool) {
	switch {
	case e.Pasted != "":
		i.add(e.Pasted)
	case e.Key == terminal.Rune:
		i.add(string(e.Rune))
	case e.Key == terminal.Backspace:
		_, n := utf8.DecodeLastRuneInString(i.text)
		i.text = i.text[:len(i.text)-n]
	case e.Key == terminal.Control && e.Rune == 'u':
		i.text = ""
	case e.Key == terminal.Enter:
		return true, true
	case e.Key == terminal.Escape, e.Key == terminal.Control && e.Rune == 'c':
		return true, false
	}
	return false, false
}

// add takes text in, as one line of visible characters.
func (i *input) add(s string) {
	for _, r := range s {
		if !visible.Rune(r) {
			r = ' '
		}
		if len(i.text)+utf8.RuneLen(r) > i.most {
			return
		}
		i.text += string(r)
	}
}

// row shows the line, and the end of it where it is long.
func (i *input) row(width int) terminal.Row {
	room := width - terminal.Columns(i.asks) - 2
	t := visible.Line(i.text)
	for terminal.Columns(t) > room {
		_, n := utf8.DecodeRuneInString(string(t))
		t = t[n:]
	}
	return terminal.Row{
		{Style: terminal.Bold, Text: i.asks}, {Column: terminal.Behind, Text: " " + t},
		{Column: terminal.Behind, Style: terminal.Reverse, Text: " "},
	}
}
