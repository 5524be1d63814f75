package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const oNoFollow = unix.O_NOFOLLOW

// fdatasync puts a file's content and size on disk. Times are left behind:
// nothing here reads them, and fsync would write them at each commit. A call
// that a signal interrupted has told nothing yet, so it is made again; any
// other error is final.
func fdatasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

func fsync(f *os.File) error { return f.Sync() }

func writeAt(f *os.File, b []byte, off int64) (int, error) { return f.WriteAt(b, off) }

// lockDir takes the one lock of a journal's directory. The kernel gives it
// back when the process ends, however it ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|oNoFollow, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the journal's lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("locking the journal: %w", err)
	}
	return f, nil
}
