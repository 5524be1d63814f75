package action

import (
	"bytes"
	"unicode/utf8"
)

// Region is a piece of a changed file as it stands now, with the lines around
// what changed: what an agent needs to go on from there without reading again.
type Region struct {
	Path Path   `cbor:"path" json:"path"`
	From uint64 `cbor:"from" json:"from"` // its first line, from 1
	Text string `cbor:"text" json:"text"`
	Cut  uint64 `cbor:"cut,omitempty" json:"cut,omitempty"` // lines of it that are left out at its end
}

// MaxRegions bounds the text of all regions of one answer, in bytes.
const MaxRegions = 32 << 10

const around = 3 // lines before and after a change

// Regions gives the changed regions of files that were replaced by text, in the
// order of the plans, and how many files have one that did not fit any more. A
// file that is new, deleted or binary has none.
func Regions(plans []Planned) (regions []Region, more uint64) {
	left := MaxRegions
	for _, p := range plans {
		if p.Does != Replaces || !utf8.Valid(p.New) || p.Old == nil {
			continue
		}
		if left <= 0 {
			more++
			continue
		}
		r := region(p.Old, p.New, left)
		if r.Path = p.Fact.Path; r.Text == "" && r.Cut > 0 {
			left = 0
			more++
			continue
		}
		left -= len(r.Text)
		regions = append(regions, r)
	}
	return regions, more
}

// region cuts out of now what lies between the first and the last line that it
// does not share with was, and a few lines around it.
func region(was, now []byte, most int) Region {
	head := commonHead(was, now)
	tail := commonTail(was[head:], now[head:])
	start, end := head, len(now)-tail
	for range around {
		start = lineBefore(now, start)
		end = lineAfter(now, end)
	}
	r := Region{From: uint64(bytes.Count(now[:start], newline)) + 1}
	text := now[start:end]
	if len(text) > most {
		fits := bytes.LastIndexByte(text[:most], '\n') + 1
		r.Cut = uint64(bytes.Count(text[fits:], newline))
		if text[len(text)-1] != '\n' {
			r.Cut++
		}
		text = text[:fits]
	}
	r.Text = string(text)
	return r
}

var newline = []byte("\n")

// commonHead gives how many bytes of whole lines both begin with.
func commonHead(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	return bytes.LastIndexByte(a[:i], '\n') + 1
}

// commonTail gives how many bytes of whole lines both end with. Both begin with
// a line.
func commonTail(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	begins := func(of []byte) bool { return i == len(of) || of[len(of)-1-i] == '\n' }
	if begins(a) && begins(b) {
		return i
	}
	tail := a[len(a)-i:]
	if nl := bytes.IndexByte(tail, '\n'); nl >= 0 {
		return len(tail) - 1 - nl
	}
	return 0
}

// lineBefore gives where the line before a line's start begins.
func lineBefore(b []byte, start int) int {
	if start == 0 {
		return 0
	}
	return bytes.LastIndexByte(b[:start-1], '\n') + 1
}

// lineAfter gives where the line that begins at end is over.
func lineAfter(b []byte, end int) int {
	if i := bytes.IndexByte(b[end:], '\n'); i >= 0 {
		return end + i + 1
	}
	return len(b)
}
