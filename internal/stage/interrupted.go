package stage

import (
	"bytes"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/refusal"
)

// interrupted is a change that was interrupted, and what was found of it.
type interrupted struct {
	*change
	want       action.Image
	at, beside kind // of what is at the target, and at the staged name
	came       came
}

// kind says what something that was found is to the change.
type kind uint8

const (
	absent  kind = iota
	base         // what was captured
	planned      // what was planned, whole
	begun        // what was planned, as far as it was written
	other        // somebody else's
)

// came is how far a change came.
type came uint8

const (
	notBegun  came = iota // as captured, and nothing staged
	readied               // as captured or changed by others, and the new file staged or begun
	exchanged             // as planned, or changed by others since, with the old file aside
	finished              // as planned, and nothing aside
	displaced             // as planned, with a file aside that is neither the one captured nor staged
	unclear               // neither as captured nor as planned, and nothing aside
	tangled               // not as planned, with a file aside that is neither
)

// does is what an interrupted change was to do.
func (c *interrupted) does() action.Does {
	switch {
	case c.want.Absent:
		return action.Deletes
	case c.fact.Base.Version == nil:
		return action.Creates
	}
	return action.Replaces
}

// see finds what stands under both names of the i-th change of an action.
func (c *interrupted) see(a action.Action, i int, umask uint32) error {
	at, err := c.snapshot(c.place)
	if err != nil {
		return err
	}
	beside, err := c.snapshot(c.aside)
	if err != nil {
		return err
	}
	c.at, c.beside = c.kindOf(at), c.kindOf(beside)
	if c.beside == base && beside.Version.Kind == action.Regular && c.inUse(c.aside) {
		c.beside = other // whoever waited for the lease of a scribe that was killed writes to it now
	}
	if c.beside == other && c.want.Kind == action.Regular {
		before := action.Before{Fact: c.fact}
		if c.at == base {
			before.Content, before.Read = at.Content, at.Whole
		}
		if now, ok := whole(a, i, before, umask); ok && beside.Whole && isBeginning(beside.Content, now) {
			c.beside = begun
		}
	}
	c.came = c.far()
	return nil
}

// snapshot takes what stands at a place, with the content of what is no larger
// than an action may be; nil where nothing is there, and an empty one where it
// is nothing that is changed.
func (c *interrupted) snapshot(p *beneath.Place) (*beneath.Snapshot, error) {
	f, err := p.Open(c.what)
	if c.links() && refusal.Is(err, refusal.Link) {
		s, err := p.TakeLink(c.what)
		return &s, err
	}
	switch {
	case refusal.Is(err, refusal.Link), refusal.Is(err, refusal.NotRegular), refusal.Is(err, refusal.MountedFile):
		return &beneath.Snapshot{}, nil
	case err != nil || f == nil:
		return nil, err
	}
	defer f.Close()
	s, err := beneath.Take(c.what, f, int64(c.cfg.AutoBytes))
	return &s, err
}

func (c *interrupted) kindOf(s *beneath.Snapshot) kind {
	switch {
	case s == nil:
		return absent
	case c.isBase(&s.Version):
		return base
	case c.isPlanned(&s.Version):
		return planned
	}
	return other
}

// isPlanned says whether a version is what was to stand there. Where the group
// was the directory's to give, any will do.
func (c *interrupted) isPlanned(v *action.Version) bool {
	return v != nil && !c.want.Absent && v.Kind == c.want.Kind && v.Hash == *c.want.Hash &&
		(v.Kind == action.Symlink || v.Mode == c.want.Mode && (c.want.GID == 0 || v.GID == c.want.GID))
}

// takeUp holds the new file again, where it stands in its place as it was
// planned and nobody is about to write to it.
func (c *interrupted) takeUp() {
	if c.links() {
		if v, err := c.look(c.place); err == nil && c.isPlanned(v) {
			c.staged = &staged{version: *v}
		}
		return
	}
	held, v, err := c.hold(c.place)
	if err != nil || !c.isPlanned(v) {
		held.release()
		return
	}
	c.staged = &staged{lease: *held, version: *v}
}

// inUse says whether somebody has the file at a place open for writing.
func (c *interrupted) inUse(p *beneath.Place) bool {
	held, _, err := c.hold(p)
	defer held.release()
	return err != nil || held.broken()
}

// whole gives the bytes that the i-th change of an action makes of what was
// there before, where that can still be told.
func whole(a action.Action, i int, before action.Before, umask uint32) ([]byte, bool) {
	var one action.Action
	switch {
	case a.FileWrite != nil:
		one.FileWrite = &action.FileWrite{Changes: a.FileWrite.Changes[i : i+1]}
	case a.Undo != nil:
		return a.Undo.Restores[i].Content, true
	}
	plans, err := one.Plan([]action.Before{before}, umask)
	if err != nil {
		return nil, false
	}
	return plans[0].New, true
}

// isBeginning says whether a file is one that was being written: its content
// from the start on, and behind that nothing but the zeros that a power cut can
// leave of it.
func isBeginning(file, content []byte) bool {
	n := 0
	for n < len(file) && n < len(content) && file[n] == content[n] {
		n++
	}
	return len(file) <= len(content) && len(bytes.Trim(file[n:], "\x00")) == 0
}

// far says how far the change came.
func (c *interrupted) far() came {
	switch c.does() {
	case action.Deletes:
		return c.farDeleted()
	case action.Creates:
		return c.farCreated()
	}
	return c.farReplaced()
}

func (c *interrupted) farDeleted() came {
	switch {
	case c.beside == base:
		return exchanged
	case c.beside != absent:
		return displaced
	case c.at == absent:
		return finished
	case c.at == base:
		return notBegun
	}
	return unclear
}

func (c *interrupted) farCreated() came {
	switch {
	case c.beside == planned, c.beside == begun:
		return readied
	case c.beside != absent:
		return tangled
	case c.at == absent:
		return notBegun
	case c.at == planned:
		return finished
	}
	return unclear
}

func (c *interrupted) farReplaced() came {
	switch {
	case c.beside == base:
		return exchanged
	case c.beside == planned, c.beside == begun:
		return readied
	case c.beside != absent && c.at == planned:
		return displaced
	case c.beside != absent:
		return tangled
	case c.at == base:
		return notBegun
	case c.at == planned:
		return finished
	}
	return unclear
}

// whereItWas says whether the place of a change is the one that was captured,
// or lies in directories that were missing then. As many of them as are there
// now may have been made for it. An undo that was to take directories away may
// have done so.
func (c *change) whereItWas() bool {
	was, now := c.fact.Base.Landing, c.place.Landing()
	made := len(was.Missing()) - len(now.Missing())
	if c.place.Name != lastOf(was) {
		return false
	}
	if made < 0 {
		gone := uint64(-made)
		if gone > c.planned.Made {
			return false
		}
		c.planned.Made -= gone
		return true
	}
	c.made = made
	return c.isAbove(made, was)
}

// isAbove says whether the directory n above the place's own is a landing's.
func (c *change) isAbove(n int, was action.Landing) bool {
	at := c.place
	for range n {
		up, err := at.Above()
		if err != nil {
			return false
		}
		defer up.Close()
		at = up
	}
	return identityOf(at) == identity{was.Dev, was.Ino}
}

func lastOf(l action.Landing) string { return l.Name.Name() }
