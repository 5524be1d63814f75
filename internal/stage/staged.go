package stage

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/refusal"
)

// staged is the new content, on disk beside its target under a name of its
// own.
type staged struct {
	file    *os.File
	version action.Version
}

// stage writes the new content beside the target, gives it what the old file
// had, and puts it on disk.
func (c *change) stage() (*staged, error) {
	c.cfg.At(Create)
	fd, err := unix.Openat(int(c.place.Dir.Fd()), c.aside.Name,
		unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		if errors.Is(err, unix.EACCES) {
			return nil, refusal.New(refusal.NotWritable, c.what, "its directory")
		}
		return nil, beneath.Refuse(c.what, err)
	}
	s := &staged{file: os.NewFile(uintptr(fd), "staged")}
	if err := c.fill(s); err != nil {
		c.discard(s)
		return nil, beneath.Refuse(c.what, err)
	}
	return s, nil
}

func (c *change) fill(s *staged) error {
	c.cfg.At(Write)
	if _, err := s.file.Write(c.planned.New); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	fd := int(s.file.Fd())
	st, err := beneath.Fstat(s.file)
	if err != nil {
		return err
	}
	if c.planned.KeepID && st.Gid != c.planned.Result.GID {
		if err := unix.Fchown(fd, -1, int(c.planned.Result.GID)); err != nil {
			return refusal.New(refusal.NotKept, c.what, "the person may not give it group %d", c.planned.Result.GID)
		}
	}
	if err := unix.Fchmod(fd, c.planned.Result.Mode); err != nil {
		return fmt.Errorf("setting the mode: %w", err)
	}
	if err := c.cfg.Sync(s.file); err != nil {
		return fmt.Errorf("syncing: %w", err)
	}
	if st, err = beneath.Fstat(s.file); err != nil {
		return err
	}
	s.version = beneath.VersionOf(st, *c.planned.Result.Hash)
	return c.tookAll(s.version)
}

// tookAll refuses a filesystem that let a mode or a group be set and did not
// keep it.
func (c *change) tookAll(v action.Version) error {
	if v.Mode != c.planned.Result.Mode || c.planned.KeepID && v.GID != c.planned.Result.GID {
		return refusal.New(refusal.NotKept, c.what, "the filesystem keeps no such mode or group")
	}
	return nil
}

// isAt says whether the entry at a place is this file, by its whole identity:
// a file made where one was just unlinked can take its inode number.
func (s *staged) isAt(p *beneath.Place) bool {
	st, err := p.Stat()
	return err == nil && beneath.VersionOf(st, s.version.Hash) == s.version
}

// restamp takes over the ctime and the links that a rename left, where nothing
// else of the file changed.
func (s *staged) restamp() {
	st, err := beneath.Fstat(s.file)
	if v := beneath.VersionOf(st, s.version.Hash); err == nil && s.version.SameDisplaced(v) {
		s.version = v
	}
}

// holds says whether a place has the staged file, and in it still what was
// written there: a name that was the target's for an instant was anybody's to
// write to.
func (c *change) holds(p *beneath.Place, s *staged) bool {
	v, err := c.look(p)
	return err == nil && v != nil && s.version.SameDisplaced(*v)
}

// discard removes a staged file that never was in place, if it is still at its
// name.
func (c *change) discard(s *staged) {
	var none action.Hash
	own, err := beneath.Fstat(s.file)
	at, errAt := c.aside.Stat()
	if err == nil && errAt == nil && beneath.VersionOf(own, none) == beneath.VersionOf(at, none) {
		unix.Unlinkat(int(c.place.Dir.Fd()), c.aside.Name, 0)
	}
	s.file.Close()
}
