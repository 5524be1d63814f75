package show

import (
	"fmt"
	"strings"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/visible"
)

// everyPath and somePaths are how many paths of an outcome are listed of which
// there is nothing more to say than that they are as the action planned them.
const (
	everyPath = -1
	somePaths = 16
)

// Answer tells how a proposal, a decision or an undo came out: what became of
// every path first, then the regions that changed, and what to do next.
func (w Writer) Answer(t protocol.Transaction) {
	w.Rows([]protocol.Transaction{t})
	w.again(t)
	w.leaves(t)
	w.outcome(t, somePaths)
	w.regions(t)
	switch {
	case t.State == protocol.StateWaiting:
		w.line("look at it:  countersign show %s", t.ID)
	case t.State == protocol.StateLanded && t.UndoOf == "":
		w.line("its owner takes it back with:  countersign undo %s", t.ID)
	case t.Outcome != nil && t.Outcome.Result == protocol.Partial:
		w.line("its owner takes back what landed with:  countersign undo %s", t.ID)
	case t.State == protocol.StateDenied && t.Why != "":
		w.line("owner says: %s", t.Why)
	case t.Refusal != nil:
		w.line("refused: %s", Refusal(t.Refusal))
	case t.Outcome != nil && t.Outcome.Refused != nil:
		w.line("not landed: %s", Refusal(t.Outcome.Refused))
	}
}

// again says how often disk moved on under a transaction.
func (w Writer) again(t protocol.Transaction) {
	if t.Stale > 0 {
		w.line("  read again %s, since disk or a program was in the way", count(t.Stale, "time"))
	}
}

// count says how many there are of something.
func count(n uint64, one string) visible.Text {
	if n == 1 {
		return visible.Text("1 " + one)
	}
	return visible.Text(fmt.Sprintf("%d %ss", n, one))
}

// ending says how a transaction ended, and what is odd about it.
func (w Writer) ending(t protocol.Transaction) {
	w.again(t)
	if t.Refusal != nil {
		w.line("  refused: %s", Refusal(t.Refusal))
	}
	if o := t.Outcome; o != nil && o.Refused != nil {
		w.line("  refused: %s", Refusal(o.Refused))
	}
	if t.UndoOf != "" {
		w.line("  undo of %s", t.UndoOf)
	}
	switch {
	case t.UndoneBy != "" && t.InPart:
		w.line("  undone by %s, but for what that left as it was", t.UndoneBy)
	case t.UndoneBy != "":
		w.line("  undone by %s", t.UndoneBy)
	}
}

// leaves says what an undo leaves as it is, with the three versions that its
// owner has to choose from.
func (w Writer) leaves(t protocol.Transaction) {
	for _, l := range t.Leaves {
		w.line("  left as it is, %s: %s", visible.Line(l.Why), l.Path)
		w.line("    the action left:      %s", image(l.Left))
		if l.Now != nil {
			w.line("    disk holds:           %s", image(*l.Now))
		}
		w.line("    before it there was:  %s", image(l.Back))
	}
	if t.MoreLeaves > 0 {
		w.line("  and %s more left as they are: countersign show %s", count(t.MoreLeaves, "path"), t.ID)
	}
}

// outcome says what became of every path. Of paths of which there is no more to
// say than that, only so many are listed, and the others counted.
func (w Writer) outcome(t protocol.Transaction, most int) {
	o := t.Outcome
	if o == nil {
		return
	}
	if o.Result == protocol.Partial {
		w.line("  %s", painted{bold, "IT LANDED IN PART: some paths changed, and could not be taken back"})
	}
	if o.Words != "" {
		w.line("  found out: %s", o.Words)
	}
	w.gitOutcome(o.Git)
	for _, k := range o.Kept {
		w.line("  somebody's file could not be put back, and is kept: %s", k.Path)
	}
	if o.MoreKept > 0 {
		w.line("  and %s more of them: countersign show %s", count(o.MoreKept, "file"), t.ID)
	}
	plain := uint64(0)
	for i, c := range o.Changes {
		if most != everyPath && i >= most && ordinary(o, c) {
			plain++
			continue
		}
		w.line("  %s %s", did(c.Did), c.Path)
		w.remarks(c)
	}
	if plain > 0 {
		w.line("  and %s more likewise", count(plain, "path"))
	}
	if o.More > 0 {
		w.line("  and %s more that do not fit here: countersign show %s", count(o.More, "path"), t.ID)
	}
}

// ordinary says whether a path came out like all of a change that came out as
// it should, with nothing else to say.
func ordinary(o *protocol.Outcome, c protocol.PathOutcome) bool {
	asPlanned := o.Result == protocol.Landed && c.Did.Changed() || o.Result == protocol.NotLanded && c.Did == protocol.Untouched
	return asPlanned && c.Links == 0 && len(c.NotKept) == 0 && c.NoLease == "" && len(c.After) == 0
}

// remarks says what there is to say of a path beside what became of it.
func (w Writer) remarks(c protocol.PathOutcome) {
	switch {
	case c.Links == 1:
		w.line("    1 other name keeps the old text")
	case c.Links > 1:
		w.line("    %d other names keep the old text", c.Links)
	}
	for _, n := range c.NotKept {
		w.line("    not kept: %s", n)
	}
	if c.NoLease != "" {
		w.line("    nothing but the exchange stood against other writers: %s", c.NoLease)
	}
	for _, a := range c.After {
		w.line("    after it landed: %s", a)
	}
}

// did puts what became of a path into words.
func did(d protocol.Did) visible.Text {
	words, known := map[protocol.Did]visible.Text{
		protocol.Created: "created", protocol.Replaced: "replaced", protocol.Deleted: "deleted",
		protocol.Untouched: "as it was:", protocol.TakenBack: "changed, and taken back:",
		protocol.Overtaken: "somebody else's work stands there:", protocol.Unsettled: "NEITHER AS IT WAS NOR AS PLANNED:",
	}[d]
	if !known {
		return visible.Line(string(d))
	}
	return words
}

// regions shows the pieces of files that changed, as they stand now, by line.
func (w Writer) regions(t protocol.Transaction) {
	for _, r := range t.Regions {
		w.line("%s now, from line %d:", r.Path, r.From)
		w.numbered(r)
		if r.Cut > 0 {
			w.line("  and %s more that do not fit here", count(r.Cut, "line"))
		}
	}
	if t.MoreRegions > 0 {
		w.line("and what changed in %s more does not fit here: countersign show %s", count(t.MoreRegions, "file"), t.ID)
	}
}

func (w Writer) numbered(r action.Region) {
	n := r.From
	for line := range strings.Lines(r.Text) {
		w.line("%6d  %s", n, visible.Trailing(strings.TrimSuffix(line, "\n")))
		n++
	}
}
