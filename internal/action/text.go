package action

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/internal/refusal"
)

// apply runs an edit's replacements over a file's text, in order.
func (e *Edit) apply(name string, text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, refusal.New(refusal.NotText, "edit of "+name, "")
	}
	for i, r := range e.Edits {
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
	want := int(max(r.Count, 1))
	if r.Count > uint64(len(text)) {
		want = len(text) + 1
	}
	from, to := r.Old, r.New
	found := occurrences(text, from)
	if crlfOnly(text) && !bytes.Contains(from, []byte("\r\n")) && (len(found) == 0 || !bytes.Contains(from, []byte("\n"))) {
		from, to = toCRLF(from), toCRLF(to)
		found = occurrences(text, from)
	}
	if len(found) == 0 {
		return nil, refusal.New(refusal.NoMatch, what, "")
	}
	overlap := false
	for i := 1; i < len(found); i++ {
		overlap = overlap || found[i]-found[i-1] < len(from)
	}
	if len(found) != want || overlap {
		also := ""
		if overlap {
			also = ", some over one another"
		}
		return nil, refusal.New(refusal.MatchCount, what, "%d times, not %d, at %s%s", len(found), want, lines(text, found), also)
	}
	return bytes.ReplaceAll(text, from, to), nil
}

// occurrences finds every place where part begins in text, overlapping ones
// too.
func occurrences(text, part []byte) []int {
	var at []int
	for from := 0; ; {
		i := bytes.Index(text[from:], part)
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		from += i + 1
	}
}

// lines names the first of the lines that offsets fall in.
func lines(text []byte, offsets []int) string {
	const show = 10
	var b strings.Builder
	b.WriteString("line ")
	line, pos := 1, 0
	for i, o := range offsets {
		if i == show {
			b.WriteString(", …")
			break
		}
		line += bytes.Count(text[pos:o], []byte("\n"))
		pos = o
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(line))
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
