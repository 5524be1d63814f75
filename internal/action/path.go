package action

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/internal/canon"
	"countersign/internal/refusal"
	"countersign/internal/visible"
)

// Path is a path as the bytes it has on disk. In an action it is absolute and
// clean; it is not yet judged, nor resolved.
type Path string

const (
	maxPath = 4095
	maxName = 255
)

// MarshalCBOR spells a path as a byte string: names need not be UTF-8.
func (p Path) MarshalCBOR() ([]byte, error) { return canon.Encode([]byte(p)) }

// UnmarshalCBOR reads a byte string.
func (p *Path) UnmarshalCBOR(b []byte) error {
	var v []byte
	if err := canon.Decode(b, &v); err != nil {
		return err
	}
	*p = Path(v)
	return nil
}

// Validate refuses a path that is not absolute and clean. Nothing is cleaned
// on a caller's behalf: the path that is judged is the one that was sent.
func (p Path) Validate() error {
	dirty := func(why string) error {
		return refusal.New(refusal.PathNotClean, p.short(), "%s", why)
	}
	switch {
	case len(p) < 2 || p[0] != '/':
		return dirty("it does not start at /, or names nothing")
	case len(p) > maxPath:
		return dirty("it is over 4095 bytes")
	case strings.IndexByte(string(p), 0) >= 0:
		return dirty("it holds a NUL")
	}
	for name := range strings.SplitSeq(string(p[1:]), "/") {
		switch {
		case name == "":
			return dirty("it has an empty segment")
		case name == "." || name == "..":
			return dirty("it has a `" + name + "` segment")
		case len(name) > maxName:
			return dirty("a name in it is over 255 bytes")
		}
	}
	return nil
}

func (p Path) short() string {
	if len(p) > 256 {
		return p[:256].String() + "…"
	}
	return p.String()
}

// Name is the last segment.
func (p Path) Name() string { return string(p[strings.LastIndexByte(string(p), '/')+1:]) }

// Dir is what stands before the last segment.
func (p Path) Dir() Path {
	i := strings.LastIndexByte(string(p), '/')
	if i <= 0 {
		return "/"
	}
	return p[:i]
}

// String gives the path in the form people read and JSON carries: itself where
// it is printable text, git's quoted form where it is not, or where it begins
// with a quote and would be taken for one.
func (p Path) String() string {
	if p == "" {
		return `""`
	}
	plain := p[0] != '"' && utf8.ValidString(string(p))
	for _, r := range string(p) {
		plain = plain && visible.Rune(r)
	}
	if plain {
		return string(p)
	}
	return p.Quoted()
}

// Quoted gives the quoted form, whether or not the path needs it: in a sentence
// a name with spaces would otherwise go on as words of the sentence's own.
func (p Path) Quoted() string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRuneInString(string(p[i:]))
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r != utf8.RuneError && visible.Rune(r):
			b.WriteRune(r)
		default:
			for _, c := range []byte(p[i : i+size]) {
				if e, ok := escapes[c]; ok {
					b.WriteString(e)
				} else {
					fmt.Fprintf(&b, `\%03o`, c)
				}
			}
		}
		i += size
	}
	b.WriteByte('"')
	return b.String()
}

var escapes = map[byte]string{'\a': `\a`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\v': `\v`, '\f': `\f`, '\r': `\r`}

// ParsePath reads the form that String writes: git's quoted form exactly when
// the text begins with a quote.
func ParsePath(s string) (Path, error) {
	if !strings.HasPrefix(s, `"`) {
		return Path(s), nil
	}
	broken := refusal.New(refusal.BadRequest, "a path", "its quoted form is broken")
	if len(s) < 2 || s[len(s)-1] != '"' {
		return "", broken
	}
	in, out := s[1:len(s)-1], make([]byte, 0, len(s))
	for i := 0; i < len(in); i++ {
		if in[i] == '"' {
			return "", broken
		}
		if in[i] != '\\' {
			out = append(out, in[i])
			continue
		}
		if i++; i == len(in) {
			return "", broken
		}
		if j := strings.IndexByte(`abtnvfr`, in[i]); j >= 0 {
			out = append(out, "\a\b\t\n\v\f\r"[j])
		} else if in[i] == '"' || in[i] == '\\' {
			out = append(out, in[i])
		} else if i+3 <= len(in) {
			v, err := strconv.ParseUint(in[i:i+3], 8, 8)
			if err != nil {
				return "", broken
			}
			out, i = append(out, byte(v)), i+2
		} else {
			return "", broken
		}
	}
	return Path(out), nil
}

// MarshalText writes the form that String does.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads it.
func (p *Path) UnmarshalText(b []byte) (err error) {
	*p, err = ParsePath(string(b))
	return err
}
