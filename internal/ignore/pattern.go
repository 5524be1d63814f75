package ignore

import (
	"math"
	"strings"
)

// pattern is one line of an ignore file.
type pattern struct {
	keeps      bool   // it begins with !
	onlyDirs   bool   // it ended with /
	byName     bool   // it has no other /: it is matched against the last name
	never      bool   // it cannot match anything
	everything bool   // it ends with /**: it matches all that is in a directory
	literal    string // bytes that a match begins with
	suffix     string // of a pattern that is `*` and literal bytes, those
	rest       []token
	exact      bool // there is nothing behind literal
}

type kind uint8

const (
	one   kind = iota // a byte
	any1              // any byte but /
	class             // a byte of a set, never /
	star              // any bytes but /
	deep              // any bytes
	dirs              // no names or some, each with its /
)

type token struct {
	kind kind
	b    byte
	set  *set
}

// set is a set of bytes.
type set [4]uint64

func (s *set) add(b byte)      { s[b>>6] |= 1 << (b & 63) }
func (s *set) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

// parseLine reads one line without its end; false where it says nothing.
func parseLine(line string) (pattern, bool) {
	if end := strings.IndexByte(line, 0); end >= 0 {
		line = line[:end]
	}
	if line == "" || line[0] == '#' {
		return pattern{}, false
	}
	text := trimSpaces(line)
	var p pattern
	if strings.HasPrefix(text, "!") {
		p.keeps, text = true, text[1:]
	}
	if strings.HasSuffix(text, "/") {
		p.onlyDirs, text = true, text[:len(text)-1]
	}
	p.byName = strings.IndexByte(text, '/') < 0
	text = strings.TrimPrefix(text, "/")
	if text == "" {
		return pattern{}, false
	}
	p.everything = strings.HasSuffix(text, "/**") || text == "**"
	p.compile(text)
	return p, true
}

// trimSpaces cuts the spaces at the end, but for one behind a backslash and
// those before it.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line):
			i++
			end = i + 1
		case line[i] == '\\':
			return line
		case line[i] != ' ':
			end = i + 1
		}
	}
	return line[:end]
}

// compile turns a pattern's text into tokens. The literal bytes that it begins
// with are taken off first, as git does: two stars right behind them stand at
// a beginning.
func (p *pattern) compile(text string) {
	i := strings.IndexAny(text, `*?[\`)
	if i < 0 {
		p.literal, p.exact = text, true
		return
	}
	p.literal, text = text[:i], text[i:]
	if tail := text[1:]; p.byName && p.literal == "" && text[0] == '*' && tail != "" && !strings.ContainsAny(tail, `*?[\`) {
		p.suffix = tail
		return
	}
	for i = 0; i < len(text) && !p.never; {
		switch text[i] {
		case '*':
			i = p.stars(text, i)
		case '?':
			p.rest = append(p.rest, token{kind: any1})
			i++
		case '[':
			s, end := classAt(text, i)
			p.never = end < 0
			p.rest = append(p.rest, token{kind: class, set: s})
			i = end
		case '\\':
			if i++; i == len(text) {
				p.never = true
				return
			}
			fallthrough
		default:
			p.rest = append(p.rest, token{kind: one, b: text[i]})
			i++
		}
	}
}

// stars reads the stars at a place and gives the place behind what it took.
// Two or more that fill a name cross slashes.
func (p *pattern) stars(text string, i int) int {
	end := i
	for end < len(text) && text[end] == '*' {
		end++
	}
	rest := text[end:]
	filled := (i == 0 || text[i-1] == '/') && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
	switch {
	case p.byName || end-i == 1 || !filled:
		p.rest = append(p.rest, token{kind: star})
	case strings.HasPrefix(rest, "/"):
		p.rest = append(p.rest, token{kind: dirs})
		return end + 1
	default:
		p.rest = append(p.rest, token{kind: deep})
	}
	return end
}

// match says whether the pattern matches a path.
func (p *pattern) match(relative, name string, isDir bool) bool {
	if p.onlyDirs && !isDir || p.never {
		return false
	}
	text := relative
	if p.byName {
		text = name
	}
	switch {
	case p.suffix != "":
		return strings.HasSuffix(text, p.suffix)
	case p.exact:
		return text == p.literal
	case !strings.HasPrefix(text, p.literal):
		return false
	}
	return matchTokens(p.rest, text[len(p.literal):])
}

// matchTokens matches a whole text. Where it fails it goes back to the last
// token that can take more, first one within a name and then one across names:
// what stands before the last of either kind need never be matched again.
func matchTokens(tokens []token, text string) bool {
	type mark struct{ token, text int }
	const none = math.MinInt
	inName, across := mark{none, 0}, mark{none, 0}
	t, i := 0, 0
	for t < len(tokens) || i < len(text) {
		if t < len(tokens) {
			switch k := tokens[t]; {
			case k.kind == star:
				inName = mark{t, i}
				t++
				continue
			case k.kind == deep || k.kind == dirs:
				across, inName = mark{t, i}, mark{none, 0}
				t++
				continue
			case i < len(text) && k.takes(text[i]):
				t, i = t+1, i+1
				continue
			}
		}
		switch {
		case inName.token != none && inName.text < len(text) && text[inName.text] != '/':
			inName.text++
			t, i = inName.token+1, inName.text
		case across.token != none && across.text < len(text):
			inName.token = none
			across.text++
			if tokens[across.token].kind == dirs { // whole names only
				slash := strings.IndexByte(text[across.text-1:], '/')
				if slash < 0 {
					return false
				}
				across.text += slash
			}
			t, i = across.token+1, across.text
		default:
			return false
		}
	}
	return true
}

func (k token) takes(b byte) bool {
	switch k.kind {
	case one:
		return k.b == b
	case any1:
		return b != '/'
	}
	return b != '/' && k.set.has(b)
}
