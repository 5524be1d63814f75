package beneath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string) *Root {
	t.Helper()
	r, err := OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// S2: a path is resolved beneath the root alone: climbing out, absolute or
// magic links and links at all are refused, whatever spelling leads there.
func TestFind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	must(t, os.MkdirAll(dir+"/a/b", 0o755), os.WriteFile(dir+"/../outside", nil, 0o644), os.WriteFile(dir+"/file", nil, 0o644),
		os.Symlink("a", dir+"/link"), os.Symlink("/", dir+"/slash"), os.Symlink("..", dir+"/up"), os.Symlink("/proc/self/root", dir+"/magic"),
		os.Symlink("loop", dir+"/loop"))
	r := open(t, dir)
	for path, code := range map[string]refusal.Code{
		"f": "", "a/f": "", "a/b/f": "", "missing": "",
		"missing/f": refusal.MissingParent, "file/f": refusal.MissingParent,
		"../outside": refusal.MountCrossing, "a/../../outside": refusal.MountCrossing, "/etc/passwd": refusal.MountCrossing,
		"link/f": refusal.Link, "slash/f": refusal.Link, "up/f": refusal.Link, "magic/f": refusal.Link, "loop/f": refusal.Link,
		"a/" + strings.Repeat("n", 256) + "/f": refusal.NameTooLong,
	} {
		p, err := r.Find("it", path, Options{})
		if code != "" {
			if !refusal.Is(err, code) {
				t.Errorf("%s: %v", path, err)
			}
			continue
		}
		must(t, err)
		defer p.Close()
		if p.Real != dir+"/"+path || p.Landing().Name != action.Path(filepath.Base(path)) || p.Beside("x").Real != filepath.Dir(dir+"/"+path)+"/x" {
			t.Errorf("%s: %+v", path, p)
		}
	}
}

// S4: a place is one name: what is there may be a link, and Open refuses it as
// it refuses every kind that is no regular file, each in its own words and
// without waiting.
func TestOpenKinds(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/file", []byte("x"), 0o644), os.Symlink("file", dir+"/link"), unix.Mkfifo(dir+"/pipe", 0o644),
		os.Mkdir(dir+"/dir", 0o755), unix.Mknod(dir+"/socket", unix.S_IFSOCK|0o644, 0))
	wants := map[string]refusal.Code{"link": refusal.Link, "pipe": refusal.NotRegular, "dir": refusal.NotRegular, "socket": refusal.NotRegular}
	if err := unix.Mknod(dir+"/device", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err == nil { // only root can
		wants["device"] = refusal.NotRegular
	}
	r := open(t, dir)
	said := make(map[string]bool)
	for name, code := range wants {
		p, err := r.Find("it", name, Options{})
		must(t, err)
		f, err := p.Open("it")
		if !refusal.Is(err, code) || f != nil {
			t.Errorf("%s: %v", name, err)
		}
		said[refusal.As(err).Why] = true
	}
	if len(said) != len(wants) {
		t.Errorf("the same words for several kinds: %v", said)
	}
	for name, there := range map[string]bool{"file": true, "missing": false} {
		p, err := r.Find("it", name, Options{})
		must(t, err)
		f, err := p.Open("it")
		if err != nil || (f != nil) != there {
			t.Errorf("%s: %v, %v", name, f, err)
		}
		if f == nil {
			continue
		}
		flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
		exec, err2 := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0)
		if flags&unix.O_ACCMODE != unix.O_RDONLY || exec&unix.FD_CLOEXEC == 0 || errors.Join(err, err2) != nil {
			t.Errorf("flags %o, %o", flags, exec)
		}
	}
}

// S22: a file that is a mount point is another file than its directory has, and
// is not opened.
func TestMountedFile(t *testing.T) {
	testas.Root(t)
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/f", nil, 0o644), os.WriteFile(dir+"/other", nil, 0o644), unix.Mount(dir+"/other", dir+"/f", "", unix.MS_BIND, ""))
	defer unix.Unmount(dir+"/f", unix.MNT_DETACH)
	p, err := open(t, dir).Find("it", "f", Options{})
	must(t, err)
	defer p.Close()
	if f, err := p.Open("it"); !refusal.Is(err, refusal.MountedFile) {
		t.Errorf("%v, %v", f, err)
	}
}

// S7: a root is the directory that was opened, not its name.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/one", 0o755), os.Mkdir(dir+"/two", 0o755), os.Symlink("one", dir+"/root"))
	r := open(t, dir+"/root")
	if r.Real != dir+"/one" {
		t.Errorf("it is at %s", r.Real)
	}
	must(t, r.Replaced(dir+"/root"), os.Remove(dir+"/root"))
	if err := r.Replaced(dir + "/root"); !refusal.Is(err, refusal.RootReplaced) {
		t.Error(err)
	}
	must(t, os.Symlink("two", dir+"/root"))
	if err := r.Replaced(dir + "/root"); !refusal.Is(err, refusal.RootReplaced) {
		t.Error(err)
	}
	must(t, os.Rename(dir+"/one", dir+"/moved"))
	if p, err := r.Find("it", "f", Options{}); err != nil || p.Real != dir+"/moved/f" {
		t.Errorf("the handle no longer leads to the directory: %+v, %v", p, err)
	}
	must(t, os.Remove(dir+"/moved"))
	if p, err := r.Find("it", "f", Options{}); !refusal.Is(err, refusal.NotFound) && !refusal.Is(err, refusal.MissingParent) {
		t.Errorf("beneath a directory that is gone: %+v, %v", p, err)
	}
}

// R5 S13: what is taken of a file is all of it at one instant: its bytes, its
// hash and its stat; over the bound it is hashed and not kept.
func TestTake(t *testing.T) {
	path := t.TempDir() + "/f"
	must(t, os.WriteFile(path, []byte("content"), 0o640))
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	for keep, whole := range map[int64]bool{0: false, 6: false, 7: true, 8: true} {
		s, err := Take("it", f, keep)
		if err != nil || s.Whole != whole || (string(s.Content) == "content") != whole || s.Version.Hash != action.HashOf([]byte("content")) {
			t.Errorf("keep %d: %+v, %v", keep, s, err)
		}
		st, err := Fstat(f)
		must(t, err)
		if s.Version.Size != 7 || s.Version.Mode != 0o640 || s.Version.Links != 1 || s.Version.Ino != st.Ino || s.Version.Ctime != st.Ctim.Nano() {
			t.Errorf("%+v", s.Version)
		}
	}
}

// R5 S13: a file that grows while it is read is refused as being written, or
// was read whole between two writes: never a part under a whole's name.
func TestTakeGrowing(t *testing.T) {
	path := t.TempDir() + "/f"
	must(t, os.WriteFile(path, make([]byte, 1<<20), 0o644))
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		defer w.Close()
		for {
			select {
			case <-stop:
				return
			default:
				w.Write([]byte("x"))
			}
		}
	}()
	seen := false
	for range 2000 {
		s, err := Take("it", f, 64<<20)
		if seen = refusal.Is(err, refusal.Changed); seen {
			break
		}
		if err != nil || uint64(len(s.Content)) != s.Version.Size || action.HashOf(s.Content) != s.Version.Hash {
			t.Fatalf("%d bytes of %d, %v", len(s.Content), s.Version.Size, err)
		}
	}
	close(stop)
	<-stopped
	if !seen {
		t.Error("never refused")
	}
}

// S17 S22: what the system says is put in words of its kind: permission in
// permission words, what can be mended by name, the rest by the error's name.
func TestRefuse(t *testing.T) {
	for errno, code := range map[unix.Errno]refusal.Code{
		unix.EACCES: refusal.PermissionNo, unix.EPERM: refusal.Immutable, unix.ENOSPC: refusal.DiskFull, unix.EDQUOT: refusal.Quota,
		unix.EROFS: refusal.ReadOnly, unix.ENAMETOOLONG: refusal.NameTooLong, unix.EBUSY: refusal.MountedFile, unix.EIO: refusal.DiskError,
	} {
		err := Refuse("it", fmt.Errorf("doing: %w", errno))
		if !refusal.Is(err, code) {
			t.Errorf("%v: %v", errno, err)
		}
	}
	if why := refusal.As(Refuse("it", unix.EIO)).Why; !strings.Contains(why, "EIO") {
		t.Errorf("%q does not name the error", why)
	}
	already := refusal.New(refusal.Link, "it", "")
	if Refuse("it", fmt.Errorf("doing: %w", already)) != error(already) {
		t.Error("a refusal was put in other words")
	}
	if err := Refuse("it", errors.New("odd")); !refusal.Is(err, refusal.DiskError) {
		t.Error(err)
	}
}

// R3 S7: what the kernel says of an opened directory is believed only where the
// path leads there, by the links on its way: the directory may have been moved
// once it was open, and somebody else's place be judged for it.
func TestLeads(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{os.MkdirAll(dir+"/real/in", 0o755), os.Mkdir(dir+"/away", 0o755), os.Symlink("real", dir+"/link"), os.Symlink(dir+"/link/in", dir+"/chain")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path, real string
		want       bool
	}{
		{"/real/in", "/real/in", true}, {"/link/in", "/real/in", true}, {"/chain", "/real/in", true},
		{"/real/in", "/away/in", false}, {"/link/in", "/link/in/deep", false}, {"/gone", "/away", false},
	} {
		if got := leads(dir+c.path, dir+c.real); got != c.want {
			t.Errorf("%s leads to %s: %v", c.path, c.real, got)
		}
	}
}
