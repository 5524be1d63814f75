package fileread

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/facts"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// files serves a home of this process's user.
func files(t *testing.T, home string) Files {
	t.Helper()
	g := []grant.Grant{{Root: home, MaxFileSize: 2 << 20}}
	finder := facts.Finder{UID: uint32(os.Geteuid()), Home: home, Keep: 4 << 20, Grants: grant.Set{Home: home, Reads: g, Writes: g}}
	return New(finder, action.HashOf([]byte("the policy")))
}

// one reads a window of one file.
func one(f Files, w protocol.ReadWanted) (protocol.ReadFile, error) {
	res, err := f.Read(context.Background(), protocol.ReadParams{Files: []protocol.ReadWanted{w}})
	if err == nil && res.Files[0].Refusal != nil {
		err = res.Files[0].Refusal
	}
	if err != nil {
		return protocol.ReadFile{}, err
	}
	return res.Files[0], nil
}

// R5: a read is a window of whole lines, counted from 1, with the number of
// lines of all and the version of the whole file.
func TestWindows(t *testing.T) {
	home := t.TempDir()
	text := "one\ntwo\r\nthree\n\nfive" // no newline ends it
	must(t, os.WriteFile(home+"/f", []byte(text), 0o640), os.WriteFile(home+"/empty", nil, 0o644))
	f := files(t, home)
	for _, c := range []struct {
		name        string
		from, lines uint64
		text        string
		n, total    uint64
	}{
		{"f", 0, 0, text, 5, 5},
		{"f", 1, 1, "one\n", 1, 5},
		{"f", 2, 2, "two\r\nthree\n", 2, 5},
		{"f", 4, 100, "\nfive", 2, 5},
		{"f", 5, 0, "five", 1, 5},
		{"f", 6, 0, "", 0, 5},
		{"f", 1 << 63, 1 << 63, "", 0, 5},
		{"f", ^uint64(0), ^uint64(0), "", 0, 5},
		{"empty", 0, 0, "", 0, 0},
	} {
		path := action.Path(home + "/" + c.name)
		got, err := one(f, protocol.ReadWanted{Path: path, From: c.from, Lines: c.lines})
		must(t, err)
		if got.Text != c.text || got.Lines != c.n || got.Total != c.total || got.From != max(c.from, 1) || got.Path != path {
			t.Errorf("%+v: %+v", c, got)
		}
		if c.name == "f" && (got.Version.Hash != action.HashOf([]byte(text)) || got.Version.Mode != 0o640) {
			t.Errorf("%+v", got)
		}
	}
}

// R5: one answer's text is bounded, and is cut between lines; a line that does
// not fit ends it, and no later one is put in its place.
func TestWindowBound(t *testing.T) {
	home := t.TempDir()
	line := strings.Repeat("x", 99) + "\n"
	long := strings.Repeat(line, MaxText/100+10)
	must(t, os.WriteFile(home+"/many", []byte(long), 0o644),
		os.WriteFile(home+"/wide", []byte("first\n"+strings.Repeat("x", MaxText)+"\nlast\n"), 0o644))
	f := files(t, home)
	got, err := one(f, protocol.ReadWanted{Path: action.Path(home + "/many")})
	if err != nil || got.Lines != MaxText/100 || len(got.Text) != MaxText/100*100 || got.Total != MaxText/100+10 {
		t.Errorf("%d lines, %d bytes, of %d, %v", got.Lines, len(got.Text), got.Total, err)
	}
	got, err = one(f, protocol.ReadWanted{Path: action.Path(home + "/wide")})
	if err != nil || got.Text != "first\n" || got.Lines != 1 || got.Total != 3 {
		t.Errorf("%d lines, %d bytes, of %d, %v", got.Lines, len(got.Text), got.Total, err)
	}
}

// R1 R2 R4 R5: what is not text in a granted place is refused, each in its own
// words, and nothing waits on a pipe. A spelling that is not clean is refused
// and never cleaned. S4: no link is followed.
func TestRefused(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	put := func(name, content string, mode os.FileMode) {
		must(t, os.WriteFile(home+"/"+name, []byte(content), mode))
	}
	put("f", "text", 0o644)
	put("nul", "te\x00xt", 0o644)
	put("latin", "caf\xe9", 0o644)
	put("big", strings.Repeat("x", 2<<20+1), 0o644)
	put("secret", "text", 0o000)
	put("a.pem", "x\n-----BEGIN RSA PRIVATE KEY-----\n", 0o600)
	put("cert.pem", "-----BEGIN CERTIFICATE-----\n", 0o600)
	put(".env", "A=b", 0o644)
	must(t, os.Mkdir(home+"/dir", 0o755), os.Mkdir(home+"/shut", 0o000), os.Mkdir(home+"/.ssh", 0o700), os.Symlink("f", home+"/link"),
		os.Symlink("dir", home+"/dirlink"), unix.Mkfifo(home+"/pipe", 0o644), unix.Mknod(home+"/socket", unix.S_IFSOCK|0o644, 0))
	f := files(t, home)
	for path, code := range map[string]refusal.Code{
		"/f": "", "/cert.pem": "",
		"/nul": refusal.NotText, "/latin": refusal.NotText, "/big": refusal.FileTooBig, "/gone": refusal.NotFound, "/secret": refusal.PermissionNo,
		"/a.pem": refusal.Denied, "/.env": refusal.Denied, "/.ssh/id": refusal.Denied,
		"/dir": refusal.NotRegular, "/pipe": refusal.NotRegular, "/socket": refusal.NotRegular, "": refusal.NotRegular,
		"/link": refusal.Link, "/dirlink/f": refusal.Link, "/shut/f": refusal.PermissionNo, "/gone/f": refusal.MissingParent,
		"/./f": refusal.PathNotClean, "/dir/../f": refusal.PathNotClean, "//f": refusal.PathNotClean, "/f/": refusal.PathNotClean, "/f\x00": refusal.PathNotClean,
		"/" + strings.Repeat("n", 256): refusal.PathNotClean, "x/f": refusal.NotGranted, "/../f": refusal.PathNotClean,
	} {
		_, err := one(f, protocol.ReadWanted{Path: action.Path(home + path)})
		if code == "" && err != nil || code != "" && !refusal.Is(err, code) {
			t.Errorf("%q: %v, wanted %q", path, err, code)
		}
	}
	must(t, os.Chmod(home+"/shut", 0o700))
}

// R5: a device is refused, and not opened; of root's own, where one can be made.
func TestDevice(t *testing.T) {
	testas.Root(t)
	home := t.TempDir()
	must(t, unix.Mknod(home+"/zero", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))))
	if _, err := one(files(t, home), protocol.ReadWanted{Path: action.Path(home + "/zero")}); !refusal.Is(err, refusal.NotRegular) {
		t.Error(err)
	}
}

// R5: of a file that grows meanwhile at most the limit is read: it is refused
// as too big or as being written, or read as it once was.
func TestGrowing(t *testing.T) {
	home := t.TempDir()
	f := files(t, home)
	stop, stopped := make(chan bool), make(chan bool)
	must(t, os.WriteFile(home+"/log", nil, 0o644))
	go func() {
		defer close(stopped)
		w, err := os.OpenFile(home+"/log", os.O_WRONLY|os.O_APPEND, 0)
		for line := strings.Repeat("x", 1023) + "\n"; err == nil; _, err = io.WriteString(w, line) {
			select {
			case <-stop:
				err = w.Close()
				return
			default:
			}
		}
	}()
	for {
		got, err := one(f, protocol.ReadWanted{Path: action.Path(home + "/log"), Lines: 1})
		if err == nil && (got.Version.Size != got.Total*1024 || got.Version.Size > 2<<20) {
			t.Errorf("%d lines of %d bytes", got.Total, got.Version.Size)
		}
		if refusal.Is(err, refusal.FileTooBig) {
			break
		}
		if err != nil && !refusal.Is(err, refusal.Changed) {
			t.Error(err)
			break
		}
	}
	close(stop)
	<-stopped
}

// R14: a capture's handles are read-only, closed on exec, of the regular files
// among the paths and in their order; a path where nothing is has a fact and
// no handle.
func TestCapture(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	var paths []action.Target
	for i := range 6 {
		p := fmt.Sprintf("%s/%d", home, 5-i)
		if paths = append(paths, action.Target{Path: action.Path(p)}); i%3 > 0 {
			must(t, os.WriteFile(p, []byte(p), 0o644))
		}
	}
	res, handles, err := files(t, home).Capture(paths)
	must(t, err)
	if len(res.Facts) != 6 || len(handles) != 4 {
		t.Fatalf("%d facts, %d handles", len(res.Facts), len(handles))
	}
	for i, fact := range res.Facts {
		if fact.Path != paths[i].Path || (fact.Base.Version != nil) != (i%3 > 0) {
			t.Errorf("fact %d: %+v", i, fact)
		}
		if fact.Base.Version == nil {
			continue
		}
		h := handles[0]
		handles = handles[1:]
		b, err := io.ReadAll(io.NewSectionReader(h, 0, 1<<20))
		if err != nil || action.HashOf(b) != fact.Base.Version.Hash || string(b) != string(paths[i].Path) {
			t.Errorf("handle of %s holds %q, %v", fact.Path, b, err)
		}
		flags, err := unix.FcntlInt(h.Fd(), unix.F_GETFL, 0)
		exec, err2 := unix.FcntlInt(h.Fd(), unix.F_GETFD, 0)
		if flags&(unix.O_ACCMODE|unix.O_PATH) != unix.O_RDONLY || exec&unix.FD_CLOEXEC == 0 || errors.Join(err, err2) != nil {
			t.Errorf("flags %o, %o", flags, exec)
		}
		if _, err := h.Write([]byte("x")); !errors.Is(err, unix.EBADF) {
			t.Errorf("writing through it: %v", err)
		}
		h.Close()
	}
}

// handlesIn lists this process's handles of what is beneath a directory.
func handlesIn(t *testing.T, dir string) (open []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, dir) {
			open = append(open, to)
		}
	}
	return open
}

// R12: every handle is closed on every path: of a read that is answered or
// refused, and of a capture that is refused at any of its paths. A capture
// needs a write grant.
func TestHandlesAreClosed(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes handles too
	home := t.TempDir()
	must(t, os.WriteFile(home+"/a", []byte("a"), 0o644), os.WriteFile(home+"/b", []byte("b"), 0o644), os.Mkdir(home+"/dir", 0o755),
		os.WriteFile(home+"/nul", []byte{0}, 0o644), os.WriteFile(home+"/set", nil, 0o644), os.Chmod(home+"/set", 0o755|os.ModeSetuid))
	f := files(t, home)
	path := func(name string) action.Path { return action.Path(filepath.Join(home, name)) }
	target := func(name string) action.Target { return action.Target{Path: path(name)} }
	for name, code := range map[string]refusal.Code{
		"dir": refusal.NotRegular, "set": refusal.SetID, ".git/config": refusal.GitDirectory, ".env": refusal.Denied,
	} {
		for at := range 3 {
			paths := slices.Insert([]action.Target{target("a"), target("b")}, at, target(name))
			if _, handles, err := f.Capture(paths); !refusal.Is(err, code) || handles != nil {
				t.Errorf("%s: %d handles, %v", name, len(handles), err)
			}
		}
	}
	for _, name := range []string{"a", "nul", "dir", "gone", "set"} {
		one(f, protocol.ReadWanted{Path: path(name)})
	}
	f.Finder.Grants.Writes = nil
	if _, handles, err := f.Capture([]action.Target{target("a")}); !refusal.Is(err, refusal.NotGranted) || handles != nil {
		t.Errorf("%d handles, %v", len(handles), err)
	}
	if open := handlesIn(t, home); len(open) > 0 {
		t.Errorf("left open: %v", open)
	}
}

// R5: several files are read in one call, in their order, each refused by
// itself; together their texts are bounded, and what finds no room says so.
func TestSeveralFiles(t *testing.T) {
	home := t.TempDir()
	line := strings.Repeat("x", 1023) + "\n"
	must(t, os.WriteFile(home+"/a", []byte("a\n"), 0o644), os.WriteFile(home+"/most", []byte(strings.Repeat(line, 1000)), 0o644),
		os.WriteFile(home+"/more", []byte(strings.Repeat(line, 100)), 0o644), os.WriteFile(home+"/wide", []byte(strings.Repeat("y", 30<<10)+"\n"), 0o644), os.WriteFile(home+"/empty", nil, 0o644))
	f := files(t, home)
	var in protocol.ReadParams
	for _, name := range []string{"a", "none", "most", "more", "wide", "a", ".env", "empty"} {
		in.Files = append(in.Files, protocol.ReadWanted{Path: action.Path(home + "/" + name)})
	}
	res, err := f.Read(context.Background(), in)
	must(t, err)
	codes, bytes := []refusal.Code{}, 0
	for i, file := range res.Files {
		code := refusal.Code("")
		if file.Refusal != nil {
			code = file.Refusal.Code
		}
		codes, bytes = append(codes, code), bytes+len(file.Text)
		if file.Path != in.Files[i].Path || (code == "") != (file.Version != nil) {
			t.Errorf("%d: %+v", i, file)
		}
	}
	want := []refusal.Code{"", refusal.NotFound, "", "", refusal.TooLarge, "", refusal.Denied, ""}
	if !slices.Equal(codes, want) || bytes > MaxText || res.Files[3].Lines != 23 || res.Files[3].Total != 100 || res.Files[5].Text != "a\n" || res.Policy != f.Policy {
		t.Errorf("%q, want %q; %d bytes, %d lines", codes, want, bytes, res.Files[3].Lines)
	}
	if _, err := f.Read(context.Background(), protocol.ReadParams{}); !refusal.Is(err, refusal.BadRequest) {
		t.Error(err)
	}
	if _, err := f.Read(context.Background(), protocol.ReadParams{Files: make([]protocol.ReadWanted, protocol.MaxFiles+1)}); !refusal.Is(err, refusal.TooLarge) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Read(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// R4 R7: a stat tells of each kind of file and of who may do what there, of a
// link itself, and refuses each path by itself.
func TestStat(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	put(t, home, "w/f", "r/f", "r/in/x", "r/.env")
	must(t, unix.Mkfifo(home+"/r/pipe", 0o600), os.Symlink("f", home+"/r/link"), os.Symlink("in", home+"/r/dirlink"), unix.Chmod(home+"/r/f", 0o4750))
	f := granting(t, home, grant.Grant{Root: home + "/r"}, grant.Grant{Root: home + "/w"})
	f.Finder.Grants.Writes = []grant.Grant{{Root: home + "/w"}}
	names := []string{"r/f", "w/f", "r", "r/pipe", "r/link", "r/.env", "r/none", "x", "r/dirlink/x"}
	var paths []action.Path
	for _, n := range names {
		paths = append(paths, action.Path(home+"/"+n))
	}
	res, err := f.Stat(context.Background(), protocol.StatParams{Paths: paths})
	must(t, err)
	want := []string{"file", "file", "directory", "pipe", "link", string(refusal.Denied), string(refusal.NotFound), string(refusal.NotGranted), string(refusal.Link)}
	for i, file := range res.Files {
		got := ""
		if file.Refusal != nil {
			got = string(file.Refusal.Code)
		} else {
			got = string(file.About.Kind)
		}
		if got != want[i] || file.Path != paths[i] {
			t.Errorf("%s: %s, want %s", names[i], got, want[i])
		}
	}
	if a := res.Files[0]; a.About.Mode != 0o4750 || a.About.Size != 3 || a.UID != uint32(os.Geteuid()) || a.Write || a.Root != action.Path(home+"/r") {
		t.Errorf("%+v %+v", a, a.About)
	}
	if !res.Files[1].Write || !res.Files[2].About.Grant || res.Files[4].About.Why == "" {
		t.Errorf("%+v", res.Files)
	}
	if _, err := f.Stat(context.Background(), protocol.StatParams{}); !refusal.Is(err, refusal.BadRequest) {
		t.Error(err)
	}
}
