package visible

import (
	"fmt"
	"strings"
	"unicode"
)

// Marked is Line for a name, with a mark behind it where the name holds
// characters that pass for others: letters of another alphabet that look like
// Latin ones, in a word with Latin letters or in one that holds nothing else,
// and what looks like the signs that part a path. The mark names the first few.
//
// It knows those of Cyrillic, Greek and Armenian, wide and mathematical letters;
// it does NOT know every font.
func Marked(name string) Text {
	const most = 4
	found := lookAlikes(name)
	if len(found) == 0 {
		return Line(name)
	}
	var b strings.Builder
	for i, r := range found[:min(len(found), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "U+%04X is no %c", r, passesFor(r))
	}
	if len(found) > most {
		fmt.Fprintf(&b, ", and %d more", len(found)-most)
	}
	return Line(name) + Text(fmt.Sprintf(" %clook-alike: %s%c", open, b.String(), shut))
}

// lookAlikes gives the characters of a name that pass for others, each once.
func lookAlikes(name string) []rune {
	var found []rune
	add := func(r rune) {
		for _, f := range found {
			if f == r {
				return
			}
		}
		found = append(found, r)
	}
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r < 0x80 && !unicode.IsLetter(r) }) {
		latin, other := false, false // letters, and letters that pass for nothing
		for _, r := range word {
			switch {
			case signs(r) != 0:
				add(r)
			case unicode.Is(unicode.Latin, r) && passesFor(r) == 0:
				latin = true
			case unicode.IsLetter(r) && passesFor(r) == 0:
				other = true
			}
		}
		for _, r := range word {
			if passesFor(r) != 0 && signs(r) == 0 && (latin || !other) {
				add(r)
			}
		}
	}
	return found
}

// passesFor gives the ASCII character that a rune looks like, or 0.
func passesFor(r rune) rune {
	switch {
	case r < 0x80:
		return 0
	case r >= 0xFF01 && r <= 0xFF5E: // wide forms, in ASCII's order
		return r - 0xFEE0
	case r >= 0x1D400 && r <= 0x1D6A3: // mathematical letters, thirteen alphabets of 52
		return rune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[(r-0x1D400)%52])
	case signs(r) != 0:
		return signs(r)
	}
	const (
		foreign = "аеорсухіјѕһԁԛԝАВЕКМНОРСТУХЅІЈӏӀαονρικυΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսհıɑɡſℓԌԍ"
		ascii   = "aeopcyxijshdqwABEKMHOPCTYXSIJlIaovpikuABEZHIKMNOPTYXonuhiagflGg"
	)
	at := 0
	for _, f := range foreign {
		if f == r {
			return rune(ascii[at])
		}
		at++
	}
	return 0
}

// signs gives what a sign passes for that parts paths or names, or 0.
func signs(r rune) rune {
	switch r {
	case '∕', '⁄', '╱', '⧸', '／':
		return '/'
	case '․', '。', '．', '｡':
		return '.'
	case '‐', '‑', '‒', '–', '−', '－':
		return '-'
	case '：', '∶', 'ː':
		return ':'
	case '∼', '～', '˜':
		return '~'
	}
	return 0
}
