package confine

import (
	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// gitReads is what starting git needs, and what git, its C library and their
// loader need to read a repository. There is no socket in it, no time stamp and
// no mode to set, so that not even an index is refreshed, and no way to write
// but through the pipes that were passed.
func gitReads() []string {
	return []string{
		// Starting it: handles are passed in, and put in their places.
		"recvmsg", "pipe2", "dup3", "execve", "wait4", "waitid", "chdir", "fchdir",
		// Narrowing it.
		"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
		// Its start and threads.
		"set_tid_address", "sysinfo",
	}
}

// gitWrites is what git needs besides to change a repository: objects are
// linked or renamed into their places and made older or younger, work trees are
// taken apart and put together.
func gitWrites() []string {
	return []string{
		"fsync", "fdatasync", "sync_file_range", "pwrite64", "ftruncate", "utimensat",
		"renameat", "renameat2", "linkat", "unlinkat", "symlinkat", "mkdirat",
	}
}

// gitOlder are spellings that some architectures lack.
func gitOlder() []string { return []string{"dup2", "arch_prctl", "pipe"} }

// gitJudged are the calls of both whose arguments decide.
func gitJudged(c Calls) []seccomp.NameWithConditions {
	const (
		mapped  = unix.PROT_READ | unix.PROT_EXEC
		started = unix.CLONE_VM | unix.CLONE_VFORK | uint64(unix.SIGCHLD)
		special = unix.S_ISUID | unix.S_ISGID | unix.S_ISVTX
	)
	rows := []seccomp.NameWithConditions{
		// Code is mapped from files, never written and never shared. Which
		// files may be mapped so is the mount's to say.
		row("mmap", is(2, mapped), without(3, unix.MAP_ANONYMOUS|unix.MAP_SHARED)),
		// A process is made only to become a program at once. Git, which would
		// fork to run something, cannot.
		row("clone", is(0, started)),
		row("prctl", is(0, unix.PR_SET_PDEATHSIG)),
		// A program that took too long is killed. Whom a signal reaches,
		// Landlock bounds where the kernel has its scopes.
		row("kill", is(1, uint64(unix.SIGKILL))),
		row("fcntl", is(1, unix.F_DUPFD_CLOEXEC)),
		row("fcntl", is(1, unix.F_DUPFD)),
		row("ioctl", is(1, unix.TCGETS)),
		row("prlimit64", is(0, 0), is(2, 0)), // its own limits, looked at
	}
	if c == GitWrite {
		rows = append(rows, row("fchmod", without(1, special)))
	}
	return rows
}
