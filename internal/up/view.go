package up

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// view is what one process sees of the filesystem, in a mount namespace of its
// own: nothing can be written where it is read-only, and homes that are not its
// person's are covered by an empty directory. What stays in view is not bound
// anew, so a directory that is replaced is seen to be.
//
// It is one wall among others. Homes are covered that were there at the start;
// Landlock holds those that come later.
type view struct {
	readOnly bool
	hidden   []string // directories
	seen     []string // real paths of files and directories that stay in view, though beneath one that is hidden
}

// personal are the directories in which systems keep what is a person's own.
func personal() []string { return []string{"/home", "/root", "/run/user"} }

// errNoMounts says that this root may not make mount namespaces.
var errNoMounts = errors.New("this user may not make mount namespaces")

// enter moves the calling thread, and what it starts, into the view. It cannot
// go back: the caller has locked the thread and lets it end with its goroutine.
// The error is errNoMounts where nothing was changed.
func (v *view) enter() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		if errors.Is(err, unix.EPERM) {
			return errNoMounts
		}
		return fmt.Errorf("making a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keeping mounts apart: %w", err)
	}
	var cover cover
	for _, dir := range v.hidden {
		if err := v.hide(dir, &cover); err != nil {
			return fmt.Errorf("hiding %s: %w", dir, err)
		}
	}
	if !v.readOnly {
		return nil
	}
	err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if err != nil {
		return fmt.Errorf("making everything read-only: %w", err)
	}
	return nil
}

// hide covers dir, or all in it that is not on the way to what stays in view.
func (v *view) hide(dir string, c *cover) error {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return nil // it is not there, or leads elsewhere
	}
	onTheWay := false
	for _, s := range v.seen {
		if within(s, dir) {
			return nil
		}
		onTheWay = onTheWay || within(dir, s)
	}
	if !onTheWay {
		return c.over(dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := v.hide(filepath.Join(dir, e.Name()), c); err != nil {
			return err
		}
	}
	return nil
}

// within says whether path is dir or beneath it.
func within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// cover is one empty directory that nobody can write to, put over many.
type cover struct{ first string }

func (c *cover) over(dir string) error {
	if c.first != "" {
		return unix.Mount(c.first, dir, "", unix.MS_BIND, "")
	}
	c.first = dir
	return unix.Mount("tmpfs", dir, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0555,size=4k,nr_inodes=2")
}
