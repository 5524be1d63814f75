package search

import (
	"bytes"
	"unicode/utf8"
)

const (
	// HeadSize is how much of a file's beginning tells whether it is binary.
	HeadSize = 8 << 10
	// MaxShown is the most that is shown of a line, in bytes.
	MaxShown = 1 << 10

	before = MaxShown / 4 // of it, in front of a match that begins far behind
)

// Binary says of a text, or of its first HeadSize bytes, whether it is none: a
// NUL stands among them. That is git's rule.
func Binary(text []byte) bool {
	return bytes.IndexByte(text[:min(len(text), HeadSize)], 0) >= 0
}

// Shown gives what is shown of a line: all of it, or MaxShown bytes at the most
// around where its match begins, and where in the line they begin. No
// character is cut in two.
func (l Line) Shown() (part []byte, at int) {
	if len(l.Text) <= MaxShown {
		return l.Text, 0
	}
	if at = min(l.From-before, len(l.Text)-MaxShown); at > 0 {
		at += partial(l.Text[at:])
	}
	at = max(at, 0)
	end := min(at+MaxShown, len(l.Text))
	if end < len(l.Text) {
		for back := 0; back < utf8.UTFMax-1 && !utf8.RuneStart(l.Text[end]); back++ {
			end--
		}
	}
	return l.Text[at:end], at
}

// partial counts the bytes at the beginning that end a character begun before.
func partial(text []byte) (n int) {
	for n < utf8.UTFMax-1 && !utf8.RuneStart(text[n]) {
		n++
	}
	return n
}
