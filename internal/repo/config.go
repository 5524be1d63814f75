package repo

import (
	"errors"
	"fmt"
	"strings"
)

// entry is one setting of a configuration file, in its order.
type entry struct {
	section, sub, key string // section and key in lower case
	value             string
	bare              bool // a key without =, which means true
	odd               bool // its value holds white space that versions of git read differently
}

// maxConfig bounds one configuration file, in bytes.
const maxConfig = 1 << 20

// parse reads a configuration file as git does (config.c): what git reads
// otherwise is refused, never guessed.
func parse(text string) ([]entry, error) {
	if strings.Contains(text, "\x00") {
		return nil, errors.New("it holds a zero byte")
	}
	p := &parser{text: strings.TrimPrefix(text, "\xef\xbb\xbf"), line: 1}
	for {
		switch c := p.next(); {
		case c == '\n' && p.ended:
			return p.entries, nil
		case c == '#' || c == ';':
			p.skipLine()
		case isSpace(c):
		case c == '[':
			if !p.header() {
				return nil, fmt.Errorf("line %d: it is no section", p.line)
			}
		case isLetter(c):
			if !p.setting(c) {
				return nil, fmt.Errorf("line %d: it is no setting", p.line)
			}
		default:
			return nil, fmt.Errorf("line %d: a setting begins with a letter", p.line)
		}
	}
}

type parser struct {
	text         string
	at, line     int
	ended        bool
	section, sub string
	entries      []entry
}

// next gives the next byte: a newline for CR LF, and for the end.
func (p *parser) next() byte {
	if p.at >= len(p.text) {
		p.ended = true
		return '\n'
	}
	c := p.text[p.at]
	p.at++
	if c == '\r' && p.at < len(p.text) && p.text[p.at] == '\n' {
		p.at++
		c = '\n'
	}
	if c == '\n' {
		p.line++
	}
	return c
}

func (p *parser) skipLine() {
	for p.next() != '\n' {
	}
	// The end of a comment's line is the end of a file only once it is asked
	// for again.
	p.ended = false
}

// header reads a section's name, behind its bracket.
func (p *parser) header() bool {
	var name strings.Builder
	for {
		c := p.next()
		switch {
		case p.ended:
			return false
		case name.Len() == 0 && !isKey(c):
			return false
		case c == ']':
			p.section, p.sub = name.String(), ""
			if section, sub, ok := strings.Cut(p.section, "."); ok {
				p.section, p.sub = section, sub // in the older spelling, in lower case
			}
			return true
		case isSpace(c):
			p.section = name.String()
			return p.subsection(c)
		case isKey(c) || c == '.':
			name.WriteByte(lower(c))
		default:
			return false
		}
	}
}

// subsection reads what stands in quotes behind a section's name.
func (p *parser) subsection(c byte) bool {
	for isSpace(c) {
		if c == '\n' {
			return false
		}
		c = p.next()
	}
	if c != '"' {
		return false
	}
	var sub strings.Builder
	for {
		c = p.next()
		if c == '\\' {
			if c = p.next(); c == '\n' {
				return false
			}
			sub.WriteByte(c)
			continue
		}
		if c == '\n' {
			return false
		}
		if c == '"' {
			break
		}
		sub.WriteByte(c)
	}
	if section, more, ok := strings.Cut(p.section, "."); ok {
		p.section = section
		p.sub = more + "." + sub.String()
	} else {
		p.sub = sub.String()
	}
	return p.next() == ']'
}

// setting reads a key, whose first letter is c, and its value.
func (p *parser) setting(c byte) bool {
	var key strings.Builder
	for ; isKey(c) && !p.ended; c = p.next() {
		key.WriteByte(lower(c))
	}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	e := entry{section: p.section, sub: p.sub, key: key.String(), bare: c == '\n'}
	if c != '\n' {
		if c != '=' || !p.value(&e) {
			return false
		}
	}
	p.ended = false // the end is met again
	p.entries = append(p.entries, e)
	return true
}

// value reads what stands behind an equals sign: quotes, escapes, continued
// lines, and comments.
func (p *parser) value(e *entry) bool {
	var b strings.Builder
	quoted, spaces, other := false, 0, false
	for {
		c := p.next()
		switch {
		case c == '\n':
			e.value = b.String()
			return !quoted
		case isSpace(c) && !quoted:
			if b.Len() > 0 {
				spaces++
				other = other || c != ' '
			}
			continue
		case (c == ';' || c == '#') && !quoted:
			p.skipLine()
			e.value = b.String()
			return true
		}
		e.odd = e.odd || spaces > 0 && other
		for ; spaces > 0; spaces-- {
			b.WriteByte(' ')
		}
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			c = p.next()
			as, ok := map[byte]string{'\n': "", 't': "\t", 'b': "\b", 'n': "\n", '\\': "\\", '"': "\""}[c]
			if !ok {
				return false
			}
			b.WriteString(as)
		default:
			b.WriteByte(c)
		}
	}
}

func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isLetter(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }
func isKey(c byte) bool    { return isLetter(c) || '0' <= c && c <= '9' || c == '-' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// truth reads a boolean as git does; ok is false for what is none.
func (e entry) truth() (value, ok bool) {
	if e.bare {
		return true, true
	}
	switch strings.ToLower(e.value) {
	case "true", "yes", "on", "1":
		return true, true
	case "false", "no", "off", "0", "":
		return false, true
	}
	return false, false
}
