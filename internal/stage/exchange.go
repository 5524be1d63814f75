package stage

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// create lands a file where there was none.
func (c *change) create() (protocol.Outcome, []*os.File, error) {
	s, err := c.stage()
	if err != nil {
		return protocol.Outcome{}, nil, err
	}
	c.cfg.At(Exchange)
	if err = c.stillStaged(s); err == nil {
		err = c.rename(c.aside, c.place, unix.RENAME_NOREPLACE)
	}
	if err != nil {
		c.discard(s)
		return protocol.Outcome{}, nil, err
	}
	out := c.landed(s)
	c.syncDir(&out)
	return out, nil, nil
}

// replace lands a file in another's place by exchanging the two.
func (c *change) replace() (protocol.Outcome, []*os.File, error) {
	s, err := c.stage()
	if err != nil {
		return protocol.Outcome{}, nil, err
	}
	if err = c.unchanged(); err == nil {
		if err = c.stillStaged(s); err == nil {
			c.cfg.At(Exchange)
			err = c.rename(c.aside, c.place, unix.RENAME_EXCHANGE)
		}
	}
	if err != nil {
		c.discard(s)
		return protocol.Outcome{}, nil, err
	}
	c.cfg.At(Verify)
	if c.isBase(c.aside) {
		out := c.landed(s)
		c.drop(&out)
		return out, nil, nil
	}
	return c.takeBack(s)
}

// remove deletes a file by moving it aside first, so that it can be taken back
// while that is still to be decided. Nothing is staged, so the look that the
// plan was made on was the last one before.
func (c *change) remove() (protocol.Outcome, []*os.File, error) {
	c.cfg.At(Exchange)
	if err := c.rename(c.place, c.aside, unix.RENAME_NOREPLACE); err != nil {
		return protocol.Outcome{}, nil, err
	}
	c.cfg.At(Verify)
	if c.isBase(c.aside) {
		out := protocol.Outcome{Result: protocol.Landed, Changes: []protocol.PathOutcome{{Path: c.fact.Path}}}
		c.drop(&out)
		return out, nil, nil
	}
	c.cfg.At(TakeBack)
	if err := c.rename(c.aside, c.place, unix.RENAME_NOREPLACE); err != nil {
		return c.keepAside()
	}
	return protocol.Outcome{}, nil, c.tookBack()
}

// rename moves one name to another in the directory, or exchanges them.
func (c *change) rename(from, to *beneath.Place, flags uint) error {
	dir := int(c.place.Dir.Fd())
	err := unix.Renameat2(dir, from.Name, dir, to.Name, flags)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return refusal.New(refusal.NoExchange, c.what, "")
	case errors.Is(err, unix.EEXIST), errors.Is(err, unix.ENOENT):
		return refusal.New(refusal.Changed, c.what, "")
	case errors.Is(err, unix.EACCES):
		return refusal.New(refusal.NotWritable, c.what, "its directory")
	}
	return beneath.Refuse(c.what, err)
}

// unchanged looks at the target again, through an open of its own: by its
// bytes, since a coarse clock can leave a rewrite of the same size unstamped,
// and by its whole stat.
func (c *change) unchanged() error {
	now, err := c.look(c.place)
	if err != nil {
		return err
	}
	if !c.fact.Base.Same(action.Base{Landing: c.fact.Base.Landing, Version: now}) {
		return refusal.New(refusal.Changed, c.what, "")
	}
	return nil
}

// look reads the version of the regular file at a place; none where nothing is
// there.
func (c *change) look(p *beneath.Place) (*action.Version, error) {
	f, err := p.Open(c.what)
	if err != nil || f == nil {
		return nil, err
	}
	defer f.Close()
	s, err := beneath.Take(c.what, f, 0)
	if err != nil {
		return nil, err
	}
	return &s.Version, nil
}

// stillStaged checks just before a rename that the staged name still holds the
// staged file.
func (c *change) stillStaged(s *staged) error {
	if !s.isAt(c.aside) {
		return refusal.New(refusal.Changed, c.what, "the staged file was replaced")
	}
	return nil
}

// isBase says whether the file at a place is the one that was captured.
func (c *change) isBase(p *beneath.Place) bool {
	v, err := c.look(p)
	return err == nil && v != nil && c.fact.Base.Version.SameDisplaced(*v)
}

// takeBack undoes an exchange that displaced somebody else's file: theirs goes
// back to the target, the new one is discarded, and the change is refused.
// Where the target was written to once more, by its name or into the new file
// itself, that write is the newest and stays.
func (c *change) takeBack(s *staged) (protocol.Outcome, []*os.File, error) {
	defer s.file.Close()
	c.cfg.At(TakeBack)
	if !c.holds(c.place, s) || c.rename(c.aside, c.place, unix.RENAME_EXCHANGE) != nil {
		return c.keepAside()
	}
	if c.holds(c.aside, s) {
		c.cfg.At(Unlink)
		unix.Unlinkat(int(c.place.Dir.Fd()), c.aside.Name, 0)
		return protocol.Outcome{}, nil, c.tookBack()
	}
	// It was written to between the look and the exchange.
	c.rename(c.aside, c.place, unix.RENAME_EXCHANGE)
	return c.keepAside()
}

// tookBack refuses a change that stood for an instant, once its taking back is
// on disk.
func (c *change) tookBack() error {
	if err := c.cfg.Sync(c.place.Dir); err != nil {
		return refusal.New(refusal.Changed, c.what, "it was taken back, and syncing the directory failed: %v", err)
	}
	return refusal.New(refusal.Changed, c.what, "")
}

// keepAside reports a displaced file that could not be put back. It stays
// under its staged name, never deleted, and its handle goes with the answer.
func (c *change) keepAside() (protocol.Outcome, []*os.File, error) {
	out := protocol.Outcome{
		Result:  protocol.NotLanded,
		Changes: []protocol.PathOutcome{{Path: c.fact.Path}},
		Refused: refusal.New(refusal.Changed, c.what, "twice, in the instant of the exchange"),
	}
	if v, err := c.look(c.place); err == nil {
		out.Changes[0].Version = v
	}
	path := c.fact.Path.Dir() + "/" + action.Path(c.aside.Name)
	f, err := c.aside.Open(c.what)
	if err == nil && f == nil {
		return out, nil, nil
	}
	var snap beneath.Snapshot
	if err == nil {
		snap, err = beneath.Take(c.what, f, 0)
	}
	if err != nil {
		f.Close() // nil is fine
		out.Words = fmt.Sprintf("what was displaced stays as %s, and cannot be handed over: %v", path, err)
		return out, nil, nil
	}
	out.Kept = []protocol.KeptAside{{Path: path, Version: snap.Version}}
	return out, []*os.File{f}, nil
}

// landed is the outcome of a file that is in its place.
func (c *change) landed(s *staged) protocol.Outcome {
	s.restamp()
	v := s.version
	at := protocol.PathOutcome{Path: c.fact.Path, Version: &v}
	if base := c.fact.Base.Version; base != nil {
		at.Links = base.Links - 1
	}
	if err := s.file.Close(); err != nil {
		at.After = append(at.After, "closing the new file: "+err.Error())
	}
	return protocol.Outcome{Result: protocol.Landed, Changes: []protocol.PathOutcome{at}}
}

// drop removes the verified displaced file and puts the directory on disk.
func (c *change) drop(out *protocol.Outcome) {
	c.cfg.At(Unlink)
	if err := unix.Unlinkat(int(c.place.Dir.Fd()), c.aside.Name, 0); err != nil {
		c.after(out, "removing the old file, which stays as "+c.aside.Name, err)
	}
	c.syncDir(out)
}

func (c *change) syncDir(out *protocol.Outcome) {
	c.cfg.At(SyncDir)
	if err := c.cfg.Sync(c.place.Dir); err != nil {
		c.after(out, "syncing the directory: a power cut now may bring the old file back", err)
	}
}

// after notes what failed once the change had landed.
func (c *change) after(out *protocol.Outcome, what string, err error) {
	out.Changes[0].After = append(out.Changes[0].After, what+": "+err.Error())
}
