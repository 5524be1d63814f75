// Package visible makes text harmless to look at: what an agent chose, or what
// stands in a file, cannot move a cursor, hide, reorder, or pass for a line of
// Countersign's own. Whatever takes no ink is shown as an escape.
//
// It does NOT mark letters that look like others.
package visible

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Rune says whether a rune shows as itself: printable, and none of those that
// are letters, marks or spaces by class and take no ink.
func Rune(r rune) bool {
	switch {
	case r == utf8.RuneError, r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0, r == 0x2800:
		return false
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF, r >= 0x180B && r <= 0x180F:
		return false
	}
	return strconv.IsPrint(r)
}

// Line makes one line of a text: tabs stay, everything else that is not
// visible, line ends too, becomes an escape.
func Line(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\t' || Rune(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	return b.String()
}

// Trailing is Line for a line of a file, with the white space at its end, which
// would not show, as escapes.
func Trailing(s string) string {
	ink := strings.TrimRight(s, " \t")
	var b strings.Builder
	b.WriteString(Line(ink))
	for _, c := range s[len(ink):] {
		if c == '\t' {
			b.WriteString(`\t`)
		} else {
			b.WriteString(`\x20`)
		}
	}
	return b.String()
}
