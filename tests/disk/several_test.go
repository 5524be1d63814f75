package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
	"countersign/tests/hands"
	"countersign/tests/lab"
)

// tree makes what a change of several files is done to, its owner's own.
func tree(t testing.TB, home string, uid int) {
	t.Helper()
	must(t, os.MkdirAll(home+"/one", 0o755), os.MkdirAll(home+"/two", 0o755))
	for name, content := range map[string]string{"one/a": "old a\n", "two/b": "old b\n", "two/c": "old c\n"} {
		must(t, os.WriteFile(filepath.Join(home, name), []byte(content), 0o640))
	}
	must(t, filepath.WalkDir(home, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	}))
}

// several replaces one file, makes one in directories that are missing, and
// deletes one, in three directories.
func several(home string, size int) action.Action {
	return hands.Changes(
		hands.Edit(home+"/one/a", "old a", strings.Repeat("new", size/3)),
		hands.Write(home+"/one/new/deep/d", strings.Repeat("d", size)),
		hands.Delete(home+"/two/b"),
		hands.Edit(home+"/two/c", "old c", strings.Repeat("new", size/3)),
	)
}

// seen is everything about a home that a change may not touch when it is
// refused. Directories have another mtime once something was staged in them, and
// files another ctime once they were exchanged and put back.
func seen(t testing.TB, home string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	must(t, filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err = errors.Join(err, unix.Lstat(path, &st)); err != nil {
			return err
		}
		says := fmt.Sprintf("mode %o, user %d, group %d", st.Mode, st.Uid, st.Gid)
		if !e.IsDir() {
			says += fmt.Sprintf(", inode %d, %d links, %d bytes, mtime %d", st.Ino, st.Nlink, st.Size, st.Mtim.Nano())
		}
		found[path] = says
		return nil
	}))
	return found
}

func same(t testing.TB, before, after map[string]string) {
	t.Helper()
	for path, says := range before {
		if after[path] != says {
			t.Errorf("%s: %q before, %q after", path, says, after[path])
		}
	}
	for path := range after {
		if _, was := before[path]; !was {
			t.Errorf("%s was left there", path)
		}
	}
}

// fill takes the last byte of room there is, as a user.
func fill(t testing.TB, path string, uid int) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err, f.Chown(uid, uid))
	defer f.Close()
	for size := 64 << 10; size > 0; size /= 2 {
		for err = nil; err == nil; _, err = f.Write(make([]byte, size)) {
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
	}
}

// obstacle is what is in the way of a change of several files.
type obstacle struct {
	name  string
	mount func(t testing.TB, home string)
	put   func(t testing.TB, home string, uid int)
	code  refusal.Code
}

func obstacles() []obstacle {
	small := func(t testing.TB, home string) { mount(t, "tmpfs", home, "tmpfs", 0, "size=128k,mode=755") }
	onExt4 := func(t testing.TB, home string) { lab.Filesystem(t, home, 2, "mkfs.ext4", "-q") }
	on := func(name string, bit int) func(testing.TB, string, int) {
		return func(t testing.TB, home string, _ int) { flag(t, home+"/"+name, bit) }
	}
	return []obstacle{
		{"full tmpfs", small, func(t testing.TB, home string, uid int) { fill(t, home+"/fill", uid) }, refusal.DiskFull},
		{"room for one of them", small, func(t testing.TB, home string, uid int) {
			must(t, os.WriteFile(home+"/fill", make([]byte, 48<<10), 0o600))
		}, refusal.DiskFull},
		{"full ext4", onExt4, func(t testing.TB, home string, uid int) { fill(t, home+"/fill", uid) }, refusal.DiskFull},
		{"no inode left", func(t testing.TB, home string) { mount(t, "tmpfs", home, "tmpfs", 0, "size=1m,nr_inodes=8,mode=755") }, nil, refusal.DiskFull},
		{"quota used up", nil, nil, refusal.Quota},
		{"read-only", small, func(t testing.TB, home string, _ int) {
			must(t, unix.Mount("", home, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		}, refusal.ReadOnly},
		{"immutable file, the first", nil, on("one/a", immutable), refusal.Immutable},
		{"immutable file, the last", nil, on("two/c", immutable), refusal.Immutable},
		{"append-only file", nil, on("two/c", appendOnly), refusal.Immutable},
		{"append-only file to delete", nil, on("two/b", appendOnly), refusal.Immutable},
		{"immutable directory", nil, on("two", immutable), refusal.Immutable},
		{"append-only directory", nil, on("two", appendOnly), refusal.Immutable},
		{"file that is mounted", nil, func(t testing.TB, home string, uid int) {
			other := home + ".other"
			must(t, os.WriteFile(other, []byte("old c\n"), 0o644), os.Chown(other, uid, uid))
			mount(t, other, home+"/two/c", "", unix.MS_BIND, "")
		}, refusal.MountedFile},
		{"another's file", nil, func(t testing.TB, home string, uid int) {
			must(t, os.Chown(home+"/two/c", 12345, 12345), os.Chmod(home+"/two/c", 0o666))
		}, refusal.OtherOwner},
	}
}

// limited makes a home on btrfs that may hold 1 MiB, of which little is left.
func limited(t testing.TB, home string, uid int) {
	t.Helper()
	under := home + ".btrfs"
	must(t, os.Mkdir(under, 0o755))
	lab.Filesystem(t, under, 128, "mkfs.btrfs", "-q")
	run(t, "btrfs", "quota", "enable", under)
	run(t, "btrfs", "subvolume", "create", under+"/home")
	mount(t, under+"/home", home, "", unix.MS_BIND, "")
	tree(t, home, uid)
	unix.Sync()
	run(t, "btrfs", "qgroup", "limit", "96K", under+"/home")
}

// prepared makes the home that an obstacle is in.
func (o obstacle) prepared(t testing.TB, uid int) string {
	home := filepath.Join(testas.Dir(t.(*testing.T)), "home")
	must(t, os.Mkdir(home, 0o755))
	if o.code == refusal.Quota {
		limited(t, home, uid)
		return home
	}
	if o.mount != nil {
		o.mount(t, home)
	}
	tree(t, home, uid)
	if o.put != nil {
		o.put(t, home, uid)
	}
	return home
}

// S18, S22: what disk will not have of a change of several files, of one with
// missing parents and of a delete together, is refused by name with all of
// them as they were, to the inode and the nanosecond, and no directory or staged
// file left: as the person, and as root whom no mode bit holds.
func TestSeveral(t *testing.T) {
	for _, o := range obstacles() {
		t.Run(o.name, func(t *testing.T) {
			t.Run("person", func(t *testing.T) {
				if home, ok := testas.Prepared(t, testas.Person, func() string { return o.prepared(t, testas.Person) }); ok {
					o.refuses(t, home)
				}
			})
			t.Run("root", func(t *testing.T) {
				testas.Root(t)
				if os.Getuid() == 0 {
					o.refuses(t, o.prepared(t, 0))
				}
			})
		})
	}
}

func (o obstacle) refuses(t *testing.T, home string) {
	t.Helper()
	const size = 60 << 10
	before := seen(t, home)
	h := hands.New(home, nil)
	for range 2 { // what one leaves would be in the way of the next
		if out, err := h.Do(several(home, size)); !refusal.Is(err, o.code) {
			t.Errorf("%+v, %v: wanted %s", out, err, o.code)
		}
		same(t, before, seen(t, home))
	}
}

// S8, S22: names of 255 bytes are changed like others, and one of 256 is
// refused, with everything beside it as it was.
func TestLongNames(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	h := hands.New(home, nil)
	long := func(c string, n int) string { return strings.Repeat(c, n) }
	must(t, os.WriteFile(home+"/"+long("a", 255), []byte("old\n"), 0o644), os.WriteFile(home+"/"+long("b", 255), []byte("old\n"), 0o644))
	all := func(name string) action.Action {
		return hands.Changes(hands.Edit(home+"/"+long("a", 255), "old", "new"), hands.Delete(home+"/"+long("b", 255)),
			hands.Write(home+"/"+long("c", 255)+"/"+name, "new\n"))
	}
	before := seen(t, home)
	if out, err := h.Do(all(long("d", 256))); !refusal.Is(err, refusal.PathNotClean) {
		t.Errorf("%+v, %v", out, err)
	}
	same(t, before, seen(t, home))
	if out, err := h.Do(all(long("d", 255))); err != nil || out.Result != protocol.Landed {
		t.Fatalf("%+v, %v", out, err)
	}
	if after := seen(t, home); len(after) != 4 { // the home, a, c and c/d
		t.Errorf("%v", after)
	}
}
