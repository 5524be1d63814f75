package show

import (
	"strings"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/visible"
)

// gitDetail shows what a git action does, beside its paths.
func (w Writer) gitDetail(d *action.GitDetail) {
	if d == nil {
		return
	}
	w.line("")
	w.line("%s in %s, on %s", visible.Line(d.Does), d.Repository, branchOf(d.Branch))
	w.fact("from", d.Head)
	w.fact("to", d.To)
	w.fact("tree", d.Tree)
	w.fact("author", d.Author)
	w.fact("committer", d.Committer)
	for _, n := range d.Notes {
		w.line("  %s", visible.Line(n))
	}
	for line := range strings.Lines(d.Message) {
		w.line("  message: %s", visible.Trailing(strings.TrimSuffix(line, "\n")))
	}
}

func (w Writer) fact(name, value string) {
	if value != "" {
		w.line("  %s: %s", visible.Text(name), visible.Line(value))
	}
}

// branchOf names a branch, or says that there is none.
func branchOf(b action.Path) visible.Text {
	if b == "" {
		return "no branch"
	}
	name, _ := strings.CutPrefix(string(b), "refs/heads/")
	return "branch " + visible.Line(named(action.Path(name)))
}

// gitOutcome says what a git action left.
func (w Writer) gitOutcome(g *protocol.GitOutcome) {
	if g == nil {
		return
	}
	now := g.Commit
	if now == "" {
		now = "no commit"
	}
	w.line("  %s is now at %s", branchOf(g.Branch), visible.Line(now))
	for _, n := range g.Notes {
		w.line("  %s", visible.Line(n))
	}
}
