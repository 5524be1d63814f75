package stage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/facts"
	"countersign/internal/refusal"
)

// staged is the new content, on disk beside its target under a name of its
// own.
type staged struct {
	lease   // of the open file; taken once every file is staged
	version action.Version
}

// let lets go of a staged file. A nil one is none.
func (s *staged) let() error {
	if s == nil {
		return nil
	}
	return s.release()
}

// stage puts the new content beside the target, with what the old file had,
// and on disk. There is none of a delete.
func (c *change) stage() error {
	if c.planned.Does == action.Deletes {
		return nil
	}
	if err := c.cfg.At(Create, c.fact.Path); err != nil {
		return beneath.Refuse(c.what, err)
	}
	if c.planned.Result.Kind == action.Symlink {
		return c.stageLink()
	}
	fd, err := unix.Openat(int(c.place.Dir.Fd()), c.aside.Name,
		unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.ENOENT) { // the directory was removed
		return refusal.New(refusal.Changed, c.what, "")
	}
	if err != nil {
		return c.refuseDir(err)
	}
	c.staged = &staged{lease: lease{file: os.NewFile(uintptr(fd), "staged")}}
	if err := c.fill(c.staged.file); err != nil {
		return beneath.Refuse(c.what, err)
	}
	return nil
}

// fill writes the new file, gives it what it is to have, and syncs it.
func (c *change) fill(f *os.File) error {
	if err := c.cfg.At(Write, c.fact.Path); err != nil {
		return err
	}
	if _, err := f.Write(c.planned.New); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	st, err := beneath.Fstat(f)
	if err != nil {
		return err
	}
	if c.planned.Group && st.Gid != c.planned.Result.GID {
		if err := unix.Fchown(int(f.Fd()), -1, int(c.planned.Result.GID)); err != nil {
			return refusal.New(refusal.NotKept, c.what, "group %d: %v", c.planned.Result.GID, err)
		}
	}
	if err := c.giveAttributes(f); err != nil {
		return err
	}
	if err := unix.Fchmod(int(f.Fd()), c.planned.Result.Mode); err != nil {
		return fmt.Errorf("setting the mode: %w", err)
	}
	if err := c.cfg.Sync(f); err != nil {
		return fmt.Errorf("syncing: %w", err)
	}
	if st, err = beneath.Fstat(f); err != nil {
		return err
	}
	c.staged.version = beneath.VersionOf(st, *c.planned.Result.Hash)
	return c.tookAll(f)
}

// giveAttributes gives the new file the extended attributes that it is to have,
// and takes off what its directory gave it beyond them. A file that is new as
// such keeps what the directory gives.
func (c *change) giveAttributes(f *os.File) error {
	if !c.planned.Exact {
		return nil
	}
	has, _, err := facts.Attributes(f)
	if err != nil {
		return err
	}
	want := c.planned.Attributes
	for _, a := range has {
		if slices.ContainsFunc(want, func(w action.Attribute) bool { return w.Name == a.Name }) {
			continue
		}
		if err := unix.Fremovexattr(int(f.Fd()), string(a.Name)); err != nil {
			return refusal.New(refusal.NotKept, c.what, "attribute %s, which the directory gives, stays: %v", a.Name, err)
		}
	}
	for _, a := range want {
		if err := unix.Fsetxattr(int(f.Fd()), string(a.Name), a.Value, 0); err != nil {
			return refusal.New(refusal.NotKept, c.what, "attribute %s: %v", a.Name, err)
		}
	}
	return nil
}

// tookAll refuses a filesystem that let a mode, a group or an attribute be set
// and did not keep it, and notes which attributes the file has.
func (c *change) tookAll(f *os.File) error {
	v, p := c.staged.version, c.planned
	if v.Mode != p.Result.Mode || p.Group && v.GID != p.Result.GID {
		return refusal.New(refusal.NotKept, c.what, "the filesystem keeps no such mode or group")
	}
	has, _, err := facts.Attributes(f)
	if err != nil {
		return err
	}
	if p.Exact && !slices.EqualFunc(has, p.Attributes, took) {
		return refusal.New(refusal.NotKept, c.what, "the filesystem keeps no such attributes")
	}
	c.out.Attributes = action.AttributesHash(has)
	return nil
}

// took says whether one attribute is what another was to be. A mode that a
// write names changes the access control list, whose mask is the group's bits.
func took(is, was action.Attribute) bool {
	return is.Name == was.Name && (is.Name == facts.AccessACL || bytes.Equal(is.Value, was.Value))
}

// stageLink makes a symbolic link that an undo puts back. Its directory's sync
// is the link's.
func (c *change) stageLink() error {
	if err := unix.Symlinkat(string(c.planned.New), int(c.place.Dir.Fd()), c.aside.Name); err != nil {
		return c.refuseDir(err)
	}
	link, err := c.aside.TakeLink(c.what)
	if err != nil {
		return err
	}
	if link.Version.Hash != *c.planned.Result.Hash {
		return c.swapped()
	}
	c.staged = &staged{version: link.Version}
	return nil
}

func (c *change) swapped() error {
	return refusal.New(refusal.Changed, c.what, "the staged file was replaced")
}

// holdNew opens the staged file anew, for reading alone, and takes a lease on
// it: while it stands at the target's name and may still be taken back, whoever
// opens it for writing is noticed.
func (c *change) holdNew() error {
	s := c.staged
	if s == nil || s.file == nil {
		return nil // a delete, or a link
	}
	f, err := c.aside.Open(c.what)
	if err != nil {
		return err
	}
	if f == nil {
		return c.swapped()
	}
	if st, err := beneath.Fstat(f); err != nil || beneath.VersionOf(st, s.version.Hash) != s.version {
		f.Close()
		return c.swapped()
	}
	if err := s.release(); err != nil {
		f.Close()
		return beneath.Refuse(c.what, fmt.Errorf("closing the new file: %w", err))
	}
	held, err := c.lease(c.what, f)
	if err != nil {
		return err
	}
	s.lease = *held
	return nil
}

// stillStaged checks that the staged name still holds the staged file, by its
// whole identity: a file made where one was just unlinked can take its inode
// number.
func (c *change) stillStaged() error {
	if c.staged == nil {
		return nil
	}
	st, err := c.aside.Stat()
	if err != nil || beneath.VersionOf(st, c.staged.version.Hash) != c.staged.version {
		return c.swapped()
	}
	return nil
}

// discard removes a staged file that never was in place, if it is still at its
// name.
func (c *change) discard() {
	s := c.staged
	if s == nil {
		return
	}
	defer s.release()
	own := s.version
	if own == (action.Version{}) { // it was not finished
		st, err := beneath.Fstat(s.file)
		if err != nil {
			return
		}
		own = beneath.VersionOf(st, own.Hash)
	}
	at, err := c.aside.Stat()
	if err == nil && beneath.VersionOf(at, own.Hash) == own {
		unix.Unlinkat(int(c.place.Dir.Fd()), c.aside.Name, 0)
	}
}
