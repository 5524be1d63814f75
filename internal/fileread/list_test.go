package fileread

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// list lists a directory, and gives its entries by name.
func list(t *testing.T, f Files, p protocol.ListParams) map[string]protocol.Entry {
	t.Helper()
	l, err := f.List(context.Background(), p)
	must(t, err)
	entries := map[string]protocol.Entry{}
	for _, e := range l.Entries {
		entries[string(e.Name)] = e
	}
	if len(entries) != len(l.Entries) {
		t.Errorf("a name is there twice: %+v", l.Entries)
	}
	return entries
}

// R4 R7: a listing tells of each kind of file its size, mode and time, waits on
// none, and says of a link why it is not taken and nothing of where it leads.
func TestListKinds(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	put(t, home, "d/f", "d/dir/inner", "secret")
	odd := []string{"new\nline", "\xff\xfe", "\x1b[2J", `"quoted"`, "\u202etxt.exe", "-rf", "~", strings.Repeat("n", 255)}
	for _, n := range odd {
		put(t, home+"/d", n)
	}
	must(t, unix.Mkfifo(home+"/d/pipe", 0o640), unix.Mknod(home+"/d/socket", unix.S_IFSOCK|0o600, 0), os.Symlink("/etc/passwd", home+"/d/out"),
		os.Symlink("dir", home+"/d/dirlink"), os.Symlink("../secret-target-name", home+"/d/dangling"), os.Chmod(home+"/d/f", 0o750),
		os.Link(home+"/d/f", home+"/d/second"), unix.UtimesNano(home+"/d/dir", []unix.Timespec{{Sec: 7}, {Sec: 1234567890, Nsec: 7}}))
	got := list(t, granting(t, home, grant.Grant{Root: home}), protocol.ListParams{Path: action.Path(home + "/d")})
	kinds := map[string]protocol.Kind{"f": "file", "second": "file", "dir": "directory", "pipe": "pipe", "socket": "socket", "out": "link", "dirlink": "link", "dangling": "link"}
	for _, n := range odd {
		kinds[n] = "file"
	}
	if len(got) != len(kinds) {
		t.Errorf("%d entries, want %d", len(got), len(kinds))
	}
	for name, kind := range kinds {
		e := got[name]
		if e.Kind != kind {
			t.Errorf("%q is %+v, want a %s", name, e, kind)
		}
		if isLink := kind == "link"; isLink != (e.Why != "") || e.Target != "" || isLink && (e.Size != 0 || strings.Contains(e.Why, "secret") || strings.Contains(e.Why, "passwd")) {
			t.Errorf("%q: %+v", name, e)
		}
	}
	if e := got["f"]; e.Size != uint64(len("d/f")) || e.Mode != 0o750 || e.Links != 2 {
		t.Errorf("%+v", e)
	}
	if e := got["dir"]; e.Mtime != 1234567890*1e9+7 || e.Links != 0 || e.Mode != 0o755 {
		t.Errorf("%+v", e)
	}
}

// R7: a listing without a path is of the grants, with all that is set in each
// and whether its root can be read; one of a file is of the file alone.
func TestListGrants(t *testing.T) {
	home := t.TempDir()
	put(t, home, "a/", "f")
	f := granting(t, home, grant.Grant{Root: home + "/a", Include: []string{"*.md"}, Ignore: []string{"x/**"}, FollowLinks: true, CrossMounts: true, MaxFileSize: 7}, grant.Grant{Root: home + "/gone"}, grant.Grant{Root: home})
	l, err := f.List(context.Background(), protocol.ListParams{})
	must(t, err)
	if len(l.Grants) != 4 || !slices.Contains(l.PassedOver, "node_modules") || !slices.Contains(l.PassedOver, "~/.cache") || l.Policy != f.Policy {
		t.Fatalf("%+v", l)
	}
	a, gone, write := l.Grants[0], l.Grants[1], l.Grants[3]
	if a.Root != action.Path(home+"/a") || a.Write || !slices.Equal(a.Include, []string{"*.md"}) || !slices.Equal(a.Ignore, []string{"x/**"}) ||
		!a.FollowLinks || !a.CrossMounts || a.MaxFileSize != 7 || a.Why != "" {
		t.Errorf("%+v", a)
	}
	if gone.Why == "" || !write.Write || write.Why != "" {
		t.Errorf("%+v, %+v", gone, write)
	}
	one := list(t, f, protocol.ListParams{Path: action.Path(home + "/f"), Recursive: true})
	if e, ok := one[""]; len(one) != 1 || !ok || e.Kind != protocol.KindFile || e.Size != 1 {
		t.Errorf("a file's listing: %+v", one)
	}
}

// R3: a root that is gone is refused, not empty, and one that cannot be looked
// at is refused with its error; a root that is a link and leads elsewhere now
// is read where it leads.
func TestRepointedRoot(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	put(t, home, "one/only-in-one", "two/only-in-two", "two/.env", "shut/in/x")
	must(t, os.Symlink("one", home+"/root"))
	f := granting(t, home, grant.Grant{Root: home + "/root"}, grant.Grant{Root: home + "/gone"}, grant.Grant{Root: home + "/shut/in"})
	path := action.Path(home + "/root")
	if got := list(t, f, protocol.ListParams{Path: path}); len(got) != 1 || got["only-in-one"].Kind != "file" {
		t.Errorf("%+v", got)
	}
	must(t, os.Remove(home+"/root"), os.Symlink(home+"/two", home+"/root"))
	if got := list(t, f, protocol.ListParams{Path: path}); len(got) != 1 || got["only-in-two"].Kind != "file" {
		t.Errorf("%+v", got)
	}
	if _, err := f.List(context.Background(), protocol.ListParams{Path: action.Path(home + "/gone")}); !refusal.Is(err, refusal.NotFound) {
		t.Errorf("a root that is gone: %v", err)
	}
	must(t, os.Chmod(home+"/shut", 0))
	defer os.Chmod(home+"/shut", 0o755)
	if _, err := f.List(context.Background(), protocol.ListParams{Path: action.Path(home + "/shut/in")}); !refusal.Is(err, refusal.PermissionNo) {
		t.Errorf("a root that cannot be looked at: %v", err)
	}
	must(t, os.Remove(home+"/root"), os.Symlink("/etc", home+"/root"))
	if _, err := f.List(context.Background(), protocol.ListParams{Path: path}); !refusal.Is(err, refusal.NobodysHome) {
		t.Errorf("a root that leads out of the home: %v", err)
	}
}

// R3: a root that is another grant's directory for real is judged by both: what
// the grant there leaves out is not shown by either name.
func TestRootsMeet(t *testing.T) {
	home := t.TempDir()
	put(t, home, "real/sub/a.md", "real/sub/a.txt", "real/b")
	must(t, os.Symlink("real", home+"/alias"))
	f := granting(t, home, grant.Grant{Root: home + "/alias"}, grant.Grant{Root: home + "/real/sub", Include: []string{"*.md"}})
	got, _ := listed(t, f, protocol.ListParams{Path: action.Path(home + "/alias")})
	if !slices.Equal(got, []string{"b"}) {
		t.Errorf("%q", got)
	}
	if _, err := one(f, protocol.ReadWanted{Path: action.Path(home + "/alias/sub/a.txt")}); err == nil {
		t.Error("and a read is let to it")
	}
}

// R4: a path that a caller names goes through links where its grant follows
// them, to a place that the same grant covers; a walk tells where a link leads
// there and never goes through. Whatever lies beyond a link that leads out is
// refused in the same words.
func TestLinks(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	put(t, home, "g/real/f", "g/real/.env", "g/nested/x", "outside/f", "g/.ssh/id")
	for name, to := range map[string]string{
		"in": "real", "abs": home + "/g/real", "chain": "in", "out": "../outside", "outfile": "../outside/f", "nothing": "../outside/none", "dangling": "none",
		"loop": "loop", "real/up": "..", "tonested": "nested", "denied": "real/.env", "passwd": "/etc/passwd", "shadow": "/etc/not-there", "magic": "/proc/self/root/etc",
	} {
		must(t, os.Symlink(to, home+"/g/"+name))
	}
	root := action.Path(home + "/g")
	f := granting(t, home, grant.Grant{Root: home + "/g", FollowLinks: true}, grant.Grant{Root: home + "/g/nested"})
	got := list(t, f, protocol.ListParams{Path: root})
	for name, target := range map[string]string{"in": "/real", "abs": "/real", "chain": "/real", "out": "", "nothing": "", "loop": "", "tonested": "", "denied": "", "passwd": "", "shadow": "", "magic": ""} {
		e := got[name]
		if target != "" {
			target = string(root) + target
		}
		if e.Kind != "link" || string(e.Target) != target || (e.Why == "") != (target != "") || e.Why != "" && e.Why != got["dangling"].Why {
			t.Errorf("%s: %+v, want %q", name, e, target)
		}
	}
	all, _ := listed(t, f, protocol.ListParams{Path: root})
	if slices.ContainsFunc(all, func(n string) bool { return strings.HasPrefix(n, "in/") || strings.HasPrefix(n, "real/up/") }) {
		t.Errorf("went through a link: %q", all)
	}
	if through, _ := listed(t, f, protocol.ListParams{Path: root + "/chain"}); !slices.Equal(through, []string{"f", "up"}) {
		t.Errorf("named through links: %q", through)
	}
	var said string
	for _, name := range []string{"out", "out/f", "outfile", "nothing", "loop", "passwd", "shadow", "magic", "magic/passwd", "out/none/x"} {
		_, err := f.List(context.Background(), protocol.ListParams{Path: root + "/" + action.Path(name)})
		r := refusal.As(err)
		if r == nil || r.Code != refusal.Link || strings.Contains(err.Error(), "passwd") && !strings.Contains(name, "passwd") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if said == "" {
			said = r.Why
		}
		if r.Why != said {
			t.Errorf("%s: %q, and elsewhere %q", name, r.Why, said)
		}
	}
	if _, err := f.List(context.Background(), protocol.ListParams{Path: root + "/dangling"}); !refusal.Is(err, refusal.NotFound) {
		t.Errorf("a link to nothing inside: %v", err)
	}
	for _, name := range []string{"tonested", "denied"} {
		if _, err := f.List(context.Background(), protocol.ListParams{Path: root + "/" + action.Path(name)}); err == nil {
			t.Errorf("%s is listed", name)
		}
	}
	if got, err := one(f, protocol.ReadWanted{Path: root + "/chain/f"}); err != nil || got.Text != "g/real/f" {
		t.Errorf("read through links: %q, %v", got.Text, err)
	}
	for _, name := range []string{"outfile", "passwd", "denied", "magic/passwd"} {
		if _, err := one(f, protocol.ReadWanted{Path: root + "/" + action.Path(name)}); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	f.Finder.Grants.Reads[0].FollowLinks = false
	if _, err := f.List(context.Background(), protocol.ListParams{Path: root + "/in"}); !refusal.Is(err, refusal.Link) {
		t.Errorf("a link, not followed: %v", err)
	}
}

// R7: what is mounted in a grant is named and not entered, unless the grant
// crosses mounts; of root's own, where it can be mounted.
func TestMounted(t *testing.T) {
	testas.Root(t)
	home := t.TempDir()
	put(t, home, "mnt/", "f")
	must(t, unix.Mount("none", home+"/mnt", "tmpfs", 0, ""))
	defer unix.Unmount(home+"/mnt", unix.MNT_DETACH)
	put(t, home, "mnt/in")
	f := granting(t, home, grant.Grant{Root: home})
	names, last := listed(t, f, protocol.ListParams{Path: action.Path(home)})
	if !slices.Equal(names, []string{"f", "mnt"}) || len(last.Missed) != 1 || last.Missed[0].Code != refusal.MountCrossing {
		t.Errorf("%q, %+v", names, last.Missed)
	}
	if e := list(t, f, protocol.ListParams{Path: action.Path(home)})["mnt"]; e.Why == "" {
		t.Errorf("%+v", e)
	}
	if _, err := f.List(context.Background(), protocol.ListParams{Path: action.Path(home + "/mnt")}); !refusal.Is(err, refusal.MountCrossing) {
		t.Errorf("naming it: %v", err)
	}
	f.Finder.Grants.Reads[0].CrossMounts = true
	names, last = listed(t, f, protocol.ListParams{Path: action.Path(home)})
	if !slices.Equal(names, []string{"f", "mnt", "mnt/in"}) || len(last.Missed) != 0 {
		t.Errorf("crossing: %q, %+v", names, last.Missed)
	}
}

// R3 R13 R14: a filesystem whose server never answers holds nobody who does not
// name it: it is listed and not entered, and a grant on it holds only its own
// calls. Of root's own, where one can be mounted.
func TestSilentFUSE(t *testing.T) {
	testas.Root(t)
	home := t.TempDir()
	put(t, home, "fuse/", "f")
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no FUSE here: %v", err)
	}
	must(t, unix.Mount("silent", home+"/fuse", "fuse", 0, "fd="+strconv.Itoa(fd)+",rootmode=40000,user_id=0,group_id=0,allow_other"))
	defer unix.Unmount(home+"/fuse", unix.MNT_DETACH)
	f := granting(t, home, grant.Grant{Root: home}, grant.Grant{Root: home + "/fuse"}, grant.Grant{Root: home + "/fuse/deep"})
	var held sync.WaitGroup
	for _, name := range []string{"/fuse", "/fuse/deep/x"} { // these wait, for the server's end
		held.Go(func() { f.List(context.Background(), protocol.ListParams{Path: action.Path(home + name)}) })
	}
	for _, cross := range []bool{false, true} {
		f := f // the calls above go on
		f.Finder.Grants.Reads = slices.Clone(f.Finder.Grants.Reads)
		f.Finder.Grants.Reads[0].CrossMounts, f.Finder.Grants.Reads[1].CrossMounts = cross, cross
		names, last := listed(t, f, protocol.ListParams{Path: action.Path(home)})
		if !slices.Equal(names, []string{"f", "fuse"}) || len(last.Missed) != 1 {
			t.Errorf("crossing %v: %q, %+v", cross, names, last.Missed)
		}
		res, err := f.Stat(context.Background(), protocol.StatParams{Paths: []action.Path{action.Path(home + "/f")}})
		if err != nil || res.Files[0].Refusal != nil {
			t.Errorf("%+v, %v", res, err)
		}
		read, err := f.Read(context.Background(), protocol.ReadParams{Files: []protocol.ReadWanted{{Path: action.Path(home + "/f")}}})
		if err != nil || read.Files[0].Refusal != nil {
			t.Errorf("%+v, %v", read, err)
		}
		l, err := f.List(context.Background(), protocol.ListParams{})
		if err != nil || l.Grants[2].Why == "" {
			t.Errorf("%+v, %v", l, err)
		}
	}
	must(t, unix.Close(fd)) // whoever waits is told so
	held.Wait()
}
