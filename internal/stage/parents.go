package stage

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"countersign/internal/beneath"
	"countersign/internal/refusal"
)

// identity of a directory.
type identity struct{ dev, ino uint64 }

func identityOf(p *beneath.Place) identity {
	at := p.Landing()
	return identity{at.Dev, at.Ino}
}

// makeParents makes the directories that are missing on the way to a change,
// as a person's shell would, and moves its place into the innermost.
func (w *work) makeParents(c *change) error {
	for len(c.place.Missing) > 0 {
		if err := w.makeParent(c); err != nil {
			return err
		}
	}
	return nil
}

// makeParent makes the outermost missing directory and moves the change's place
// into it. One that another change of this work made is taken; where anybody
// else made one in the meantime, disk is not what was captured.
func (w *work) makeParent(c *change) error {
	if err := c.cfg.At(MakeDir, c.fact.Path); err != nil {
		return beneath.Refuse(c.what, err)
	}
	mode := 0o777 &^ (w.cfg.Umask & 0o777)
	if c.fact.Default != nil {
		mode = 0o777 // the directory's default list says the rest
	}
	dir, name := int(c.place.Dir.Fd()), c.place.Missing[0]
	err := unix.Mkdirat(dir, name, mode)
	made := err == nil
	switch {
	case errors.Is(err, unix.ENOENT): // the directory itself was removed
		return refusal.New(refusal.Changed, c.what, "")
	case !made && !errors.Is(err, unix.EEXIST):
		unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) // a disk may fail behind what it has done
		return c.refuseDir(err)
	}
	in, err := c.place.Enter()
	if err != nil {
		if made {
			unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
		}
		return refusal.New(refusal.Changed, c.what, "")
	}
	if made {
		c.made++
		w.made[identityOf(in)] = true
	} else if !w.made[identityOf(in)] {
		in.Close()
		return refusal.New(refusal.Changed, c.what, "")
	}
	c.parents = append(c.parents, c.place)
	c.place, c.aside = in, in.Beside(c.aside.Name)
	return nil
}

// refuseDir puts into words why nothing could be made in a directory.
func (c *change) refuseDir(err error) error {
	if errors.Is(err, unix.EACCES) {
		return refusal.New(refusal.NotWritable, c.what, "its directory")
	}
	return beneath.Refuse(c.what, err)
}

// unmake removes the directory of a change and those above it, n in all, as far
// as they are empty, and puts that on disk.
func (c *change) unmake(n int) {
	at, removed := c.place, false
	for range n {
		up, err := at.Above()
		if err != nil {
			break
		}
		if err := unix.Unlinkat(int(up.Dir.Fd()), up.Name, unix.AT_REMOVEDIR); err != nil {
			up.Close()
			break
		}
		c.parents = append(c.parents, up) // closes it
		at, removed = up, true
	}
	if removed {
		c.syncDir(at.Dir)
	}
}

// syncDir puts a directory on disk, and notes where that fails.
func (c *change) syncDir(dir *os.File) {
	err := c.cfg.At(SyncDir, c.fact.Path)
	if err == nil {
		err = c.cfg.Sync(dir)
	}
	c.note("syncing a directory: a power cut now may bring back what stood there", err)
}
