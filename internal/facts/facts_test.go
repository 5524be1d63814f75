package facts

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/grant"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func finder(home string, grants ...grant.Grant) Finder {
	return Finder{
		UID: uint32(os.Geteuid()), Groups: []uint32{uint32(os.Getegid())}, Home: home, Keep: 1 << 10,
		Grants: grant.Set{Home: home, Reads: grants, Writes: grants},
	}
}

func look(f Finder, op grant.Op, path string) (action.Before, error) {
	found, err := f.Find(op, action.Target{Path: action.Path(path)})
	if err != nil {
		return action.Before{}, err
	}
	defer found.Close()
	before, file, err := f.Look(found)
	if file != nil {
		file.Close()
	}
	return before, err
}

// S3 R4: a place is judged as it was asked for and where it lands: a link that
// a grant's root or a home goes through opens nothing that was not granted.
func TestLanding(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	tmp, outside := t.TempDir(), t.TempDir()
	home := tmp + "/listed" // a link, as /home is on some systems
	real := tmp + "/real"
	for _, d := range []string{"docs", "docs/nested", ".ssh", ".config/gh", "repo/.git", "repo/.GIT", "src/a"} {
		must(t, os.MkdirAll(real+"/"+d, 0o755))
	}
	must(t, os.Symlink("real", home), os.WriteFile(outside+"/f", nil, 0o644))
	for link, to := range map[string]string{
		"papers": "docs", "abs": real + "/docs", "keys": ".ssh", "forge": ".config/gh", "hooks": "repo/.git", "folded": "repo/.GIT",
		"away": outside, "up": "..", "inner": "docs/nested", "chain": "papers", "whole": ".",
	} {
		must(t, os.Symlink(to, real+"/"+link))
	}
	for name, c := range map[string]struct {
		roots []string
		path  string
		code  refusal.Code
		real  string // relative to the home
	}{
		"home":             {[]string{""}, "docs/f", "", "docs/f"},
		"root in the home": {[]string{"papers"}, "papers/f", "", "docs/f"},
		"absolute":         {[]string{"abs"}, "abs/f", "", "docs/f"},
		"a chain":          {[]string{"chain"}, "chain/f", "", "docs/f"},
		"deny list":        {[]string{"keys"}, "keys/f", refusal.Denied, ""},
		"deny, deeper":     {[]string{"forge"}, "forge/hosts.yml", refusal.Denied, ""},
		"git":              {[]string{"hooks"}, "hooks/f", refusal.GitDirectory, ""},
		"git, folded":      {[]string{"folded"}, "folded/f", refusal.GitDirectory, ""},
		"git, asked":       {[]string{""}, "repo/.git/config", refusal.GitDirectory, ""},
		"git, asked, case": {[]string{""}, "repo/.Git/config", refusal.GitDirectory, ""},
		"out of the home":  {[]string{"away"}, "away/f", refusal.NobodysHome, ""},
		"above the home":   {[]string{"up"}, "up/f", refusal.NobodysHome, ""},
		"link on the way":  {[]string{""}, "papers/f", refusal.Link, ""},
		"link to secrets":  {[]string{""}, "keys/f", refusal.Link, ""},
		"not granted":      {[]string{"docs"}, "src/f", refusal.NotGranted, ""},
		"another grant":    {[]string{"inner", "docs/nested"}, "inner/f", "", "docs/nested/f"},
		"nested is longer": {[]string{"whole", "docs"}, "whole/docs/f", refusal.NotGranted, ""},
		"the root itself":  {[]string{"docs"}, "docs", refusal.NotRegular, ""},
		"no root":          {[]string{"gone"}, "gone/f", refusal.NotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(home)
			for _, r := range c.roots {
				g := grant.Grant{Root: strings.TrimSuffix(home+"/"+r, "/"), MaxFileSize: 1 << 20}
				f.Grants.Reads, f.Grants.Writes = append(f.Grants.Reads, g), append(f.Grants.Writes, g)
			}
			before, err := look(f, grant.Write, home+"/"+c.path)
			if c.code != "" {
				if !refusal.Is(err, c.code) {
					t.Error(err)
				}
				return
			}
			must(t, err)
			if got, want := before.Fact.Real, action.Path(home+"/"+c.real); got != want || before.Fact.Base.Version != nil {
				t.Errorf("%s, wanted %s; %+v", got, want, before.Fact.Base.Version)
			}
		})
	}
}

// S7: two steps between which a root is repointed see two places; the one found
// first says that its root is another now.
func TestRootRepointed(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	must(t, os.Mkdir(home+"/one", 0o755), os.Mkdir(home+"/two", 0o755), os.Symlink("one", home+"/root"))
	must(t, os.WriteFile(home+"/one/f", []byte("one"), 0o644), os.WriteFile(home+"/two/f", []byte("two"), 0o644))
	f := finder(home, grant.Grant{Root: home + "/root", MaxFileSize: 1 << 20})
	found, err := f.Find(grant.Write, action.Target{Path: action.Path(home + "/root/f")})
	must(t, err)
	defer found.Close()
	must(t, found.Replaced(), os.Remove(home+"/root"), os.Symlink("two", home+"/root"))
	if err := found.Replaced(); !refusal.Is(err, refusal.RootReplaced) {
		t.Error(err)
	}
	before, file, err := f.Look(found)
	must(t, err)
	defer file.Close()
	if string(before.Content) != "one" {
		t.Errorf("what was found first holds %q", before.Content)
	}
	if before, err := look(f, grant.Write, home+"/root/f"); err != nil || string(before.Content) != "two" {
		t.Errorf("%q, %v", before.Content, err)
	}
}

// S9: extended attributes of the person's are carried as they are, in order of
// their names; what is beyond the bound is a fact before anybody is asked, and
// its names cannot forge a line.
func TestAttributes(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	f := finder(home, grant.Grant{Root: home, MaxFileSize: 1 << 20})
	must(t, os.WriteFile(home+"/f", nil, 0o644))
	lookAt := func() action.Fact {
		t.Helper()
		before, err := look(f, grant.Write, home+"/f")
		must(t, err)
		return before.Fact
	}
	if got := lookAt(); len(got.NotKept) > 0 || len(got.Attributes) > 0 {
		t.Errorf("%+v", got)
	}
	must(t, unix.Setxattr(home+"/f", "user.b", []byte("two\x00"), 0), unix.Setxattr(home+"/f", "user.a\nb", nil, 0))
	want := []action.Attribute{{Name: "user.a\nb", Value: []byte{}}, {Name: "user.b", Value: []byte("two\x00")}}
	if got := lookAt(); !reflect.DeepEqual(got.Attributes, want) || len(got.NotKept) > 0 {
		t.Errorf("%+v", got)
	}
	for i := range 8 { // more names than the first buffer holds
		must(t, unix.Setxattr(home+"/f", fmt.Sprintf("user.c%0200d", i), []byte("twelve bytes"), 0))
	}
	if got := lookAt(); len(got.Attributes) != 10 || len(got.NotKept) > 0 {
		t.Errorf("%d attributes, %q", len(got.Attributes), got.NotKept)
	}
}

// R1 R4 S9: whose file it is, how large it is and what it holds are judged
// before anything of it is handed on.
func TestLook(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	key := "-----BEGIN PRIVATE KEY-----\nx\n"
	for name, content := range map[string]string{"f": "text", "long": strings.Repeat("x", 2<<10), "huge": strings.Repeat("x", 5<<10), "a.pem": key, "key.txt": key} {
		must(t, os.WriteFile(home+"/"+name, []byte(content), 0o644))
	}
	f := finder(home, grant.Grant{Root: home, MaxFileSize: 4 << 10})
	for name, code := range map[string]refusal.Code{"huge": refusal.FileTooBig, "a.pem": refusal.Denied} {
		if _, err := look(f, grant.Write, home+"/"+name); !refusal.Is(err, code) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, read := range map[string]bool{"f": true, "key.txt": true, "long": false} { // Keep is 1 KiB
		before, err := look(f, grant.Write, home+"/"+name)
		if err != nil || before.Read != read || (before.Content != nil) != read || before.Fact.Base.Version == nil {
			t.Errorf("%s: %+v, %v", name, before, err)
		}
	}
	f.UID++ // as if it were another's
	if _, err := look(f, grant.Write, home+"/f"); !refusal.Is(err, refusal.OtherOwner) {
		t.Error(err)
	}
}

// S4 S21: a fact says where links led, and of a link that is itself to go what
// it points to; where the grant follows none it is refused, and one that leads
// to a denied place, or is another user's, is in either case.
func TestLinks(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	must(t, os.MkdirAll(home+"/dir", 0o755), os.Mkdir(home+"/.ssh", 0o700), os.WriteFile(home+"/dir/f", []byte("text"), 0o644),
		os.WriteFile(home+"/.ssh/id", nil, 0o600))
	for name, to := range map[string]string{"link": "dir/f", "way": "dir", "keys": ".ssh", "key": ".ssh/id", "out": "/etc/passwd"} {
		must(t, os.Symlink(to, home+"/"+name))
	}
	g := grant.Grant{Root: home, MaxFileSize: 1 << 20, FollowLinks: true}
	for path, want := range map[string]string{"link": "dir/f", "way/f": "dir/f", "way/new": "dir/new", "dir/f": "", "new/f": ""} {
		before, err := look(finder(home, g), grant.Write, home+"/"+path)
		must(t, err)
		resolved := action.Path(home + "/" + path)
		if want != "" {
			resolved = action.Path(home + "/" + want)
		}
		if f := before.Fact; f.Resolved() != resolved || f.Real != resolved || (f.Follows != "") != (want != "") || f.Target != "" {
			t.Errorf("%s: %+v", path, f)
		}
	}
	for path, code := range map[string]refusal.Code{"keys/id": refusal.Denied, "key": refusal.Denied, "keys/new": refusal.Denied, "out": refusal.Link} {
		if _, err := look(finder(home, g), grant.Write, home+"/"+path); !refusal.Is(err, code) {
			t.Errorf("%s: %v", path, err)
		}
	}
	entry := func(f Finder, path string) (action.Before, error) {
		found, err := f.Find(grant.Write, action.Target{Path: action.Path(home + "/" + path), How: action.ToEntry})
		if err != nil {
			return action.Before{}, err
		}
		defer found.Close()
		before, file, err := f.Look(found)
		if file != nil {
			file.Close()
		}
		return before, err
	}
	g.FollowLinks = false
	if _, err := look(finder(home, g), grant.Write, home+"/link"); !refusal.Is(err, refusal.Link) {
		t.Error(err)
	}
	for path, to := range map[string]string{"link": "dir/f", "out": "/etc/passwd", "key": ".ssh/id"} {
		before, err := entry(finder(home, g), path)
		f := before.Fact
		if err != nil || string(f.Target) != to || f.Base.Version.Kind != action.Symlink || string(before.Content) != to || !before.Read || f.Follows != "" {
			t.Errorf("%s: %+v, %v", path, before, err)
		}
	}
	f := finder(home, g)
	f.UID++
	if _, err := entry(f, "link"); !refusal.Is(err, refusal.OtherOwner) {
		t.Error(err)
	}
}

// S9: a group that a new file would not get and the person may not give, and an
// access control list that names it, are facts before anybody is asked; a group
// that the directory gives, or one of the person's, is kept.
func TestGroupNotKept(t *testing.T) {
	home, ok := testas.Prepared(t, testas.Person, func() string {
		dir := testas.Dir(t)
		list := []byte("\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x04\x00\x39\x30\x00\x00" + "\x04\x00\x04\x00\xff\xff\xff\xff" +
			"\x10\x00\x04\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff")
		must(t, os.Mkdir(dir+"/given", 0o755), os.Chown(dir+"/given", testas.Person, 4242), os.Chmod(dir+"/given", 0o755|os.ModeSetgid))
		for name, gid := range map[string]int{"own": testas.Person, "foreign": 4242, "listed": 4242, "given/f": 4242, "given/other": 4243} {
			must(t, os.WriteFile(dir+"/"+name, nil, 0o640), os.Chown(dir+"/"+name, testas.Person, gid))
		}
		must(t, unix.Setxattr(dir+"/listed", AccessACL, list, 0), unix.Setxattr(dir+"/own", AccessACL, list, 0))
		return dir
	})
	if !ok {
		return
	}
	for name, want := range map[string][]string{
		"own": nil, "foreign": {"group 4242"}, "listed": {"group 4242", "attribute " + AccessACL + ", which names the group"},
		"given/f": nil, "given/other": {"group 4243"},
	} {
		before, err := look(finder(home, grant.Grant{Root: home, MaxFileSize: 1 << 20}), grant.Write, home+"/"+name)
		must(t, err)
		if f := before.Fact; !slices.Equal(f.NotKept, want) || f.AnyGroup != (want != nil) || (len(f.Attributes) == 1) != (name == "own") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// S9: what a directory's default access control list gives to a new file is a
// fact, as the kernel spells such a list; one that it could not have written is
// refused rather than guessed at.
func TestPermissions(t *testing.T) {
	entry := func(tag, perm byte) string { return string([]byte{tag, 0, perm, 0, 0xff, 0xff, 0xff, 0xff}) }
	const head = "\x02\x00\x00\x00"
	for list, want := range map[string]uint32{
		head + entry(1, 7) + entry(4, 5) + entry(0x20, 1):                                0o751,
		head + entry(1, 6) + entry(4, 7) + entry(0x10, 4) + entry(0x20, 0):               0o640,
		head + entry(1, 6) + entry(0x10, 4) + entry(4, 7) + entry(0x20, 0):               0o640,
		head + entry(1, 7) + entry(2, 7) + entry(4, 0) + entry(0x10, 5) + entry(0x20, 4): 0o754,
		head: 0,
	} {
		if mode, ok := permissions([]byte(list)); !ok || mode != want {
			t.Errorf("%x: %04o, %v", list, mode, ok)
		}
	}
	for _, list := range []string{"", "\x02", "\x01\x00\x00\x00", head + "\x01", head + entry(1, 7)[:7], "\x02\x00\x00\x01" + entry(1, 7)} {
		if mode, ok := permissions([]byte(list)); ok {
			t.Errorf("%x: %04o", list, mode)
		}
	}
}

// S9: attributes beyond the bound are not carried, and named.
func TestAttributesAreBounded(t *testing.T) {
	dir := t.TempDir()
	testas.Root(t)
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
	defer unix.Unmount(dir, unix.MNT_DETACH)
	must(t, os.WriteFile(dir+"/f", nil, 0o644))
	if err := unix.Setxattr(dir+"/f", "user.a", make([]byte, action.MaxAttributes), 0); err != nil {
		t.Skipf("no room for large attributes here: %v", err)
	}
	must(t, unix.Setxattr(dir+"/f", "user.b", []byte("small"), 0), unix.Setxattr(dir+"/f", "trusted.c", nil, 0))
	f, err := os.Open(dir + "/f")
	must(t, err)
	defer f.Close()
	kept, lost, err := Attributes(f)
	if want := []string{"attribute trusted.c", "attribute user.a, for its size"}; err != nil || len(kept) != 1 || kept[0].Name != "user.b" || !slices.Equal(lost, want) {
		t.Errorf("%q, %q, %v", kept, lost, err)
	}
}

// R3 S3: where a grant's root is a link to what does not answer, nobody can say
// whether that grant covers a path: it is refused. A root that is no link holds
// where it is listed, and holds up nobody.
func TestSilentLink(t *testing.T) {
	testas.Root(t)
	home := t.TempDir()
	must(t, os.Mkdir(home+"/silent", 0o755), os.Symlink("silent/deep", home+"/link"), os.WriteFile(home+"/f", []byte("text"), 0o644))
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no FUSE here: %v", err)
	}
	must(t, unix.Mount("silent", home+"/silent", "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)))
	defer unix.Unmount(home+"/silent", unix.MNT_DETACH)
	defer unix.Close(fd) // whoever waits is told so
	for name, code := range map[string]refusal.Code{"silent/deep": "", "link": refusal.Unavailable} {
		f := finder(home, grant.Grant{Root: home, MaxFileSize: 1 << 20}, grant.Grant{Root: home + "/" + name})
		if _, err := look(f, grant.Read, home+"/f"); code == "" && err != nil || code != "" && !refusal.Is(err, code) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
