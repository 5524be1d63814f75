package stage

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/grant"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// Inode flags of linux/fs.h.
const (
	immutable  = 0x10
	appendOnly = 0x20
)

// flag sets an inode flag until the test ends.
func flag(t *testing.T, path string, bit int) {
	t.Helper()
	set := func(on bool) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if flags &^= bit; on {
			flags |= bit
		}
		return errors.Join(err, unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags))
	}
	must(t, set(true))
	t.Cleanup(func() { must(t, set(false)) })
}

func mount(t *testing.T, source, target, fstype string, flags uintptr, data string) {
	t.Helper()
	must(t, unix.Mount(source, target, fstype, flags, data))
	t.Cleanup(func() { must(t, unix.Unmount(target, unix.MNT_DETACH)) })
}

// ext4 mounts a small ext4 of the test's own.
func ext4(t *testing.T, target string) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	must(t, os.WriteFile(image, nil, 0o600), os.Truncate(image, 2<<20))
	for _, cmd := range [][]string{{"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, target}} {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	t.Cleanup(func() { must(t, unix.Unmount(target, unix.MNT_DETACH)) })
	must(t, os.Remove(target+"/lost+found"))
}

// givenHome makes the person's home with a file of theirs in it.
func givenHome(t *testing.T, mounted func(*testing.T, string)) (dir, file string) {
	t.Helper()
	dir = filepath.Join(testas.Dir(t), "home")
	must(t, os.Mkdir(dir, 0o755))
	if mounted != nil {
		mounted(t, dir)
	}
	file = dir + "/f"
	must(t, os.WriteFile(file, []byte("old"), 0o644), os.Chown(file, testas.Person, testas.Person), os.Chown(dir, testas.Person, testas.Person))
	return dir, file
}

// S22: what the system will not have is refused by its name, with nothing
// changed and nothing left behind.
func TestDiskRefuses(t *testing.T) {
	tmpfs := func(t *testing.T, dir string) { mount(t, "tmpfs", dir, "tmpfs", 0, "size=256k,mode=755") }
	fill := func(t *testing.T, dir string) { // to the last byte, as the person could
		f, err := os.Create(dir + "/fill")
		must(t, err)
		defer f.Close()
		must(t, f.Chown(testas.Person, testas.Person))
		for size := 64 << 10; size > 0; size /= 2 {
			for err = nil; err == nil; _, err = f.Write(make([]byte, size)) {
			}
			if !errors.Is(err, unix.ENOSPC) {
				t.Fatal(err)
			}
		}
	}
	readOnly := func(t *testing.T, dir string) {
		must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	}
	type prepare = func(t *testing.T) string
	on := func(mounted, then func(*testing.T, string)) prepare {
		return func(t *testing.T) string {
			dir, _ := givenHome(t, mounted)
			then(t, dir)
			return dir
		}
	}
	for name, c := range map[string]struct {
		home   prepare
		code   refusal.Code
		create refusal.Code // of a file beside it; none is that it is possible
		delete refusal.Code
	}{
		"full tmpfs":     {on(tmpfs, fill), refusal.DiskFull, refusal.DiskFull, ""},
		"full ext4":      {on(ext4, fill), refusal.DiskFull, refusal.DiskFull, ""},
		"read-only":      {on(tmpfs, readOnly), refusal.ReadOnly, refusal.ReadOnly, refusal.ReadOnly},
		"immutable":      {on(nil, func(t *testing.T, d string) { flag(t, d+"/f", immutable) }), refusal.Immutable, "", refusal.Immutable},
		"append-only":    {on(nil, func(t *testing.T, d string) { flag(t, d+"/f", appendOnly) }), refusal.Immutable, "", refusal.Immutable},
		"immutable home": {on(nil, func(t *testing.T, d string) { flag(t, d, immutable) }), refusal.Immutable, refusal.Immutable, refusal.Immutable},
		"mounted file": {on(nil, func(t *testing.T, d string) {
			must(t, os.WriteFile(d+".other", []byte("old"), 0o644), os.Chown(d+".other", testas.Person, testas.Person))
			mount(t, d+".other", d+"/f", "", unix.MS_BIND, "")
		}), refusal.MountedFile, "", refusal.MountedFile},
		"other owner": {on(nil, func(t *testing.T, d string) { must(t, os.Chown(d+"/f", 0, 0)) }), refusal.OtherOwner, "", refusal.OtherOwner},
		"other owner, all may write": {on(nil, func(t *testing.T, d string) {
			must(t, os.Chown(d+"/f", 0, 0), os.Chmod(d+"/f", 0o666))
		}), refusal.OtherOwner, "", refusal.OtherOwner},
	} {
		t.Run(name, func(t *testing.T) {
			dir, ok := testas.Prepared(t, testas.Person, func() string { return c.home(t) })
			if !ok {
				return
			}
			h := homeAt(t, dir)
			names := map[string]string{"f": ""}
			if strings.HasPrefix(name, "full") {
				names["fill"] = ""
			}
			before := h.stat("f")
			h.ends(h.write("f", strings.Repeat("new", 9<<10)), c.code)
			if h.stat("f") != before {
				t.Error("the file was touched")
			}
			h.hasOnly(names)
			h.ends(h.write("g", strings.Repeat("new", 9<<10)), c.create)
			h.ends(h.delete("f"), c.delete)
			if c.create == "" {
				names["g"] = ""
			}
			if c.delete == "" {
				delete(names, "f")
			}
			h.hasOnly(names)
		})
	}
}

// ends plans and carries out, to a refusal or, with no code, to a landing.
func (h *home) ends(a action.Action, code refusal.Code) {
	h.Helper()
	in, err := h.plan(a)
	if err == nil {
		_, _, err = h.Carry(in)
	}
	if code == "" && err != nil || code != "" && !refusal.Is(err, code) {
		h.Errorf("%s: %v, wanted %q", a.Paths()[0], err, code)
	}
}

// S2: a filesystem that is mounted inside the home is not crossed into, unless
// the grant says so; a root inside it is a place of its own.
func TestMountCrossing(t *testing.T) {
	home, ok := testas.Prepared(t, testas.Person, func() string {
		dir, _ := givenHome(t, nil)
		must(t, os.Mkdir(dir+"/mnt", 0o755))
		mount(t, "tmpfs", dir+"/mnt", "tmpfs", 0, "size=256k,mode=777")
		return dir
	})
	if !ok {
		return
	}
	h := homeAt(t, home)
	h.ends(h.write("mnt/f", "new"), refusal.MountCrossing)
	if e, err := os.ReadDir(h.path("mnt")); err != nil || len(e) > 0 {
		t.Errorf("%v, %v", e, err)
	}
	crossing := grant.Grant{Root: home, CrossMounts: true, MaxFileSize: 1 << 20}
	inside := grant.Grant{Root: home + "/mnt", MaxFileSize: 1 << 20}
	for name, g := range map[string]grant.Grant{"crossing": crossing, "inside": inside} {
		h.cfg.Finder.Grants.Reads, h.cfg.Finder.Grants.Writes = []grant.Grant{g}, []grant.Grant{g}
		h.land(h.write("mnt/"+name, "new"))
	}
}
