package gitread

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"countersign/internal/protocol"
)

// sections cuts a patch into the parts of its files, and calls each with every
// part and the name it is about. A part that is over what is shown of one comes
// empty and not whole. A line of content begins with one of ` +-\@`, so a line
// that begins a part is never one.
func sections(r io.Reader, each func(name string, part []byte, whole bool)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var name string
	var part []byte
	whole, any, begins := true, false, true
	flush := func() {
		if any {
			if !whole {
				part = nil
			}
			each(name, part, whole)
		}
		part, whole = nil, true
	}
	for {
		// A long line comes in pieces, of which the first begins it.
		line, err := in.ReadSlice('\n')
		if begins {
			if n, ok := opens(line); ok {
				flush()
				name, any = n, true
			}
		}
		begins = bytes.HasSuffix(line, []byte("\n"))
		if whole = whole && len(part)+len(line) <= protocol.MaxGitPatch; whole {
			part = append(part, line...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			flush()
			return nil
		case err != nil:
			return err
		}
	}
}

// opens says whether a line begins a file's part, and which file's.
func opens(line []byte) (name string, ok bool) {
	s := strings.TrimSuffix(string(line), "\n")
	if rest, ok := strings.CutPrefix(s, "diff --git "); ok {
		if strings.HasPrefix(rest, `"`) {
			name, _ := unquote(rest)
			return strings.TrimPrefix(name, "a/"), true
		}
		// Both names are the same one, as renames are not looked for.
		if half := len(rest) / 2; len(rest)%2 == 1 && rest[half] == ' ' {
			return strings.TrimPrefix(rest[:half], "a/"), true
		}
		return "", true
	}
	for _, how := range []string{"diff --cc ", "diff --combined ", "* Unmerged path "} {
		if rest, ok := strings.CutPrefix(s, how); ok {
			if strings.HasPrefix(rest, `"`) {
				rest, _ = unquote(rest)
			}
			return rest, true
		}
	}
	return "", false
}

// unquote reads a name in git's quotes at the beginning of s, and gives what
// follows it.
func unquote(s string) (name, rest string) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return b.String(), s[i+1:]
		case '\\':
			if i+1 >= len(s) {
				return "", ""
			}
			i++
			if as := strings.IndexByte(`abtnvfr"\`, s[i]); as >= 0 {
				b.WriteByte("\a\b\t\n\v\f\r\"\\"[as])
				continue
			}
			if i+3 > len(s) {
				return "", ""
			}
			n, err := strconv.ParseUint(s[i:i+3], 8, 8)
			if err != nil {
				return "", ""
			}
			b.WriteByte(byte(n))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	return "", ""
}
