package stage

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/facts"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// work is an intent on its way to disk.
type work struct {
	*Stager
	in      protocol.Intent
	changes []*change

	made map[identity]bool // directories that were made
	held time.Time         // since when leases are held
}

// change is one path of an intent.
type change struct {
	*Stager
	what    string
	found   *facts.Found
	place   *beneath.Place // the target
	aside   *beneath.Place // the staged name beside it
	fact    action.Fact    // as captured, and found again here
	planned action.Planned
	parents []*beneath.Place // directories that were gone through in making or removing some, held open
	made    int              // how many directories were made for it: the innermost ones

	staged    *staged // the new file; nil for a delete
	old       *lease  // the captured file; nil where there was none, and once it was let go of
	exchanged bool
	out       protocol.PathOutcome
}

// find resolves and judges the targets of an intent's paths.
func (s *Stager) find(in protocol.Intent, targets []action.Target) (*work, error) {
	w := &work{Stager: s, in: in, made: make(map[identity]bool)}
	finder := s.cfg.Finder.Once()
	for i, t := range targets {
		found, err := finder.Find(grant.Write, t)
		if err != nil {
			w.close()
			return nil, err
		}
		w.changes = append(w.changes, &change{
			Stager: s, what: found.Path.String(), found: found, fact: in.Facts[i],
			place: found.Place, aside: found.Place.Beside(in.Staged[i]), out: protocol.PathOutcome{Path: in.Facts[i].Path},
		})
	}
	return w, nil
}

// landingsOf gives where an intent was captured: Carry touches nothing
// elsewhere, and Settle looks nowhere else.
func landingsOf(in protocol.Intent) []action.Landing {
	at := make([]action.Landing, len(in.Facts))
	for i, f := range in.Facts {
		at[i] = f.Base.Landing
	}
	return at
}

// close lets go of everything that is held.
func (w *work) close() {
	for _, c := range w.changes {
		c.old.release()
		c.staged.let()
		for _, p := range append(c.parents, c.place) {
			p.Close() // the first is found's, which does not mind
		}
		c.found.Close()
	}
}

// plan finds the facts again, plans again, and compares both with what the
// keeper decided on. Any difference touches nothing.
func (w *work) plan() error {
	befores := make([]action.Before, len(w.changes))
	room := action.Room{Left: int64(w.cfg.AutoBytes)}
	for i, c := range w.changes {
		before, file, err := w.cfg.Finder.Look(c.found)
		if err != nil {
			return err
		}
		file.Close() // nil is fine
		if !before.Fact.Base.Same(c.fact.Base) {
			return refusal.New(refusal.Changed, c.what, "")
		}
		if !before.Fact.Same(c.fact) {
			return refusal.New(refusal.Differs, c.what, "where it lands, or what it has and would lose")
		}
		befores[i] = room.Keep(before)
	}
	plans, err := w.in.Action.Plan(befores, w.cfg.Umask)
	if err != nil {
		return err
	}
	for i, c := range w.changes {
		if !plans[i].Result.SameResult(w.in.Results[i]) {
			return refusal.New(refusal.Differs, c.what, "the content")
		}
		c.planned = plans[i]
	}
	if w.in.Approved != nil {
		if h, err := action.DetailOf(plans).Hash(); err != nil || h != *w.in.Approved {
			return refusal.New(refusal.Differs, w.changes[0].what, "what the owner was shown")
		}
	}
	return w.permitted()
}

// permitted refuses what the person could not do by hand, and a grant's root
// that was replaced.
func (w *work) permitted() error {
	for _, c := range w.changes {
		if err := c.writable(); err != nil {
			return err
		}
		if err := c.found.Replaced(); err != nil {
			return err
		}
	}
	return nil
}

// writable refuses what the person could not write by hand: a rename would be
// a way round the file's own mode.
func (c *change) writable() error {
	if v := c.fact.Base.Version; v != nil && v.Mode&unix.S_IWUSR == 0 {
		return refusal.New(refusal.NotWritable, c.what, "the file's mode is %04o", v.Mode)
	}
	if err := c.changeable(); err != nil {
		return err
	}
	err := unix.Faccessat(int(c.place.Dir.Fd()), ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	if errors.Is(err, unix.EACCES) {
		return refusal.New(refusal.NotWritable, c.what, "its directory is not the person's to write")
	}
	if err != nil {
		return beneath.Refuse(c.what, err)
	}
	return nil
}

// changeable refuses a directory or a file that is immutable or append-only: in
// such a directory a staged file could be made and never be removed. A
// filesystem without these flags says neither.
func (c *change) changeable() error {
	for _, at := range []struct {
		name  string
		flags int
	}{{"", unix.AT_EMPTY_PATH}, {c.place.Name, unix.AT_SYMLINK_NOFOLLOW}} {
		var st unix.Statx_t
		err := unix.Statx(int(c.place.Dir.Fd()), at.name, at.flags, unix.STATX_MODE, &st)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return beneath.Refuse(c.what, err)
		}
		if st.Attributes&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0 {
			return refusal.New(refusal.Immutable, c.what, "")
		}
	}
	return nil
}

// carry takes every change as far as it goes without touching a target, and
// then every one the rest of the way. What stops it before the first exchange
// leaves nothing; what stops it after one has all of them taken back.
func (w *work) carry() (protocol.Outcome, []*os.File, error) {
	err := w.ready()
	for i := 0; err == nil && i < len(w.changes); i++ {
		err = w.exchange(w.changes[i])
	}
	if err == nil {
		err = w.stillHeld()
	}
	if err != nil {
		return w.takeBack(err)
	}
	out, files := w.finish()
	return out, files, nil
}

// ready makes directories, stages every file, and then holds and checks every
// one: a full disk and another writer are met here.
func (w *work) ready() error {
	for _, step := range []func(*change) error{w.makeParents, (*change).stage, w.hold} {
		for _, c := range w.changes {
			if err := step(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// hold takes a lease on the file that was captured and looks at it again under
// the lease: by its bytes, since a coarse clock can leave a rewrite of the same
// size unstamped, and by its whole stat.
func (w *work) hold(c *change) error {
	if w.held.IsZero() {
		w.held = w.cfg.Now()
	}
	if err := w.inTime(c); err != nil {
		return err
	}
	if err := c.cfg.At(Hold, c.fact.Path); err != nil {
		return beneath.Refuse(c.what, err)
	}
	now, err := c.holdOld()
	if err != nil {
		return err
	}
	if !c.fact.Base.Same(action.Base{Landing: c.fact.Base.Landing, Version: now}) {
		return refusal.New(refusal.Changed, c.what, "")
	}
	return c.holdNew()
}

// exchange puts one change in place and makes sure of what it displaced.
func (w *work) exchange(c *change) error {
	if err := w.inTime(c); err != nil {
		return err
	}
	if err := c.stillStaged(); err != nil {
		return err
	}
	if !c.stillOld() {
		return refusal.New(refusal.Changed, c.what, "")
	}
	if err := c.cfg.At(Exchange, c.fact.Path); err != nil {
		return beneath.Refuse(c.what, err)
	}
	if err := c.exchange(); err != nil {
		c.exchanged = c.isExchanged()
		return err
	}
	c.exchanged = true
	if err := c.cfg.At(Verify, c.fact.Path); err != nil {
		return beneath.Refuse(c.what, err)
	}
	if !c.displacedBase() {
		return refusal.New(refusal.Changed, c.what, "")
	}
	return nil
}

// inTime refuses to go on where files would be held for longer than other
// programs are to wait: half the time is left for taking everything back.
func (w *work) inTime(c *change) error {
	if w.cfg.Now().Sub(w.held) > w.cfg.Hold/2 {
		return refusal.New(refusal.Busy, c.what, "the files of this action would be held for over %v", w.cfg.Hold)
	}
	return nil
}

// stillHeld is the last look before the change has landed: nobody has opened
// an old file for writing since it was verified.
func (w *work) stillHeld() error {
	for _, c := range w.changes {
		if c.old.broken() {
			return refusal.New(refusal.Changed, c.what, "")
		}
	}
	return nil
}
