package policy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// MaxFile bounds a policy file, in bytes.
const MaxFile = 1 << 20

// Load reads and parses the policy at path.
func Load(path string) (*Policy, error) {
	data, err := Read(path)
	if err != nil {
		return nil, err
	}
	p, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("the policy %s: %w", path, err)
	}
	return p, nil
}

// Read gives the bytes of the policy at path. The file is opened once, without
// following a link at its last name and without waiting on a pipe, and what
// was opened is what is checked and read: it is regular, at most 1 MiB, owned
// by root or by the calling user, and written by nobody else.
func Read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the policy: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("looking at the policy: %w", err)
	}
	if err := trusted(info); err != nil {
		return nil, fmt.Errorf("the policy %s: %w", path, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	return data, nil
}

// trusted says why the file that info describes cannot be a policy.
func trusted(info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return errors.New("[unexpected] its owner is not known")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to uid %d, not to root or to the calling user", st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("its mode %04o lets group or others write it", info.Mode().Perm())
	case info.Size() > MaxFile:
		return errTooLarge
	}
	return nil
}

var errTooLarge = fmt.Errorf("it is over %d bytes", MaxFile)
