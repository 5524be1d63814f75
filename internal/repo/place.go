package repo

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/grant"
	"countersign/internal/refusal"
)

// Finder finds repositories in one person's home, as that person.
type Finder struct {
	UID    uint32
	Home   string    // as the policy lists it
	Grants grant.Set // the person's

	// Patience is with the filesystems of grants, which may not answer; nil is a
	// new one for each repository.
	Patience *beneath.Patience
}

// judge knows where everything really lies, during one call.
type judge struct {
	Finder
	op       grant.Op
	what     string // the repository, as it was asked for
	realHome string
	resolved grant.Set
	roots    map[string]string // of grants, where they lead
}

func (f Finder) judge(op grant.Op, what string) (*judge, error) {
	home, err := beneath.OpenRoot(f.Home)
	if err != nil {
		return nil, beneath.Refuse("the home "+action.Path(f.Home).String(), err)
	}
	defer home.Close()
	j := &judge{Finder: f, op: op, what: what, realHome: home.Real}
	if j.roots, err = cmp.Or(f.Patience, new(beneath.Patience)).Lead(what, f.Grants.Roots()); err != nil {
		return nil, err
	}
	j.resolved = f.Grants.Resolved(home.Real, j.roots)
	return j, nil
}

// part is a directory or file that belongs to a repository, held open by
// O_PATH.
type part struct {
	file *os.File
	real string
	st   beneath.Stat
}

func (p *part) isDir() bool { return p.st.Mode&unix.S_IFMT == unix.S_IFDIR }

// hold opens a path, following links, and finds out where it is.
func hold(path string) (*part, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	p := &part{file: os.NewFile(uintptr(fd), path)}
	if p.st, err = beneath.Fstat(p.file); err == nil {
		p.real, err = os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	}
	if err != nil {
		p.file.Close()
		return nil, err
	}
	return p, nil
}

// part opens what a repository names, and judges where it lies. name is what it
// is, in words: where it leads is not told.
func (j *judge) part(path, name string) (*part, error) {
	p, err := hold(path)
	if err != nil {
		return nil, err
	}
	if err := j.judgePart(p, name); err != nil {
		p.file.Close()
		return nil, err
	}
	return p, nil
}

func (j *judge) judgePart(p *part, name string) error {
	listed, ok := j.listed(p.real)
	if !ok {
		return refusal.New(refusal.GitOutside, j.what, "%s", name)
	}
	if _, err := j.resolved.Covers(j.op, p.real); err != nil {
		return refusal.New(refusal.GitOutside, j.what, "%s", name)
	}
	if err := j.Grants.Forbidden(grant.Read, listed); err != nil {
		return refusal.New(refusal.GitOutside, j.what, "%s", name)
	}
	return j.ownedPart(p, name)
}

// ownedPart refuses what belongs to somebody else: git looks at owners itself
// only where it finds the repository itself.
func (j *judge) ownedPart(p *part, name string) error {
	if p.st.Uid != j.UID {
		return refusal.New(refusal.OtherOwner, j.what, "%s belongs to user %d", name, p.st.Uid)
	}
	var fs unix.Statfs_t
	const fuse = 0x65735546
	if err := unix.Fstatfs(int(p.file.Fd()), &fs); err == nil && fs.Type == fuse {
		return refusal.New(refusal.GitKind, j.what, "%s is on FUSE", name)
	}
	return nil
}

// listed spells a real path from the home as it is listed.
func (j *judge) listed(real string) (string, bool) {
	if real == j.realHome {
		return j.Home, true
	}
	in, ok := strings.CutPrefix(real, strings.TrimSuffix(j.realHome, "/")+"/")
	return j.Home + "/" + in, ok
}

// content reads a small regular file that is held.
func (j *judge) content(p *part, name string, limit int64) (string, error) {
	if p.st.Mode&unix.S_IFMT != unix.S_IFREG {
		return "", refusal.New(refusal.GitKind, j.what, "%s is %s", name, beneath.Kind(p.st.Mode))
	}
	// The handle itself is opened for reading, not its path again.
	f, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(p.file.Fd())), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", j.trouble(name, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return "", j.trouble(name, err)
	}
	if int64(len(b)) > limit {
		return "", refusal.New(refusal.GitKind, j.what, "%s is larger than %d bytes", name, limit)
	}
	return string(b), nil
}

// optional reads a small file of a directory's, by its name; none is nil. A link
// is followed, and judged where it leads.
func (j *judge) optional(dir, base, name string, limit int64) (text string, found *part, err error) {
	p, err := j.part(filepath.Join(dir, base), name)
	if missing(err) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, j.trouble(name, err)
	}
	if text, err = j.content(p, name, limit); err != nil {
		p.file.Close()
		return "", nil, err
	}
	return text, p, nil
}

func missing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
}

// trouble puts an error about a part into words.
func (j *judge) trouble(name string, err error) error {
	if r := refusal.As(err); r != nil {
		return r
	}
	if missing(err) {
		return refusal.New(refusal.NotRepository, j.what, "%s is not there", name)
	}
	var errno unix.Errno
	if errors.As(err, &errno) {
		return refusal.New(refusal.GitOutside, j.what, "%s cannot be opened (%s)", name, unix.ErrnoName(errno))
	}
	return refusal.New(refusal.GitKind, j.what, "%s: %v", name, err)
}

// root opens the root of a work tree: beneath the grant that it was asked for
// under, over links only where that grant follows them.
func (j *judge) root(path action.Path) (*part, error) {
	asked, err := j.Grants.Covers(j.op, string(path))
	if err != nil {
		return nil, err
	}
	rootReal, ok := j.roots[asked.Root]
	if !ok {
		return nil, refusal.New(refusal.NotFound, "the grant's root "+action.Path(asked.Root).String(), "")
	}
	p, err := hold(string(path))
	if err != nil {
		return nil, beneath.Refuse(j.what, err)
	}
	if err := j.judgeRoot(p, asked, rootReal, string(path)); err != nil {
		p.file.Close()
		return nil, err
	}
	return p, nil
}

func (j *judge) judgeRoot(p *part, asked grant.Grant, rootReal, path string) error {
	spelled := rootReal + strings.TrimPrefix(path, asked.Root)
	if p.real != spelled && !asked.FollowLinks {
		return refusal.New(refusal.Link, j.what, "")
	}
	if !p.isDir() {
		return refusal.New(refusal.NotRepository, j.what, "it is %s", beneath.Kind(p.st.Mode))
	}
	listed, ok := j.listed(p.real)
	if !ok {
		return refusal.New(refusal.NobodysHome, j.what, "it leads out of the home")
	}
	landed, err := j.resolved.Covers(j.op, p.real)
	if err != nil {
		return refusal.About(j.what, err)
	}
	if landed.Root != rootReal {
		return refusal.New(refusal.NotGranted, j.what, "it lands under another grant than it was asked for under")
	}
	if err := j.Grants.Forbidden(grant.Read, listed); err != nil {
		return refusal.About(j.what, err)
	}
	if !asked.CrossMounts {
		var st unix.Stat_t
		if err := unix.Stat(asked.Root, &st); err != nil || st.Dev != p.st.Dev {
			return refusal.New(refusal.MountCrossing, j.what, "")
		}
	}
	return j.ownedPart(p, "its work tree")
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(1)
}
