package beneath

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/refusal"
)

// S4: where links are followed, a path leads where the kernel would lead it, as
// long as that is beneath the root, and its spelling has no link left; whatever
// leads out, or in a ring, is refused. Names at the end may be missing.
func TestFollow(t *testing.T) {
	dir := t.TempDir() + "/root"
	must(t, os.MkdirAll(dir+"/a/b", 0o755), os.WriteFile(dir+"/file", nil, 0o644), os.WriteFile(dir+"/../outside", nil, 0o644))
	deep := "d0"
	for i := range 39 {
		must(t, os.Symlink(fmt.Sprintf("d%d", i+1), fmt.Sprintf("%s/d%d", dir, i)))
	}
	must(t, os.Symlink("file", dir+"/d39"), os.Symlink("d0", dir+"/over"))
	for name, to := range map[string]string{
		"link": "a", "abs": dir + "/a", "absfile": dir + "/file", "chain": "link/b", "a/up": "../file", "a/b/upup": "../../a/up", "a/climb": "../../root/file",
		"dangling": "a/new", "away": "none/new/f", "pastmissing": "none/../file", "self": "self", "one": "two", "two": "one", "out": "../outside", "slash": "/",
		"absout": dir + "/../outside", "dots": "./a/./b//", "root": dir, "prefix": dir + "x/f",
		"long": strings.Repeat("a/../", 818) + "f", "longer": strings.Repeat("a/../", 900) + "f",
	} {
		if err := os.Symlink(to, dir+"/"+name); err != nil && !errors.Is(err, unix.ENAMETOOLONG) {
			t.Fatal(err)
		}
	}
	r := open(t, dir)
	for path, c := range map[string]struct {
		under   string
		missing []string
		code    refusal.Code
	}{
		"file": {under: "file"}, "a/b/f": {under: "a/b/f"}, "link/f": {under: "a/f"}, "abs/b/f": {under: "a/b/f"}, "absfile": {under: "file"},
		"chain/f": {under: "a/b/f"}, "a/up": {under: "file"}, "link/up": {under: "file"}, "chain/upup": {under: "file"}, "dots/f": {under: "a/b/f"},
		"dangling": {under: "a/new"}, "away": {"none/new/f", []string{"none", "new"}, ""}, "link/x/y": {"a/x/y", []string{"x"}, ""},
		"root/file": {under: "file"}, deep: {under: "file"}, "long": {under: "f"},
		"over": {code: refusal.Link}, "self": {code: refusal.Link}, "one": {code: refusal.Link}, "one/f": {code: refusal.Link},
		"out": {code: refusal.Link}, "absout": {code: refusal.Link}, "a/climb": {code: refusal.Link}, "slash": {code: refusal.Link}, "slash/etc/passwd": {code: refusal.Link},
		"pastmissing": {code: refusal.Link}, "prefix": {code: refusal.Link}, "root": {code: refusal.NotRegular}, "file/f": {code: refusal.MissingParent},
	} {
		p, err := r.Find("it", path, Options{Links: true, Missing: true})
		if c.code != "" {
			if !refusal.Is(err, c.code) {
				t.Errorf("%s: %v", path, err)
			}
			continue
		}
		must(t, err)
		defer p.Close()
		if p.Under != c.under || p.Real != dir+"/"+c.under || !slices.Equal(p.Missing, c.missing) {
			t.Errorf("%s: %+v", path, p)
		}
		is, err := os.Stat(dir + "/" + path)
		if st, _ := p.Stat(); err == nil && st.Ino != inode(is) {
			t.Errorf("%s leads elsewhere than the kernel leads", path)
		}
	}
	for path, under := range map[string]string{"link": "link", "self": "self", "chain": "chain", "link/up": "a/up", "out": "out"} {
		p, err := r.Find("it", path, Options{Links: true, Entry: true})
		must(t, err)
		defer p.Close()
		if p.Under != under {
			t.Errorf("the entry %s: %+v", path, p)
		}
		s, err := p.TakeLink("it")
		to, err2 := os.Readlink(dir + "/" + path)
		if string(s.Content) != to || s.Version.Kind != action.Symlink || s.Version.Hash != action.HashOf([]byte(to)) || errors.Join(err, err2) != nil {
			t.Errorf("%s: %+v, %v", path, s, err)
		}
	}
}

func inode(i os.FileInfo) uint64 { return i.Sys().(*syscall.Stat_t).Ino }

// S4: a link that is swapped while it is followed, over and over, leads to what
// one of its targets was, and never out of the root.
func TestFollowSwapped(t *testing.T) {
	dir := t.TempDir() + "/root"
	must(t, os.MkdirAll(dir+"/a", 0o755), os.Mkdir(dir+"/../out", 0o755), os.Symlink("a", dir+"/in"), os.Symlink("../out", dir+"/away"))
	r := open(t, dir)
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default: // a directory, a link inward and a link outward take turns under two names
				unix.Renameat2(unix.AT_FDCWD, dir+"/in", unix.AT_FDCWD, dir+"/away", unix.RENAME_EXCHANGE)
				unix.Renameat2(unix.AT_FDCWD, dir+"/in", unix.AT_FDCWD, dir+"/a", unix.RENAME_EXCHANGE)
			}
		}
	}()
	found := 0
	for n := 0; found < 200 && n < 200_000; n++ {
		p, err := r.Find("it", "in/f", Options{Links: true, Missing: true})
		if err != nil {
			continue
		}
		if found++; !strings.HasPrefix(p.Real, dir+"/") {
			t.Errorf("it leads to %s", p.Real)
		}
		p.Close()
	}
	close(stop)
	if <-stopped; found < 200 {
		t.Errorf("found %d times: that shows nothing", found)
	}
}

// S6: where directories are missing a place is the last one that is there, and
// is entered from one to the next as they are made; no link is entered. From a
// place the directories above it are found again by handle, no further than the
// root, and only where they still stand.
func TestMissingAndAbove(t *testing.T) {
	dir := t.TempDir() + "/root"
	must(t, os.MkdirAll(dir+"/a", 0o755), os.WriteFile(dir+"/file", nil, 0o644))
	r := open(t, dir)
	p, err := r.Find("it", "a/b/c/f", Options{Missing: true})
	must(t, err)
	defer p.Close()
	if p.Landing().Name != "b/c/f" || !slices.Equal(p.Missing, []string{"b", "c"}) || p.Real != dir+"/a/b/c/f" {
		t.Errorf("%+v", p)
	}
	if at := p.Beside("x"); at.Landing().Name != "b/c/x" || at.Real != dir+"/a/b/c/x" {
		t.Errorf("beside it: %+v", at)
	}
	for _, at := range []*Place{p, p.Beside("x")} {
		if _, err := at.Stat(); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		if f, err := at.Open("it"); f != nil || err != nil {
			t.Errorf("%v, %v", f, err)
		}
	}
	must(t, os.Symlink("..", dir+"/a/b"))
	if in, err := p.Enter(); err == nil {
		t.Errorf("a link was entered: %+v", in)
	}
	must(t, os.Remove(dir+"/a/b"), os.MkdirAll(dir+"/a/b/c", 0o755))
	for range 2 {
		if p, err = p.Enter(); err != nil {
			t.Fatal(err)
		}
		defer p.Close()
	}
	if len(p.Missing) > 0 || p.Landing().Name != "f" || p.Real != dir+"/a/b/c/f" {
		t.Errorf("%+v", p)
	}
	for _, want := range []string{"c", "b", "a"} {
		up, err := p.Above()
		must(t, err)
		defer up.Close()
		if up.Name != want || up.Landing().Name != action.Path(want) || !strings.HasSuffix(up.Real, "/"+want) {
			t.Errorf("%+v", up)
		}
		p = up
	}
	if up, err := p.Above(); err == nil {
		t.Errorf("above the root: %+v", up)
	}
	p, err = r.Find("it", "a/b/f", Options{})
	must(t, err, os.Rename(dir+"/a/b", dir+"/a/moved"), os.Mkdir(dir+"/a/b", 0o755))
	defer p.Close()
	if up, err := p.Above(); !errors.Is(err, unix.ENOENT) {
		t.Errorf("it no longer stands there: %+v, %v", up, err)
	}
	for path, code := range map[string]refusal.Code{
		"file/x/f": refusal.MissingParent, strings.Repeat("n/", action.MaxMade+1) + "f": refusal.MissingParent, strings.Repeat("n/", action.MaxMade) + "f": "",
		"../x/f": refusal.MountCrossing,
	} {
		p, err := r.Find("it", path, Options{Missing: true})
		if p != nil {
			p.Close()
		}
		if code == "" && err != nil || code != "" && !refusal.Is(err, code) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
