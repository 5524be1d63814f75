package beneath

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Content is a regular file that is open to be read through once. It is no
// os.File: the runtime's poller has nothing to do for it, and would cost a
// search of many small files two system calls each.
type Content struct {
	Stat Stat // when it was opened
	fd   int
}

// OpenContent is OpenRegular for a file that is read through and closed. The
// errors are the kernel's, and ErrNotRegular.
func (r *Root) OpenContent(relative string, o Options) (Content, error) {
	fd, err := r.open(relative, o.how(unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY))
	if err != nil {
		return Content{}, fmt.Errorf("opening a file: %w", err)
	}
	c := Content{fd: fd}
	if err = unix.Fstat(fd, &c.Stat); err == nil && c.Stat.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotRegular
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
