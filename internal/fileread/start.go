package fileread

import (
	"errors"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/grant"
	"countersign/internal/refusal"
)

// start is a place that a caller named, a directory or any other file, found
// and judged for looking at: what is in it, or what it is.
//
// The root is opened once; the place is judged as it was asked for and where
// it is. From then on it is spelled relative to the root as disk spells it, and
// every step opens that path anew without following a link.
type start struct {
	path    string // as it was asked for
	rel     string // beneath the root, as disk spells it
	isDir   bool
	info    beneath.Info
	root    *beneath.Root
	options beneath.Options
	grant   *grant.Grant // that speaks for it

	real     string                  // where it is
	resolved *grant.Set              // the grants by where they are
	moved    map[*grant.Grant]string // where each grant's root is
	same     bool                    // where it is and where it was asked for are one, and so for all grants
}

func (s *start) Close() { s.root.Close() }

// judge judges the names of one directory, by the path that was asked for and,
// where that is not where it is, by that too.
type judge struct {
	asked, real *grant.Under
	moved       map[*grant.Grant]string // where each grant's root is, for real
}

// child gives the grant that shows a name in the directory, or nil. Both
// spellings must be shown by the same grant, as in a read of the file.
func (j judge) child(name string, isDir bool) *grant.Grant {
	g := j.asked.Judge(name, isDir)
	if g == nil || j.real == nil {
		return g
	}
	if r := j.real.Judge(name, isDir); r == nil || r.Root != j.moved[g] {
		return nil
	}
	return g
}

func (j judge) enter(name string) judge {
	j.asked = j.asked.Enter(name)
	if j.real != nil {
		j.real = j.real.Enter(name)
	}
	return j
}

// find finds a place that may be looked at. A link at its end is followed
// where the grant says so, unless the link itself is asked about. The
// caller closes what it gets.
func (f Files) find(unsafePath action.Path, linkItself bool) (*start, error) {
	what := unsafePath.String()
	if err := unsafePath.Validate(); err != nil {
		return nil, err
	}
	p := string(unsafePath)
	asked := f.Finder.Grants.Under(path.Dir(p))
	g := asked.Judge(path.Base(p), true)
	if g == nil {
		if _, err := f.Finder.Grants.Judge(grant.Read, p); err != nil {
			return nil, err
		}
		return nil, refusal.New(refusal.NotGranted, what, "")
	}
	root, err := beneath.OpenRoot(g.Root)
	if err != nil {
		return nil, beneath.Refuse("the grant's root "+action.Path(g.Root).String(), err)
	}
	s := &start{path: p, root: root, grant: g, options: beneath.Options{CrossMounts: g.CrossMounts}}
	s.rel = strings.TrimPrefix(strings.TrimPrefix(p, g.Root), "/")
	if err = s.look(linkItself); err == nil {
		if err = f.judgeStart(s, asked); err == nil {
			err = root.Replaced(g.Root)
		}
	}
	if err != nil {
		root.Close()
		return nil, beneath.Refuse(what, err)
	}
	return s, nil
}

// look finds out what stands at the start, and how disk spells its directory.
func (s *start) look(linkItself bool) error {
	err := s.lookOnce()
	isLink := err == nil && s.info.Mode&unix.S_IFMT == unix.S_IFLNK && !linkItself
	if !isLink && !errors.Is(err, unix.ELOOP) {
		return s.lookRefused(err)
	}
	what := action.Path(s.path).String()
	if !s.grant.FollowLinks {
		return refusal.New(refusal.Link, what, "")
	}
	o := s.options
	o.Entry = linkItself
	rel, err := s.root.Follow(what, s.rel, o)
	if err != nil {
		return err
	}
	s.rel = rel
	return s.lookRefused(s.lookOnce())
}

// lookOnce looks without following a link.
func (s *start) lookOnce() error {
	dir, name := "", s.rel
	if i := strings.LastIndexByte(s.rel, '/'); i >= 0 {
		dir, name = s.rel[:i], s.rel[i+1:]
	}
	if name == "" {
		name = "."
	}
	d, err := s.root.OpenDirectory(dir, s.options)
	if err != nil {
		return err
	}
	defer d.Close()
	if d.OnFUSE() {
		return onFUSE(s.path)
	}
	if s.info, err = d.Look(name); err != nil {
		return err
	}
	s.isDir = s.info.Mode&unix.S_IFMT == unix.S_IFDIR
	if s.rel == "" {
		return nil
	}
	if s.info.Mounted && !s.options.CrossMounts {
		return unix.EXDEV
	}
	real, err := d.Path()
	if err != nil {
		return err
	}
	in := strings.TrimPrefix(strings.TrimPrefix(real, strings.TrimSuffix(s.root.Real, "/")), "/")
	s.rel = path.Join(in, name)
	return nil
}

// lookRefused puts into words why a place could not be looked at.
func (s *start) lookRefused(err error) error {
	what := action.Path(s.path).String()
	switch {
	case errors.Is(err, unix.EXDEV):
		return refusal.New(refusal.MountCrossing, what, "")
	case errors.Is(err, unix.ENOTDIR):
		return refusal.New(refusal.MissingParent, what, "a name on the way is no directory")
	}
	return err
}

func onFUSE(p string) error {
	return refusal.New(refusal.NotRegular, action.Path(p).String(), "it is on FUSE")
}

// judgeStart judges where a start is.
func (f Files) judgeStart(s *start, asked *grant.Under) error {
	what := action.Path(s.path).String()
	home, err := f.resolve(s)
	if err != nil {
		return err
	}
	s.real = path.Join(s.root.Real, s.rel)
	if home != "/" && !strings.HasPrefix(s.real+"/", home+"/") {
		return refusal.New(refusal.NobodysHome, what, "it leads out of the home")
	}
	s.same = s.real == s.path && home == f.Finder.Home
	for g, root := range s.moved {
		s.same = s.same && g.Root == root
	}
	g := asked.Judge(path.Base(s.path), s.isDir)
	if g == nil {
		return refused(&f.Finder.Grants, what, s.path)
	}
	if s.same {
		return nil
	}
	r := s.resolved.Under(path.Dir(s.real)).Judge(path.Base(s.real), s.isDir)
	switch {
	case r == nil:
		return refused(s.resolved, what, s.real)
	case r.Root != s.moved[g]:
		return refusal.New(refusal.NotGranted, what, "it lands under another grant than it was asked for under")
	}
	return nil
}

// refused gives the refusal of a place that no grant shows, under the name that
// was asked for.
func refused(set *grant.Set, what, p string) error {
	if _, err := set.Judge(grant.Read, p); err != nil {
		return refusal.About(what, err)
	}
	return refusal.New(refusal.NotGranted, what, "")
}

// in judges what is in a start that is a directory.
func (f Files) in(s *start) judge {
	j := judge{asked: f.Finder.Grants.Under(s.path), moved: s.moved}
	if !s.same {
		j.real = s.resolved.Under(s.real)
	}
	return j
}

// resolve finds out where the home and every grant's root are, and gives the
// home.
func (f Files) resolve(s *start) (string, error) {
	home, err := beneath.OpenRoot(f.Finder.Home)
	if err != nil {
		return "", beneath.Refuse("the home "+action.Path(f.Finder.Home).String(), err)
	}
	home.Close()
	set := &f.Finder.Grants
	roots, err := f.patience.Lead(action.Path(s.path).String(), set.Roots())
	if err != nil {
		return "", err
	}
	roots[s.grant.Root] = s.root.Real
	found := set.Resolved(home.Real, roots)
	s.resolved, s.moved = &found, make(map[*grant.Grant]string, len(set.Reads))
	for i := range set.Reads {
		s.moved[&set.Reads[i]] = found.Reads[i].Root
	}
	return home.Real, nil
}
