package terminal

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/internal/visible"
)

func rune1(r rune) Event { return Event{Key: Rune, Rune: r} }

func newDecoder() *decoder {
	return &decoder{report: func(row, column int) Event { return Event{Drawn: 1000*row + column} }}
}

// O4: keys come out as what was typed, a letter with Alt or within an escape
// sequence is no letter, a paste is no key, and a report of the cursor neither.
func TestKeys(t *testing.T) {
	for in, want := range map[string][]Event{
		"A":                             {rune1('A')},
		"é日":                            {rune1('é'), rune1('日')},
		"\r\n\t\x7f\b":                  {{Key: Enter}, {Key: Enter}, {Key: Tab}, {Key: Backspace}, {Key: Backspace}},
		"\x03\x0c":                      {{Key: Control, Rune: 'c'}, {Key: Control, Rune: 'l'}},
		"\x1b[A\x1b[B\x1b[5~\x1b[6~":    {{Key: Up}, {Key: Down}, {Key: PageUp}, {Key: PageDown}},
		"\x1bOH\x1bOF\x1b[H\x1b[4~":     {{Key: Home}, {Key: End}, {Key: Home}, {Key: End}},
		"\x1b[Z":                        {{Key: BackTab}},
		"\x1bA":                         {{Key: Unknown}},
		"\x1b":                          {{Key: Escape}},
		"\x1b\x1bA":                     {{Key: Escape}, {Key: Unknown}},
		"\x1b[1;5A":                     {{Key: Up}},
		"\x1b[38;5;1m":                  {{Key: Unknown}},
		"\x1b[24;80R":                   {{Drawn: 24080}},
		"\x1b[R\x1b[;R\x1b[999999999R":  {{Key: Unknown}, {Key: Unknown}, {Key: Unknown}},
		"\x1b[200~A\rd\x1b[A\x1b[201~A": {{Pasted: "A\rd\x1b[A"}, rune1('A')},
		"\x1b[200~\x1b[201~":            {},
		"\x1b[201~":                     {{Key: Unknown}},
		"\x80\xffA":                     {{Key: Unknown}, {Key: Unknown}, rune1('A')},
		"\u202e\u200b\u009b":            {{Key: Unknown}, {Key: Unknown}, {Key: Unknown}},
		"\x1b[12\x03":                   {{Key: Unknown}, {Key: Control, Rune: 'c'}},
	} {
		for _, piecewise := range []bool{false, true} {
			d, got := newDecoder(), []Event{}
			if piecewise {
				for i := range len(in) {
					got = append(got, d.feed([]byte{in[i]}, false)...)
				}
			} else {
				got = append(got, d.feed([]byte(in), false)...)
			}
			got = append(got, d.feed(nil, true)...)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%q, piecewise %v: %+v, want %+v", in, piecewise, got, want)
			}
		}
	}
}

// O4: a paste that goes on for long is kept to its bound, and ends where it
// ends.
func TestLongPaste(t *testing.T) {
	d := newDecoder()
	var got []Event
	for range 100 {
		got = append(got, d.feed([]byte(strings.Repeat("A", 1000)), true)...)
		if !d.pasting && len(got) == 1000 {
			got, d.pasting = nil, true // as if the paste had begun before
		}
	}
	got = append(got, d.feed([]byte(pasteEnds+"x"), true)...)
	if len(got) != 2 || len(got[0].Pasted) != maxPaste || got[1] != rune1('x') {
		t.Errorf("%d events, the first of %d bytes", len(got), len(got[0].Pasted))
	}
}

// O3, O4: whatever a terminal sends, only visible characters come out as typed,
// nothing is kept for ever, and an A is one that was sent as such.
func FuzzKeys(f *testing.F) {
	for _, s := range []string{"A", "\x1b[A", "\x1bA", "\x1b[200~A\x1b[201~", "\x1b[24;80R", "\x1b[1;2", "\x80\xe2\x28"} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, in []byte, step int) {
		step = max(step%16, 1)
		d, as := newDecoder(), 0
		for at := 0; at < len(in); at += step {
			for _, e := range d.feed(in[at:min(at+step, len(in))], false) {
				if e.Key == Rune && !visible.Rune(e.Rune) {
					t.Errorf("%q was typed", e.Rune)
				}
				if e.Key == Rune && e.Rune == 'A' {
					as++
				}
			}
			if len(d.rest) > 64+step+utf8.UTFMax {
				t.Errorf("%d bytes are kept", len(d.rest))
			}
		}
		if as > bytes.Count(in, []byte("A")) {
			t.Errorf("%d times A out of %q", as, in)
		}
	})
}
