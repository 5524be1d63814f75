package beneath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/refusal"
)

// Root is a directory that paths are resolved beneath.
type Root struct {
	Real   string // where it is, every link on the way resolved
	listed string // as it was asked for
	dir    *os.File
	id     identity
}

type identity struct{ dev, ino uint64 }

// OpenRoot opens the directory that path leads to now, following links. The
// error is the kernel's, or a refusal where the directory is being moved.
func OpenRoot(path string) (*Root, error) {
	fd, real, err := openLed(path)
	if err != nil {
		return nil, fmt.Errorf("opening the root: %w", err)
	}
	r := &Root{Real: real, listed: path, dir: os.NewFile(uintptr(fd), "root")}
	st, err := Fstat(r.dir)
	if err != nil {
		r.dir.Close()
		return nil, err
	}
	r.id = identity{st.Dev, st.Ino}
	return r, nil
}

// openLed opens the directory that path leads to, and says where that is, every
// link on the way resolved. The kernel says where a directory is by now, and one
// may be moved once it is open: what it says must be where path leads.
func openLed(path string) (fd int, real string, err error) {
	const tries = 3
	for range tries {
		if fd, err = unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return -1, "", err
		}
		if real, err = realPath(fd); err == nil && leads(path, real) {
			return fd, real, nil
		}
		unix.Close(fd)
		if err != nil {
			return -1, "", err
		}
	}
	return -1, "", refusal.New(refusal.RootReplaced, action.Path(path).String(), "")
}

// leads says whether a path leads to a real one, by the links on its way. A
// filesystem that folds letters may spell it in others.
func leads(path, real string) bool {
	if path == real {
		return true
	}
	at, err := filepath.EvalSymlinks(path)
	return err == nil && strings.EqualFold(at, real)
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
	if !strings.HasPrefix(p, "/") || strings.HasSuffix(p, " (deleted)") && !isAt(fd, p) {
		return "", fmt.Errorf("asking where a directory is: %w", unix.ENOENT)
	}
	return p, nil
}

// isAt says whether a handle's directory stands at a path: one may be called
// what the kernel calls a directory that was removed.
func isAt(fd int, path string) bool {
	var is, at unix.Stat_t
	return unix.Fstat(fd, &is) == nil && unix.Lstat(path, &at) == nil && identity{is.Dev, is.Ino} == identity{at.Dev, at.Ino}
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
