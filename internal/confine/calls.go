package confine

import (
	"fmt"
	"os"
	"runtime"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// Calls names the system calls that a process may make.
type Calls uint8

const (
	Bare     Calls = iota // of a process that answers callers and opens nothing
	Reader                // opens files and passes them
	Scribe                // changes files, and passes what it displaced
	Keeper                // keeps files of its own, and connects to Unix sockets
	GitRead               // starts git, which reads; the list is git's as well
	GitWrite              // starts git, which changes a repository; the list is git's as well
)

// bare is what a Go program needs to live and to answer on a listening socket
// that it has: memory, threads, timers, signals to itself, the poller, and what
// goes through handles. Nothing in it makes a process, a socket or a mount, runs
// a program, or reaches another process.
func bare() []string {
	return []string{
		// Memory. Mapping is judged below: nothing becomes executable.
		"munmap", "madvise", "brk", "mremap",
		// Threads, signals and time. Making threads and sending signals is
		// judged below.
		"futex", "sched_yield", "sched_getaffinity", "gettid", "getpid", "getppid", "getuid", "geteuid", "getgid", "getegid",
		"exit", "exit_group", "restart_syscall", "rseq", "set_robust_list", "sigaltstack",
		"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday",
		"getrandom", "uname", "umask",
		// The poller.
		"epoll_create1", "eventfd2", "epoll_ctl", "epoll_pwait",
		// Through handles. There is no dup and, in fcntl, no F_DUPFD.
		"read", "write", "close", "lseek", "pread64", "fstat", "fstatfs", "getdents64",
		// Looking. What may be opened is Landlock's to hold, for writing too:
		// openat2 keeps its flags where a filter cannot read them.
		"openat", "openat2", "statx", "statfs", "readlinkat", "faccessat", "faccessat2", "getcwd",
		// Answering. Handles are passed by sendmsg, judged below, and none are
		// taken: recvfrom cannot receive any.
		"accept4", "getsockopt", "getsockname", "getpeername", "recvfrom", "shutdown",
	}
}

// older are spellings of calls in bare that some architectures lack.
func older() []string {
	return []string{"newfstatat", "fstatat", "open", "stat", "lstat", "access", "readlink", "epoll_wait", "time", "poll"}
}

// more is what each kind of process needs beyond.
func (c Calls) more() []string {
	switch c {
	case Reader:
		return []string{"flistxattr", "fgetxattr", "pipe2"}
	case Scribe:
		return []string{"flistxattr", "fgetxattr", "pipe2", "fsync", "fdatasync", "pwrite64", "renameat2", "unlinkat",
			"mkdirat", "symlinkat", "fsetxattr", "fremovexattr"}
	case Keeper:
		return []string{
			"fsync", "fdatasync", "pwrite64", "ftruncate", "fallocate", "flock", "mkdirat", "unlinkat", "renameat", "renameat2",
			"connect", "recvmsg",
		}
	case GitRead:
		return gitReads()
	case GitWrite:
		return append(gitReads(), gitWrites()...)
	}
	return nil
}

// olderMore are spellings of calls in more that some architectures lack.
func (c Calls) olderMore() []string {
	switch c {
	case Keeper:
		return []string{"rename", "mkdir", "unlink", "rmdir"}
	case GitRead:
		return gitOlder()
	case GitWrite:
		return append(gitOlder(), "rename", "mkdir", "unlink", "rmdir", "link", "symlink")
	}
	return nil
}

// judged are the calls whose arguments decide. Rows of one call are
// alternatives; the conditions of a row hold together. Values are compared as 64
// bits, of which the kernel drops the upper half of an int: a row that forbids
// one value must fix that half too.
func (c Calls) judged(notify int) []seccomp.NameWithConditions {
	const (
		half       = 1<<32 - 1
		namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
			unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME
		special = unix.S_ISUID | unix.S_ISGID | unix.S_ISVTX
	)
	self := uint64(os.Getpid())
	rows := []seccomp.NameWithConditions{
		row("mmap", without(2, unix.PROT_EXEC)),
		row("mprotect", without(2, unix.PROT_EXEC)),
		// A thread of this process, and no process.
		row("clone", seccomp.Condition{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD}, without(0, namespaces)),
		row("kill", is(0, self)),
		row("tgkill", is(0, self)),
		row("fcntl", is(1, unix.F_GETFL)),
		row("fcntl", is(1, unix.F_SETFL)),
		row("fcntl", is(1, unix.F_GETFD)),
		row("fcntl", is(1, unix.F_SETFD)),
		// The runtime names its memory for those who look at it.
		row("prctl", is(0, unix.PR_SET_VMA)),
		// Where sendmsg names an address, a connected datagram socket sends
		// there: the one to the service manager must not reach others.
		row("sendmsg", seccomp.Condition{Argument: 0, Operation: seccomp.LessOrEqual, Value: half},
			seccomp.Condition{Argument: 0, Operation: seccomp.NotEqual, Value: uint64(uint32(notify))}),
	}
	switch c {
	case Scribe:
		rows = append(rows,
			row("fchmod", without(1, special)),
			row("fchown", is(1, ^uint64(0))), // the group alone
			row("utimensat", is(1, 0)),       // through a handle, by no path
			row("fcntl", is(1, unix.F_SETLEASE), is(2, unix.F_RDLCK)),
			row("fcntl", is(1, unix.F_GETLEASE)),
		)
	case GitRead, GitWrite:
		rows = append(rows, gitJudged(c)...)
	case Keeper:
		rows = append(rows, row("socket", is(0, unix.AF_UNIX), is(1, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)))
	}
	return rows
}

func row(name string, conditions ...seccomp.Condition) seccomp.NameWithConditions {
	return seccomp.NameWithConditions{Name: name, Conditions: conditions}
}

func is(arg uint32, v uint64) seccomp.Condition {
	return seccomp.Condition{Argument: arg, Operation: seccomp.Equal, Value: v}
}

func without(arg uint32, bits uint64) seccomp.Condition {
	return seccomp.Condition{Argument: arg, Operation: seccomp.BitsNotSet, Value: bits}
}

// filter makes the list of a process: what is not in it is refused with EPERM.
func (c Calls) filter(notify int) (seccomp.Filter, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return seccomp.Filter{}, fmt.Errorf("system calls of %s: %w", runtime.GOARCH, err)
	}
	names := append(bare(), c.more()...)
	for _, name := range append(older(), c.olderMore()...) {
		if _, there := info.SyscallNames[name]; there {
			names = append(names, name)
		}
	}
	groups := []seccomp.SyscallGroup{{Action: seccomp.ActionAllow, Names: names, NamesWithCondtions: c.judged(notify)}}
	if c == GitRead || c == GitWrite {
		// Its flags lie where a filter cannot see them. A C library that hears
		// of no such call makes its threads by clone, whose flags are judged.
		groups = append(groups, seccomp.SyscallGroup{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}})
	}
	return seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: seccomp.Policy{
		DefaultAction: seccomp.ActionErrno, Syscalls: groups,
	}}, nil
}

// allowOnly puts the list on every thread of the process, those to come
// included, and makes sure that it is there: a list that could not be put on
// one thread is on none.
func (c Calls) allowOnly(notify int) error {
	f, err := c.filter(notify)
	if err != nil {
		return err
	}
	if err := seccomp.LoadFilter(f); err != nil {
		return fmt.Errorf("raising seccomp: %w", err)
	}
	if err := tryUnlisted(); err != unix.EPERM {
		return fmt.Errorf("raising seccomp: [unexpected] a call that is not on the list was not refused: %v", err)
	}
	return nil
}
