// Package trust judges directories by who could change what is in them.
//
// It looks at owners and modes, from the directory itself up to the root. It
// does NOT look at access control lists, which can give others more, nor at
// filesystems that let somebody else change what they show.
package trust

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Untrusted says why nobody should rely on what is in a directory.
type Untrusted struct {
	Dir, Why string
}

// Error names the directory.
func (u *Untrusted) Error() string { return fmt.Sprintf("the directory %q %s", u.Dir, u.Why) }

// Way walks from dir, an absolute path that is free of links, up to the root.
// Every directory belongs to root or to uid, and no other may write to it;
// above dir itself a sticky one that others may write to is good enough, since
// its entries are renamed by their owners alone. The error is an *Untrusted or
// the system's.
func Way(dir string, uid uint32) error {
	for at := dir; ; at = filepath.Dir(at) {
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			return &os.PathError{Op: "lstat", Path: at, Err: err}
		}
		switch sticky := st.Mode&unix.S_ISVTX != 0 && at != dir; {
		case st.Mode&unix.S_IFMT != unix.S_IFDIR:
			return &Untrusted{at, "is no directory"}
		case st.Uid != 0 && st.Uid != uid:
			return &Untrusted{at, fmt.Sprintf("belongs to uid %d, neither root nor this user", st.Uid)}
		case st.Mode&0o022 != 0 && !sticky:
			return &Untrusted{at, fmt.Sprintf("lets others write to it (mode %04o)", st.Mode&0o7777)}
		}
		if at == "/" {
			return nil
		}
	}
}

// Links walks a path as it is spelled, as far as it is there, and refuses one
// that goes through a symbolic link of anybody but root or uid: whoever owns it
// chooses where it leads. The error is an *Untrusted or the system's.
func Links(path string, uid uint32) error {
	for at := path; at != "/"; at = filepath.Dir(at) {
		var st unix.Stat_t
		err := unix.Lstat(at, &st)
		if err == unix.ENOENT || err == unix.ENOTDIR {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "lstat", Path: at, Err: err}
		}
		if st.Mode&unix.S_IFMT == unix.S_IFLNK && st.Uid != 0 && st.Uid != uid {
			return &Untrusted{at, fmt.Sprintf("is a link of uid %d's", st.Uid)}
		}
	}
	return nil
}
