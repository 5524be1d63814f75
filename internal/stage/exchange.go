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

// holdOld opens the file at the target and takes a lease on it, and says which
// version stands there under the lease; none where nothing does.
func (c *change) holdOld() (*action.Version, error) {
	if v := c.fact.Base.Version; v != nil && v.Kind == action.Symlink {
		return c.look(c.place)
	}
	f, err := c.place.Open(c.what)
	if err != nil || f == nil {
		return nil, err
	}
	if c.fact.Base.Version == nil {
		v, err := versionOf(c.what, f)
		f.Close()
		return v, err
	}
	if c.old, err = c.lease(c.what, f); err != nil {
		return nil, err
	}
	c.out.NoLease = c.old.none
	return versionOf(c.what, f)
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

// displacedBase says whether what the exchange moved aside is what was
// captured, with nobody about to write to it.
func (c *change) displacedBase() bool {
	if c.planned.Does == action.Creates {
		return true
	}
	v, err := c.look(c.aside)
	return err == nil && v != nil && c.fact.Base.Version.SameDisplaced(*v) && !c.old.broken()
}

// landed removes the verified displaced file, and fills in what became of the
// path. Nothing that fails from here on makes it an error.
func (c *change) landed() {
	base := c.fact.Base.Version
	c.out.Did = didOf(c.planned.Does)
	if base != nil {
		c.out.Links = base.Links - 1
		c.out.NotKept = c.fact.NotKept
		c.unlinkAside("removing the old file, which stays as " + c.aside.Name)
		c.note("closing the old file", c.old.release())
	}
	if c.staged != nil {
		v := c.staged.restamped(c.place)
		c.out.Version = &v
		c.note("closing the new file", c.staged.release())
	}
}

func didOf(d action.Does) protocol.Did {
	switch d {
	case action.Creates:
		return protocol.Created
	case action.Deletes:
		return protocol.Deleted
	}
	return protocol.Replaced
}

// restamped is the staged file with the ctime and the links that a rename left,
// where nothing else of it changed.
func (s *staged) restamped(p *beneath.Place) action.Version {
	var st beneath.Stat
	var err error
	if s.file != nil {
		st, err = beneath.Fstat(s.file)
	} else {
		st, err = p.Stat()
	}
	if v := beneath.VersionOf(st, s.version.Hash); err == nil && s.version.SameDisplaced(v) {
		return v
	}
	return s.version
}

func (c *change) unlinkAside(what string) {
	err := c.cfg.At(Unlink, c.fact.Path)
	if err == nil {
		err = unix.Unlinkat(int(c.place.Dir.Fd()), c.aside.Name, 0)
	}
	c.note(what, err)
}

// note notes what failed once the change had landed.
func (c *change) note(what string, err error) {
	if err != nil {
		c.out.After = append(c.out.After, fmt.Sprintf("%s: %v", what, err))
	}
}
