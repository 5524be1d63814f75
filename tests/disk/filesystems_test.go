package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
	"countersign/tests/hands"
	"countersign/tests/lab"
)

const table = "../../docs/filesystems.md"

// filesystem is one that docs/filesystems.md has a row of.
type filesystem struct {
	name  string
	mount func(t *testing.T, dir string)
}

func filesystems() []filesystem {
	made := func(size int64, mkfs ...string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { lab.Filesystem(t, dir, size, mkfs...) }
	}
	return []filesystem{
		{"ext4", made(16, "mkfs.ext4", "-q")},
		{"ext4, inodes of 128 bytes", made(16, "mkfs.ext4", "-q", "-I", "128")},
		{"xfs", made(320, "mkfs.xfs", "-q")},
		{"btrfs", made(128, "mkfs.btrfs", "-q")},
		{"tmpfs", func(t *testing.T, dir string) { mount(t, "tmpfs", dir, "tmpfs", 0, "size=1m") }},
		{"overlayfs on ext4", overlay},
		{"FUSE", passingThrough},
	}
}

func overlay(t *testing.T, dir string) {
	layers := testas.Dir(t)
	lab.Filesystem(t, layers, 16, "mkfs.ext4", "-q")
	for _, d := range []string{"lower", "upper", "work"} {
		must(t, os.Mkdir(filepath.Join(layers, d), 0o777))
	}
	mount(t, "overlay", dir, "overlay", 0, fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", layers))
}

// passingThrough is FUSE that shows another directory.
func passingThrough(t *testing.T, dir string) {
	behind := testas.Dir(t)
	must(t, os.Chmod(behind, 0o777))
	root, err := fusefs.NewLoopbackRoot(behind)
	must(t, err)
	server, err := fusefs.Mount(dir, root, &fusefs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, AllowOther: true}})
	must(t, err)
	t.Cleanup(func() { must(t, server.Unmount()) })
}

// S14, S22: what each filesystem gives, and what the scribe makes of it, is
// what docs/filesystems.md says: a change that lands whole, with all that can
// be kept, or a refusal by name.
func TestFilesystems(t *testing.T) {
	testas.Root(t)
	doc, err := os.ReadFile(table)
	must(t, err)
	for _, f := range filesystems() {
		t.Run(f.name, func(t *testing.T) {
			dir := filepath.Join(testas.Dir(t), "home")
			must(t, os.Mkdir(dir, 0o755))
			f.mount(t, dir)
			home := filepath.Join(dir, "alice")
			must(t, os.Mkdir(home, 0o755), os.Chown(home, testas.Person, testas.Person))
			var row []string
			must(t, lab.As(testas.Person, func() (err error) {
				row, err = probe(home)
				return err
			}))
			line := "| " + f.name + " | " + strings.Join(row, " | ") + " |"
			if !bytes.Contains(doc, []byte(line+"\n")) {
				t.Errorf("the table must have this row:\n%s", line)
			}
		})
	}
}

// probe asks a filesystem for what a change needs, one after another, and then
// has a change of several files carried out on it.
func probe(home string) (row []string, err error) {
	yes := func(err error) { row = append(row, map[bool]string{true: "yes", false: "no"}[err == nil]) }
	put := func(name string) string {
		path := filepath.Join(home, name)
		err = errors.Join(err, os.WriteFile(path, []byte("old "+name[len(name)-1:]+"\n"), 0o640))
		return path
	}
	a, b := put("1"), put("2")
	yes(unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE))
	noReplace := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_NOREPLACE)
	yes(map[bool]error{true: nil, false: noReplace}[errors.Is(noReplace, unix.EEXIST)])
	f, openErr := os.Open(a)
	if openErr != nil {
		return row, openErr
	}
	_, lease := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	yes(lease)
	f.Close()
	list := unix.Setxattr(a, "system.posix_acl_access", acl(), 0)
	yes(list)
	note := unix.Setxattr(a, "user.note", []byte("alice's"), 0)
	yes(note)
	row = append(row, grain(a))
	must := errors.Join(err, os.Remove(a), os.Remove(b), os.Mkdir(home+"/one", 0o755), os.Mkdir(home+"/two", 0o755))
	c := put("one/a")
	put("two/b")
	put("two/c")
	if list == nil {
		must = errors.Join(must, unix.Setxattr(c, "system.posix_acl_access", acl(), 0))
	}
	if note == nil {
		must = errors.Join(must, unix.Setxattr(c, "user.note", []byte("alice's"), 0))
	}
	if must = errors.Join(must, err); must != nil {
		return row, must
	}
	says, err := lands(home, c, list == nil, note == nil)
	return append(row, says), err
}

// lands carries a change of several files out, and says in words what came of
// it, once it has seen that for itself.
func lands(home, rich string, list, note bool) (string, error) {
	out, err := hands.New(home, nil).Do(several(home, 3<<10))
	if r := refusal.As(err); r != nil {
		return "refused: " + string(r.Code), untouched(home)
	}
	if err != nil || out.Result != protocol.Landed {
		return "", fmt.Errorf("it is %+v: %w", out, err)
	}
	held := make([]byte, 100)
	if n, err := unix.Getxattr(rich, "system.posix_acl_access", held); list && (err != nil || !bytes.Equal(held[:n], acl())) {
		return "", fmt.Errorf("the list is %x: %w", held[:max(n, 0)], err)
	}
	if n, err := unix.Getxattr(rich, "user.note", held); note && (err != nil || string(held[:n]) != "alice's") {
		return "", fmt.Errorf("the note is %q: %w", held[:max(n, 0)], err)
	}
	says := "lands"
	for _, c := range out.Changes {
		if len(c.After) > 0 {
			return "", fmt.Errorf("afterwards: %q", c.After)
		}
		if c.NoLease != "" {
			says = "lands, and says that no lease stood"
		}
	}
	if _, err := os.Stat(home + "/two/b"); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("what was deleted: %w", err)
	}
	b, err := os.ReadFile(rich)
	if !strings.HasPrefix(string(b), "newnew") {
		return "", fmt.Errorf("the edited file holds %.20q: %w", b, err)
	}
	return says, nil
}

// untouched says whether a home is as several found it.
func untouched(home string) error {
	out, err := exec.Command("find", home, "-type", "f").Output()
	if n := bytes.Count(out, []byte("\n")); err == nil && n != 3 {
		err = fmt.Errorf("%d files are there:\n%s", n, out)
	}
	return err
}

// grain says how coarse a filesystem's times are: whole seconds, or finer. How
// much finer is the kernel's to say.
func grain(path string) string {
	for range 20 {
		var st unix.Stat_t
		if err := errors.Join(os.WriteFile(path, []byte("again"), 0o640), unix.Stat(path, &st)); err != nil {
			return err.Error()
		}
		if st.Mtim.Nsec != 0 {
			return "finer"
		}
	}
	return "seconds"
}

// acl lets one more user read what is 0640: a version, then a tag, permissions
// and an id each (linux/posix_acl_xattr.h).
func acl() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{0x01, 6, ^uint32(0)}, {0x02, 4, 12345}, {0x04, 4, ^uint32(0)}, {0x10, 4, ^uint32(0)}, {0x20, 0, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}
