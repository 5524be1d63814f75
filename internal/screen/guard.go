package screen

import (
	"slices"
	"time"

	"countersign/internal/terminal"
)

// stands is how long a text is on the screen before a key decides on it.
const stands = 500 * time.Millisecond

// text is what a decision would be about: a preview, and the rows of it that
// are on the screen.
type text struct {
	preview string // ID@PREFIX; empty where nothing can be decided
	rows    []terminal.Row
}

func (t text) same(o text) bool {
	return t.preview == o.preview && slices.EqualFunc(t.rows, o.rows, slices.Equal[terminal.Row])
}

// guard knows which text stands on the screen, and since when.
type guard struct {
	shown  text
	number int       // of the drawing that showed it
	since  time.Time // when the terminal said that it stands; zero: it has not
}

// drawn notes that a text is on its way to the screen.
func (g *guard) drawn(t text, number int) { *g = guard{shown: t, number: number} }

// stood notes that a drawing stands on the screen.
func (g *guard) stood(number int, now time.Time) {
	if number == g.number && g.since.IsZero() {
		g.since = now
	}
}

// hold says why a key does not decide on a text now; empty where it does.
func (g *guard) hold(t text, now time.Time) string {
	switch {
	case !g.shown.same(t):
		return "the screen has just changed: look at it"
	case g.since.IsZero():
		return "the terminal has not said yet that it shows this"
	case now.Sub(g.since) < stands:
		return "this has only just come up: look at it"
	}
	return ""
}

// typing tells a key that was meant from one of a row of keys, as when somebody
// types a sentence into the wrong window.
type typing struct{ last time.Time }

// apart is how far from other characters a key stands that is meant by itself.
const apart = 300 * time.Millisecond

// key takes note of a character, and says whether it follows another closely.
func (t *typing) key(now time.Time) (follows bool) {
	follows = now.Sub(t.last) < apart
	t.last = now
	return follows
}
