package action

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/internal/refusal"
)

const (
	// MaxText bounds what an edit may make of a file, in bytes: a small
	// replacement for many small places is a large text.
	MaxText = 16 << 20
	// maxWork bounds the text that one edit searches, in bytes, summed over
	// its replacements.
	maxWork = 256 << 20
)

// apply runs an edit's replacements over a file's text, in order.
func (e *Edit) apply(name string, text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, refusal.New(refusal.NotText, "edit of "+name, "")
	}
	work := 0
	for i, r := range e.Edits {
		if work += len(text); work > maxWork {
			return nil, refusal.New(refusal.TooLarge, "edit of "+name, "%d replacements in a file of %d bytes", len(e.Edits), len(text))
		}
		next, err := r.apply(fmt.Sprintf("edit %d of %s", i+1, name), text)
		if err != nil {
			return nil, err
		}
		text = next
	}
	return text, nil
}

// apply replaces every occurrence of r.Old, which must be exactly as many as
// r says, none overlapping another. Bytes are matched exactly and New is
// literal. Only in a file whose every line ends in CRLF is LF read as that
// file's own line ending, in New too, so that an editor of LF habits leaves
// the file as it was: where Old has no line end of its own, or its exact match
// count is none.
func (r Replacement) apply(what string, text []byte) ([]byte, error) {
	want := max(r.Count, 1)
	from, to := r.Old, r.New
	found := find(text, from)
	if crlfOnly(text) && !bytes.Contains(from, []byte("\r\n")) && (found.count == 0 || !bytes.Contains(from, []byte("\n"))) {
		from, to = toCRLF(from), toCRLF(to)
		found = find(text, from)
	}
	if found.count == 0 {
		return nil, refusal.New(refusal.NoMatch, what, "")
	}
	if found.count != want || found.overlap {
		also := ""
		if found.overlap {
			also = ", some over one another"
		}
		return nil, refusal.New(refusal.MatchCount, what, "%d times, not %d, at %s%s", found.count, want, found.lines(text), also)
	}
	if len(text)+int(want)*(len(to)-len(from)) > MaxText {
		return nil, refusal.New(refusal.FileTooBig, what, "it would come to over %d bytes", MaxText)
	}
	return replace(text, from, to), nil
}

// replace puts to wherever from stands in text.
func replace(text, from, to []byte) []byte {
	out, pos := make([]byte, 0, len(text)), 0
	for at := range occurrences(text, from) {
		out = append(append(out, text[pos:at]...), to...)
		pos = at + len(from)
	}
	return append(out, text[pos:]...)
}

// found is where a part stands in a text.
type found struct {
	count   uint64
	first   []int // the first linesShown offsets
	overlap bool  // some begin before the one before them ended
}

const linesShown = 10

func find(text, part []byte) found {
	var f found
	last := -len(part)
	for at := range occurrences(text, part) {
		if f.count++; f.count <= linesShown {
			f.first = append(f.first, at)
		}
		f.overlap = f.overlap || at-last < len(part)
		last = at
	}
	return f
}

// occurrences gives every place where part begins in text, overlapping ones
// too. Both come from strangers, so it takes time in proportion to their
// lengths, whatever they hold (Knuth, Morris and Pratt); a search that compares
// anew at each place would let a few megabytes hold the keeper for minutes.
func occurrences(text, part []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		if len(part) == 0 || len(part) > len(text) {
			return
		}
		back := borders(part)
		for i, k := 0, 0; i < len(text); i++ {
			for k > 0 && (k == len(part) || text[i] != part[k]) {
				k = int(back[k-1])
			}
			if k == 0 && text[i] != part[0] {
				skip := bytes.IndexByte(text[i:], part[0])
				if skip < 0 {
					return
				}
				i += skip
			}
			if k++; k == len(part) && !yield(i+1-k) {
				return
			}
		}
	}
}

// borders gives, for each beginning of part, the length of the longest shorter
// text that it both begins and ends with.
func borders(part []byte) []int32 {
	back := make([]int32, len(part))
	k := 0
	for i := 1; i < len(part); i++ {
		for k > 0 && part[i] != part[k] {
			k = int(back[k-1])
		}
		if part[i] == part[k] {
			k++
		}
		back[i] = int32(k)
	}
	return back
}

// lines names the lines of the first occurrences.
func (f found) lines(text []byte) string {
	var b strings.Builder
	b.WriteString("line ")
	line, pos := 1, 0
	for i, o := range f.first {
		line += bytes.Count(text[pos:o], []byte("\n"))
		pos = o
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(line))
	}
	if f.count > linesShown {
		b.WriteString(", …")
	}
	return b.String()
}

// crlfOnly says whether text has line ends and all of them are CRLF.
func crlfOnly(text []byte) bool {
	n := bytes.Count(text, []byte("\n"))
	return n > 0 && n == bytes.Count(text, []byte("\r\n"))
}

// toCRLF gives every bare LF a CR.
func toCRLF(b []byte) []byte {
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
}
