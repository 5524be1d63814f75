// Package disk lets a change of several files meet what disks and other
// programs do: no room, no quota, nothing to be written, a filesystem that is
// not up to it, names swapped under it. It is always the same that must hold:
// a refusal by name, everything as it was, nothing left.
package disk

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/tests/lab"
)

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func run(t testing.TB, name string, args ...string) {
	t.Helper()
	lab.Need(t, name)
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// mount mounts something until the test ends.
func mount(t testing.TB, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	must(t, unix.Mount(source, target, kind, flags, data))
	t.Cleanup(func() { must(t, unix.Unmount(target, unix.MNT_DETACH)) })
}

// Inode flags of linux/fs.h.
const (
	immutable  = 0x10
	appendOnly = 0x20
)

// flag sets an inode flag until the test ends.
func flag(t testing.TB, path string, bit int) {
	t.Helper()
	set := func(on bool) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if flags &^= bit; on {
			flags |= bit
		}
		return errors.Join(err, unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags))
	}
	must(t, set(true))
	t.Cleanup(func() { must(t, set(false)) })
}
