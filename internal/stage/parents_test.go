package stage

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
)

// lists gives the access control lists of an entry, byte for byte.
func lists(t *testing.T, path string) string {
	t.Helper()
	var all string
	for _, name := range []string{accessList, defaultList} {
		b := make([]byte, 1<<10)
		n, err := unix.Lgetxattr(path, name, b)
		if n < 0 {
			n = 0
		}
		all += fmt.Sprintf("%s %x %v\n", name, b[:n], err)
	}
	return all
}

// S6 S9: directories that are missing, and a new file in them, are as the
// person's own shell makes them in the same place: under a umask, in a
// set-group-ID directory, under a default access control list.
func TestParentsAsAShellMakesThem(t *testing.T) {
	if _, ok := testas.Prepared(t, testas.Person, func() string { return "" }); !ok {
		return
	}
	plain := acl(7, nil, 5, nil, 0)
	masked := acl(7, map[uint32]uint16{12345: 7}, 5, ptr(uint16(6)), 4)
	for name, make := range map[string]func(dir string) error{
		"plain":        func(string) error { return nil },
		"set-group-ID": func(d string) error { return os.Chmod(d, 0o750|os.ModeSetgid) },
		"another group": func(d string) error {
			return firstOf(os.Chown(d, -1, int(testas.Group(testas.Person))), os.Chmod(d, 0o770|os.ModeSetgid))
		},
		"default list":       func(d string) error { return unix.Setxattr(d, defaultList, masked, 0) },
		"default list, bare": func(d string) error { return unix.Setxattr(d, defaultList, plain, 0) },
		"both": func(d string) error {
			return firstOf(os.Chmod(d, 0o750|os.ModeSetgid), unix.Setxattr(d, defaultList, masked, 0))
		},
	} {
		for _, umask := range []uint32{0o022, 0o027, 0o077, 0} {
			ours, shells := newHome(t), newHome(t)
			must(t, make(ours.dir), make(shells.dir))
			ours.cfg.Umask = umask
			ours.land(ours.write("a/b/c/f", "x"))
			sh := exec.Command("sh", "-c", fmt.Sprintf("umask %04o; mkdir -p a/b/c; printf x > a/b/c/f", umask))
			sh.Dir = shells.dir
			if out, err := sh.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if ours.tree() != shells.tree() {
				t.Errorf("%s, umask %04o: ours:\n%s\nthe shell's:\n%s", name, umask, ours.tree(), shells.tree())
			}
			for _, p := range []string{"a", "a/b/c", "a/b/c/f"} {
				if is, want := lists(t, ours.path(p)), lists(t, shells.path(p)); is != want {
					t.Errorf("%s, umask %04o, %s: ours:\n%sthe shell's:\n%s", name, umask, p, is, want)
				}
			}
		}
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func ptr[T any](v T) *T { return &v }

// S6: directories that were made are taken away again where the change is
// refused, but for one that somebody put something into, and those above it.
func TestParentsAreTakenAway(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, theirs := range map[string]string{"empty": "", "a file in the innermost": "a/b/theirs", "a file in the outermost": "a/theirs"} {
		for _, at := range []Step{Create, Write, Hold, Exchange, Verify} {
			h := newHome(t)
			in := h.intent(all(h.write("a/b/f", "1"), h.write("a/b/g", "2"), h.write("a/c/f", "3")))
			h.step = func(s Step, p action.Path) error {
				if s != at || p != in.Facts[2].Path {
					return nil
				}
				if theirs != "" {
					h.put(theirs, "theirs", 0o644)
				}
				return unix.EIO
			}
			h.refused(in, refusal.DiskError)
			want := map[string]string{}
			if theirs != "" {
				want[theirs] = "theirs"
			}
			h.holds(want)
			for _, gone := range []string{"a/b/f", "a/b/g", "a/c"} {
				if _, err := os.Lstat(h.path(gone)); err == nil {
					t.Errorf("%s, %s: %s is left", name, at, gone)
				}
			}
			if _, err := os.Lstat(h.path("a/b")); theirs == "a/theirs" && err == nil {
				t.Errorf("%s, %s: an empty directory of ours is left", name, at)
			}
		}
	}
}

// S6: a directory that somebody else made in the meantime, with a file, a link
// or nothing in its place, is not what was captured: the change is refused, and
// what they made stays.
func TestParentAppears(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	outside := t.TempDir()
	for name, put := range map[string]func(path string) error{
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"file":      func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"link":      func(p string) error { return os.Symlink(outside, p) },
	} {
		for _, which := range []string{"a", "a/b"} {
			h := newHome(t).follow()
			in := h.intent(h.write("a/b/c/f", "new"))
			n := 0
			h.at[MakeDir] = func() {
				if n++; n == strings.Count(which, "/")+1 {
					must(t, put(h.path(which)))
				}
			}
			h.refused(in, refusal.Changed)
			st := h.stat(which)
			if must(t, os.Remove(h.path(which))); which == "a/b" {
				must(t, os.Remove(h.path("a"))) // theirs is in it
			}
			h.hasOnly(nil)
			if name == "directory" && st.Mode&0o777 != 0o700 {
				t.Errorf("their directory has mode %o", st.Mode)
			}
		}
	}
	if e, err := os.ReadDir(outside); err != nil || len(e) > 0 {
		t.Errorf("outside: %v, %v", e, err)
	}
}

// S6: a directory that is moved away, or swapped for a link to outside, once it
// was made, leads no byte outside, and nothing is left in it of what is refused.
func TestParentIsSwapped(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, at := range []Step{MakeDir, Create, Write, Hold, Exchange, Verify, SyncDir} {
		h := newHome(t)
		outside := t.TempDir()
		n := 0
		h.at[at] = func() {
			if n++; n == 1 && at == MakeDir || n > 1 && at != MakeDir { // it was not yet made, or was already
				return
			}
			must(t, os.Rename(h.path("a"), h.path("moved")), os.Symlink(outside, h.path("a")))
		}
		out, _, err := h.Carry(h.intent(h.write("a/b/f", "new")))
		if err == nil && out.Result != protocol.Landed || err != nil && !refusal.Is(err, refusal.Changed) {
			t.Errorf("%s: %+v, %v", at, out, err)
		}
		b, err2 := os.ReadFile(h.path("moved/b/f"))
		if (err == nil) != (string(b) == "new" && err2 == nil) || len(h.leftover()) > 0 {
			t.Errorf("%s: %v, and it holds %q, %v; %v", at, err, b, err2, h.leftover())
		}
		if e, err := os.ReadDir(outside); err != nil || len(e) > 0 {
			t.Errorf("%s: outside: %v, %v", at, e, err)
		}
	}
}

// S6: an undo takes away the directories that the action had made, as far as
// they are empty, and leaves the others.
func TestUndoTakesParentsAway(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, theirs := range map[string]string{"empty": "", "theirs": "a/b/theirs"} {
		h := newHome(t)
		must(t, os.Mkdir(h.path("kept"), 0o755))
		undo := h.undoOf(all(h.write("a/b/c/f", "1"), h.write("a/b/g", "2"), h.write("kept/f", "3")))
		want := map[string]string{}
		if theirs != "" {
			h.put(theirs, "theirs", 0o644)
			want[theirs] = "theirs"
		}
		h.landAll(undo)
		must(t, os.Remove(h.path("kept"))) // it stands, and is empty
		if h.holds(want); theirs == "" {
			continue
		}
		if e, err := os.ReadDir(h.path("a/b")); err != nil || len(e) != 1 {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
}

// S6 S10: what was made is on disk before the answer: every directory that has a
// new name in it is synced, and the one that one was taken from.
func TestParentsAreSynced(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	synced := func() map[string]int {
		dirs := make(map[string]int)
		h.sync = func(f *os.File) error {
			if st, err := beneath.Fstat(f); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
				return err
			}
			name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
			must(t, err)
			rel, _ := filepath.Rel(h.dir, strings.TrimSuffix(name, " (deleted)"))
			dirs[rel]++
			return nil
		}
		return dirs
	}
	dirs := synced()
	undo := h.undoOf(h.write("a/b/f", "1"))
	for _, d := range []string{".", "a", "a/b"} {
		if dirs[d] != 1 {
			t.Errorf("%s was synced %d times", d, dirs[d])
		}
	}
	dirs = synced()
	if h.landAll(undo); dirs["."] == 0 {
		t.Errorf("synced: %v", dirs)
	}
}
