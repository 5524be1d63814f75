// Package visible makes text harmless to look at: what an agent chose, or what
// stands in a file, cannot move a cursor, hide, reorder, or pass for a line of
// Countersign's own. Whatever takes no ink is named between brackets.
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
	case r >= 0x0334 && r <= 0x0338, r >= 0x20D0 && r <= 0x20F0: // struck through or round another letter
		return false
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF, r >= 0x180B && r <= 0x180F:
		return false
	}
	return strconv.IsPrint(r)
}

// Text is text that is harmless: made by this package, or by a program of its
// own words.
type Text string

// Brackets stand around what is shown in place of what takes no ink. A bracket
// that stands in a text is itself shown so, and nothing that is shown can be
// taken for anything but what it is.
const (
	open, shut = '⟦', '⟧'
)

// Line makes one line of a text: tabs stay, everything else that is not
// visible, line ends too, is named between brackets.
func Line(s string) Text {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "%cx%02X%c", open, s[i], shut)
		case r == '\t' || Rune(r) && r != open && r != shut:
			b.WriteRune(r)
		default:
			b.WriteString(name(r))
		}
		i += size
	}
	return Text(b.String())
}

// Trailing is Line for a line of a file, with the white space at its end, which
// would not show, named too.
func Trailing(s string) Text {
	ink := strings.TrimRight(s, " \t")
	var b strings.Builder
	b.WriteString(string(Line(ink)))
	for _, c := range s[len(ink):] {
		b.WriteString(name(c))
	}
	return Text(b.String())
}

// name shows a rune that would not show, or not as itself.
func name(r rune) string {
	known := map[rune]string{0: "NUL", '\t': "TAB", '\n': "LF", '\r': "CR", 0x1b: "ESC", ' ': "SP"}[r]
	if known == "" {
		known = fmt.Sprintf("U+%04X", r)
	}
	return string(open) + known + string(shut)
}
