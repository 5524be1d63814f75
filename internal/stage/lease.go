package stage

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/beneath"
	"countersign/internal/refusal"
)

// lease is a file that is held open, with a read lease where one can be had:
// while it is held, another program's open for writing waits, and is noticed.
// What is done to the file without opening it for writing (its mode, its name)
// waits for nobody.
type lease struct {
	file *os.File
	none string // why there is no lease; empty where there is one
}

func setLease(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return err
}

// How often, and how far apart, a file that is open for writing is tried again.
const (
	leaseTries = 4
	leasePause = 15 * time.Millisecond
)

// lease takes a lease on a file that is open for reading, and takes the file
// over. A file that somebody has open for writing is tried again, and then
// refused by name. Where the filesystem has no leases the reason is kept: then
// only the exchange stands between two writers.
func (s *Stager) lease(what string, f *os.File) (*lease, error) {
	for try := 1; ; try++ {
		err := s.cfg.Lease(f)
		if err == nil {
			return &lease{file: f}, nil
		}
		if !errors.Is(err, unix.EAGAIN) {
			s.cfg.Log.Warn("no lease on a file: only the exchange stands between two writers", "path", what, "error", err)
			return &lease{file: f, none: beneath.Refuse("the lease", err).Error()}, nil
		}
		if try == leaseTries {
			f.Close()
			return nil, refusal.New(refusal.InUse, what, "")
		}
		time.Sleep(leasePause)
	}
}

// broken says whether another program has opened the file for writing, or is
// waiting to, since the lease was taken. What is held without a lease is not
// known to be.
func (l *lease) broken() bool {
	if l == nil || l.file == nil || l.none != "" {
		return false
	}
	held, err := unix.FcntlInt(l.file.Fd(), unix.F_GETLEASE, 0)
	return err != nil || held != unix.F_RDLCK
}

// release lets go of the lease and the file. A nil lease is none.
func (l *lease) release() error {
	if l == nil || l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
