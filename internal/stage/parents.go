package stage

import (
	"errors"

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
// as a person's shell would, and moves its place into the innermost. One that
// another change of this work made is taken; where anybody else made one in
// the meantime, disk is not what was captured.
func (w *work) makeParents(c *change) error {
	for len(c.place.Missing) > 0 {
		if err := c.cfg.At(MakeDir, c.fact.Path); err != nil {
			return beneath.Refuse(c.what, err)
		}
		mode := 0o777 &^ w.cfg.Umask
		if c.fact.Default != nil {
			mode = 0o777 // the directory's default list says the rest
		}
		err := unix.Mkdirat(int(c.place.Dir.Fd()), c.place.Missing[0], mode)
		made := err == nil
		switch {
		case made:
			c.made++
		case errors.Is(err, unix.ENOENT): // the directory itself was removed
			return refusal.New(refusal.Changed, c.what, "")
		case !errors.Is(err, unix.EEXIST):
			return c.refuseDir(err)
		}
		in, err := c.place.Enter()
		if err != nil {
			return refusal.New(refusal.Changed, c.what, "")
		}
		c.parents = append(c.parents, c.place)
		c.place, c.aside = in, in.Beside(c.aside.Name)
		if made {
			w.made[identityOf(in)] = true
		} else if !w.made[identityOf(in)] {
			return refusal.New(refusal.Changed, c.what, "")
		}
	}
	return nil
}

// refuseDir puts into words why nothing could be made in a directory.
func (c *change) refuseDir(err error) error {
	if errors.Is(err, unix.EACCES) {
		return refusal.New(refusal.NotWritable, c.what, "its directory")
	}
	return beneath.Refuse(c.what, err)
}

// unmake removes the n directories above a change, from the innermost, as far
// as they are empty.
func (c *change) unmake(n int) {
	for i := 1; i <= n; i++ {
		dir, err := c.found.Above(i)
		if err != nil {
			return
		}
		err = unix.Unlinkat(int(dir.Dir.Fd()), dir.Name, unix.AT_REMOVEDIR)
		dir.Close()
		if err != nil {
			return
		}
	}
}
