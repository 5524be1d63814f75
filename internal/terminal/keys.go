package terminal

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/internal/visible"
)

// Key is a key that is no character, or Rune.
type Key int

// The keys that are told apart. All others are Unknown, and so is a character
// typed together with Alt.
const (
	None Key = iota
	Unknown
	Rune
	Enter
	Escape
	Tab
	BackTab
	Backspace
	Up
	Down
	Left
	Right
	PageUp
	PageDown
	Home
	End
	Control // with a letter, in Event.Rune
)

// Event is something that came from the terminal.
type Event struct {
	Key    Key
	Rune   rune   // of Rune and Control
	Pasted string // what was pasted, in place of a key

	Resized bool  // the size changed, or what stood there is gone: draw it all
	Drawn   int   // the drawing with this number stands whole on the terminal
	Err     error // the terminal is gone, and nothing more comes
}

// maxPaste bounds what one paste may bring, in bytes; what is beyond is not
// kept.
const maxPaste = 4096

// decoder makes events of the bytes that a terminal sends. What it takes for a
// report of the cursor it hands to report.
type decoder struct {
	rest    []byte // the beginning of something that is not whole yet
	pasting bool
	paste   []byte
	report  func(row, column int) Event
}

const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

// feed takes bytes in, and gives what they make. With flush nothing more comes
// soon, and an escape that stands alone is the key of that name.
func (d *decoder) feed(b []byte, flush bool) []Event {
	in := append(d.rest, b...)
	d.rest = nil
	var out []Event
	for len(in) > 0 {
		if d.pasting {
			var done bool
			if in, done = d.pasted(in); !done {
				return out
			}
			if len(d.paste) > 0 {
				out = append(out, Event{Pasted: string(d.paste)})
			}
			d.pasting, d.paste = false, nil
			continue
		}
		e, n := d.one(in, flush)
		if n == 0 {
			d.rest = bytes.Clone(in)
			return out
		}
		in = in[n:]
		if e != (Event{}) {
			out = append(out, e)
		}
	}
	return out
}

// pasted takes what is pasted up to the end of it.
func (d *decoder) pasted(in []byte) (rest []byte, done bool) {
	text, rest, done := bytes.Cut(in, []byte(pasteEnds))
	if !done { // its last bytes may begin the end
		keep := min(len(in), len(pasteEnds)-1)
		text, d.rest = in[:len(in)-keep], bytes.Clone(in[len(in)-keep:])
	}
	d.paste = append(d.paste, text[:min(len(text), maxPaste-len(d.paste))]...)
	return rest, done
}

// one makes the event at the beginning of in, and says how many bytes it took:
// none where more must come first.
func (d *decoder) one(in []byte, flush bool) (Event, int) {
	if in[0] == 0x1b {
		return d.escape(in, flush)
	}
	if !utf8.FullRune(in) && !flush {
		return Event{}, 0
	}
	r, n := utf8.DecodeRune(in)
	switch {
	case r == '\r' || r == '\n':
		return Event{Key: Enter}, n
	case r == '\t':
		return Event{Key: Tab}, n
	case r == 0x7f || r == '\b':
		return Event{Key: Backspace}, n
	case r < ' ':
		return Event{Key: Control, Rune: r + '`'}, n
	case visible.Rune(r):
		return Event{Key: Rune, Rune: r}, n
	}
	return Event{Key: Unknown}, n
}

// escape reads what begins with an escape.
func (d *decoder) escape(in []byte, flush bool) (Event, int) {
	switch {
	case len(in) == 1 && flush:
		return Event{Key: Escape}, 1
	case len(in) == 1:
		return Event{}, 0
	case in[1] == '[':
		return d.sequence(in, flush)
	case in[1] == 'O' && len(in) > 2:
		return Event{Key: letters(in[2])}, 3
	case in[1] == 'O' && !flush:
		return Event{}, 0
	case in[1] == 0x1b:
		return Event{Key: Escape}, 1
	}
	_, n := utf8.DecodeRune(in[1:]) // together with Alt
	return Event{Key: Unknown}, 1 + n
}

// sequence reads a control sequence: parameters, and a final byte.
func (d *decoder) sequence(in []byte, flush bool) (Event, int) {
	const longest = 64
	end := bytes.IndexFunc(in[2:], func(r rune) bool { return r >= '@' && r <= '~' || r < ' ' })
	if end < 0 {
		if flush || len(in) > longest {
			return Event{Key: Unknown}, len(in)
		}
		return Event{}, 0
	}
	params, final, n := string(in[2:2+end]), in[2+end], 3+end
	if final < ' ' { // it was cut off
		return Event{Key: Unknown}, n - 1
	}
	switch {
	case string(in[:n]) == pasteBegins:
		d.pasting = true
		return Event{}, n
	case final == 'R':
		row, column, ok := strings.Cut(params, ";")
		r, err1 := strconv.Atoi(row)
		c, err2 := strconv.Atoi(column)
		if ok && err1 == nil && err2 == nil {
			return d.report(r, c), n
		}
	case final == '~':
		first, _, _ := strings.Cut(params, ";")
		return Event{Key: numbers(first)}, n
	case final == 'Z':
		return Event{Key: BackTab}, n
	default:
		return Event{Key: letters(final)}, n
	}
	return Event{Key: Unknown}, n
}

func letters(final byte) Key {
	switch final {
	case 'A':
		return Up
	case 'B':
		return Down
	case 'C':
		return Right
	case 'D':
		return Left
	case 'H':
		return Home
	case 'F':
		return End
	}
	return Unknown
}

func numbers(param string) Key {
	switch param {
	case "1", "7":
		return Home
	case "4", "8":
		return End
	case "5":
		return PageUp
	case "6":
		return PageDown
	}
	return Unknown
}
