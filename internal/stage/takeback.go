package stage

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// takeBack undoes whatever a work has done so far, the last change first, and
// removes what it made. Where all of it could be undone the work is refused
// with its cause; otherwise the outcome says what stands where.
func (w *work) takeBack(err error) (protocol.Outcome, []*os.File, error) {
	cause := refusal.As(beneath.Refuse(w.changes[0].what, err))
	exchanged, all, ours := false, true, false
	out := protocol.Outcome{Result: protocol.NotLanded}
	var files []*os.File
	for _, c := range slices.Backward(w.changes) {
		if !c.exchanged {
			c.out.Did = protocol.Untouched
			c.discard()
			c.old.release()
			continue
		}
		exchanged = true
		if c.takeBack(); c.out.Did != protocol.TakenBack {
			all, ours = false, ours || c.out.Did != protocol.Overtaken
			out.Kept, files = c.keepAside(out.Kept, files)
		}
		c.old.release()
		c.staged.closed()
	}
	if exchanged {
		w.syncAll(w.directories())
	}
	for _, c := range slices.Backward(w.changes) {
		c.unmake(c.made)
	}
	if all {
		return protocol.Outcome{}, nil, w.tookBack(cause)
	}
	if ours {
		out.Result = protocol.Partial
	}
	out.Refused = cause
	if len(w.changes) == 1 && !ours {
		out.Refused = refusal.New(refusal.Changed, w.changes[0].what, "twice, in the instant of the exchange")
	}
	for _, c := range w.changes {
		out.Changes = append(out.Changes, c.outcomeNow())
	}
	return out, files, nil
}

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

// takeBack undoes one exchange: what was displaced goes back to the target, and
// the new file is removed. Where the target was written to in the meantime, by
// its name or into the new file itself, that write is the newest and stays.
func (c *change) takeBack() {
	c.out.Did = protocol.Overtaken
	if err := c.cfg.At(TakeBack, c.fact.Path); err != nil {
		c.out.Did = c.stands()
		return
	}
	from, to, flags := c.aside, c.place, uint(unix.RENAME_EXCHANGE)
	switch c.planned.Does {
	case action.Deletes:
		if err := c.rename(from, to, unix.RENAME_NOREPLACE); err == nil {
			c.out.Did = protocol.TakenBack
		} else if !refusal.Is(err, refusal.Changed) {
			c.out.Did = c.stands()
		}
		return
	case action.Creates:
		from, to, flags = c.place, c.aside, unix.RENAME_NOREPLACE
	}
	if !c.holds(c.place) {
		return
	}
	if c.rename(from, to, flags) != nil {
		c.out.Did = c.stands()
		return
	}
	if !c.holds(c.aside) { // it was written to between the look and the exchange
		c.rename(to, from, flags)
		return
	}
	c.unlinkAside("removing the new file, which stays as " + c.aside.Name)
	c.out.Did = protocol.TakenBack
}

// stands says what became of a path whose taking back failed.
func (c *change) stands() protocol.Did {
	if c.planned.Does != action.Deletes && !c.holds(c.place) {
		return protocol.Overtaken
	}
	return didOf(c.planned.Does)
}

// closed lets go of a staged file. A nil one is none.
func (s *staged) closed() {
	if s != nil {
		s.release()
	}
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
	if err != nil {
		f.Close() // nil is fine
		c.out.After = append(c.out.After, fmt.Sprintf("what was displaced stays as %s, and cannot be handed over: %v", path, err))
		return kept, files
	}
	if len(files) == protocol.MaxCapture {
		f.Close()
		c.out.After = append(c.out.After, fmt.Sprintf("what was displaced stays as %s, and is one more than can be handed over", path))
		return kept, files
	}
	return append(kept, protocol.KeptAside{Path: path, Version: snap.Version}), append(files, f)
}

// outcomeNow is what became of the path, with what stands there now.
func (c *change) outcomeNow() protocol.PathOutcome {
	v, err := c.look(c.place)
	c.note("looking at it", err)
	c.out.Version = v
	return c.out
}
