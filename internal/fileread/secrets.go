package fileread

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/grant"
	"countersign/internal/refusal"
)

// secretPlaces knows which files stand in the deny list's places in a home, by
// device and inode, so that another name of one is not read either. It holds no
// name and no content of them.
//
// It looks when a file with several names is met: at the stat of every
// directory in those places, and anew into those that changed. Calls do not
// wait for one another; what one finds out the next one starts from. Its zero
// value is ready.
type secretPlaces struct {
	last  atomic.Pointer[secrets]
	names int // most names looked at in one directory; 0 is maxSecretFiles
}

// The bounds of what is kept. Where a home holds more, it cannot tell,
// and a file with several names is refused.
const (
	maxSecretDirs  = 20_000
	maxSecretFiles = 400_000
)

type identity struct{ dev, ino uint64 }

// secrets is what was found by one look; it is not changed afterwards.
type secrets struct {
	dirs  map[string]*secretDir // by their path from the home
	whole bool                  // nothing was left out
	all   func() map[identity]bool
}

// secretDir is a directory in one of the places, or on the way to one.
type secretDir struct {
	stamp stamp
	files map[identity]bool
	dirs  []way
	more  bool // there are more names in it than were looked at
	fresh bool // it had changed so shortly before that a later change might not show
}

// stamp is what is compared of a directory: a name in it that comes or goes
// changes its times.
type stamp struct {
	identity
	mtime, ctime int64
}

// way is a directory to look at, and what of the patterns leads on beneath it;
// none: all that is in it is secret.
type way struct {
	rel  string
	rest [][]string
}

// shortly is how long after a directory changed another change could have the
// same time: clocks of filesystems tick.
const shortly = 50 * time.Millisecond

// look finds out what is there now.
func (s *secretPlaces) look(ctx context.Context, set grant.Set) (*secrets, error) {
	before := s.last.Load()
	if before == nil {
		before = &secrets{}
	}
	root, err := beneath.OpenRoot(set.Home)
	if err != nil {
		return nil, beneath.Refuse("the home "+action.Path(set.Home).String(), err)
	}
	defer root.Close()
	now := &secrets{dirs: make(map[string]*secretDir, len(before.dirs)), whole: true}
	files, same, buf := 0, true, make([]byte, readBuffer)
	var todo []way
	if places := set.DeniedInHome(); len(places) > 0 {
		todo = append(todo, way{rest: places})
	}
	for len(todo) > 0 && now.whole {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		d, err := lookInto(ctx, root, w, before.dirs[w.rel], buf, cmp.Or(s.names, maxSecretFiles))
		if err != nil {
			return nil, err
		}
		if d == nil {
			continue
		}
		same = same && d == before.dirs[w.rel]
		now.dirs[w.rel] = d
		files += len(d.files)
		todo = append(todo, d.dirs...)
		now.whole = !d.more && len(now.dirs) <= maxSecretDirs && files <= maxSecretFiles
	}
	if same && len(now.dirs) == len(before.dirs) && before.all != nil {
		return before, nil
	}
	now.all = sync.OnceValue(now.merge)
	s.last.Store(now)
	return now, nil
}

// merge puts the files of every directory together.
func (s *secrets) merge() map[identity]bool {
	all := make(map[identity]bool)
	for _, d := range s.dirs {
		maps.Copy(all, d.files)
	}
	return all
}

// lookInto gives what is in a directory: as it was known, where that still
// holds; nil where there is nothing that could be looked into. What the person
// may not read, nobody reads for them.
func lookInto(ctx context.Context, root *beneath.Root, w way, known *secretDir, buf []byte, most int) (*secretDir, error) {
	d, err := root.OpenDirectory(w.rel, beneath.Options{})
	if err != nil {
		return nil, nil
	}
	defer d.Close()
	at := time.Now()
	info, err := d.Look(".")
	if err != nil {
		return nil, nil
	}
	is := stamp{identity{info.Dev, info.Ino}, info.Mtime, info.Ctime}
	if known != nil && known.stamp == is && !known.fresh {
		return known, nil
	}
	names, more, err := d.Names(ctx, buf, most)
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	out := &secretDir{stamp: is, more: more, files: make(map[identity]bool), fresh: at.UnixNano()-max(info.Mtime, info.Ctime) < int64(shortly)}
	for _, name := range names {
		secret, rest := w.leads(name.Name)
		if !secret && len(rest) == 0 {
			continue
		}
		info, err := d.Look(name.Name)
		if err != nil {
			continue
		}
		switch {
		case info.Mode&unix.S_IFMT == unix.S_IFDIR && secret:
			out.dirs = append(out.dirs, way{rel: join(w.rel, name.Name)})
		case info.Mode&unix.S_IFMT == unix.S_IFDIR:
			out.dirs = append(out.dirs, way{join(w.rel, name.Name), rest})
		case secret:
			out.files[identity{info.Dev, info.Ino}] = true
		}
	}
	return out, nil
}

// leads says whether a name is in one of the places, and what of the patterns
// leads on beneath it.
func (w way) leads(name string) (secret bool, rest [][]string) {
	if w.rest == nil {
		return true, nil
	}
	for _, p := range w.rest {
		switch ok, _ := path.Match(p[0], grant.Fold(name)); {
		case ok && len(p) == 1:
			return true, nil
		case ok:
			rest = append(rest, p[1:])
		}
	}
	return false, rest
}

// refuse says why a file with several names is refused, or nil.
func (s *secrets) refuse(what string, id identity) error {
	switch {
	case s.all()[id]:
		return refusal.New(refusal.Denied, what, "it is another name of a file that the list holds")
	case !s.whole:
		return refusal.New(refusal.Denied, what, "it has several names, and the list's places hold more than it can be compared with")
	}
	return nil
}

// denyLinked refuses a file that has several names, one of them in a place of
// the deny list.
func (f Files) denyLinked(ctx context.Context, what string, v action.Version) error {
	if v.Links <= 1 {
		return nil
	}
	s, err := f.lookForSecrets(ctx)
	if err != nil {
		return err
	}
	return s.refuse(what, identity{v.Dev, v.Ino})
}

func (f Files) lookForSecrets(ctx context.Context) (*secrets, error) {
	return f.secrets.look(ctx, f.Finder.Grants)
}

// denies says, for a walk's whole length from one look, whether a file that it
// opened is another name of a secret: nothing of it may be told. It is safe for
// concurrent use.
func (w *walk) denies(ctx context.Context, st beneath.Stat) (bool, error) {
	if st.Nlink <= 1 {
		return false, nil
	}
	w.secretsMu.Lock()
	defer w.secretsMu.Unlock()
	if w.secrets == nil {
		s, err := w.f.lookForSecrets(ctx)
		if err != nil {
			return false, err
		}
		w.secrets = s
	}
	return w.secrets.refuse("", identity{st.Dev, st.Ino}) != nil, nil
}
