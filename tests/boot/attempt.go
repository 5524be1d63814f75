package boot

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// hands make system calls: a process's own, or those of another that is made
// to call.
type hands interface {
	// put places bytes where a call can point to them.
	put(b []byte) (uintptr, error)
	// clear takes away what was placed.
	clear()
	// call makes a call, and gives what it returned.
	call(nr uintptr, args ...uintptr) (uintptr, error)
}

// attempt is one thing that a process might try, by name and the path or
// number it is tried on.
type attempt struct {
	Name string
	On   string
	PID  int
}

// try makes an attempt and names how it ended: "ok", or the error.
func try(h hands, a attempt) string {
	f, ok := attempts()[a.Name]
	if !ok {
		return "no such attempt"
	}
	defer h.clear()
	switch n, err := f(h, a); {
	case err == nil:
		return "ok"
	case unix.ErrnoName(n) != "":
		return unix.ErrnoName(n)
	default:
		return err.Error()
	}
}

type trying func(h hands, a attempt) (unix.Errno, error)

func attempts() map[string]trying {
	at := int64(unix.AT_FDCWD)
	cwd := uintptr(at)
	one := func(nr uintptr, args func(path uintptr) []uintptr) trying {
		return func(h hands, a attempt) (unix.Errno, error) {
			path, err := h.put(append([]byte(a.On), 0))
			if err != nil {
				return 0, err
			}
			_, errno, err := errnoOf(h, nr, args(path)...)
			return errno, err
		}
	}
	open := func(flags int) trying { return opening(flags, 0) }
	return map[string]trying{
		"read":      open(unix.O_RDONLY),
		"write":     open(unix.O_WRONLY),
		"create":    open(unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL),
		"truncate":  one(unix.SYS_TRUNCATE, func(p uintptr) []uintptr { return []uintptr{p, 0} }),
		"rename":    one(unix.SYS_RENAMEAT2, func(p uintptr) []uintptr { return []uintptr{cwd, p, cwd, p, 0} }),
		"unlink":    one(unix.SYS_UNLINKAT, func(p uintptr) []uintptr { return []uintptr{cwd, p, 0} }),
		"mkdir":     one(unix.SYS_MKDIRAT, func(p uintptr) []uintptr { return []uintptr{cwd, p, 0o755} }),
		"symlink":   one(unix.SYS_SYMLINKAT, func(p uintptr) []uintptr { return []uintptr{p, cwd, p} }),
		"chmod":     one(unix.SYS_FCHMODAT, func(p uintptr) []uintptr { return []uintptr{cwd, p, 0o777} }),
		"chown":     one(unix.SYS_FCHOWNAT, func(p uintptr) []uintptr { return []uintptr{cwd, p, ^uintptr(0), ^uintptr(0), 0} }),
		"utime":     one(unix.SYS_UTIMENSAT, func(p uintptr) []uintptr { return []uintptr{cwd, p, 0, 0} }),
		"xattr":     one(unix.SYS_SETXATTR, func(p uintptr) []uintptr { return []uintptr{p, p, p, 1, 0} }),
		"mount":     one(unix.SYS_MOUNT, func(p uintptr) []uintptr { return []uintptr{p, p, p, unix.MS_BIND, 0} }),
		"execute":   one(unix.SYS_EXECVE, func(p uintptr) []uintptr { return []uintptr{p, 0, 0} }),
		"code":      mapping,
		"fchmod":    through(unix.SYS_FCHMOD, 0o777),
		"ftruncate": through(unix.SYS_FTRUNCATE, 0),
		"futimens":  through(unix.SYS_UTIMENSAT, 0, 0, 0),
		"flags":     through(unix.SYS_IOCTL, 0x40086602, 0),
		"inet":      plain(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0),
		"netlink":   plain(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, 0),
		"socket":    plain(unix.SYS_SOCKET, unix.AF_UNIX, stream, 0),
		"unshare":   plain(unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
		"io_uring":  plain(unix.SYS_IO_URING_SETUP, 1, 0),
		"bpf":       plain(unix.SYS_BPF, 0, 0, 0),
		"keyring":   plain(unix.SYS_ADD_KEY, 0, 0, 0, 0, 0),
		"connect":   connecting,
		"signal": func(h hands, a attempt) (unix.Errno, error) {
			_, errno, err := errnoOf(h, unix.SYS_KILL, uintptr(a.PID), uintptr(unix.SIGTERM))
			return errno, err
		},
		"limit": func(h hands, a attempt) (unix.Errno, error) {
			limit, err := h.put(make([]byte, 16))
			if err != nil {
				return 0, err
			}
			_, errno, err := errnoOf(h, unix.SYS_PRLIMIT64, uintptr(a.PID), unix.RLIMIT_NOFILE, limit, 0)
			return errno, err
		},
		"trace": func(h hands, a attempt) (unix.Errno, error) {
			_, errno, err := errnoOf(h, unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(a.PID), 0, 0)
			return errno, err
		},
		"memory": func(h hands, a attempt) (unix.Errno, error) {
			return opening(unix.O_RDWR, 0)(h, attempt{On: fmt.Sprintf("/proc/%d/mem", a.PID)})
		},
	}
}

// stream is the one kind of socket that the keeper may open.
const stream = unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK

// errnoOf makes a call, and gives what the kernel answered.
func errnoOf(h hands, nr uintptr, args ...uintptr) (uintptr, unix.Errno, error) {
	r, err := h.call(nr, args...)
	if err != nil {
		return 0, 0, err
	}
	const most = 4095 // errors are the values from -4095 to -1
	if n := -int64(r); n > 0 && n <= most {
		return 0, unix.Errno(n), unix.Errno(n)
	}
	return r, 0, nil
}

func plain(nr uintptr, args ...uintptr) trying {
	return func(h hands, _ attempt) (unix.Errno, error) {
		fd, errno, err := errnoOf(h, nr, args...)
		if err == nil && nr == unix.SYS_SOCKET {
			h.call(unix.SYS_CLOSE, fd)
		}
		return errno, err
	}
}

// opening opens a path and closes it again.
func opening(flags int, mode uintptr) trying {
	return func(h hands, a attempt) (unix.Errno, error) {
		fd, errno, err := open(h, a.On, flags, mode)
		if err == nil {
			h.call(unix.SYS_CLOSE, fd)
		}
		return errno, err
	}
}

func open(h hands, name string, flags int, mode uintptr) (uintptr, unix.Errno, error) {
	path, err := h.put(append([]byte(name), 0))
	if err != nil {
		return 0, 0, err
	}
	at := int64(unix.AT_FDCWD)
	return errnoOf(h, unix.SYS_OPENAT, uintptr(at), path, uintptr(flags|unix.O_CLOEXEC|unix.O_NOFOLLOW), mode)
}

// through makes a call on a handle that was opened for reading, as one is that
// somebody passed.
func through(nr uintptr, args ...uintptr) trying {
	return func(h hands, a attempt) (unix.Errno, error) {
		fd, errno, err := open(h, a.On, unix.O_RDONLY, 0)
		if err != nil {
			return errno, fmt.Errorf("opening it for reading: %w", err)
		}
		defer h.call(unix.SYS_CLOSE, fd)
		_, errno, err = errnoOf(h, nr, append([]uintptr{fd}, args...)...)
		return errno, err
	}
}

// connecting connects to a Unix socket.
func connecting(h hands, a attempt) (unix.Errno, error) {
	fd, errno, err := errnoOf(h, unix.SYS_SOCKET, unix.AF_UNIX, stream, 0)
	if err != nil {
		return errno, err
	}
	defer h.call(unix.SYS_CLOSE, fd)
	var address bytes.Buffer
	binary.Write(&address, binary.NativeEndian, uint16(unix.AF_UNIX))
	address.WriteString(a.On + "\x00")
	to, err := h.put(address.Bytes())
	if err != nil {
		return 0, err
	}
	_, errno, err = errnoOf(h, unix.SYS_CONNECT, fd, to, uintptr(address.Len()))
	return errno, err
}

// mapping maps a file's content as code, which is what running it comes to.
func mapping(h hands, a attempt) (unix.Errno, error) {
	fd, errno, err := open(h, a.On, unix.O_RDONLY, 0)
	if err != nil {
		return errno, fmt.Errorf("opening it for reading: %w", err)
	}
	defer h.call(unix.SYS_CLOSE, fd)
	at, errno, err := errnoOf(h, unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE, fd, 0)
	if err == nil {
		h.call(unix.SYS_MUNMAP, at, 4096)
	}
	return errno, err
}
