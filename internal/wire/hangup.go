package wire

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// untilHangUp returns a context that ends when ctx does or the peer hangs up,
// and a stop that must be called before the connection is read again.
//
// The watch looks at the socket without taking anything from it. It ends at
// the peer's first byte as well: behind that, an end cannot be seen.
func (c *conn) untilHangUp(ctx context.Context) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancel(ctx)
	rc, err := c.uc.SyscallConn()
	if err != nil { // the connection is closed already
		cancel()
		return watched, cancel
	}
	c.uc.SetReadDeadline(time.Time{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hungUp := false
		rc.Read(func(fd uintptr) (done bool) {
			hungUp, done = peek(int(fd))
			return done
		})
		if hungUp {
			cancel()
		}
	}()
	return watched, func() {
		c.uc.SetReadDeadline(time.Unix(1, 0)) // wakes the watch
		<-ended
		cancel()
	}
}

// peek looks at what a socket would give next. done is false while that is
// nothing.
func peek(fd int) (hungUp, done bool) {
	var one [1]byte
	for {
		n, _, err := unix.Recvfrom(fd, one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return false, false
		default:
			return n == 0 || err != nil, true
		}
	}
}
