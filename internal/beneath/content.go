package beneath

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Content is a regular file that is open to be read through once. It is no
// os.File: the runtime's poller has nothing to do for it, and would cost a
// search of many small files two system calls each.
type Content struct {
	Stat Stat // when it was opened
	fd   int
}

// OpenContent opens a regular file beneath the root for reading, as OpenDirectory
// opens directories, and waits for nothing. The errors are the kernel's, and
// ErrNotRegular. The caller closes the content.
//
// The kernel goes to a path name by name, and a directory can be moved from
// beneath the root while it does; so where the file is, is asked again once it
// is open.
func (r *Root) OpenContent(relative string, o Options) (Content, error) {
	fd, err := r.open(relative, o.how(unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY))
	if err != nil {
		return Content{}, fmt.Errorf("opening a file: %w", err)
	}
	c := Content{fd: fd}
	switch err = unix.Fstat(fd, &c.Stat); {
	case err == nil && c.Stat.Mode&unix.S_IFMT != unix.S_IFREG:
		err = ErrNotRegular
	case err == nil && !standsAt(fd, strings.TrimSuffix(r.Real, "/")+"/"+relative):
		err = unix.ENOENT
	}
	if err != nil {
		unix.Close(fd)
		return Content{}, fmt.Errorf("opening a file: %w", err)
	}
	return c, nil
}

// Read reads the file from its beginning into buf, until that is full or the file
// ends, and gives what it read.
func (c Content) Read(buf []byte) ([]byte, error) {
	have := 0
	for have < len(buf) {
		n, err := unix.Pread(c.fd, buf[have:], int64(have))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, fmt.Errorf("reading: %w", err)
		case n <= 0:
			return buf[:have], nil
		}
		have += n
	}
	return buf, nil
}

// Close lets go of the file.
func (c Content) Close() error { return unix.Close(c.fd) }
