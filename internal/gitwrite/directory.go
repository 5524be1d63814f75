package gitwrite

import (
	"bytes"
	"errors"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"countersign/internal/beneath"
	"countersign/internal/refusal"
)

// directory is a git directory, whose own names are worked on, and no links.
type directory struct{ handle *os.File }

const (
	indexName = "index"
	lockName  = "index.lock"
	maxIndex  = 256 << 20
)

// errHeld says that somebody else holds the index's lock.
var errHeld = errors.New("the index is locked")

func (d directory) fd() int { return int(d.handle.Fd()) }

// read gives a regular file's content; nil where there is none.
func (d directory) read(name string) ([]byte, error) {
	fd, err := unix.Openat(d.fd(), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, beneath.Refuse(name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if st, err := beneath.Fstat(f); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, refusal.New(refusal.NotRegular, name, "")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxIndex+1))
	if err == nil && len(b) > maxIndex {
		return nil, refusal.New(refusal.TooLarge, name, "over %d bytes", maxIndex)
	}
	return append([]byte{}, b...), err
}

// create makes a new file, synced.
func (d directory) create(name string, content []byte) error {
	fd, err := unix.Openat(d.fd(), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return beneath.Refuse(name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = io.Copy(f, bytes.NewReader(content))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return beneath.Refuse(name, err)
	}
	return nil
}

// copyIndex makes a copy of the index, as old as the index is: git tells by that
// age which of its entries it must not trust. It gives the index's content; nil
// where there is none, and then there is no copy.
func (d directory) copyIndex(name string) ([]byte, error) {
	var st unix.Stat_t
	err := unix.Fstatat(d.fd(), indexName, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, beneath.Refuse(indexName, err)
	}
	content, err := d.read(indexName)
	if err != nil || content == nil {
		return nil, err
	}
	if err := d.create(name, content); err != nil {
		return nil, err
	}
	if err := d.stamp(name, st.Mtim); err != nil {
		return nil, beneath.Refuse(name, err)
	}
	return content, nil
}

// stamp sets a file's times through a handle: by a path the walls refuse it.
func (d directory) stamp(name string, at unix.Timespec) error {
	fd, err := unix.Openat(d.fd(), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	times := [2]unix.Timespec{at, at}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// lock takes git's own lock of the index: a link that names whose it is.
func (d directory) lock(owner string) error {
	err := unix.Symlinkat(owner, d.fd(), lockName)
	if errors.Is(err, unix.EEXIST) {
		return errHeld
	}
	if err != nil {
		return beneath.Refuse(lockName, err)
	}
	return nil
}

// holds says whether the lock is this owner's.
func (d directory) holds(owner string) bool {
	var buf [256]byte
	n, err := unix.Readlinkat(d.fd(), lockName, buf[:])
	return err == nil && string(buf[:n]) == owner
}

// unlock lets go of the lock, if it is this owner's.
func (d directory) unlock(owner string) error {
	if !d.holds(owner) {
		return nil
	}
	return d.remove(lockName)
}

// remove removes a name; one that is not there is no error.
func (d directory) remove(name string) error {
	if err := unix.Unlinkat(d.fd(), name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return beneath.Refuse(name, err)
	}
	return nil
}

// swap puts a file over the index, with the index's mode.
func (d directory) swap(name string) error {
	if err := unix.Renameat2(d.fd(), name, d.fd(), indexName, 0); err != nil {
		return beneath.Refuse(indexName, err)
	}
	return d.sync()
}

// sync puts the names on disk.
func (d directory) sync() error {
	fd, err := unix.Openat(d.fd(), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Fsync(fd), unix.Close(fd))
	}
	if err != nil {
		return beneath.Refuse("the git directory", err)
	}
	return nil
}

// there says whether a name stands in the directory.
func (d directory) there(name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}
