package confine

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// attempt is something that a process must not be able to do. Tried without
// walls it changes nothing that is not put back.
type attempt struct {
	what    string
	try     func() error
	refused []unix.Errno // what says that a wall refused it
}

// prove tries what must be refused, on this thread and on another. The error
// names every wall that does not hold.
func (w Walls) prove() error {
	here := tryAll(w.attempts())
	there := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this
		there <- tryAll(w.attempts())
	}()
	return errors.Join(here, <-there)
}

func tryAll(list []attempt) error {
	var all error
	for _, a := range list {
		err := a.try()
		if !slices.ContainsFunc(a.refused, func(e unix.Errno) bool { return errors.Is(err, e) }) {
			all = errors.Join(all, fmt.Errorf("a wall that must stand does not: %s: %v", a.what, outcome(err)))
		}
	}
	return all
}

func outcome(err error) string {
	if err == nil {
		return "it was done"
	}
	return err.Error()
}

// attempts lists what is tried: calls, and places.
func (w Walls) attempts() []attempt {
	list := w.Calls.attempts()
	for _, dir := range w.Read {
		list = append(list, w.creating(dir))
	}
	for _, dir := range []string{"/", "/tmp", "/var/tmp", "/dev/shm"} {
		if !w.opens(dir) {
			list = append(list, w.creating(dir))
		}
	}
	for _, dir := range w.Closed {
		list = append(list, attempt{"opening " + dir, func() error { return opening(dir, unix.O_RDONLY|unix.O_DIRECTORY) }, byPlace()})
	}
	return list
}

// opens says whether files may be made in dir.
func (w Walls) opens(dir string) bool {
	return slices.ContainsFunc(slices.Concat(w.Change, w.State), func(d string) bool {
		rel, err := filepath.Rel(d, dir)
		return err == nil && filepath.IsLocal(rel)
	})
}

// byPlace says what refuses a place: Landlock, a mount, or that it is not there.
func byPlace() []unix.Errno { return []unix.Errno{unix.EACCES, unix.EROFS, unix.EPERM, unix.ENOENT} }

// creating tries to make a file, and removes one that it could make.
func (w Walls) creating(dir string) attempt {
	return attempt{"creating a file in " + dir, func() error {
		name := filepath.Join(dir, fmt.Sprintf(".countersign-wall-%d-%d", unix.Getpid(), unix.Gettid()))
		err := opening(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)
		if err == nil {
			unix.Unlink(name)
		}
		return err
	}, byPlace()}
}

func opening(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// attempts lists the calls that are tried. Each is made so that it fails, in
// another way than by a wall, or comes to nothing where there is none.
func (c Calls) attempts() []attempt {
	const none, bad = 0, ^uintptr(0)
	call := func(what string, nr uintptr, args ...uintptr) attempt {
		var a [6]uintptr
		copy(a[:], args)
		return attempt{what, func() error { return calling(nr, a) }, []unix.Errno{unix.EPERM}}
	}
	list := []attempt{
		call("running a program by its handle", unix.SYS_EXECVEAT, bad),
		call("making a process by fork", unix.SYS_CLONE, unix.CLONE_SIGHAND|uintptr(unix.SIGCHLD)),
		call("opening an internet socket", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC),
		call("opening a datagram socket", unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC),
		call("listening", unix.SYS_LISTEN, bad),
		call("binding a socket", unix.SYS_BIND, bad),
		call("changing a mode by its path", unix.SYS_FCHMODAT, bad),
		call("changing an owner by its path", unix.SYS_FCHOWNAT, bad),
		call("setting an attribute by its path", unix.SYS_LSETXATTR, bad),
		call("controlling a device", unix.SYS_IOCTL, bad, unix.FS_IOC_SETFLAGS),
		call("leaving a namespace", unix.SYS_UNSHARE, none),
		call("entering a namespace", unix.SYS_SETNS, bad),
		call("tracing", unix.SYS_PTRACE, bad),
		call("reading another process", unix.SYS_PROCESS_VM_READV, bad),
		call("taking another's handle", unix.SYS_PIDFD_GETFD, bad),
		call("an io_uring", unix.SYS_IO_URING_SETUP, none, none),
		call("setting limits", unix.SYS_PRLIMIT64, none, bad, 1),
	}
	if c != Keeper {
		list = append(list,
			call("opening a socket", unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK),
			call("connecting", unix.SYS_CONNECT, bad))
	}
	if c == GitRead || c == GitWrite {
		making := call("making a process", unix.SYS_CLONE3)
		making.refused = []unix.Errno{unix.ENOSYS}
		list = append(list, making)
	} else {
		list = append(list, call("running a program", unix.SYS_EXECVE), call("making a process", unix.SYS_CLONE3))
	}
	if c != Scribe {
		list = append(list, call("changing an owner", unix.SYS_FCHOWN, bad), call("setting an attribute", unix.SYS_FSETXATTR, bad),
			call("taking a lease", unix.SYS_FCNTL, bad, unix.F_SETLEASE, unix.F_RDLCK))
	}
	if c != GitWrite {
		list = append(list, call("setting times by a path", unix.SYS_UTIMENSAT, bad, bad))
	}
	if c != Scribe && c != GitWrite {
		list = append(list, call("changing a mode", unix.SYS_FCHMOD, bad), call("making a link", unix.SYS_SYMLINKAT, bad, bad, bad))
	}
	if c == Reader || c == Bare || c == GitRead {
		list = append(list,
			call("truncating", unix.SYS_FTRUNCATE, bad), call("writing at a place", unix.SYS_PWRITE64, bad),
			call("renaming", unix.SYS_RENAMEAT2, bad, none, bad), call("removing", unix.SYS_UNLINKAT, bad))
	}
	return list
}

// calling makes a call, and closes a handle that it may have given.
func calling(nr uintptr, a [6]uintptr) error {
	r, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	if nr == unix.SYS_SOCKET {
		unix.Close(int(r))
	}
	return nil
}

// tryUnlisted makes a call that is on no list, and that comes to nothing where
// it is not refused.
func tryUnlisted() error { return calling(unix.SYS_UNSHARE, [6]uintptr{}) }
