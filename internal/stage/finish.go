package stage

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/protocol"
)

// finish ends a change that has landed: it removes the displaced files and puts
// the directories on disk. Where there are several, they are on disk with both
// names before any old file is gone, so that a power cut leaves a change that
// can be finished or taken back; nobody is kept waiting for that.
func (w *work) finish() (protocol.Outcome, []*os.File) {
	var replaced []*change
	for _, c := range w.changes {
		if c.landed(); c.fact.Base.Version != nil {
			replaced = append(replaced, c)
		}
	}
	dirs := directories(w.changes)
	if len(dirs) > 1 && len(replaced) > 0 {
		for _, c := range replaced {
			c.letOld()
		}
		syncAll(dirs)
		dirs = directories(replaced)
	}
	out := protocol.Outcome{Result: protocol.Landed}
	var files []*os.File
	for _, c := range replaced {
		if !c.removeOld() {
			out.Kept, files = c.keepAside(out.Kept, files)
		}
	}
	syncAll(dirs)
	for _, c := range slices.Backward(w.changes) {
		c.unmake(int(c.planned.Made))
	}
	for _, c := range w.changes {
		out.Changes = append(out.Changes, c.out)
	}
	return out, files
}

// directory is one that must be on disk, for the first change that needs it.
type directory struct {
	dir *os.File
	of  *change
}

// directories lists the directories of changes, those that were made for them
// and the ones those were made in, each once.
func directories(changes []*change) []directory {
	var dirs []directory
	seen := make(map[identity]bool)
	for _, c := range changes {
		for _, p := range append([]*beneath.Place{c.place}, c.parents...) {
			if id := identityOf(p); !seen[id] {
				seen[id] = true
				dirs = append(dirs, directory{p.Dir, c})
			}
		}
	}
	return dirs
}

// syncAll puts directories on disk, and notes what fails.
func syncAll(dirs []directory) {
	for _, d := range dirs {
		d.of.syncDir(d.dir)
	}
}

// landed fills in what became of the path, and lets go of the new file: who
// waits for it may write to it.
func (c *change) landed() {
	c.out.Did = didOf(c.planned.Does)
	if base := c.fact.Base.Version; base != nil {
		c.out.Links = base.Links - 1
		c.out.NotKept = c.fact.NotKept
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

// letOld lets go of the old file before it is removed.
func (c *change) letOld() {
	c.note("closing the old file", c.old.release())
	c.old = nil
}

// removeOld removes the displaced file, which was verified, unless
// somebody wrote to it since: then it is nothing to delete, and false. A removal
// that fails is noted.
func (c *change) removeOld() bool {
	defer c.letOld()
	err := c.cfg.At(Unlink, c.fact.Path)
	if err == nil && !c.displacedBase() {
		c.note("removing the old file", errors.New("it is not as it was"))
		return false
	}
	if err == nil {
		err = c.unlink()
	}
	c.note("removing the old file, which stays as "+c.aside.Name, err)
	return true
}

// unlink removes what stands under the staged name.
func (c *change) unlink() error { return unix.Unlinkat(int(c.place.Dir.Fd()), c.aside.Name, 0) }

// note notes what failed once the change had landed.
func (c *change) note(what string, err error) {
	if err != nil {
		c.out.After = append(c.out.After, fmt.Sprintf("%s: %v", what, err))
	}
}
