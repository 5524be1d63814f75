package search

import (
	"bytes"
	"context"
	"io"
	"iter"
	"unicode/utf8"
)

// Line is a line of a text, of a match or beside one.
type Line struct {
	Number   uint64 // from 1
	Text     []byte // without its end; part of the searched text
	Match    bool
	From, To int // of the leftmost match, in bytes of Text
}

// found is a matching line: [start, end) in the text, next where the following
// line begins.
type found struct {
	start, end, next int
	from, to         int
}

// Count gives how many lines match. It is too low where ctx ended.
func (m *Matcher) Count(ctx context.Context, text []byte) (n uint64) {
	for range m.matches(ctx, text) {
		n++
	}
	return n
}

// Any says whether a line matches. It is false where ctx ended.
func (m *Matcher) Any(ctx context.Context, text []byte) bool {
	for range m.matches(ctx, text) {
		return true
	}
	return false
}

// Lines gives the lines that match and up to around lines on either side of
// each, in their order and none twice. It ends early where ctx does.
func (m *Matcher) Lines(ctx context.Context, text []byte, around int) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		w := window{text: text, number: 1}
		behind := 0 // lines still to be given behind the last match
		for f := range m.matches(ctx, text) {
			start := w.back(f.start, around)
			for behind > 0 && w.at < start {
				if behind--; !yield(w.take()) {
					return
				}
			}
			w.skipTo(start)
			for w.at < f.start {
				if !yield(w.take()) {
					return
				}
			}
			line := w.take()
			line.Match, line.From, line.To = true, f.from, f.to
			if behind = around; !yield(line) {
				return
			}
		}
		for behind > 0 && w.at < len(text) && ctx.Err() == nil {
			if behind--; !yield(w.take()) {
				return
			}
		}
	}
}

// window is a place between two lines of a text.
type window struct {
	text   []byte
	at     int    // where the next line begins
	number uint64 // of that line
}

// take gives the next line and goes behind it.
func (w *window) take() Line {
	end, next := lineEnd(w.text, w.at)
	line := Line{Number: w.number, Text: w.text[w.at:end:end]}
	w.at, w.number = next, w.number+1
	return line
}

// skipTo goes to a line that begins at or behind the place.
func (w *window) skipTo(start int) {
	w.number += uint64(bytes.Count(w.text[w.at:start], []byte{'\n'}))
	w.at = start
}

// back gives where the line begins that is n lines before start, and not
// before the place.
func (w *window) back(start, n int) int {
	for ; n > 0 && start > w.at; n-- {
		start = w.at + bytes.LastIndexByte(w.text[w.at:start-1], '\n') + 1
	}
	return start
}

// lineEnd gives where the line that holds at ends, and where the next begins.
func lineEnd(text []byte, at int) (end, next int) {
	i := bytes.IndexByte(text[at:], '\n')
	if i < 0 {
		return len(text), len(text)
	}
	end = at + i
	if next = end + 1; end > at && text[end-1] == '\r' {
		end--
	}
	return end, next
}

// matches walks over the matching lines of a text.
func (m *Matcher) matches(ctx context.Context, text []byte) iter.Seq[found] {
	return func(yield func(found) bool) {
		c := m.candidates()
		for at, n := 0, 0; at < len(text); n++ {
			if n%256 == 255 && ctx.Err() != nil {
				return
			}
			place := at
			if len(c) > 0 {
				if place = c.next(text, at); place == len(text) {
					return
				}
			}
			f := found{start: at + bytes.LastIndexByte(text[at:place], '\n') + 1}
			f.end, f.next = lineEnd(text, place)
			if m.match(ctx, text[f.start:f.end], place-f.start, &f) && !yield(f) {
				return
			}
			at = f.next
		}
	}
}

// longLine is from where a line is searched so that ctx can end it.
const longLine = 64 << 10

// match tries the expression on a line whose first needle stands at a place.
func (m *Matcher) match(ctx context.Context, line []byte, place int, f *found) bool {
	if m.literal > 0 {
		f.from, f.to = place, place+m.literal
		return f.to <= len(line) // else a CR of the line's end is part of it
	}
	var at []int
	switch {
	case len(line) > longLine:
		at = m.expr.FindReaderSubmatchIndex(&runes{ctx: ctx, line: line})
		if ctx.Err() != nil {
			return false
		}
	case m.group > 0:
		at = m.expr.FindSubmatchIndex(line)
	default:
		at = m.expr.FindIndex(line)
	}
	if at == nil {
		return false
	}
	f.from, f.to = at[2*m.group], at[2*m.group+1]
	return true
}

// runes reads a line until ctx ends.
type runes struct {
	ctx  context.Context
	line []byte
	at   int
	n    int // characters read
}

// ReadRune gives a byte that is no UTF-8 as the replacement character of one
// byte, as the expression sees it in a line that is searched at once.
func (r *runes) ReadRune() (rune, int, error) {
	if r.n++; r.at == len(r.line) || r.n%4096 == 0 && r.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	c, size := rune(r.line[r.at]), 1
	if c >= utf8.RuneSelf {
		c, size = utf8.DecodeRune(r.line[r.at:])
	}
	r.at += size
	return c, size, nil
}
