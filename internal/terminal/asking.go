package terminal

import (
	"fmt"
	"sync"
)

// asking is what the terminal was asked last, and how far it has answered. It
// is safe for concurrent use.
type asking struct {
	mu     sync.Mutex
	number int
	await  [][2]int // the cursor's places that are still to be named, in order
}

// places is how many places drawings take turns at, so that the answer to one
// does not pass for the answer to the next.
const places = 7

// expect gives the bytes that ask where the cursor is, in the last column of the
// last row and in a place of this drawing's own. What was asked before is not
// waited for any more.
func (a *asking) expect(number, width, height int) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := 2 + number%places
	if width < own || height < 2 {
		a.await = nil
		return nil
	}
	a.number, a.await = number, [][2]int{{height, width}, {height, own}}
	return fmt.Appendf(nil, "\x1b[%d;%dH\x1b[6n\x1b[%d;%dH\x1b[6n", height, width, height, own)
}

// answered takes an answer in. Answers to an earlier drawing come first, and are
// passed over.
func (a *asking) answered(row, column int) Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.await) == 0 || a.await[0] != [2]int{row, column} {
		return Event{}
	}
	if a.await = a.await[1:]; len(a.await) > 0 {
		return Event{}
	}
	return Event{Drawn: a.number}
}
