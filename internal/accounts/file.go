package accounts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"countersign/internal/policy"
)

// held is the policy file while nobody else of this package's changes it.
type held struct {
	path string
	old  []byte // nil where there is no file
	lock *os.File
}

// hold reads the policy, and locks the system's configuration against another
// of these commands until release: they change units and groups too.
func (c *Config) hold() (*held, error) {
	// A file that only root can open: whoever can open a file can hold its lock.
	lock, err := os.OpenFile(filepath.Join(c.Run, "countersign.lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of these commands: %w", err)
	}
	h := &held{path: c.policyFile(), lock: lock}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = &Refused{What: h.path, Why: "another command is changing it", Fix: "try again"}
	case err != nil:
		err = fmt.Errorf("locking the system's configuration: %w", err)
	default:
		h.old, err = policy.Read(h.path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.release()
		return nil, err
	}
	return h, nil
}

func (h *held) release() { h.lock.Close() }

// put is the step that replaces the policy.
func (h *held) put(fresh []byte, say string) step {
	dir := filepath.Dir(h.path)
	made := false
	return step{
		say:  say,
		must: true,
		do: func(context.Context) error {
			now, err := policy.Read(h.path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if !bytes.Equal(now, h.old) {
				return &Refused{What: h.path, Why: "somebody changed it in the meantime", Fix: "try again"}
			}
			if !exists(dir) {
				made = true
				if err := makeDirectory(dir); err != nil {
					return err
				}
			}
			return replace(h.path, fresh)
		},
		undo: func(context.Context) error {
			if made {
				defer os.Remove(dir) // an error leaves a directory that holds something else
			}
			now, err := policy.Read(h.path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case !bytes.Equal(now, fresh):
				return nil // not of this command's making
			case h.old == nil:
				return os.Remove(h.path)
			}
			return replace(h.path, h.old)
		},
	}
}

// makeDirectory makes a directory that everybody may look into, whatever the
// caller's umask; one that is there stays as it is.
func makeDirectory(dir string) error {
	err := os.Mkdir(dir, 0o755)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err == nil:
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	return nil
}

// replace gives a file new content in one step and puts it on disk. Owner and
// mode stay; a new file is root's, 0644.
func replace(path string, content []byte) error {
	mode, uid, gid := fs.FileMode(0o644), 0, 0
	if info, err := os.Lstat(path); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() {
			mode, uid, gid = info.Mode().Perm(), int(st.Uid), int(st.Gid)
		}
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("making a file beside %s: %w", path, err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	_, err = f.Write(content)
	if err == nil {
		err = errors.Join(f.Chown(uid, gid), f.Chmod(mode), f.Sync())
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("replacing %s: %w", path, err)
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}
