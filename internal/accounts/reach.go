package accounts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Reach says how a user, with these groups, could enter a home or put another
// in its place; the empty string where it can do neither. It needs root.
func Reach(uid uint32, gids []uint32, home string) (string, error) { return reach(uid, gids, home) }

// reach says how a user of these groups could enter a home, or put another in
// its place; the empty string where it can do neither. The kernel is asked, as
// that user: mode bits, access control lists, groups and every directory above
// count exactly as they would.
func reach(uid uint32, gids []uint32, home string) (how string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		if err = become(uid, gids); err == nil {
			how, err = look(uid, home)
		}
	}()
	<-done
	return how, err
}

// become makes the calling thread, and no other, a user's in what concerns
// files: a raw system call changes one thread, where the standard library
// changes all of them. Only the filesystem's ids change, and with them the
// capabilities over files go: as one that had the user's uid, the thread could
// be stopped, limited or killed by that user, who is the one judged here.
func become(uid uint32, gids []uint32) error {
	if _, _, e := syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(gids)), uintptr(unsafe.Pointer(&gids[0])), 0); e != 0 {
		return fmt.Errorf("setting groups: %w", e)
	}
	for _, set := range []struct {
		call, id uintptr
	}{{unix.SYS_SETFSGID, uintptr(gids[0])}, {unix.SYS_SETFSUID, uintptr(uid)}} {
		syscall.RawSyscall(set.call, set.id, 0, 0) // answers with the id before, and never fails otherwise
		const none = ^uintptr(0)
		if now, _, _ := syscall.RawSyscall(set.call, none, 0, 0); now != set.id {
			return fmt.Errorf("[unexpected] the filesystem's id is %d, not %d", now, set.id)
		}
	}
	return nil
}

func look(uid uint32, home string) (string, error) {
	for _, try := range []struct {
		right uint32
		verb  string
	}{{unix.X_OK, "enter"}, {unix.R_OK, "list"}, {unix.W_OK, "write to"}} {
		may, err := may(home, try.right)
		if err != nil || may {
			return fmt.Sprintf("it could %s the home %s", try.verb, home), err
		}
	}
	for dir := filepath.Dir(home); ; dir = filepath.Dir(dir) {
		replace, err := replaces(uid, dir)
		if err != nil || replace {
			return fmt.Sprintf("it could put another directory in the place of the home %s, since it may write to %s", home, dir), err
		}
		if dir == "/" {
			return "", nil
		}
	}
}

// replaces says whether the user could rename what lies in a directory and is
// not its own: as one that may write there, unless the directory is sticky, or
// as its owner, who can change the mode.
func replaces(uid uint32, dir string) (bool, error) {
	info, err := os.Stat(dir)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) {
		return false, nil // it does not come near
	}
	if err != nil {
		return false, fmt.Errorf("looking at a directory above the home: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false, errors.New("[unexpected] a directory's owner is not known")
	}
	if st.Uid == uid {
		return true, nil
	}
	write, err := may(dir, unix.W_OK|unix.X_OK)
	return write && info.Mode()&os.ModeSticky == 0, err
}

func may(path string, rights uint32) (bool, error) {
	err := unix.Faccessat(unix.AT_FDCWD, path, rights, unix.AT_EACCESS)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.EROFS), errors.Is(err, unix.ENOENT):
		return false, nil
	}
	return false, fmt.Errorf("asking what another user may do with %s: %w", path, err)
}
