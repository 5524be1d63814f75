package gitplan

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/refusal"
)

// inside is a work tree, in which nothing is reached through a link.
type inside struct{ root *os.File }

func openInside(root string) (*inside, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, beneath.Refuse(action.Path(root).String(), err)
	}
	return &inside{os.NewFile(uintptr(fd), root)}, nil
}

func (in *inside) close() {
	if in != nil {
		in.root.Close()
	}
}

// standing is what stands at a path.
type standing struct {
	isDir, link, program bool
	target               string // of a link
	mode                 uint32 // permission bits
	size                 uint64
}

func missing(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// stat looks at a path; nil where nothing stands, or only beyond a link.
func (in *inside) stat(relative string) (*standing, error) {
	what := action.Path(relative).String()
	dir, err := in.open(path.Dir(relative), unix.O_PATH|unix.O_DIRECTORY)
	if missing(err) || errors.Is(err, unix.ELOOP) {
		return nil, nil
	}
	if err != nil {
		return nil, beneath.Refuse(what, err)
	}
	defer dir.Close()
	var st unix.Stat_t
	base := path.Base(relative)
	if err := unix.Fstatat(int(dir.Fd()), base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		if missing(err) {
			return nil, nil
		}
		return nil, beneath.Refuse(what, err)
	}
	s := &standing{mode: st.Mode & 0o777, size: uint64(st.Size), program: st.Mode&0o100 != 0}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		s.isDir = true
	case unix.S_IFLNK:
		var buf [unix.PathMax]byte
		n, err := unix.Readlinkat(int(dir.Fd()), base, buf[:])
		if err != nil {
			return nil, beneath.Refuse(what, err)
		}
		s.link, s.target = true, string(buf[:n])
	default:
		return nil, refusal.New(refusal.NotRegular, what, "%s", beneath.Kind(st.Mode))
	}
	return s, nil
}

func (in *inside) open(relative string, flags uint64) (*os.File, error) {
	fd, err := unix.Openat2(int(in.root.Fd()), relative, &unix.OpenHow{
		Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), relative), nil
}

// content hashes a regular file, and gives its content where that is within
// keep bytes.
func (in *inside) content(relative string, keep int64) (content []byte, hash action.Hash, err error) {
	what := action.Path(relative).String()
	f, err := in.open(relative, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW)
	if err != nil {
		return nil, hash, beneath.Refuse(what, err)
	}
	defer f.Close()
	if st, err := beneath.Fstat(f); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, hash, refusal.New(refusal.Changed, what, "")
	}
	h := sha256.New()
	content, err = io.ReadAll(io.LimitReader(io.TeeReader(f, h), keep+1))
	if err == nil && int64(len(content)) > keep {
		content = nil
		_, err = io.Copy(h, f)
	}
	if err != nil {
		return nil, hash, beneath.Refuse(what, err)
	}
	h.Sum(hash[:0])
	return content, hash, nil
}
