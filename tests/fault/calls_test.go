package fault

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/elastic/go-seccomp-bpf/arch"
)

// fault is what befalls one call.
type fault struct {
	at    int           // which one, counted from 1; 0 is none
	kill  bool          // the process is killed before it
	after bool          // it is carried out, and is said to have failed
	errno syscall.Errno // what it fails with
}

// none is a place that no call has: its fault only looks on.
const none = -1

func (f fault) String() string {
	switch {
	case f.at == 0:
		return "nothing"
	case f.kill:
		return "SIGKILL"
	case f.after:
		return names()[f.errno] + " though it was done"
	}
	return names()[f.errno]
}

func names() map[syscall.Errno]string {
	return map[syscall.Errno]string{syscall.EIO: "EIO", syscall.ENOSPC: "ENOSPC", syscall.EDQUOT: "EDQUOT", syscall.EACCES: "EACCES"}
}

// uncounted are the calls that are left alone, most of them of Go's own
// runtime, with what they are for. How many there are and where they fall
// differs from run to run, they touch nothing outside the process, and most of
// those that fail end it: to disk, a kill there is the kill at the next call
// that is counted. Reading the clock is none at all: it does not enter the kernel.
func uncounted() map[string]string {
	calls := make(map[string]string)
	for why, list := range map[string]string{
		"memory":                  "mmap munmap madvise brk mremap mprotect prctl",
		"threads":                 "clone clone3 futex sched_yield sched_getaffinity set_robust_list rseq exit exit_group gettid getpid",
		"signals":                 "rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack tgkill kill restart_syscall",
		"time and waiting for it": "nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday epoll_pwait epoll_wait epoll_ctl",
		"other callers":           "accept4", // of a change: the keeper has its connection
	} {
		for _, name := range strings.Fields(list) {
			calls[name] = why
		}
	}
	return calls
}

// mutates says whether a call changes something outside the process, so that
// it can have been done and said to have failed. An open that makes a file is
// not among them: no filesystem that is written to here makes one and fails.
func (c call) mutates() bool {
	switch c.name {
	case "write", "pwrite64", "fsync", "fdatasync", "fchmod", "fchown", "renameat2", "unlinkat", "mkdirat", "symlinkat",
		"fsetxattr", "fremovexattr", "fcntl", "sendmsg":
		return true
	}
	return false
}

// kernel knows the system calls of this architecture.
type kernel struct {
	names map[int]string
	left  map[string]string // uncounted
}

func newKernel() kernel {
	info, err := arch.GetInfo("")
	if err != nil {
		panic(err)
	}
	return kernel{info.SyscallNumbers, uncounted()}
}

// callOf says which call a number is, and whether it is counted: all are but
// the runtime's own, what wakes its poller, and the word that it is ready.
func (k kernel) callOf(pid, nr int, first uint64) (c call, counted bool) {
	c.name = k.names[nr]
	if _, left := k.left[c.name]; left {
		return c, false
	}
	switch c.name {
	case "read", "write", "sendmsg", "recvmsg", "recvfrom":
		on, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, first))
		if c.on, _, _ = strings.Cut(on, ":["); strings.HasPrefix(on, "/") {
			c.on = "file"
		}
	}
	return c, c.on != "anon_inode" && c.on != "pipe"
}

// call is one system call.
type call struct {
	name string
	on   string // what a handle that is read or written is of
}

func (c call) String() string { return strings.TrimSpace(c.name + " " + c.on) }
