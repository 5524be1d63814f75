package stage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// linked is a home with links of every kind, beside a place outside it.
func linked(t *testing.T) (h *home, outside string) {
	t.Helper()
	outside = t.TempDir()
	h = newHome(t).follow()
	must(t, os.MkdirAll(h.path("dir/sub"), 0o755), os.WriteFile(outside+"/f", []byte("theirs"), 0o644))
	h.put("dir/f", "old", 0o640)
	for name, to := range map[string]string{
		"relative": "dir/f", "absolute": h.path("dir/f"), "way": "dir", "chain": "second", "second": "relative", "up": "dir/sub/../f",
		"dir/sub/back": "../f", "far": "../" + filepath.Base(h.dir) + "/dir/f", "dots": "./dir/./f", "slashes": "dir//f", "dangling": "dir/new",
		"nowhere": "none/new", "loop": "loop", "ping": "pong", "pong": "ping", "away": outside + "/f", "awaydir": outside, "above": "../../../etc/passwd",
		"root": h.dir, "rooted": h.dir + "/dir/sub/../f", "keys": ".ssh/id", "hooks": "repo/.git/hooks", "throughFile": "dir/f/x", "slash": "/",
		"magic": "/proc/self/root" + outside + "/f",
	} {
		must(t, os.Symlink(to, h.path(name)))
	}
	return h, outside
}

// S4: where the grant follows links, a change goes to the file that one leads
// to, however it is spelled, and the link stays; one that leads out of the
// grant, in a ring or to a denied place is refused, and nothing is touched.
func TestLinksAreFollowed(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for path, want := range map[string]string{
		"relative": "dir/f", "absolute": "dir/f", "way/f": "dir/f", "chain": "dir/f", "up": "dir/f", "dir/sub/back": "dir/f", "way/sub/back": "dir/f",
		"dots": "dir/f", "slashes": "dir/f", "rooted": "dir/f", "root/dir/f": "dir/f", "dangling": "dir/new", "nowhere": "none/new", "way/new/f": "dir/new/f",
	} {
		h, _ := linked(t)
		in := h.intent(h.write(path, "new"))
		if got := in.Facts[0]; got.Follows != action.Path(h.path(want)) || got.Real != got.Follows {
			t.Errorf("%s follows to %s", path, got.Follows)
		}
		if _, err := os.Lstat(h.path(want)); err == nil {
			in = h.intent(h.edit(path, "old", "new"))
		}
		if out, _, err := h.Carry(in); err != nil || out.Result != protocol.Landed {
			t.Errorf("%s: %+v, %v", path, out, err)
			continue
		}
		if b, err := os.ReadFile(h.path(want)); err != nil || string(b) != "new" {
			t.Errorf("%s: %q, %v", path, b, err)
		}
		if first := strings.Split(path, "/")[0]; first != "dir" && h.stat(first).Mode&unix.S_IFMT != unix.S_IFLNK {
			t.Errorf("%s: the link is gone", path)
		}
	}
	for path, code := range map[string]refusal.Code{
		"loop": refusal.Link, "ping": refusal.Link, "away": refusal.Link, "awaydir/f": refusal.Link, "awaydir/new": refusal.Link, "above": refusal.Link,
		"far": refusal.Link, "keys": refusal.Denied, "hooks/pre-commit": refusal.GitDirectory, "throughFile": refusal.MissingParent,
		"slash": refusal.Link, "slash/etc/passwd": refusal.Link, "magic": refusal.Link, "root": refusal.NotRegular, "way": refusal.NotRegular,
	} {
		h, outside := linked(t)
		before := h.tree()
		if _, err := h.plan(h.write(path, "new")); !refusal.Is(err, code) {
			t.Errorf("%s: %v", path, err)
		}
		in := protocol.Intent{ID: action.NewID(), Action: h.write(path, "new"), Staged: []string{beside}}
		hash := action.HashOf([]byte("new"))
		in.Facts, in.Results = []action.Fact{{Path: in.Action.Paths()[0]}}, []action.Image{{Hash: &hash, Size: 3, Mode: 0o644}}
		if h.refused(in, code); h.tree() != before {
			t.Errorf("%s: %s", path, h.tree())
		}
		if e, err := os.ReadDir(outside); err != nil || len(e) != 1 {
			t.Errorf("%s: %v, %v", path, e, err)
		}
	}
}

// S4: a link that is swapped for another at any step, at the file or on the way,
// takes no byte anywhere but where the change was captured to land.
func TestLinkIsSwapped(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, path := range []string{"relative", "absolute", "chain", "way/f"} {
		for _, at := range []Step{"plan", Create, Write, Hold, Exchange, Verify, Unlink, SyncDir} {
			for _, to := range []string{"outside", "inside"} {
				h, outside := linked(t)
				h.put("other", "theirs", 0o644)
				in := h.intent(h.write(path, "new"))
				swap := func() {
					target := map[string]string{"outside": outside + "/f", "inside": h.path("other")}[to]
					name := strings.Split(path, "/")[0]
					if name == "way" {
						target = filepath.Dir(target)
					}
					must(t, os.Remove(h.path(name)), os.Symlink(target, h.path(name)))
				}
				if h.at[at] = swap; at == "plan" {
					swap()
				}
				out, _, err := h.Carry(in)
				landed := err == nil && out.Result == protocol.Landed
				if landed != (at != "plan") {
					t.Errorf("%s to %s at %s: %+v, %v", path, to, at, out, err)
				}
				mine, err := os.ReadFile(h.path("dir/f"))
				theirs, err2 := os.ReadFile(outside + "/f")
				other, err3 := os.ReadFile(h.path("other"))
				must(t, err, err2, err3)
				if (string(mine) == "new") != landed || string(theirs) != "theirs" || string(other) != "theirs" || len(h.leftover()) > 0 {
					t.Errorf("%s to %s at %s: %q, %q, %q, %v", path, to, at, mine, theirs, other, h.leftover())
				}
			}
		}
	}
}

// S4 S16: a file that is swapped for a link to elsewhere once it was captured is
// not what was captured, where links are followed too.
func TestFileBecomesLink(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, at := range []Step{"plan", Create, Write, Hold, Exchange} {
		for _, a := range []func(*home) action.Action{
			func(h *home) action.Action { return h.write("dir/f", "new") }, func(h *home) action.Action { return h.delete("dir/f") },
		} {
			h, outside := linked(t)
			in := h.intent(a(h))
			swap := func() { must(t, os.Remove(h.path("dir/f")), os.Symlink(outside+"/f", h.path("dir/f"))) }
			if h.at[at] = swap; at == "plan" || at == Create && in.Action.FileWrite.Changes[0].Delete != nil || at == Write && in.Action.FileWrite.Changes[0].Delete != nil {
				h.at[at] = nil
				swap()
			}
			h.refused(in, refusal.Changed, refusal.Link)
			b, err := os.ReadFile(outside + "/f")
			if h.stat("dir/f").Mode&unix.S_IFMT != unix.S_IFLNK || string(b) != "theirs" || err != nil || len(h.leftover()) > 0 {
				t.Errorf("at %s: %q, %v, %v", at, b, err, h.leftover())
			}
		}
	}
}

// S21: a delete takes the link itself, wherever it leads, and what it leads to
// stays; the answer tells a link, and an undo puts the same link back.
func TestLinkIsDeleted(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, follows := range []bool{false, true} {
		for _, name := range []string{"relative", "absolute", "dangling", "loop", "away", "awaydir", "way", "chain"} {
			h, outside := linked(t)
			for i := range h.cfg.Finder.Grants.Writes {
				h.cfg.Finder.Grants.Writes[i].FollowLinks = follows
			}
			before := h.tree()
			to, err := os.Readlink(h.path(name))
			must(t, err)
			in := h.intent(h.delete(name))
			if f := in.Facts[0]; f.Base.Version.Kind != action.Symlink || string(f.Target) != to || f.Follows != "" {
				t.Errorf("%s: %+v", name, f)
			}
			undo := h.undoOf(in.Action)
			if _, err := os.Lstat(h.path(name)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
			h.landAll(undo)
			if b, err := os.ReadFile(outside + "/f"); h.tree() != before || string(b) != "theirs" || err != nil {
				t.Errorf("%s: %q, %v\n%s", name, b, err, h.tree())
			}
		}
	}
}

// S14 S21: a link that somebody changed since it was captured is not deleted,
// whatever stands there now, and one that appears where an undo puts one back is
// not replaced.
func TestLinkOfAnotherWriter(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, put := range map[string]func(path string) error{
		"another link":  func(p string) error { return os.Symlink("elsewhere", p) },
		"the same link": func(p string) error { return os.Symlink("dir/f", p) },
		"a file":        func(p string) error { return os.WriteFile(p, []byte("theirs"), 0o644) },
		"a directory":   func(p string) error { return os.Mkdir(p, 0o755) },
	} {
		for _, at := range []Step{Hold, Exchange} {
			h, _ := linked(t)
			theirs := func() { must(t, os.RemoveAll(h.path("relative")), put(h.path("relative"))) }
			in := h.intent(h.delete("relative"))
			var want string
			h.at[at] = func() { theirs(); want = h.tree() }
			if h.refused(in, refusal.Changed, refusal.NotRegular); h.tree() != want {
				t.Errorf("%s at %s: %s", name, at, h.tree())
			}
			h.at[at] = nil
			h, _ = linked(t)
			undo := h.intent(h.undoOf(h.delete("relative")))
			var stood unix.Stat_t
			h.at[at] = func() { theirs(); stood = h.stat("relative") }
			h.refused(undo, refusal.Changed, refusal.Link, refusal.NotRegular)
			if left := h.leftover(); h.stat("relative") != stood || len(left) > 0 {
				t.Errorf("%s at %s, undone: %v are left\n%s", name, at, left, h.tree())
			}
		}
	}
}

// S11: a link at the staged name that is not the one that was made there is
// neither put in place nor removed.
func TestStagedLinkSwapped(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h, _ := linked(t)
	undo := h.intent(h.undoOf(h.delete("relative")))
	h.at[Hold] = func() { must(t, os.Remove(h.path(beside)), os.Symlink("elsewhere", h.path(beside))) }
	h.refused(undo, refusal.Changed)
	to, err := os.Readlink(h.path(beside))
	if _, gone := os.Lstat(h.path("relative")); to != "elsewhere" || err != nil || !errors.Is(gone, os.ErrNotExist) {
		t.Errorf("%q, %v, %v", to, err, gone)
	}
}
