package screen

import (
	"strings"
	"unicode/utf8"
)

// matched puts removed lines beside the added ones that they are most like, in
// their order, and the others beside one another as they come.
func matched(gone, come []*diffLine) (out []pair) {
	i, j := 0, 0
	upTo := func(to, and int) {
		for i < to || j < and {
			var p pair
			if i < to {
				p.before = gone[i]
				i++
			}
			if j < and {
				p.after = come[j]
				j++
			}
			out = append(out, p)
		}
	}
	for _, m := range matches(gone, come) {
		upTo(m[0], m[1])
		upTo(m[0]+1, m[1]+1)
	}
	upTo(len(gone), len(come))
	return out
}

// matches gives pairs of lines that are alike, in order, such that they are
// together as alike as can be. Of long runs it gives none.
func matches(gone, come []*diffLine) (out [][2]int) {
	const most = 30 // lines of a run
	if len(gone) > most || len(come) > most {
		return nil
	}
	best := make([][]int, len(gone)+1) // from a line on either side to the ends
	for i := range best {
		best[i] = make([]int, len(come)+1)
	}
	like := func(i, j int) int { return alike(gone[i].text, come[j].text) }
	for i := len(gone) - 1; i >= 0; i-- {
		for j := len(come) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if n := like(i, j); n > 0 {
				best[i][j] = max(best[i][j], n+best[i+1][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(gone) && j < len(come); {
		switch best[i][j] {
		case best[i+1][j]:
			i++
		case best[i][j+1]:
			j++
		default:
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		}
	}
	return out
}

// alike says in percent how much of two lines is the same at both ends, white
// space there not counted; 0 where that is little.
func alike(a, b string) int {
	const little = 40
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	head, tail := common(a, b)
	if n := 200 * (head + tail) / max(len(a)+len(b), 1); n >= little {
		return n
	}
	return 0
}

// common counts the bytes that two lines begin and end with alike, in whole
// runes. What is not UTF-8 is not cut.
func common(a, b string) (head, tail int) {
	if !utf8.ValidString(a) || !utf8.ValidString(b) {
		return 0, 0
	}
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for head > 0 && (head < len(a) && !utf8.RuneStart(a[head]) || head < len(b) && !utf8.RuneStart(b[head])) {
		head--
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && (!utf8.RuneStart(a[len(a)-tail]) || !utf8.RuneStart(b[len(b)-tail])) {
		tail--
	}
	return head, tail
}
