package screen

import (
	"strings"

	"countersign/internal/terminal"
	"countersign/internal/visible"
)

// diffLine is one line of a unified diff.
type diffLine struct {
	sign byte // '+', '-', ' ', '@' of a hunk's head, '\\' of a remark, '?' of what is none of them; 0 above the first hunk
	text string
}

// parse takes a diff apart. Above the first hunk stand the names; below it the
// first byte of a line says what it is, whatever the rest of it is like.
func parse(diff string) []diffLine {
	var out []diffLine
	body := false
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "@"):
			body = true
			out = append(out, diffLine{'@', line})
		case !body:
			out = append(out, diffLine{0, line})
		case line == "" || !strings.ContainsRune("+- \\", rune(line[0])):
			out = append(out, diffLine{'?', line})
		default:
			out = append(out, diffLine{line[0], line[1:]})
		}
	}
	return out
}

// pair is what stands on both sides of a diff beside one another: a line before
// and a line after, or one of them alone.
type pair struct {
	before, after *diffLine
	whole         *diffLine // takes both sides: a hunk's head, a remark
}

// pairs puts each run of removed lines beside the added ones that follow it.
func pairs(lines []diffLine) []pair {
	var out []pair
	for i := 0; i < len(lines); {
		switch lines[i].sign {
		case ' ':
			out = append(out, pair{before: &lines[i], after: &lines[i]})
			i = ending(lines, i+1)
		case '-', '+':
			gone, come, next := run(lines, i)
			out = append(out, matched(gone, come)...)
			i = next
		default:
			out = append(out, pair{whole: &lines[i]})
			i++
		}
	}
	return out
}

// run gives the removed and the added lines from one on, and where they end.
func run(lines []diffLine, at int) (gone, come []*diffLine, next int) {
	for at < len(lines) && lines[at].sign == '-' {
		gone, at = append(gone, &lines[at]), at+1
	}
	at = ending(lines, at)
	for at < len(lines) && lines[at].sign == '+' {
		come, at = append(come, &lines[at]), at+1
	}
	return gone, come, ending(lines, at)
}

// ending gives a remark on a missing line end to the line above it.
func ending(lines []diffLine, at int) int {
	if at > 0 && at < len(lines) && lines[at] == (diffLine{'\\', " No newline at end of file"}) && !strings.HasSuffix(lines[at-1].text, endless) {
		lines[at-1].text += endless
		return at + 1
	}
	return at
}

// endless marks a line of a file whose end is missing, until it is shown: no
// line holds a line end.
const endless = "\n"

// noEnd is how that is shown.
const noEnd = visible.Text(" ⟦no line end⟧")

// sides gives both lines of a pair in pieces, with what differs between them
// set off. Where they differ in white space alone, that is spelled out.
func sides(before, after *diffLine) (left, right []piece) {
	if before == nil || after == nil || before == after {
		return plainSide(before), plainSide(after)
	}
	a, b := before.text, after.text
	spell := strings.Join(strings.Fields(a), "") == strings.Join(strings.Fields(b), "")
	head, tail := common(a, b)
	if head+tail == 0 && !spell {
		return plainSide(before), plainSide(after)
	}
	return side(terminal.Red, a, head, tail, spell), side(terminal.Green, b, head, tail, spell)
}

// side cuts a line in what it has in common with the other and what it has not.
func side(colour terminal.Style, s string, head, tail int, spell bool) []piece {
	middle := s[head : len(s)-tail]
	show := func(s string, last bool) visible.Text {
		t := visible.Line(strings.TrimSuffix(s, endless))
		if last {
			t = visible.Trailing(strings.TrimSuffix(s, endless))
		}
		if spell {
			t = visible.Text(strings.ReplaceAll(string(t), "\t", "⟦TAB⟧"))
		}
		if strings.HasSuffix(s, endless) {
			t += noEnd
		}
		return t
	}
	var out []piece
	add := func(style terminal.Style, s string, last bool) {
		if s != "" {
			out = append(out, piece{style, show(s, last)})
		}
	}
	// Only the whole end of the line is white space at its end.
	end := s[len(s)-tail:]
	add(colour, s[:head], middle == "" && end == "")
	add(colour|terminal.Bold|terminal.Underline, middle, strings.TrimRight(end, " \t"+endless) == "")
	add(colour, end, true)
	return out
}

func plainSide(l *diffLine) []piece {
	if l == nil {
		return nil
	}
	style := map[byte]terminal.Style{'-': terminal.Red, '+': terminal.Green}[l.sign]
	t := visible.Trailing(strings.TrimSuffix(l.text, endless))
	if strings.HasSuffix(l.text, endless) {
		t += noEnd
	}
	return []piece{{style, t}}
}

// beside is from how many columns on a diff stands side by side.
const beside = 110

// diffRows lays a diff out: one side below the other, or beside it.
func diffRows(diff string, width int, sideBySide bool) []terminal.Row {
	lines := parse(diff)
	for len(lines) > 0 && lines[0].sign == 0 { // the names stand above the diff already
		lines = lines[1:]
	}
	var out []terminal.Row
	all := pairs(lines)
	for i := 0; i < len(all); {
		p := all[i]
		switch {
		case p.whole != nil:
			out = append(out, fold(remark(p.whole), 0, width)...)
			i++
		case sideBySide:
			out = append(out, besideRows(p, width)...)
			i++
		default:
			n := 1
			for p.before != p.after && i+n < len(all) && all[i+n].whole == nil && all[i+n].before != all[i+n].after {
				n++
			}
			out = append(out, belowRows(all[i:i+n], width)...)
			i += n
		}
	}
	return out
}

func remark(l *diffLine) []piece {
	if l.sign == '@' {
		return []piece{{terminal.Cyan, visible.Line(l.text)}}
	}
	return []piece{{terminal.Dim, visible.Line(string(l.sign) + l.text)}}
}

// signed puts a sign before a line.
func signed(sign visible.Text, style terminal.Style, line []piece) []piece {
	return append([]piece{{style, sign}}, line...)
}

// belowRows shows a run of changed lines, those before first, or a line that
// stays.
func belowRows(run []pair, width int) []terminal.Row {
	if p := run[0]; p.before == p.after {
		return fold(signed(" ", terminal.Plain, plainSide(p.before)), 0, width)
	}
	var gone, come []terminal.Row
	for _, p := range run {
		left, right := sides(p.before, p.after)
		if p.before != nil {
			gone = append(gone, fold(signed("-", terminal.Red, left), 0, width)...)
		}
		if p.after != nil {
			come = append(come, fold(signed("+", terminal.Green, right), 0, width)...)
		}
	}
	return append(gone, come...)
}

// besideRows shows one pair, in as many rows as the longer side takes.
func besideRows(p pair, width int) []terminal.Row {
	half := width/2 - 1
	left, right := sides(p.before, p.after)
	var l, r []terminal.Row
	sign := func(s visible.Text) visible.Text {
		if p.before == p.after {
			return " "
		}
		return s
	}
	if p.before != nil {
		l = fold(signed(sign("-"), firstColour(left), left), 0, half)
	}
	if p.after != nil {
		r = fold(signed(sign("+"), firstColour(right), right), half+2, half)
	}
	var out []terminal.Row
	for i := range max(len(l), len(r)) {
		var row terminal.Row
		if i < len(l) {
			row = append(row, l[i]...)
		}
		row = append(row, terminal.Span{Column: half, Style: terminal.Dim, Text: "|"})
		if i < len(r) {
			row = append(row, r[i]...)
		}
		out = append(out, row)
	}
	return out
}

// firstColour is the colour that a line begins in.
func firstColour(line []piece) terminal.Style {
	if len(line) == 0 {
		return terminal.Plain
	}
	return line[0].style &^ (terminal.Bold | terminal.Underline)
}
