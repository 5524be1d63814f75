package confine

import (
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Narrowed says what stays open to a thread and what it starts. Everything in
// it is held by handles, so a path that leads elsewhere meanwhile opens
// nothing.
type Narrowed struct {
	Read  []*os.File // directories, or files, that may be read
	Trees []*os.File // directories in which anything but programs, devices, pipes and sockets may change
	Run   []*os.File // programs
	Files []*os.File // files
	Null  *os.File   // a device that may be written to; nil is none
}

// Narrow closes everything else to the calling thread, for good, on top of what
// was closed before. The caller has locked the thread, and lets it end with its
// goroutine.
func Narrow(n Narrowed) error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return fmt.Errorf("asking for Landlock: %w", err)
	}
	config, err := configOf(abi)
	if err != nil {
		return err
	}
	set, flags, err := config.NewRulesetFD()
	if err != nil {
		return fmt.Errorf("making narrower walls: %w", err)
	}
	defer unix.Close(set)
	lists := []struct {
		files  []*os.File
		rights landlock.AccessFSSet
	}{{n.Read, readRights}, {n.Trees, changeRights}, {n.Run, runRights}, {n.Files, fileRights}}
	if n.Null != nil {
		lists = append(lists, struct {
			files  []*os.File
			rights landlock.AccessFSSet
		}{[]*os.File{n.Null}, nullRights})
	}
	for _, l := range lists {
		for _, f := range l.files {
			if err := open(set, f, l.rights); err != nil {
				return err
			}
		}
	}
	if err := ll.LandlockRestrictSelf(set, flags); err != nil {
		return fmt.Errorf("raising narrower walls: %w", err)
	}
	return nil
}

// open adds what may be done to a file, or beneath a directory, to a set.
func open(set int, f *os.File, rights landlock.AccessFSSet) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("looking at what stays open: %w", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= nullRights | runRights // the others are directories'
	}
	rule := ll.PathBeneathAttr{ParentFd: int(f.Fd()), AllowedAccess: uint64(rights)}
	if err := ll.LandlockAddPathBeneathRule(set, &rule, 0); err != nil {
		return fmt.Errorf("adding to narrower walls: %w", err)
	}
	return nil
}
