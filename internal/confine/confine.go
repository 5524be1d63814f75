// Package confine puts a daemon behind walls of the kernel's before it serves.
//
// The walls are data: which directories a process may read, in which it may
// change files, and which system calls it may make at all. Landlock refuses
// every other file, with EACCES, and seccomp every other call, with EPERM: from
// every thread and for good, whatever the code is talked into. With them come
// no_new_privs, no TCP, no signals and abstract sockets out of the domain where
// the kernel has those scopes, and a process image nobody can read or trace.
// What must be refused is then tried, before anybody is served.
//
// No list of the daemons' has execve or a way to make a process. Git is started
// by a process of its own, whose list is git's as well: it makes no process but
// by a shared address space, as a program is started, makes nothing executable
// but what a file holds, and runs the files that its walls name. Each git is
// narrowed further (Narrow), to one repository.
//
// There is no best-effort mode: a kernel whose Landlock lacks the truncate
// right (ABI 3, Linux 6.2), or that refuses the list of calls, is an error.
//
// It does NOT stop: looking at a file's stat anywhere; writing through handles
// that were open before, by those who may write to sockets at all; the keeper's
// connecting to any Unix stream socket that its user may open; and what the
// kernel does not show a filter, which are the flags of openat2 and the address
// of sendmsg and connect.
package confine

import (
	"errors"
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// MinABI is the Landlock ABI without which no daemon serves: the first that
// holds truncation.
const MinABI = 3

// Walls says what stays open to a process.
type Walls struct {
	Read   []string // directories whose files it may read
	Change []string // directories in which it may read, and create, replace and remove regular files, links and directories
	State  []string // directories that are its own: directories too
	Run    []string // programs that it may run
	Files  []string // files that it may read
	Null   string   // a device that may be written to, of which nothing comes; empty is none

	// Closed are directories that it must not be able to open, which is tried.
	Closed []string

	Calls  Calls // system calls it may make
	Notify int   // handle of its connection to the service manager; -1 is none
}

const (
	readRights   = landlock.AccessFSSet(ll.AccessFSReadFile | ll.AccessFSReadDir)
	changeRights = readRights | landlock.AccessFSSet(ll.AccessFSWriteFile|ll.AccessFSTruncate|ll.AccessFSMakeReg|ll.AccessFSRemoveFile|ll.AccessFSMakeDir|ll.AccessFSRemoveDir|ll.AccessFSMakeSym)
	stateRights  = changeRights &^ landlock.AccessFSSet(ll.AccessFSMakeSym)
	runRights    = fileRights | landlock.AccessFSSet(ll.AccessFSExecute)
	fileRights   = landlock.AccessFSSet(ll.AccessFSReadFile)
	nullRights   = landlock.AccessFSSet(ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate)
)

// Enclose raises the walls around the whole process, tries them, and says which
// stand. A directory that does not exist is an error, and so is a wall that does
// not hold. It cannot be undone, by an error neither.
func Enclose(w Walls) (standing []string, err error) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("making the process undumpable: %w", err)
	}
	files, err := w.files()
	if err != nil {
		return nil, err
	}
	if err := w.Calls.allowOnly(w.Notify); err != nil {
		return nil, err
	}
	if err := w.prove(); err != nil {
		return nil, err
	}
	standing = append([]string{"no_new_privs", "undumpable", "seccomp"}, files...)
	return append(standing, w.mounts()...), nil
}

// files raises Landlock, and says what it holds.
func (w Walls) files() ([]string, error) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return nil, fmt.Errorf("asking for Landlock: %w", err)
	}
	config, err := configOf(abi)
	if err != nil {
		return nil, err
	}
	rules := []landlock.Rule{
		landlock.PathAccess(readRights, w.Read...),
		landlock.PathAccess(changeRights, w.Change...),
		landlock.PathAccess(stateRights, w.State...),
		landlock.PathAccess(runRights, w.Run...),
		landlock.PathAccess(fileRights, w.Files...),
	}
	if w.Null != "" {
		rules = append(rules, landlock.PathAccess(nullRights, w.Null))
	}
	err = config.Restrict(rules...)
	if err != nil {
		return nil, fmt.Errorf("raising Landlock: %w", err)
	}
	holds := []string{fmt.Sprintf("landlock files (ABI %d)", abi)}
	if abi >= 4 {
		holds = append(holds, "landlock tcp")
	}
	if abi >= 6 {
		holds = append(holds, "landlock scopes")
	}
	return holds, nil
}

// configOf picks what a kernel's ABI holds, exactly: nothing is dropped
// silently. Later ABIs than 6 add rights that stay unused here.
func configOf(abi int) (landlock.Config, error) {
	switch {
	case abi < MinABI:
		return landlock.Config{}, fmt.Errorf("this kernel's Landlock has ABI %d; %d (Linux 6.2) is needed", abi, MinABI)
	case abi == 3:
		return landlock.V3, nil
	case abi == 4:
		return landlock.V4, nil
	case abi == 5:
		return landlock.V5, nil
	}
	return landlock.V6, nil
}

// mounts names the walls that mounts make, whoever made them: they are used
// where they are, and missed by nobody who counts on Landlock.
func (w Walls) mounts() []string {
	var standing []string
	if all(w.Read, readOnly) {
		standing = append(standing, "home mounted read-only")
	}
	if all(w.Closed, hidden) {
		standing = append(standing, "other homes hidden")
	}
	return standing
}

func all(dirs []string, is func(string) bool) bool {
	for _, d := range dirs {
		if !is(d) {
			return false
		}
	}
	return len(dirs) > 0
}

func readOnly(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}

// hidden says whether a directory is not to be seen, or covered by an empty
// one.
func hidden(dir string) bool {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	return errors.Is(err, unix.ENOENT) || err == nil && st.Type == unix.TMPFS_MAGIC && st.Flags&unix.ST_RDONLY != 0
}
