package beneath

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/refusal"
)

// Root is a directory that paths are resolved beneath.
type Root struct {
	Real string // where it is, every link on the way resolved
	dir  *os.File
	id   identity
}

type identity struct{ dev, ino uint64 }

// OpenRoot opens the directory that path leads to now, following links.
func OpenRoot(path string) (*Root, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the root: %w", err)
	}
	r := &Root{dir: os.NewFile(uintptr(fd), "root")}
	st, err := Fstat(r.dir)
	if err == nil {
		r.id = identity{st.Dev, st.Ino}
		r.Real, err = realPath(fd)
	}
	if err != nil {
		r.dir.Close()
		return nil, err
	}
	return r, nil
}

// Close lets go of the root.
func (r *Root) Close() error { return r.dir.Close() }

// Replaced refuses if path no longer leads to the directory that was opened.
func (r *Root) Replaced(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || (identity{st.Dev, st.Ino}) != r.id {
		return refusal.New(refusal.RootReplaced, action.Path(path).String(), "")
	}
	return nil
}

// realPath asks the kernel where a directory handle is.
func realPath(fd int) (string, error) {
	p, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return "", fmt.Errorf("asking where a directory is: %w", err)
	}
	if !strings.HasPrefix(p, "/") || strings.HasSuffix(p, " (deleted)") {
		return "", fmt.Errorf("asking where a directory is: %w", unix.ENOENT)
	}
	return p, nil
}

// Options say what a resolution may do on its way.
type Options struct {
	CrossMounts bool // cross into another mounted filesystem
}

// Place is a name in a directory: where a path leads, whether or not anything
// is there.
type Place struct {
	Dir  *os.File // the directory, open for reading
	Name string
	Real string // the place's path, every link on the way resolved
	id   identity
}

// Find resolves a clean relative path beneath the root, to its directory and
// the name in it. Links on the way are not followed. The error is a refusal
// that names what.
func (r *Root) Find(what, relative string, o Options) (*Place, error) {
	dir, name := ".", relative
	if i := strings.LastIndexByte(relative, '/'); i >= 0 {
		dir, name = relative[:i], relative[i+1:]
	}
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NONBLOCK,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS,
	}
	if !o.CrossMounts {
		how.Resolve |= unix.RESOLVE_NO_XDEV
	}
	fd, err := openat2(int(r.dir.Fd()), dir, &how)
	if err != nil {
		return nil, refuseDirectory(what, err)
	}
	p := &Place{Dir: os.NewFile(uintptr(fd), "directory"), Name: name}
	if err := p.locate(fd); err != nil {
		p.Close()
		return nil, Refuse(what, err)
	}
	return p, nil
}

func (p *Place) locate(fd int) error {
	st, err := Fstat(p.Dir)
	if err != nil {
		return err
	}
	p.id = identity{st.Dev, st.Ino}
	dir, err := realPath(fd)
	if err != nil {
		return err
	}
	p.Real = strings.TrimSuffix(dir, "/") + "/" + p.Name
	return nil
}

// Close lets go of the directory.
func (p *Place) Close() error { return p.Dir.Close() }

// Landing identifies the place.
func (p *Place) Landing() action.Landing {
	return action.Landing{Dev: p.id.dev, Ino: p.id.ino, Name: action.Path(p.Name)}
}

// Beside is another name in the same directory.
func (p *Place) Beside(name string) *Place {
	return &Place{Dir: p.Dir, Name: name, Real: strings.TrimSuffix(p.Real, p.Name) + name, id: p.id}
}

// openat2 tries again where the kernel saw a rename on the way and could not
// tell.
func openat2(dir int, path string, how *unix.OpenHow) (int, error) {
	for try := 0; ; try++ {
		fd, err := unix.Openat2(dir, path, how)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) || try == 100 {
			return fd, err
		}
	}
}
