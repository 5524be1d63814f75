package show

import (
	"fmt"
	"strings"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/visible"
)

// Place is a line of a file.
type Place struct {
	Path action.Path
	Line uint64
}

// Grep shows one part of a search's answer the way grep does: each line behind
// its file's name and its number, with a colon where it matches and a dash where
// it only stands beside a match. last is the line that was shown last, if any;
// it gives the one to go on from.
func (w Writer) Grep(in protocol.GrepParams, res protocol.GrepResult, last Place) Place {
	for _, f := range res.Files {
		switch in.Mode {
		case protocol.GrepFiles:
			w.line("%s", f.Path)
		case protocol.GrepCount:
			w.line("%s:%d", visible.Text(named(f.Path)), f.Count)
		}
		for _, l := range f.Lines {
			apart := last.Path != f.Path || last.Line+1 != l.Number
			if apart && last.Line > 0 && in.Context > 0 {
				w.line("--")
			}
			last = Place{Path: f.Path, Line: l.Number}
			w.found(f, l)
		}
	}
	return last
}

// found shows one line; what is left out of it is said behind it, between
// brackets that no text can hold.
func (w Writer) found(f protocol.GrepFile, l protocol.GrepLine) {
	text, mark, cut := l.Text, visible.Text("-"), visible.Text("")
	if len(l.Bytes) > 0 {
		text = string(l.Bytes)
	}
	if l.Match {
		mark = ":"
	}
	if l.Size > 0 {
		cut = visible.Text(fmt.Sprintf(" ⟦bytes %d to %d of %d⟧", l.At+1, l.At+uint64(len(text)), l.Size))
	}
	w.line("%s%s%d%s%s%s", visible.Text(named(f.Path)), mark, l.Number, mark, visible.Line(text), cut)
}

// Skipped names the files that were not searched, and why.
func (w Writer) Skipped(list []protocol.GrepSkipped) {
	for _, s := range list {
		for _, name := range s.Names {
			w.line("countersign: not searched: %s: %s", visible.Text(named(action.Path(strings.TrimSuffix(string(s.Dir), "/"))+"/"+name)), s.Code)
		}
	}
}
