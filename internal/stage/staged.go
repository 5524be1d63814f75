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
	return nil
}

// isAt says whether the entry at a place is this file, by its whole identity:
// a file made where one was just unlinked can take its inode number.
func (s *staged) isAt(p *beneath.Place) bool {
	st, err := p.Stat()
	return err == nil && beneath.VersionOf(st, s.version.Hash) == s.version
}

// refresh takes the identity that the file has now, after a rename stamped it.
func (s *staged) refresh() {
	if st, err := beneath.Fstat(s.file); err == nil {
		s.version = beneath.VersionOf(st, s.version.Hash)
	}
}

// discard removes a staged file, if it is still at its name.
func (c *change) discard(s *staged) {
	s.refresh()
	if s.isAt(c.aside) {
		unix.Unlinkat(int(c.place.Dir.Fd()), c.aside.Name, 0)
	}
	s.file.Close()
}
