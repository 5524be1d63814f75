package beneath

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// R4 R12: what was opened beneath a root and is moved away or removed before it
// is used is known not to stand there any more, and to stand there again once
// it is back.
func TestStandsAt(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = errors.Join(os.MkdirAll(home+"/in/d", 0o755), os.WriteFile(home+"/in/d/f", nil, 0o644), os.WriteFile(home+"/in/d/f (deleted)", nil, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	root, err := OpenRoot(home + "/in")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d, err := root.OpenDirectory("d", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p, err := root.Find("f", "d/f", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	f, err := p.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	odd, err := root.OpenContent("d/f (deleted)", Options{})
	if err != nil {
		t.Fatalf("a file of an odd name: %v", err)
	}
	odd.Close()
	check := func(when string, dir, file bool) {
		t.Helper()
		if d.StandsAt(root, "d") != dir || p.StandsAt(f) != file {
			t.Errorf("%s: directory %v, file %v", when, d.StandsAt(root, "d"), p.StandsAt(f))
		}
	}
	check("at first", true, true)
	os.Rename(home+"/in/d", home+"/away")
	check("moved out", false, false)
	os.Rename(home+"/away", home+"/in/d")
	check("back", true, true)
	os.Rename(home+"/in", home+"/elsewhere")
	if c, err := root.OpenContent("d/f", Options{}); !errors.Is(err, unix.ENOENT) {
		t.Errorf("opened where its root was moved to: %v, %v", c, err)
	}
	os.Rename(home+"/elsewhere", home+"/in")
	if c, err := root.OpenContent("d/f", Options{}); err != nil {
		t.Errorf("back where it was: %v", err)
	} else {
		c.Close()
	}
	os.Remove(home + "/in/d/f")
	check("removed", true, false)
}

// R11 R12: the names of a directory are all of it or, said so, the first of
// them, whatever the room they are read into; what is no directory or file
// beneath the root is not opened.
func TestNames(t *testing.T) {
	home := t.TempDir()
	var want []string
	for _, n := range []string{"a", "\n", "\xff", ".hidden"} {
		want = append(want, n)
		if err := os.WriteFile(home+"/"+n, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink("a", home+"/link")
	os.Mkdir(home+"/dir", 0o755)
	want = append(want, "link", "dir")
	slices.Sort(want)
	root, err := OpenRoot(home)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d, err := root.OpenDirectory("", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	names, more, err := d.Names(context.Background(), make([]byte, 4096), 6)
	var got []string
	for _, n := range names {
		got = append(got, n.Name)
		if kind := map[string]uint32{"link": unix.S_IFLNK, "dir": unix.S_IFDIR}[n.Name]; kind != 0 && n.Kind != kind && n.Kind != 0 {
			t.Errorf("%q is %o", n.Name, n.Kind)
		}
	}
	if slices.Sort(got); err != nil || more || !slices.Equal(got, want) {
		t.Errorf("%q, %v, %v", got, more, err)
	}
	d2, err := root.OpenDirectory("", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d2.Close()
	if names, more, err := d2.Names(context.Background(), make([]byte, 4096), 5); err != nil || !more || len(names) != 5 {
		t.Errorf("%d names, %v, %v", len(names), more, err)
	}
	for name, want := range map[string]error{"link": unix.ELOOP, "none": unix.ENOENT, "../x": unix.EXDEV, "dir": ErrNotRegular, "a/b": unix.ENOTDIR} {
		if f, err := root.OpenContent(name, Options{}); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v, want %v", name, f, err, want)
		}
	}
	if b, err := d.ReadSmall("a", 1); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := d.ReadSmall("a", 0); err != nil || b != nil {
		t.Errorf("over the limit: %q, %v", b, err)
	}
	if b, err := d.ReadSmall("link", 9); !errors.Is(err, unix.ELOOP) || b != nil {
		t.Errorf("a link: %q, %v", b, err)
	}
}

// R2 S2: a directory that is named as the kernel names removed ones is found, and
// one that was removed is not.
func TestOddlyNamedDirectory(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/odd (deleted)", 0o755), os.Mkdir(dir+"/gone", 0o755))
	r := open(t, dir)
	p, err := r.Find("it", "odd (deleted)/f", Options{})
	must(t, err)
	defer p.Close()
	gone, err := os.Open(dir + "/gone")
	must(t, err, os.Remove(dir+"/gone"))
	defer gone.Close()
	if at, err := realPath(int(gone.Fd())); err == nil {
		t.Errorf("what was removed is at %s", at)
	}
}
