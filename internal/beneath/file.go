package beneath

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/refusal"
)

// Stat is a file's stat.
type Stat = unix.Stat_t

// Fstat stats an open file.
func Fstat(f *os.File) (Stat, error) {
	var st Stat
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Stat{}, fmt.Errorf("fstat: %w", err)
	}
	return st, nil
}

// Stat stats the place, following no link; ErrNotExist where nothing is there.
func (p *Place) Stat() (Stat, error) {
	var st Stat
	if len(p.Missing) > 0 {
		return st, &os.PathError{Op: "stat", Path: "the file", Err: unix.ENOENT}
	}
	if err := unix.Fstatat(int(p.Dir.Fd()), p.Name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Stat{}, &os.PathError{Op: "stat", Path: "the file", Err: err}
	}
	return st, nil
}

// Kind names what a mode says a file is.
func Kind(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "a regular file"
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFIFO:
		return "a pipe"
	case unix.S_IFSOCK:
		return "a socket"
	}
	return "a device"
}

const fuseMagic = 0x65735546

// Open opens the regular file at the place for reading, without following a
// link and without waiting on anything; a nil file where nothing is there. The
// kind is looked at before the open, so that no device or pipe is touched, and
// again behind it. Nothing on FUSE is opened: its server could make any read
// wait for ever.
func (p *Place) Open(what string) (*os.File, error) {
	st, err := p.Stat()
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, Refuse(what, err)
	}
	if err := regular(what, st); err != nil {
		return nil, err
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(p.Dir.Fd()), &fs); err == nil && fs.Type == fuseMagic {
		return nil, refusal.New(refusal.NotRegular, what, "it is on FUSE")
	}
	fd, err := openat2(int(p.Dir.Fd()), p.Name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, nil
	case errors.Is(err, unix.EXDEV):
		return nil, refusal.New(refusal.MountedFile, what, "")
	case err != nil:
		return nil, Refuse(what, err)
	}
	f := os.NewFile(uintptr(fd), "file")
	st, err = Fstat(f)
	if err == nil {
		err = regular(what, st)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(what string, st Stat) error {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return nil
	case unix.S_IFLNK:
		return refusal.New(refusal.Link, what, "")
	}
	return refusal.New(refusal.NotRegular, what, "it is %s", Kind(st.Mode))
}

// Snapshot is an open regular file, as it was read.
type Snapshot struct {
	Version action.Version
	Content []byte
	Whole   bool // whether Content was kept: the file is not over the limit
}

// Take reads a whole open file and says which version that was. Content of
// files up to keep bytes is kept; larger ones are hashed only. A file that
// changes while it is read is read again, three times in all, and then refused.
func Take(what string, f *os.File, keep int64) (Snapshot, error) {
	const attempts = 3
	for range attempts {
		before, err := Fstat(f)
		if err != nil {
			return Snapshot{}, Refuse(what, err)
		}
		s := Snapshot{Whole: before.Size <= keep}
		hash, err := s.read(f, before.Size)
		if err != nil {
			return Snapshot{}, Refuse(what, err)
		}
		after, err := Fstat(f)
		if err != nil {
			return Snapshot{}, Refuse(what, err)
		}
		s.Version = VersionOf(after, hash)
		if VersionOf(before, hash) == s.Version {
			return s, nil
		}
	}
	return Snapshot{}, refusal.New(refusal.Changed, what, "it is being written")
}

// read hashes size bytes from the start, and one more where there is one: that
// makes the hash of a file that grew another's.
func (s *Snapshot) read(f *os.File, size int64) (action.Hash, error) {
	r := io.NewSectionReader(f, 0, size+1)
	if s.Whole {
		b := make([]byte, size+1)
		n, err := io.ReadFull(r, b)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return action.Hash{}, fmt.Errorf("reading: %w", err)
		}
		s.Content = b[:n:n]
		return action.HashOf(s.Content), nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return action.Hash{}, fmt.Errorf("reading: %w", err)
	}
	return action.Hash(h.Sum(nil)), nil
}

// TakeLink says what the symbolic link at the place points to, and which
// version it is.
func (p *Place) TakeLink(what string) (Snapshot, error) {
	target, err := readLinkAt(int(p.Dir.Fd()), p.Name)
	if err != nil {
		return Snapshot{}, Refuse(what, err)
	}
	st, err := p.Stat()
	if err != nil {
		return Snapshot{}, Refuse(what, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK || st.Size != int64(len(target)) {
		return Snapshot{}, refusal.New(refusal.Changed, what, "while it was looked at")
	}
	return Snapshot{Version: VersionOf(st, action.HashOf([]byte(target))), Content: []byte(target), Whole: true}, nil
}

// VersionOf puts a stat and a content's hash together.
func VersionOf(st Stat, hash action.Hash) action.Version {
	kind := action.Regular
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		kind = action.Symlink
	}
	return action.Version{
		Kind: kind, Hash: hash, Size: uint64(st.Size), Mode: st.Mode & 0o7777,
		UID: st.Uid, GID: st.Gid, Dev: st.Dev, Ino: st.Ino, Links: uint64(st.Nlink),
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
}
