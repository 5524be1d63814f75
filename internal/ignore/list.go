package ignore

import (
	"bytes"
	"strings"
)

// Verdict is what a list says of one path.
type Verdict int8

const (
	Undecided Verdict = iota // no pattern matches
	Ignored
	Kept // a pattern that begins with ! matches
)

// List is the patterns of one ignore file, safe for concurrent use.
type List struct{ patterns []pattern }

// MaxSize is how large an ignore file may be, in bytes, to be read at all, and
// MaxPatterns how many of its patterns count, from the first.
const (
	MaxSize     = 256 << 10
	MaxPatterns = 4096
)

// Parse reads the content of an ignore file. Nothing is an error: a pattern
// that cannot match never does, as with git.
func Parse(content []byte) *List {
	l := &List{}
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	for line := range bytes.SplitSeq(content, []byte("\n")) {
		if p, ok := parseLine(string(bytes.TrimSuffix(line, []byte("\r")))); ok && len(l.patterns) < MaxPatterns {
			l.patterns = append(l.patterns, p)
		}
	}
	return l
}

// Match says what the list says of a path: relative is from the directory that
// the list stands in, name its last name.
func (l *List) Match(relative, name string, isDir bool) Verdict {
	for i := len(l.patterns) - 1; i >= 0; i-- {
		if p := &l.patterns[i]; p.match(relative, name, isDir) {
			if p.keeps {
				return Kept
			}
			return Ignored
		}
	}
	return Undecided
}

// Naming gives the list as it stands for somebody who named a directory, by
// its path from the list's own: patterns that ignore it, a directory above it,
// or everything beneath one of these, no longer do, and the rest of the list
// stands.
func (l *List) Naming(relative string) *List {
	out := &List{}
	for _, p := range l.patterns {
		if p.keeps || !p.covers(relative) {
			out.patterns = append(out.patterns, p)
		}
	}
	return out
}

// covers says whether p matches a directory, one above it, or, with `/**` at
// its end, what is in one of them.
func (p *pattern) covers(relative string) bool {
	for end := range len(relative) + 1 {
		if end < len(relative) && relative[end] != '/' {
			continue
		}
		dir := relative[:end]
		inside := "x"
		if dir != "" {
			inside = dir + "/x"
			if p.match(dir, dir[strings.LastIndexByte(dir, '/')+1:], true) {
				return true
			}
		}
		if p.everything && p.match(inside, "x", true) {
			return true
		}
	}
	return false
}
