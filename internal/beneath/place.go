package beneath

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/refusal"
)

// Options say what a resolution may do on its way.
type Options struct {
	CrossMounts bool // cross into another mounted filesystem
	Links       bool // follow symbolic links that end beneath the root
	Entry       bool // but not one at the path's end
	Missing     bool // end at the last directory that is there, where others are missing
}

// Place is a name in a directory: where a path leads, whether or not anything
// is there.
type Place struct {
	Dir     *os.File // the directory, open for reading: the last that is there
	Missing []string // directories between it and the name that do not exist
	Name    string
	Real    string // the place's path, every link on the way resolved
	Under   string // the same, relative to the root it was found beneath
	id      identity
}

// Find resolves a clean relative path beneath the root, to its directory and
// the name in it. The error is a refusal that names what.
//
// Links are never followed by the kernel: where they may be, each is read and
// put into the path, and the path without links is resolved from the root
// again. What is swapped for a link in between is a refusal.
func (r *Root) Find(what, relative string, o Options) (*Place, error) {
	if o.Links {
		var err error
		if relative, err = r.expand(what, relative, o); err != nil {
			return nil, err
		}
		if relative == "" {
			return nil, refusal.New(refusal.NotRegular, what, "it leads to the grant's root")
		}
	}
	dir, name := ".", relative
	if i := strings.LastIndexByte(relative, '/'); i >= 0 {
		dir, name = relative[:i], relative[i+1:]
	}
	fd, missing, err := r.directory(dir, o)
	if err != nil {
		return nil, refuseDirectory(what, err)
	}
	p := &Place{Dir: os.NewFile(uintptr(fd), "directory"), Missing: missing, Name: name, Under: relative}
	if err := p.locate(fd); err != nil {
		p.Close()
		return nil, Refuse(what, err)
	}
	return p, nil
}

// directory opens a directory beneath the root, or where it is missing the last
// one on the way that is there.
func (r *Root) directory(dir string, o Options) (fd int, missing []string, err error) {
	for {
		fd, err = openat2(int(r.dir.Fd()), dir, o.how(unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK))
		if !o.Missing || !errors.Is(err, unix.ENOENT) || dir == "." || len(missing) == action.MaxMade {
			return fd, missing, err
		}
		i := strings.LastIndexByte(dir, '/')
		missing = append([]string{dir[i+1:]}, missing...)
		if dir = dir[:max(i, 0)]; dir == "" {
			dir = "."
		}
	}
}

func (o Options) how(flags uint64) *unix.OpenHow {
	how := unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS,
	}
	if !o.CrossMounts {
		how.Resolve |= unix.RESOLVE_NO_XDEV
	}
	return &how
}

// identify notes which directory the place is in.
func (p *Place) identify() error {
	st, err := Fstat(p.Dir)
	p.id = identity{st.Dev, st.Ino}
	return err
}

// locate notes where the place is, besides.
func (p *Place) locate(fd int) error {
	if err := p.identify(); err != nil {
		return err
	}
	dir, err := realPath(fd)
	if err != nil {
		return err
	}
	p.Real = strings.TrimSuffix(dir, "/") + "/" + p.name()
	return nil
}

// name is the name and the missing directories before it.
func (p *Place) name() string {
	return strings.Join(append(p.Missing[:len(p.Missing):len(p.Missing)], p.Name), "/")
}

// Close lets go of the directory.
func (p *Place) Close() error { return p.Dir.Close() }

// Landing identifies the place.
func (p *Place) Landing() action.Landing {
	return action.Landing{Dev: p.id.dev, Ino: p.id.ino, Name: action.Path(p.name())}
}

// Beside is another name in the same directory, which both hold.
func (p *Place) Beside(name string) *Place {
	cut := func(path string) string { return strings.TrimSuffix(path, p.Name) + name }
	return &Place{Dir: p.Dir, Missing: p.Missing, Name: name, Real: cut(p.Real), Under: cut(p.Under), id: p.id}
}

// Enter opens the first of the missing directories, once it has been made, and
// gives the place as it is reached from there. The error is a system call's.
func (p *Place) Enter() (*Place, error) {
	fd, err := openat2(int(p.Dir.Fd()), p.Missing[0], Options{}.how(unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK))
	if err != nil {
		return nil, err
	}
	in := &Place{Dir: os.NewFile(uintptr(fd), "directory"), Missing: p.Missing[1:], Name: p.Name, Real: p.Real, Under: p.Under}
	if err := in.identify(); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// Above is the place of the directory that p's directory handle is of: its name
// in the one above it, no further up than the root. The error is a system
// call's: ENOENT where it no longer stands there under the name it had.
func (p *Place) Above() (*Place, error) {
	under := strings.TrimSuffix(strings.TrimSuffix(p.Under, p.name()), "/")
	if under == "" {
		return nil, unix.ENOENT
	}
	fd, err := unix.Openat(int(p.Dir.Fd()), "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	up := &Place{
		Dir: os.NewFile(uintptr(fd), "directory"), Name: under[strings.LastIndexByte(under, '/')+1:],
		Real: strings.TrimSuffix(p.Real, "/"+p.name()), Under: under,
	}
	at, err := up.Stat()
	if err == nil && (identity{at.Dev, at.Ino}) != p.id {
		err = unix.ENOENT
	}
	if err == nil {
		err = up.identify()
	}
	if err != nil {
		up.Close()
		return nil, err
	}
	return up, nil
}
