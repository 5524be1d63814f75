package search

import "bytes"

// needle is a literal that is looked for by its rarest byte, which the
// processor finds many bytes at a time.
type needle struct {
	text   string
	folded bool
	at     int     // of the rarest byte in text
	bytes  [2]byte // that byte, and in its other case where folded; else the same twice
}

func needles(literals []literal) []needle {
	out := make([]needle, len(literals))
	for i, l := range literals {
		n := needle{text: l.text[:min(len(l.text), maxNeedle)], folded: l.folded}
		for j := range n.text {
			if rarity(n.text[j]) > rarity(n.text[n.at]) {
				n.at = j
			}
		}
		n.bytes = [2]byte{n.text[n.at], n.text[n.at]}
		if c := n.bytes[0]; n.folded && 'a' <= c && c <= 'z' {
			n.bytes[1] = c - 'a' + 'A'
		}
		out[i] = n
	}
	return out
}

// stands says whether text begins with the needle.
func (n *needle) stands(text []byte) bool {
	if len(text) < len(n.text) {
		return false
	}
	if !n.folded {
		return string(text[:len(n.text)]) == n.text
	}
	for i := range len(n.text) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != n.text[i] {
			return false
		}
	}
	return true
}

// seeker looks for one needle through one text, forwards.
type seeker struct {
	*needle
	next [2]int // where each of its bytes stands next, or len of the text
	here int    // where the needle stands next, or len of the text
}

// seek gives where the needle stands in text at from or behind it, or
// len(text). It is asked with ever higher places of one text.
func (s *seeker) seek(text []byte, from int) int {
	if s.here >= from {
		return s.here
	}
	for place := from + s.at; ; place++ {
		if s.next[0] < place {
			s.next[0] = index(text, place, s.bytes[0])
		}
		if s.next[1] < place {
			s.next[1] = s.next[0]
			if s.bytes[1] != s.bytes[0] {
				s.next[1] = index(text, place, s.bytes[1])
			}
		}
		if place = min(s.next[0], s.next[1]); place == len(text) {
			s.here = place
			return s.here
		}
		if s.stands(text[place-s.at:]) {
			s.here = place - s.at
			return s.here
		}
	}
}

// index gives where c stands in text at from or behind it, or len(text).
func index(text []byte, from int, c byte) int {
	if from < len(text) {
		if i := bytes.IndexByte(text[from:], c); i >= 0 {
			return from + i
		}
	}
	return len(text)
}

// candidates walks over the places of a text where a line may match.
type candidates []seeker

func (m *Matcher) candidates() candidates {
	c := make(candidates, len(m.needles))
	for i := range c {
		c[i] = seeker{needle: &m.needles[i], next: [2]int{-1, -1}, here: -1}
	}
	return c
}

// next gives the first such place at from or behind it, or len(text).
func (c candidates) next(text []byte, from int) int {
	first := len(text)
	for i := range c {
		first = min(first, c[i].seek(text, from))
	}
	return first
}
