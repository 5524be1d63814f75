package show

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"countersign/internal/visible"
)

// JSON makes a JSON text harmless to look at without changing what it says:
// whatever takes no ink stands in strings alone, where JSON can spell it as an
// escape.
func JSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || visible.Rune(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
