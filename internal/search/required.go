package search

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

const (
	maxAlternatives = 8  // literals that are looked for at once
	maxNeedle       = 32 // bytes of a literal that are looked for
	maxClass        = 4  // characters of a class that is counted out
)

// literal is text that must stand in a line for it to match. Folded text is in
// lower case, and of ASCII whose other case is ASCII too.
type literal struct {
	text   string
	folded bool
}

// known is what follows from a part of an expression. Where all is set, every
// match of the part, but for conditions that take no text, is one of the
// literals; otherwise every match holds one of them, or nothing is known and
// there are none.
type known struct {
	literals []literal
	all      bool
}

// required gives literals one of which stands in every match of a simplified
// tree; none where that cannot be told.
func required(tree *syntax.Regexp) []literal {
	found := learn(tree).literals
	if worth(found) == 0 {
		return nil
	}
	return found
}

func learn(re *syntax.Regexp) known {
	switch re.Op {
	case syntax.OpLiteral:
		return learnConcat(pieces(re))
	case syntax.OpCharClass:
		return learnClass(re)
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return known{literals: []literal{{}}, all: true}
	case syntax.OpCapture:
		return learn(re.Sub[0])
	case syntax.OpPlus:
		return known{literals: learn(re.Sub[0]).literals}
	case syntax.OpQuest:
		return learnAny([]known{learn(re.Sub[0]), {literals: []literal{{}}, all: true}})
	case syntax.OpConcat:
		return learnConcat(each(re.Sub))
	case syntax.OpAlternate:
		return learnAny(each(re.Sub))
	}
	return known{}
}

func each(subs []*syntax.Regexp) []known {
	out := make([]known, len(subs))
	for i, sub := range subs {
		out[i] = learn(sub)
	}
	return out
}

// pieces cuts a literal of the tree where a character has no single spelling:
// one that other characters fold to, as the Kelvin sign does to k, and the
// replacement character, which every byte that is no UTF-8 is taken for.
func pieces(re *syntax.Regexp) []known {
	var out []known
	from, folded := 0, re.Flags&syntax.FoldCase != 0
	cut := func(to int) {
		if from < to {
			out = append(out, known{literals: []literal{{string(lowered(re.Rune[from:to], folded)), folded}}, all: true})
		}
	}
	for i, r := range re.Rune {
		if r == utf8.RuneError || folded && !foldsInASCII(r) {
			cut(i)
			out, from = append(out, known{}), i+1
		}
	}
	cut(len(re.Rune))
	return out
}

// foldsInASCII says whether r and whatever folds to it are ASCII.
func foldsInASCII(r rune) bool {
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f >= utf8.RuneSelf {
			return false
		}
	}
	return r < utf8.RuneSelf
}

func lowered(text []rune, folded bool) []rune {
	out := make([]rune, len(text))
	for i, r := range text {
		if out[i] = r; folded {
			out[i] = unicode.ToLower(r)
		}
	}
	return out
}

// learnClass counts out a class of few characters.
func learnClass(re *syntax.Regexp) known {
	k := known{all: true}
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if len(k.literals) == maxClass || r == utf8.RuneError {
				return known{}
			}
			k.literals = append(k.literals, literal{text: string(r)})
		}
	}
	return k
}

// learnAny is what follows from one of several parts.
func learnAny(parts []known) known {
	out := known{all: true}
	for _, p := range parts {
		out.literals, out.all = append(out.literals, p.literals...), out.all && p.all
		if len(p.literals) == 0 || len(out.literals) > maxAlternatives {
			return known{}
		}
	}
	return out
}

// learnConcat is what follows from parts that follow one another: neighbours
// that are known whole are joined, and of all that is known then the rarest is
// kept.
func learnConcat(parts []known) known {
	best, joined, whole := known{}, known{literals: []literal{{}}, all: true}, true
	keep := func(k known) {
		if worth(k.literals) > worth(best.literals) {
			best.literals = k.literals
		}
	}
	for _, p := range parts {
		if next, ok := join(joined, p); ok {
			joined = next
			continue
		}
		keep(joined)
		keep(p)
		if whole, joined = false, p; !p.all {
			joined = known{literals: []literal{{}}, all: true}
		}
	}
	if whole {
		return joined
	}
	keep(joined)
	return best
}

// join puts every literal of b behind every one of a.
func join(a, b known) (known, bool) {
	if !a.all || !b.all || len(a.literals)*len(b.literals) > maxAlternatives {
		return known{}, false
	}
	out := known{all: true}
	for _, x := range a.literals {
		for _, y := range b.literals {
			if x.text != "" && y.text != "" && x.folded != y.folded {
				return known{}, false
			}
			out.literals = append(out.literals, literal{x.text + y.text, x.folded && x.text != "" || y.folded && y.text != ""})
		}
	}
	return out, true
}

// worth estimates how rare the most frequent of the literals is; 0 says that
// looking for them is no use.
func worth(literals []literal) int {
	least := 0
	for i, l := range literals {
		w := 0
		for _, c := range []byte(l.text) {
			w += rarity(c)
		}
		if i == 0 || w < least {
			least = w
		}
	}
	return least
}

// rarity is how seldom a byte stands in source code and prose, roughly in bits.
func rarity(c byte) int {
	switch c {
	case ' ', 'e', 't':
		return 3
	case 'a', 'i', 'n', 'o', 'r', 's', '\t':
		return 4
	case 'c', 'd', 'f', 'l', 'm', 'p', 'u', '.', ',', '(', ')', '"', '/', '_':
		return 5
	case 'b', 'g', 'h', 'v', 'w', 'y', '=', ':', '*', '0', '1', '-':
		return 6
	case 'j', 'q', 'z', 'J', 'Q', 'X', 'Y', 'Z', '~', '@', '#', '^', '`', '?':
		return 9
	}
	return 7
}

// is says whether matching the tree is finding l.
func (l literal) is(tree *syntax.Regexp) bool {
	return tree.Op == syntax.OpLiteral && len(l.text) == len(string(tree.Rune)) && len(l.text) <= maxNeedle
}
