package fileread

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// put makes files in a directory, with the directories on their way; a name
// that ends with a slash is a directory.
func put(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, n := range names {
		at := dir + "/" + strings.TrimSuffix(n, "/")
		if strings.HasSuffix(n, "/") {
			must(t, os.MkdirAll(at, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(n), 0o644))
	}
}

// granting serves a home with read grants of its own.
func granting(t *testing.T, home string, reads ...grant.Grant) Files {
	t.Helper()
	f := files(t, home)
	for i := range reads {
		if reads[i].MaxFileSize == 0 {
			reads[i].MaxFileSize = 2 << 20
		}
	}
	f.Finder.Grants.Reads = reads
	return f
}

// listed gives the names of a whole recursive listing, page by page.
func listed(t *testing.T, f Files, p protocol.ListParams) (names []string, last protocol.Listing) {
	t.Helper()
	p.Recursive = true
	for {
		l, err := f.List(context.Background(), p)
		must(t, err)
		for _, e := range l.Entries {
			names = append(names, string(e.Name))
		}
		if l.Next == "" {
			return names, l
		}
		p.After = l.Next
	}
}

// onDisk gives what a directory holds, as far as it can be read, in path order.
func onDisk(t *testing.T, dir string) (names []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir && err == nil {
			names = append(names, path[len(dir)+1:])
		}
		return nil
	}))
	return names
}

// R7 R9 R11: a walk meets everything once, in path order, whatever is read
// ahead of it; one that was stopped anywhere goes on behind that, and all its
// pages together are the whole.
func TestWalkOrder(t *testing.T) {
	home := t.TempDir()
	name := rapid.SampledFrom([]string{"a", "a.b", "a-", "b", "B", "é", "z\n", "\xff", " "})
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		count++
		dir := fmt.Sprintf("%s/%d", home, count)
		must(t, os.Mkdir(dir, 0o755))
		for _, names := range rapid.SliceOfN(rapid.SliceOfN(name, 1, 4), 0, 30).Draw(rt, "paths") {
			at := dir + "/" + strings.Join(names, "/")
			if os.MkdirAll(filepath.Dir(at), 0o755) == nil && rapid.Bool().Draw(rt, "file") {
				os.WriteFile(at, nil, 0o644)
			}
		}
		want := onDisk(t, dir)
		for i := range want {
			want[i] = fmt.Sprintf("%d/%s", count, want[i])
		}
		f := granting(t, home, grant.Grant{Root: home})
		limit := rapid.Uint64Range(1, 5).Draw(rt, "limit")
		for _, limit := range []uint64{0, limit} {
			got, _ := listed(t, f, protocol.ListParams{Path: action.Path(dir), Limit: limit})
			for i := range got {
				got[i] = fmt.Sprintf("%d/%s", count, got[i])
			}
			if !slices.Equal(got, want) {
				rt.Fatalf("in pages of %d: %q, want %q", limit, got, want)
			}
		}
		must(t, os.RemoveAll(dir))
	})
}

// R1 R7: what a walk shows is what a read would be let to, name by name: deny
// list, includes, nested grants and staged names hold in it; what is not shown
// is in no list of what was not reached either.
func TestWalkShowsWhatMayBeRead(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	put(t, home, ".ssh/id", ".env", ".config/gh/hosts.yml", ".config/app/x", "p/.env", "p/.env.example", "p/a.go", "p/id_rsa", "p/id_x/in.go", "p/x.kdbx",
		"p/.countersign-0123456789abcdef", "notes/a.md", "notes/a.txt", "notes/deep/b.md", "notes/deep/only.txt", "notes/none/c.txt", "q/r/own/a", "q/r/other", ".Mozilla/x", "shut/x", ".aws/shut/x")
	must(t, os.Chmod(home+"/shut", 0), os.Chmod(home+"/.aws", 0))
	defer os.Chmod(home+"/shut", 0o755)
	defer os.Chmod(home+"/.aws", 0o755)
	f := granting(t, home, grant.Grant{Root: home}, grant.Grant{Root: home + "/notes", Include: []string{"*.md", "deep/**/*.md"}}, grant.Grant{Root: home + "/q/r/own"})
	got, last := listed(t, f, protocol.ListParams{Path: action.Path(home), All: true})
	var want []string
	for _, name := range []string{".config", ".config/app", ".config/app/x", "notes", "notes/a.md", "notes/deep", "notes/deep/b.md", "p", "p/.env.example", "p/a.go", "p/id_x",
		"p/id_x/in.go", "q", "q/r", "q/r/other", "q/r/own", "q/r/own/a", "shut"} {
		want = append(want, name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if len(last.Missed) != 1 || last.Missed[0].Path != action.Path(home+"/shut") || last.Missed[0].Code != refusal.PermissionNo {
		t.Errorf("missed: %+v", last.Missed)
	}
	for _, name := range onDisk(t, home) {
		_, err := one(f, protocol.ReadWanted{Path: action.Path(home + "/" + name)})
		if (err == nil) != (slices.Contains(want, name) && name[len(name)-1] != '/' && !isDir(home+"/"+name)) {
			t.Errorf("%s: read says %v", name, err)
		}
	}
	nested := map[string]bool{}
	l, err := f.List(context.Background(), protocol.ListParams{Path: action.Path(home), Recursive: true, All: true})
	must(t, err)
	for _, e := range l.Entries {
		nested[string(e.Name)] = e.Grant
	}
	if !nested["notes"] || !nested["q/r/own"] || nested["p"] || nested["q/r"] {
		t.Errorf("nested: %v", nested)
	}
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// R1 R2: every call refuses a place that no grant covers, that is on the deny
// list, or that is not spelled clean, the same whether or not anything is
// there.
func TestEveryCallRefuses(t *testing.T) {
	home := t.TempDir()
	put(t, home, "in/f", "out/f", "out/d/", "in/.ssh/k", "in/.env")
	f := granting(t, home, grant.Grant{Root: home + "/in"})
	calls := map[string]func(p action.Path) error{
		"read": func(p action.Path) error { _, err := one(f, protocol.ReadWanted{Path: p}); return err },
		"image": func(p action.Path) error {
			_, err := f.ReadImage(context.Background(), protocol.PathParams{Path: p})
			return err
		},
		"list": func(p action.Path) error {
			_, err := f.List(context.Background(), protocol.ListParams{Path: p})
			return err
		},
		"stat": func(p action.Path) error {
			res, err := f.Stat(context.Background(), protocol.StatParams{Paths: []action.Path{p}})
			if err == nil && res.Files[0].Refusal != nil {
				err = res.Files[0].Refusal
			}
			return err
		},
		"glob": func(p action.Path) error {
			_, err := f.Glob(context.Background(), protocol.GlobParams{Path: p, Pattern: "**"})
			return err
		},
	}
	for name, call := range calls {
		for path, code := range map[string]refusal.Code{
			"/out/f": refusal.NotGranted, "/out/none": refusal.NotGranted, "/out/d": refusal.NotGranted, "/out": refusal.NotGranted,
			"/in/.env": refusal.Denied, "/in/sub/.env": refusal.Denied, "/in/.env/none": refusal.Denied,
			"/in/../out/f": refusal.PathNotClean, "/in//f": refusal.PathNotClean, "/in/f/": refusal.PathNotClean, "/in/./f": refusal.PathNotClean,
			"/in/f\x00": refusal.PathNotClean, "/in/none/f": refusal.MissingParent,
		} {
			err := call(action.Path(home + path))
			if name != "read" && name != "image" && code == refusal.MissingParent {
				code = refusal.NotFound
			}
			if !refusal.Is(err, code) {
				t.Errorf("%s %s: %v, want %s", name, path, err, code)
			}
		}
		there, gone := call(action.Path(home+"/out/f")), call(action.Path(home+"/out/g"))
		if strings.ReplaceAll(there.Error(), "/out/f", "") != strings.ReplaceAll(gone.Error(), "/out/g", "") {
			t.Errorf("%s: %v and %v", name, there, gone)
		}
	}
}

// R12 R13: a walk that is cancelled ends at the next place, with its context's
// error; every handle is closed then, after a walk that ended well, was
// stopped or was refused, and while it runs only a few are open.
func TestWalkHandles(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	home := t.TempDir()
	for i := range 40 {
		put(t, home, fmt.Sprintf("%d/%d/%d/f", i%4, i%7, i))
	}
	put(t, home, ".git/info/exclude", ".gitignore")
	f := granting(t, home, grant.Grant{Root: home})
	for stopAt := range 60 {
		w, err := f.openWalk(walking{path: action.Path(home), look: stopAt%2 == 0})
		must(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		_, err = w.each(ctx, func(seen) bool {
			if n++; n > stopAt && stopAt%3 == 0 {
				cancel()
			}
			if open := handlesIn(t, home); len(open) > 2*maxReaders+1 {
				t.Errorf("%d open: %v", len(open), open)
			}
			return n <= stopAt || stopAt%3 == 0
		})
		if cancelled := stopAt%3 == 0; errors.Is(err, context.Canceled) != cancelled || cancelled && n > stopAt+20 {
			t.Errorf("stopped at %d: %d met, %v", stopAt, n, err)
		}
		cancel()
		w.Close()
	}
	w, err := f.openWalk(walking{path: action.Path(home)})
	must(t, err)
	n, err := w.top(context.Background())
	must(t, err)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	d, err := w.openDirectory(n)
	must(t, err)
	if w.judgeNames(cancelled, n, d, []beneath.Name{{Name: "0"}}); !errors.Is(n.err, context.Canceled) || len(n.found) > 0 {
		t.Errorf("cancelled while names are judged: %v", n.err)
	}
	d.Close()
	w.Close()
	ctx := context.Background()
	for _, p := range []action.Path{"", action.Path(home), action.Path(home + "/0"), action.Path(home + "/none"), action.Path(home + "/0/0/0/f"), action.Path(home + "/0/0/0/f/x"), "/etc"} {
		f.List(ctx, protocol.ListParams{Path: p, Recursive: true, Limit: 3})
		f.List(ctx, protocol.ListParams{Path: p, After: "/elsewhere"})
		f.Glob(ctx, protocol.GlobParams{Pattern: "**/f", Path: p, Limit: 2})
		f.Stat(ctx, protocol.StatParams{Paths: []action.Path{p}})
		f.ReadImage(ctx, protocol.PathParams{Path: p})
	}
	if open := handlesIn(t, home); len(open) > 0 {
		t.Errorf("left open: %v", open)
	}
}

// R11: a walk that meets its bound stops, says where to go on, and names the
// directories that it did not reach; a directory of too many names, and what
// would be too much to hold, is named as missed.
func TestWalkBounds(t *testing.T) {
	home := t.TempDir()
	put(t, home, "a/1", "a/2", "b/c/1", "b/d/1", "e/1", "f", "many/1", "many/2", "many/3", "many/4", "z/1")
	f := granting(t, home, grant.Grant{Root: home})
	try := func(b func(*bounds)) (met []string, said protocol.Walked) {
		w, err := f.openWalk(walking{path: action.Path(home)})
		must(t, err)
		defer w.Close()
		b(&w.bounds)
		said, err = w.each(context.Background(), func(s seen) bool { met = append(met, s.relative()); return true })
		must(t, err)
		return met, said
	}
	under := func(names ...string) (paths []action.Path) {
		for _, n := range names {
			paths = append(paths, action.Path(strings.TrimSuffix(home+"/"+n, "/")))
		}
		return paths
	}
	met, said := try(func(b *bounds) { b.met = 6 })
	if len(met) != 6 || said.Next != action.Path(home+"/b/c/1") || !slices.Equal(said.Left, under("b/d", "", "e", "many", "z")) {
		t.Errorf("%q; next %q, left %q", met, said.Next, said.Left)
	}
	put(t, home, "many/5", "many/6", "many/7")
	met, said = try(func(b *bounds) { b.names = 6 })
	if slices.Contains(met, "many/1") || !slices.Contains(met, "z/1") || len(said.Missed) != 1 || said.Missed[0].Path != action.Path(home+"/many") ||
		said.Missed[0].Code != refusal.TooLarge {
		t.Errorf("%q, %+v", met, said)
	}
	w, err := f.openWalk(walking{path: action.Path(home + "/many")})
	must(t, err)
	defer w.Close()
	w.bounds.names = 6
	if _, err := w.each(context.Background(), func(seen) bool { return true }); !refusal.Is(err, refusal.TooLarge) {
		t.Errorf("a start of too many names: %v", err)
	}
}

// R9: memory is bounded by what is held at once and not by the tree: what is
// read ahead stays within its bound and one directory a reader, and what was
// walked is let go.
func TestWalkHoldsLittle(t *testing.T) {
	home := t.TempDir()
	for i := range 60 {
		for j := range 20 {
			put(t, home, fmt.Sprintf("%02d/%02d", i, j))
		}
	}
	w, err := granting(t, home, grant.Grant{Root: home}).openWalk(walking{path: action.Path(home)})
	must(t, err)
	defer w.Close()
	w.bounds.ahead = 30
	n, most := 0, 0
	_, err = w.each(context.Background(), func(seen) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		most = max(most, w.held)
		n++
		return true
	})
	must(t, err)
	// the top's names, the directory that is walked, what is ahead, and the last of each reader
	if bound := 60 + 20 + 30 + 20*(maxReaders+1); n != 60*21 || most > bound {
		t.Errorf("%d met; %d held at once, bound %d", n, most, bound)
	}
	if w.held != 0 {
		t.Errorf("%d held at the end", w.held)
	}
}

// R12: a directory or file that goes while a walk is under way is not met, or
// not opened, and nothing is said of it; one that comes is.
func TestWalkOfAMovingTree(t *testing.T) {
	home := t.TempDir()
	put(t, home, "a", "b/1", "c/1", "d")
	w, err := granting(t, home, grant.Grant{Root: home}).openWalk(walking{path: action.Path(home)})
	must(t, err)
	defer w.Close()
	w.bounds.ahead = -1 // nothing is read before it is needed
	var met []string
	said, err := w.each(context.Background(), func(s seen) bool {
		met = append(met, s.relative())
		switch s.name {
		case "a":
			must(t, os.RemoveAll(home+"/b"), os.Remove(home+"/d"), os.WriteFile(home+"/c/2", nil, 0o644))
		case "d":
			if _, _, err := w.content(s); !errors.Is(err, unix.ENOENT) {
				t.Errorf("opening what is gone: %v", err)
			}
		}
		return true
	})
	must(t, err)
	if want := []string{"a", "b", "c", "c/1", "c/2", "d"}; !slices.Equal(met, want) || len(said.Missed) != 0 {
		t.Errorf("%q, want %q; %+v", met, want, said)
	}
}
