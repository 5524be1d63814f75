package fileread

import (
	"unicode/utf8"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/search"
)

const (
	// maxGrepPage and maxGrepTold bound one part of an answer, and what it tells
	// of the walk beside, so that its frame is a small one and nobody waits for a
	// place to send it.
	maxGrepPage = 50 << 10
	maxGrepTold = 10 << 10
	// itemCost is what an item takes beside its path or text, at the most.
	itemCost = 64
)

// grepped is what became of one file: searched, with lines or none, or skipped,
// or neither where it was gone.
type grepped struct {
	seen     seen
	links    uint64
	count    uint64
	lines    []protocol.GrepLine
	cut      bool // there are more lines than any page holds
	searched bool
	skipped  refusal.Code
}

// found says whether there is anything to tell of what the file holds.
func (g *grepped) found() bool { return g.count > 0 || len(g.lines) > 0 }

// cost is what that takes of a page.
func (g *grepped) cost() int {
	if !g.found() {
		return 0
	}
	n := g.seen.length() + itemCost
	for i := range g.lines {
		n += lineCost(&g.lines[i])
	}
	return n
}

// length is that of the place's path.
func (s seen) length() int { return len(s.start) + len(s.dir) + len(s.name) + 2 }

func lineCost(l *protocol.GrepLine) int { return len(l.Text) + len(l.Bytes) + itemCost }

// page is one part of an answer, while it is filled.
type page struct {
	res   protocol.GrepResult
	mode  protocol.GrepMode
	limit uint64 // of matches; 0 is none
	left  int    // of maxGrepPage
	full  bool

	last  seen // what was told last, if anything
	line  uint64
	after action.Path // what it goes on behind

	beyond []action.Path // directories that the walk met and the page did not reach
	more   uint64
}

func newPage(in protocol.GrepParams) *page {
	res := protocol.GrepResult{Files: []protocol.GrepFile{}, Skipped: []protocol.GrepSkipped{}}
	return &page{res: res, mode: in.Mode, limit: in.Limit, left: maxGrepPage, after: in.After, line: in.AfterLine}
}

// add puts a file's answer into the page, or as much of it as fits: then the
// page is full.
func (p *page) add(g *grepped) {
	switch {
	case p.full:
		return
	case g.skipped != "":
		p.skip(g)
	case g.found() && p.limit > 0 && p.res.Matches >= p.limit:
		p.full = true
	case g.found():
		p.find(g)
	}
	if p.full {
		return
	}
	if g.searched {
		p.res.Searched++
	}
	p.last, p.line = g.seen, 0
}

// skip tells of a file that was not searched, among others of its directory
// where there are some.
func (p *page) skip(g *grepped) {
	dir, name, more := g.seen.path().Dir(), g.seen.path().Name(), len(p.res.Skipped)
	together := more > 0 && p.res.Skipped[more-1].Dir == dir && p.res.Skipped[more-1].Code == g.skipped
	cost := len(name) + 3
	if !together {
		cost += len(dir) + itemCost
	}
	if p.full = cost > p.left; p.full {
		return
	}
	if p.left -= cost; !together {
		p.res.Skipped = append(p.res.Skipped, protocol.GrepSkipped{Dir: dir, Code: g.skipped})
		more++
	}
	s := &p.res.Skipped[more-1]
	s.Names = append(s.Names, action.Path(name))
}

// find tells of a file that holds what is searched for.
func (p *page) find(g *grepped) {
	file := protocol.GrepFile{Path: g.seen.path(), Links: g.links, Count: g.count}
	fits, left, matches := 0, p.left-g.seen.length()-itemCost, p.res.Matches+g.count
	for ; fits < len(g.lines); fits++ {
		l := &g.lines[fits]
		if left -= lineCost(l); left < 0 || l.Match && p.limit > 0 && matches == p.limit {
			break
		}
		if l.Match {
			matches++
		}
	}
	p.full = left < 0 || g.cut || fits < len(g.lines)
	if p.full && fits == 0 {
		return
	}
	file.Lines = g.lines[:fits]
	if p.full {
		p.last, p.line = g.seen, file.Lines[fits-1].Number
	}
	p.left, p.res.Matches, p.res.Files = max(left, 0), matches, append(p.res.Files, file)
}

// pass notes a file that the page did not reach.
func (p *page) pass(s seen) {
	dir := s.path().Dir()
	switch n := len(p.beyond); {
	case n > 0 && p.beyond[n-1] == dir:
	case n == maxTold:
		p.more++
	default:
		p.beyond = append(p.beyond, dir)
	}
}

// result closes the page, with what its walk says.
func (p *page) result(policy action.Hash, said protocol.Walked) protocol.GrepResult {
	if n := len(p.beyond); n > 0 {
		if len(said.Left) > 0 && said.Left[0] == p.beyond[n-1] {
			said.Left = said.Left[1:]
		}
		said.Left, said.LeftMore = append(p.beyond, said.Left...), said.LeftMore+p.more
	}
	told := maxGrepTold
	for i, l := range said.Left {
		if told -= len(l) + 3; told < 0 || i == maxTold {
			said.Left, said.LeftMore = said.Left[:i], said.LeftMore+uint64(len(said.Left)-i)
			break
		}
	}
	for i, m := range said.Missed {
		if told -= len(m.Path) + len(m.Why) + itemCost; told < 0 {
			said.Missed, said.MissedMore = said.Missed[:i], said.MissedMore+uint64(len(said.Missed)-i)
			break
		}
	}
	p.res.Policy, p.res.Walked = policy, said
	if p.full {
		p.res.Next, p.res.NextLine = p.after, p.line
		if p.last.met != nil {
			p.res.Next = p.last.path()
		}
	}
	return p.res
}

// lineOf spells a line for the wire.
func lineOf(l search.Line) protocol.GrepLine {
	part, at := l.Shown()
	out := protocol.GrepLine{Number: l.Number, Match: l.Match, At: uint64(at)}
	if l.Match {
		out.From, out.To = uint64(l.From), uint64(l.To)
	}
	if len(part) < len(l.Text) {
		out.Size = uint64(len(l.Text))
	}
	if utf8.Valid(part) {
		out.Text = string(part)
	} else {
		out.Bytes = append([]byte(nil), part...)
	}
	return out
}
