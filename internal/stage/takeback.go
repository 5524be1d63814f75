package stage

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/facts"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// takeBack undoes whatever a work has done so far, the last change first, and
// removes what it made. Where all of it could be undone the work is refused
// with its cause; otherwise the outcome says what stands where.
func (w *work) takeBack(err error) (protocol.Outcome, []*os.File, error) {
	cause := refusal.As(beneath.Refuse(w.changes[0].what, err))
	out := protocol.Outcome{Result: protocol.NotLanded}
	var files []*os.File
	exchanged := false
	for _, c := range slices.Backward(w.changes) {
		c.out.Did = protocol.Untouched
		if c.exchanged {
			exchanged, c.out.Did = true, c.putBack()
		} else {
			c.discard()
		}
		c.letOld()
		c.staged.let()
	}
	if exchanged {
		syncAll(directories(w.changes))
	}
	for _, c := range slices.Backward(w.changes) {
		c.unmake(c.made)
	}
	if all := !slices.ContainsFunc(w.changes, (*change).stays); all {
		return protocol.Outcome{}, nil, w.tookBack(cause)
	}
	for _, c := range w.changes {
		if c.stays() {
			out.Kept, files = c.keepAside(out.Kept, files)
		}
		if c.out.Did.Changed() {
			out.Result = protocol.Partial
		}
		c.standsNow()
		out.Changes = append(out.Changes, c.out)
	}
	if out.Refused = cause; len(w.changes) == 1 && out.Result == protocol.NotLanded {
		out.Refused = refusal.New(refusal.Changed, w.changes[0].what, "twice, in the instant of the exchange")
	}
	return out, files, nil
}

// stays says whether a change was made and could not be taken back.
func (c *change) stays() bool { return c.out.Did.Changed() || c.out.Did == protocol.Overtaken }

// tookBack is the cause of a refusal, with what failed while everything was
// taken back.
func (w *work) tookBack(r *refusal.Refusal) error {
	for _, c := range w.changes {
		for _, failed := range c.out.After {
			said := *r
			said.Why += "; it was taken back, and then " + failed
			r = &said
		}
	}
	return r
}

// putBack undoes an exchange: what was displaced goes back to the target, and
// the new file is removed. Where the target was written to in the meantime, by
// its name or into the new file itself, that write is the newest and stays.
func (c *change) putBack() protocol.Did {
	if err := c.cfg.At(TakeBack, c.fact.Path); err != nil {
		return c.stands()
	}
	from, to, flags := c.aside, c.place, uint(unix.RENAME_EXCHANGE)
	switch c.planned.Does {
	case action.Deletes:
		return c.putBackDeleted()
	case action.Creates:
		from, to, flags = c.place, c.aside, unix.RENAME_NOREPLACE
	}
	if !c.holds(c.place) {
		return protocol.Overtaken
	}
	if c.renameBack(from, to, flags) != nil {
		return c.stands()
	}
	if !c.holds(c.aside) { // it was written to between the look and the exchange
		c.rename(to, from, flags)
		return protocol.Overtaken
	}
	err := c.cfg.At(Unlink, c.fact.Path)
	if err == nil {
		err = c.unlink()
	}
	c.note("removing the new file, which stays as "+c.aside.Name, err)
	return protocol.TakenBack
}

func (c *change) putBackDeleted() protocol.Did {
	err := c.renameBack(c.aside, c.place, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return protocol.TakenBack
	case refusal.Is(err, refusal.Changed):
		return protocol.Overtaken
	}
	return c.stands()
}

// renameBack is the rename of a taking back. One that says it failed and was
// done all the same is done.
func (c *change) renameBack(from, to *beneath.Place, flags uint) error {
	if err := c.cfg.At(PutBack, c.fact.Path); err != nil {
		return err
	}
	err := c.rename(from, to, flags)
	if err != nil && !c.isExchanged() && c.was(from, to) {
		return nil
	}
	return err
}

// was says whether a rename from one name to the other was done: the new file
// stands aside again, or of a deleted file nothing does.
func (c *change) was(from, to *beneath.Place) bool {
	if c.planned.Does != action.Deletes {
		return c.isAt(c.aside, &c.staged.version)
	}
	_, gone := from.Stat()
	_, there := to.Stat()
	return there == nil && errors.Is(gone, os.ErrNotExist)
}

// stands says what became of a path whose taking back failed.
func (c *change) stands() protocol.Did {
	if c.planned.Does != action.Deletes && !c.holds(c.place) {
		return protocol.Overtaken
	}
	return didOf(c.planned.Does)
}

// holds says whether a place has the staged file, and in it still what was
// written there, with nobody about to write: a name that was the target's for
// an instant was anybody's to write to.
func (c *change) holds(p *beneath.Place) bool {
	if c.staged == nil {
		return false
	}
	v, err := c.look(p)
	return err == nil && v != nil && c.staged.version.SameDisplaced(*v) && !c.staged.broken()
}

// keepAside hands over a displaced file that could not be put back. It stays
// under its staged name, never deleted.
func (c *change) keepAside(kept []protocol.KeptAside, files []*os.File) ([]protocol.KeptAside, []*os.File) {
	path := c.fact.Resolved().Dir() + "/" + action.Path(c.aside.Name)
	f, err := c.aside.Open(c.what)
	if err == nil && f == nil {
		return kept, files
	}
	var snap beneath.Snapshot
	if err == nil {
		snap, err = beneath.Take(c.what, f, 0)
	}
	if err == nil && len(files) == protocol.MaxCapture {
		err = fmt.Errorf("it is one more than %d", len(files))
	}
	if err != nil {
		f.Close() // nil is fine
		c.note(fmt.Sprintf("handing over what was displaced, which stays as %s", path), err)
		return kept, files
	}
	return append(kept, protocol.KeptAside{Path: path, Version: snap.Version}), append(files, f)
}

// standsNow completes what became of the path with what stands there now.
func (c *change) standsNow() {
	v, err := c.look(c.place)
	c.out.Version, c.out.Attributes = v, nil
	if err == nil && v != nil && v.Kind == action.Regular {
		err = c.attributesNow()
	}
	c.note("looking at what stands there", err)
}

func (c *change) attributesNow() error {
	f, err := c.place.Open(c.what)
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	has, _, err := facts.Attributes(f)
	c.out.Attributes = action.AttributesHash(has)
	return err
}
