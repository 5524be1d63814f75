// Package facts finds what disk says of one path of an action: where it leads
// and whether that is granted, which version stands there, what replacing it
// would lose. The reader finds facts for the keeper, the scribe finds them
// again for itself before it touches anything, both with this code: a reader
// that lied steers no decision.
//
// A place is judged twice: as it was asked for, and where it lands. The owner
// is judged too: what belongs to another user, or is set-user-ID, is refused.
//
// It does NOT judge whether a change is wise (classify) or allowed (policy).
package facts

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/grant"
	"countersign/internal/refusal"
)

// Finder finds facts in one person's home, as that person.
type Finder struct {
	UID    uint32    // the person's
	Groups []uint32  // that the person's processes have, the one they make files with first
	Home   string    // as the policy lists it
	Grants grant.Set // the person's
	Keep   int64     // the largest file, in bytes, whose content is kept

	// Linked are names in the home, relative to it, from which a link may lead
	// to a place that is to be written.
	Linked []string

	// Patience is with the filesystems of other grants than the one that is
	// asked for, which may not answer; nil is a new one for each path.
	Patience *beneath.Patience

	once *shared
}

// shared is what was looked at for one path of a request and holds for the
// others: where roots of grants lead, and links of the home.
type shared struct {
	roots map[string]string
	links []link
	asked bool // whether links were looked at
}

// Once gives a finder for the paths of one request, to be used by one goroutine:
// what they have in common is looked at once.
func (f Finder) Once() Finder {
	f.Patience = f.patience()
	f.once = new(shared)
	return f
}

func (f Finder) patience() *beneath.Patience { return cmp.Or(f.Patience, new(beneath.Patience)) }

// roots says where the roots of all grants lead.
func (f Finder) roots(what string) (map[string]string, error) {
	if f.once != nil && f.once.roots != nil {
		return maps.Clone(f.once.roots), nil
	}
	at, err := f.patience().Lead(what, f.Grants.Roots())
	if err == nil && f.once != nil {
		f.once.roots = maps.Clone(at)
	}
	return at, err
}

// Found is a place that was judged, held open.
type Found struct {
	Path    action.Path
	Real    action.Path // the landing, spelled from the listed home
	Follows action.Path // where links on the way led; empty where there were none
	Grant   grant.Grant
	Place   *beneath.Place
	root    *beneath.Root

	aliases    []action.Path // names of the home from which links lead here
	repository bool          // a directory on the way has a HEAD

	op    grant.Op
	entry bool // whether a symbolic link at the end is what was asked for
}

// Close lets go of everything held.
func (f *Found) Close() {
	f.Place.Close()
	f.root.Close()
}

// Find resolves and judges a path. It opens nothing but directories.
func (f Finder) Find(op grant.Op, target action.Target) (*Found, error) {
	path := target.Path
	what := path.String()
	asked, err := f.Grants.Judge(op, string(path))
	if err != nil {
		return nil, err
	}
	home, err := beneath.OpenRoot(f.Home)
	if err != nil {
		return nil, beneath.Refuse("the home "+action.Path(f.Home).String(), err)
	}
	defer home.Close()
	root, err := beneath.OpenRoot(asked.Root)
	if err != nil {
		return nil, beneath.Refuse("the grant's root "+action.Path(asked.Root).String(), err)
	}
	found := &Found{Path: path, Grant: asked, root: root, op: op}
	relative := strings.TrimPrefix(strings.TrimPrefix(string(path), asked.Root), "/")
	if relative == "" {
		root.Close()
		return nil, refusal.New(refusal.NotRegular, what, "it is the grant's root")
	}
	found.Place, err = root.Find(what, relative, beneath.Options{
		CrossMounts: asked.CrossMounts, Links: asked.FollowLinks, Entry: target.How == action.ToEntry, Missing: op == grant.Write,
	})
	if err == nil {
		if found.Place.Under != relative {
			found.Follows = action.Path(strings.TrimSuffix(asked.Root, "/") + "/" + found.Place.Under)
		}
		found.entry = target.How == action.ToEntry
		if err = f.judgeLanding(op, found, home.Real); err == nil && op == grant.Write {
			err = f.surround(found)
		}
		if err == nil {
			return found, nil
		}
		found.Place.Close()
	}
	root.Close()
	return nil, err
}

// judgeLanding judges where a place is, by the names that disk has on the way:
// inside the person's real home, under the same grant as it was asked for, and
// not on the deny list there either.
func (f Finder) judgeLanding(op grant.Op, found *Found, realHome string) error {
	what, real := found.Path.String(), found.Place.Real
	inHome, ok := strings.CutPrefix(real, strings.TrimSuffix(realHome, "/")+"/")
	if !ok {
		return refusal.New(refusal.NobodysHome, what, "it leads out of the home")
	}
	found.Real = action.Path(f.Home + "/" + inHome)
	roots, err := f.roots(what)
	if err != nil {
		return err
	}
	roots[found.Grant.Root] = found.root.Real
	landed, err := f.Grants.Resolved(realHome, roots).Judge(op, real)
	if err != nil {
		return refusal.About(what, err)
	}
	if landed.Root != found.root.Real {
		return refusal.New(refusal.NotGranted, what, "it lands under another grant than it was asked for under")
	}
	return refusal.About(what, f.Grants.Forbidden(op, string(found.Real)))
}

// Look says what stands at a found place now. The file, open for reading, is
// nil where nothing or a symbolic link stands there; otherwise the caller
// closes it. The content of files over keep bytes is not kept.
func (f Finder) Look(found *Found) (action.Before, *os.File, error) {
	what := found.Path.String()
	before := action.Before{Fact: action.Fact{
		Path: found.Path, Real: found.Real, Follows: found.Follows, Base: action.Base{Landing: found.Place.Landing()},
		Aliases: found.aliases, Repository: found.repository,
	}}
	var err error
	if before.Fact.Default, err = defaultOf(found.Place.Dir); err != nil {
		return before, nil, beneath.Refuse(what, err)
	}
	if found.entry {
		if st, err := found.Place.Stat(); err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			return f.takeLink(what, found, before)
		}
	}
	file, err := found.Place.Open(what)
	if err != nil || file == nil {
		return before, nil, err
	}
	if err := f.take(what, found, file, &before); err != nil {
		file.Close()
		return before, nil, beneath.Refuse(what, err)
	}
	return before, file, nil
}

func (f Finder) takeLink(what string, found *Found, before action.Before) (action.Before, *os.File, error) {
	s, err := found.Place.TakeLink(what)
	if err != nil {
		return before, nil, err
	}
	if s.Version.UID != f.UID {
		return before, nil, refusal.New(refusal.OtherOwner, what, "user %d", s.Version.UID)
	}
	before.Fact.Base.Version, before.Content, before.Read = &s.Version, s.Content, true
	before.Fact.Target = action.Path(s.Content)
	return before, nil, nil
}

func (f Finder) take(what string, found *Found, file *os.File, before *action.Before) error {
	g := found.Grant
	st, err := beneath.Fstat(file)
	if err != nil {
		return err
	}
	switch {
	case st.Uid != f.UID:
		return refusal.New(refusal.OtherOwner, what, "user %d", st.Uid)
	case st.Mode&(unix.S_ISUID|unix.S_ISGID|unix.S_ISVTX) != 0:
		return refusal.New(refusal.SetID, what, "mode %04o", st.Mode&0o7777)
	case g.MaxFileSize > 0 && st.Size > g.MaxFileSize:
		return refusal.New(refusal.FileTooBig, what, "%d bytes, over the grant's %d", st.Size, g.MaxFileSize)
	}
	if before.Fact.Attributes, before.Fact.NotKept, err = Attributes(file); err != nil {
		return err
	}
	if err := f.group(found.Place.Dir, st, &before.Fact); err != nil {
		return err
	}
	s, err := beneath.Take(what, file, f.Keep)
	if err != nil {
		return err
	}
	before.Fact.Base.Version, before.Content, before.Read = &s.Version, s.Content, s.Whole
	return refusal.About(what, f.Grants.DeniedByContent(found.op, string(found.Real), s.Content))
}

// group says whether a file put in this one's place can have its group: one of
// the person's, or the one that the directory gives.
func (f Finder) group(dir *os.File, st beneath.Stat, fact *action.Fact) error {
	if slices.Contains(f.Groups, st.Gid) {
		return nil
	}
	in, err := beneath.Fstat(dir)
	if err != nil {
		return err
	}
	if in.Mode&unix.S_ISGID != 0 && in.Gid == st.Gid {
		return nil
	}
	fact.AnyGroup = true
	fact.NotKept = append(fact.NotKept, fmt.Sprintf("group %d", st.Gid))
	fact.Attributes = slices.DeleteFunc(fact.Attributes, func(a action.Attribute) bool {
		if a.Name == AccessACL { // what it gives the group would be another group's
			fact.NotKept = append(fact.NotKept, "attribute "+a.Name.String()+", which names the group")
		}
		return a.Name == AccessACL
	})
	return nil
}

// Replaced refuses if the grant's root is no longer the directory it was.
func (f *Found) Replaced() error { return f.root.Replaced(f.Grant.Root) }
