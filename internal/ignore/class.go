package ignore

import "strings"

// classAt reads the set of bytes whose bracket opens at a place, and gives the
// place behind it; -1 where it does not close or names an unknown class, and
// the pattern never matches.
func classAt(text string, open int) (*set, int) {
	var s set
	i := open + 1
	negated := i < len(text) && (text[i] == '!' || text[i] == '^')
	if negated {
		i++
	}
	low := -1 // where a range could begin
	for first := true; first || i < len(text) && text[i] != ']'; first = false {
		if i >= len(text) {
			return nil, -1
		}
		switch c := text[i]; {
		case c == '\\':
			if i++; i == len(text) {
				return nil, -1
			}
			s.add(text[i])
			low = int(text[i])
		case c == '-' && low >= 0 && i+1 < len(text) && text[i+1] != ']':
			if i++; text[i] == '\\' {
				if i++; i == len(text) {
					return nil, -1
				}
			}
			for b := low; b <= int(text[i]); b++ {
				s.add(byte(b))
			}
			low = -1
		case strings.HasPrefix(text[i:], "[:"):
			name, end := named(text, i)
			switch {
			case end == unclosed:
				return nil, -1
			case end == plain:
				s.add('[')
				low = '['
			case !s.addNamed(name):
				return nil, -1
			default:
				i, low = end, -1
			}
		default:
			s.add(c)
			low = int(c)
		}
		i++
	}
	if i >= len(text) {
		return nil, -1
	}
	if negated {
		for j := range s {
			s[j] = ^s[j]
		}
	}
	return &s, i + 1
}

const (
	unclosed = -1 // no bracket closes the set
	plain    = -2 // it is no class, and the bracket stands for itself
)

// named reads a class such as [:alpha:] at a place, and gives the place of its
// last byte.
func named(text string, i int) (name string, end int) {
	n := strings.IndexByte(text[i+2:], ']')
	switch name = text[i+2:]; {
	case n < 0:
		return "", unclosed
	case n == 0 || name[n-1] != ':':
		return "", plain
	}
	return name[:n-1], i + 2 + n
}

// addNamed adds the ASCII bytes of a class; false where there is no such.
func (s *set) addNamed(name string) bool {
	in := func(b, from, to byte) bool { return from <= b && b <= to }
	upper := func(b byte) bool { return in(b, 'A', 'Z') }
	lower := func(b byte) bool { return in(b, 'a', 'z') }
	digit := func(b byte) bool { return in(b, '0', '9') }
	alnum := func(b byte) bool { return upper(b) || lower(b) || digit(b) }
	holds := map[string]func(byte) bool{
		"alpha": func(b byte) bool { return upper(b) || lower(b) }, "alnum": alnum, "digit": digit, "upper": upper, "lower": lower,
		"blank": func(b byte) bool { return b == ' ' || b == '\t' }, "cntrl": func(b byte) bool { return b < ' ' || b == 0x7f },
		"graph": func(b byte) bool { return in(b, '!', '~') }, "print": func(b byte) bool { return in(b, ' ', '~') },
		"punct":  func(b byte) bool { return in(b, '!', '~') && !alnum(b) },
		"space":  func(b byte) bool { return b == ' ' || in(b, '\t', '\r') },
		"xdigit": func(b byte) bool { return digit(b) || in(b, 'a', 'f') || in(b, 'A', 'F') },
	}[name]
	if holds == nil {
		return false
	}
	for b := range byte(128) {
		if holds(b) {
			s.add(b)
		}
	}
	return true
}
