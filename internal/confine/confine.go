// Package confine puts a daemon behind walls of the kernel's before it serves.
//
// The walls are data: which directories a process may read, and in which it
// may change files. Everything else is refused by Landlock, from every thread
// and for good, whatever the code is talked into. With them come
// no_new_privs, no TCP, no signals and abstract sockets out of the domain where
// the kernel has those scopes, and a process image nobody can read or trace.
//
// There is no best-effort mode: a kernel whose Landlock lacks the truncate
// right (ABI 3, Linux 6.2) is an error.
//
// It does NOT stop what Landlock lets through: chmod, chown, utimes and
// extended attributes of files the person owns, writes through handles that
// were open before, and Unix sockets.
package confine

import (
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
	Change []string // directories in which it may read, create, replace and remove regular files
	State  []string // directories that are its own: directories too
}

const (
	readRights   = landlock.AccessFSSet(ll.AccessFSReadFile | ll.AccessFSReadDir)
	changeRights = readRights | landlock.AccessFSSet(ll.AccessFSWriteFile|ll.AccessFSTruncate|ll.AccessFSMakeReg|ll.AccessFSRemoveFile)
	stateRights  = changeRights | landlock.AccessFSSet(ll.AccessFSMakeDir|ll.AccessFSRemoveDir)
)

// Enclose raises the walls around the whole process and says which stand. A
// directory that does not exist is an error. It cannot be undone.
func Enclose(w Walls) (standing []string, err error) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return nil, fmt.Errorf("asking for Landlock: %w", err)
	}
	config, err := configOf(abi)
	if err != nil {
		return nil, err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("making the process undumpable: %w", err)
	}
	err = config.Restrict(
		landlock.PathAccess(readRights, w.Read...),
		landlock.PathAccess(changeRights, w.Change...),
		landlock.PathAccess(stateRights, w.State...),
	)
	if err != nil {
		return nil, fmt.Errorf("raising Landlock: %w", err)
	}
	standing = []string{"no_new_privs", "undumpable", fmt.Sprintf("landlock files (ABI %d)", abi)}
	if abi >= 4 {
		standing = append(standing, "landlock tcp")
	}
	if abi >= 6 {
		standing = append(standing, "landlock scopes")
	}
	return standing, nil
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
