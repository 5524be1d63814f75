package show

import (
	"fmt"
	"strings"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/visible"
)

// Detail shows what an action does, path by path: of several first all of them,
// and how many lines go and come, then each.
func (w Writer) Detail(d action.Detail) {
	w.Index(d)
	for _, c := range d.Changes {
		w.line("")
		w.Change(c)
		w.diff(c.Diff)
	}
}

// Index shows what git does, and lists the paths of an action that has several.
func (w Writer) Index(d action.Detail) {
	w.gitDetail(d.Git)
	if n := len(d.Changes); n > 1 {
		w.line("")
		w.line("%d paths:", n)
		for _, c := range d.Changes {
			w.line("  %-7s  %9s  %s", c.Does, lines(c), visible.Marked(c.Path.String()))
		}
	}
}

// Change shows what is said of one path, without its diff.
func (w Writer) Change(c action.ChangeDetail) {
	w.line("%s %s", c.Does, visible.Marked(c.Path.String()))
	if c.Real != "" {
		w.line("  it lands at %s", visible.Marked(c.Real.String()))
	}
	for _, e := range c.Effects {
		w.line("  %s", e)
	}
	for _, n := range c.NotKept {
		w.line("  not kept: %s", n)
	}
	if c.NoDiff != "" {
		w.line("  %s", c.NoDiff)
		w.line("  before: %s", image(c.Old))
		w.line("  after:  %s", image(c.New))
	}
}

// lines counts the lines that a diff adds and removes; without one there is
// nothing to count.
func lines(c action.ChangeDetail) string {
	if c.Diff == "" {
		return "no diff"
	}
	added, removed, body := 0, 0, false
	for line := range strings.Lines(c.Diff) {
		body = body || strings.HasPrefix(line, "@@")
		switch {
		case body && line[0] == '+':
			added++
		case body && line[0] == '-':
			removed++
		}
	}
	return fmt.Sprintf("+%d -%d", added, removed)
}

// Paths lists the places of an action of which there is no account.
func (w Writer) Paths(s protocol.ShowResult) {
	if s.Transaction.Outcome != nil || s.Action == nil || len(s.Action.Paths()) < 2 {
		return
	}
	list := s.Action.Paths()
	w.line("")
	w.line("%d paths:", len(list))
	for _, p := range list {
		w.line("  %s", p)
	}
}

func image(i action.Image) string {
	if i.Absent {
		return "no file"
	}
	if i.Kind == action.Symlink {
		return fmt.Sprintf("a symbolic link, SHA-256 of what it points to %s", i.Hash)
	}
	return fmt.Sprintf("%d bytes, SHA-256 %s", i.Size, i.Hash)
}

// diff shows a unified diff. Only its own first bytes colour a line; what the
// line holds is text.
func (w Writer) diff(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "+"):
			w.line("%s", painted{green, visible.Trailing(line)})
		case strings.HasPrefix(line, "-"):
			w.line("%s", painted{red, visible.Trailing(line)})
		case strings.HasPrefix(line, "@@"):
			w.line("%s", painted{cyan, visible.Line(line)})
		case strings.HasPrefix(line, " "):
			w.line(" %s", visible.Trailing(line[1:]))
		default:
			w.line("%s", line)
		}
	}
}

// Text shows a file's text, line by line.
func (w Writer) Text(text string) {
	for line := range strings.Lines(text) {
		w.line("%s", visible.Trailing(strings.TrimSuffix(line, "\n")))
	}
}
