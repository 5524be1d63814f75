package grant

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"countersign/internal/visible"
)

// StagedPrefix begins every name that a scribe stages under; so many hex digits
// follow it.
const (
	StagedPrefix = ".countersign-"
	stagedDigits = 16
)

// IsStagedName says whether name has the form in which a keeper gives a scribe a
// name to stage under.
func IsStagedName(name string) bool { return staged(name) && name == fold(name) }

// clean says whether path is absolute, names something, and has neither NUL
// nor empty, `.` or `..` segments. Anything else is refused rather than
// cleaned: the path that is judged is the one that is opened.
func clean(path string) bool {
	if len(path) < 2 || path[0] != '/' || strings.IndexByte(path, 0) >= 0 {
		return false
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return true
}

// under says whether path is root or beneath it, by whole segments.
func under(root, path string) bool {
	if root == "/" {
		return true
	}
	return root != "" && strings.HasPrefix(path, root) &&
		(len(path) == len(root) || path[len(root)] == '/')
}

// staged says whether name is one that a scribe stages under, in any case.
func staged(name string) bool {
	if len(name) != len(StagedPrefix)+stagedDigits || !equalFold(name[:len(StagedPrefix)], StagedPrefix) {
		return false
	}
	for _, c := range []byte(name[len(StagedPrefix):]) {
		if c = lower(c); (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// fold lowers ASCII letters and leaves every other byte, so that names which
// are not UTF-8 keep theirs.
func fold(s string) string {
	for i := range len(s) {
		if lower(s[i]) == s[i] {
			continue
		}
		b := []byte(s)
		for j := i; j < len(b); j++ {
			b[j] = lower(b[j])
		}
		return string(b)
	}
	return s
}

func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// what names a refused call. A path that does not show as it is, or that
// begins with a quote, is put in git's quoted form, which a client can read
// back.
func what(op Op, path string) string {
	plain := path != "" && path[0] != '"' && utf8.ValidString(path)
	for _, r := range path {
		plain = plain && visible.Rune(r)
	}
	if plain {
		return op.String() + " " + path
	}
	var b strings.Builder
	b.WriteString(op.String() + ` "`)
	for _, c := range []byte(path) {
		switch {
		case c == '"' || c == '\\':
			b.Write([]byte{'\\', c})
		case ' ' <= c && c <= '~':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
