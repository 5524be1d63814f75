package stage

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/refusal"
)

// holdOld opens the file at the target and takes a lease on it, and says which
// version stands there under the lease; none where nothing does.
func (c *change) holdOld() (*action.Version, error) {
	base := c.fact.Base.Version
	if base == nil || base.Kind == action.Symlink {
		return c.look(c.place)
	}
	old, v, err := c.hold(c.place)
	if old != nil {
		c.old, c.out.NoLease = old, old.none
	}
	return v, err
}

// hold opens the file at a place and takes a lease on it, and says which version
// it is under the lease; neither where nothing is there.
func (c *change) hold(p *beneath.Place) (*lease, *action.Version, error) {
	f, err := p.Open(c.what)
	if err != nil || f == nil {
		return nil, nil, err
	}
	held, err := c.lease(c.what, f)
	if err != nil {
		return nil, nil, err
	}
	v, err := versionOf(c.what, f)
	return held, v, err
}

func versionOf(what string, f *os.File) (*action.Version, error) {
	s, err := beneath.Take(what, f, 0)
	if err != nil {
		return nil, err
	}
	return &s.Version, nil
}

// look reads the version of what stands at a place, through an open of its own;
// none where nothing is there. A symbolic link is looked at where one was to
// change.
func (c *change) look(p *beneath.Place) (*action.Version, error) {
	if c.links() {
		if st, err := p.Stat(); err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			s, err := p.TakeLink(c.what)
			return &s.Version, err
		}
	}
	f, err := p.Open(c.what)
	if err != nil || f == nil {
		return nil, err
	}
	defer f.Close()
	return versionOf(c.what, f)
}

// links says whether the change takes away or puts back a symbolic link.
func (c *change) links() bool {
	v := c.fact.Base.Version
	return v != nil && v.Kind == action.Symlink || c.planned.Result.Kind == action.Symlink
}

// stillOld says whether the old file is by its whole stat what it was under the
// lease, with nobody about to write to it: a change of its mode or attributes
// waits for no lease.
func (c *change) stillOld() bool {
	if c.old == nil {
		return true // there was none, or a link
	}
	st, err := beneath.Fstat(c.old.file)
	return err == nil && beneath.VersionOf(st, c.fact.Base.Version.Hash) == *c.fact.Base.Version && !c.old.broken()
}

// exchange lands the staged file: in another's place by exchanging the two, or
// where there was none. A file that is deleted is moved aside first, so that it
// can be taken back while that is still to be decided.
func (c *change) exchange() error {
	switch c.planned.Does {
	case action.Creates:
		return c.rename(c.aside, c.place, unix.RENAME_NOREPLACE)
	case action.Deletes:
		return c.rename(c.place, c.aside, unix.RENAME_NOREPLACE)
	}
	return c.rename(c.aside, c.place, unix.RENAME_EXCHANGE)
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
	}
	return c.refuseDir(err)
}

// isExchanged looks whether a rename that says it failed was done all the same:
// a disk may fail behind what it has done in memory.
func (c *change) isExchanged() bool {
	if c.planned.Does == action.Deletes {
		return c.isAt(c.aside, c.fact.Base.Version)
	}
	return c.staged != nil && c.isAt(c.place, &c.staged.version)
}

// isAt says whether the file at a place is the one of a version, by its stat.
func (c *change) isAt(p *beneath.Place, v *action.Version) bool {
	st, err := p.Stat()
	return err == nil && v.SameDisplaced(beneath.VersionOf(st, v.Hash))
}

// displacedBase says whether what was moved aside is what was captured, with
// nobody about to write to it. While a lease on it stands its stat tells, since
// nobody could write to what was read under the lease; without one it is read
// again, under a new one where it was let go of.
func (c *change) displacedBase() bool {
	switch {
	case c.planned.Does == action.Creates:
		return true
	case c.old == nil && c.fact.Base.Version.Kind == action.Regular:
		held, v, err := c.hold(c.aside)
		c.old = held
		return err == nil && c.isBase(v) && !held.broken()
	case c.old != nil && c.old.none == "":
		st, err := c.aside.Stat()
		v := beneath.VersionOf(st, c.fact.Base.Version.Hash)
		return err == nil && c.isBase(&v) && !c.old.broken()
	}
	v, err := c.look(c.aside)
	return err == nil && c.isBase(v) && !c.old.broken()
}

// isBase says whether a version is the captured one, which was moved since.
func (c *change) isBase(v *action.Version) bool {
	base := c.fact.Base.Version
	return v != nil && base != nil && base.SameDisplaced(*v)
}
