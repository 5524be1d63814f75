package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// S18 S19 S23: whichever step fails, with whichever file, a change of several
// files is refused with every file, directory and attribute as it was and
// nothing left; or, where it was past the last check, it has landed and says
// what failed after that.
func TestEachStepFails(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			before, after := s.both(t)
			if before == after {
				t.Fatal("it changes nothing")
			}
			held := handles(t)
			for fail := 1; ; fail++ {
				h := s.home(t)
				in := h.intent(s.does(h))
				n, failed := 0, Step("")
				h.step = func(s Step, _ action.Path) error {
					if n++; n == fail {
						failed = s
						return unix.EIO
					}
					return nil
				}
				out, files, err := h.Carry(in)
				if failed == "" {
					return
				}
				h.endsWhole(failed, in.Action.Undo != nil, before, after, out, files, err)
				if now := handles(t); now != held {
					t.Errorf("%s: %d handles are left open", failed, now-held)
				}
			}
		})
	}
}

// endsWhole checks a change in which one step failed.
func (h *home) endsWhole(failed Step, undo bool, before, after string, out protocol.Outcome, files []*os.File, err error) {
	h.Helper()
	if len(files) > 0 {
		h.Errorf("%s: %d handles", failed, len(files))
	}
	if failed != Unlink && failed != SyncDir {
		if !refusal.Is(err, refusal.DiskError) || h.tree() != before {
			h.Errorf("%s: %v, %+v\n%s", failed, err, out, h.tree())
		}
		return
	}
	said := slices.ContainsFunc(out.Changes, func(c protocol.PathOutcome) bool { return len(c.After) > 0 })
	if err != nil || out.Result != protocol.Landed || !said {
		h.Errorf("%s: %v, %+v", failed, err, out)
	}
	left := h.leftover()
	if (failed == Unlink) != (len(left) == 1) {
		h.Errorf("%s: %v are left", failed, left)
	}
	for _, name := range left {
		must(h.T, os.Remove(h.path(name)))
		for dir := filepath.Dir(name); undo && dir != "." && os.Remove(h.path(dir)) == nil; dir = filepath.Dir(dir) { // it was not empty
		}
	}
	if h.tree() != after {
		h.Errorf("%s:\n%s", failed, h.tree())
	}
}

// S14 S15 S18: whatever another writer does to one of the files, at whichever
// step of whichever file, their work stands and the other files are all old or
// all new; what is not, is named.
func TestAnotherWriterAmongSeveral(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	writes := map[string]func(h *home){
		"rename over": func(h *home) { h.renameOver("two", "theirs") },
		"in place":    func(h *home) { h.inPlace("two", "theirs!") },
		"gone":        func(h *home) { must(h.T, os.Remove(h.path("two"))) },
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			for when := 1; ; when++ {
				h := newHome(t)
				for _, f := range []string{"one", "two", "three"} {
					h.put(f, "old", 0o644)
				}
				in := h.intent(all(h.write("one", "new"), h.write("two", "newer"), h.write("three", "new")))
				n, at := 0, Step("")
				h.step = func(s Step, p action.Path) error {
					if n++; n == when {
						at = s
						write(h)
					}
					return nil
				}
				out, files, err := h.Carry(in)
				h.late.Wait()
				if at == "" {
					return
				}
				if err != nil != (len(out.Changes) == 0) || err != nil && !refusal.Is(err, refusal.Changed) {
					t.Errorf("%s: %v", at, err)
				}
				for _, f := range files {
					f.Close()
				}
				h.othersAreWhole(at, out)
				two, err := os.ReadFile(h.path("two"))
				if name == "gone" && err == nil || name != "gone" && !strings.HasPrefix(string(two), "theirs") {
					t.Errorf("at %s: theirs holds %q", at, two)
				}
			}
		})
	}
}

// othersAreWhole checks the files that nobody else wrote to.
func (h *home) othersAreWhole(at Step, out protocol.Outcome) {
	h.Helper()
	one, err := os.ReadFile(h.path("one"))
	three, err2 := os.ReadFile(h.path("three"))
	must(h.T, err, err2)
	want := "old"
	if out.Result == protocol.Landed {
		want = "new"
	}
	if string(one) != want || string(three) != want {
		h.Errorf("at %s: %q and %q, %+v", at, one, three, out)
	}
	for _, name := range h.leftover() {
		kept := slices.ContainsFunc(out.Kept, func(k protocol.KeptAside) bool { return k.Path == action.Path(h.path(name)) })
		if !kept {
			h.Errorf("at %s: %s is left and not told: %+v", at, name, out)
		}
	}
}

// S19: where a file cannot be put back, the outcome is partial and is true of
// every path, and what was displaced is kept and handed over.
func TestPartial(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, s := range scenarios() {
		for stuck := range 4 {
			h := s.home(t)
			in := h.intent(s.does(h))
			if stuck >= len(in.Facts) || len(in.Facts) < 2 {
				continue
			}
			last := in.Facts[len(in.Facts)-1].Path
			h.step = func(step Step, p action.Path) error {
				if step == Verify && p == last || step == TakeBack && p == in.Facts[stuck].Path {
					return unix.EIO
				}
				return nil
			}
			out, files, err := h.Carry(in)
			if err != nil || out.Result != protocol.Partial || !refusal.Is(out.Refused, refusal.DiskError) || len(out.Changes) != len(in.Facts) {
				t.Fatalf("%s, %d: %+v, %v", name, stuck, out, err)
			}
			for _, f := range files {
				f.Close()
			}
			for i, c := range out.Changes {
				if c.Path != in.Facts[i].Path || c.Did.Changed() != (i == stuck) || i != stuck && c.Did != protocol.TakenBack {
					t.Errorf("%s, %d: path %d: %+v", name, stuck, i, c)
				}
				h.isTold(fmt.Sprintf("%s, %d: path %d", name, stuck, i), in, i, c)
			}
			kept := in.Facts[stuck].Base.Version != nil && in.Facts[stuck].Base.Version.Kind == action.Regular
			if kept != (len(out.Kept) == 1) || kept != (len(files) == 1) {
				t.Errorf("%s, %d: kept %+v, %d handles", name, stuck, out.Kept, len(files))
			}
		}
	}
}

// isTold checks what an outcome says of a path against disk, the captured and
// the planned.
func (h *home) isTold(what string, in protocol.Intent, i int, c protocol.PathOutcome) {
	h.Helper()
	target := in.Action.Targets()[i]
	target.How = action.ToEntry
	target.Path = in.Facts[i].Resolved()
	before, err := h.before(target)
	must(h.T, err)
	now := before.Fact
	want := in.Facts[i].Image()
	if c.Did.Changed() {
		want = in.Results[i]
	}
	is := now.Image()
	if is.Absent != want.Absent || !is.Absent && (*is.Hash != *want.Hash || is.Kind != want.Kind) {
		h.Errorf("%s: %s, and disk holds %s, wanted %s", what, c.Did, is, want)
	}
	if v := now.Base.Version; (v == nil) != (c.Version == nil) || v != nil && *v != *c.Version {
		h.Errorf("%s: it says %+v, disk %+v", what, c.Version, v)
	}
	if got := is.Attributes; (got == nil) != (c.Attributes == nil) || got != nil && *got != *c.Attributes {
		h.Errorf("%s: other attributes are told than disk has", what)
	}
}

// S18: a thousand files are one change.
func TestThousandFiles(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.sync = func(*os.File) error { return nil }
	h.cfg.Hold = 1 << 40 // however slow the machine
	var changes []action.Action
	for i := range 1000 {
		name := fmt.Sprintf("dir%d/f%d", i%10, i)
		if i%2 == 0 {
			must(t, os.MkdirAll(h.path(fmt.Sprintf("dir%d", i%10)), 0o755))
			h.put(name, fmt.Sprint("old ", i), 0o644)
		}
		changes = append(changes, h.write(name, fmt.Sprint("new ", i)))
	}
	for i, c := range h.landAll(all(changes...)) {
		want := protocol.Created
		if i%2 == 0 {
			want = protocol.Replaced
		}
		b, err := os.ReadFile(string(c.Path))
		if c.Did != want || err != nil || string(b) != fmt.Sprint("new ", i) {
			t.Errorf("%+v, %q, %v", c, b, err)
		}
	}
	if left := h.leftover(); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// S5: two paths of one change that reach one file, and a file where another
// path needs a directory, are refused, whatever the way.
func TestOnePlaceTwice(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t).follow()
	must(t, os.Mkdir(h.path("dir"), 0o755))
	h.put("dir/f", "old", 0o644)
	must(t, os.Link(h.path("dir/f"), h.path("hard")), os.Symlink("dir/f", h.path("soft")), os.Symlink("dir", h.path("way")),
		os.Symlink("none", h.path("dangling")))
	before := h.tree()
	for _, pair := range [][2]string{
		{"dir/f", "hard"}, {"dir/f", "soft"}, {"dir/f", "way/f"}, {"soft", "way/f"}, {"dir/new", "way/new"}, {"dangling", "none"},
		{"new", "new/f"}, {"new/f/g", "new/f"}, {"way/new/f", "dir/new"},
	} {
		a := all(h.write(pair[0], "1"), h.write(pair[1], "2"))
		if _, err := h.plan(a); !refusal.Is(err, refusal.SamePlace) {
			t.Errorf("%v: %v", pair, err)
		}
		befores, err := h.look(a)
		must(t, err)
		in := protocol.Intent{ID: action.NewID(), Action: a, Staged: []string{besides(0), besides(1)}}
		for i, b := range befores {
			hash := action.HashOf(a.FileWrite.Changes[i].Write.Content)
			in.Facts, in.Results = append(in.Facts, b.Fact), append(in.Results, action.Image{Hash: &hash, Size: 1, Mode: 0o644})
		}
		h.refused(in, refusal.SamePlace)
	}
	if h.tree() != before {
		t.Error(h.tree())
	}
}

// S18: what cannot be staged, or is not as it was captured, is met before any
// file is replaced, though it is the last of many.
func TestLastIsMetFirst(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, c := range map[string]struct {
		spoil func(*home)
		code  refusal.Code
	}{
		"full disk": {func(h *home) {
			n := 0
			h.sync = func(f *os.File) error {
				if n++; n == 2 {
					return &os.PathError{Op: "sync", Err: unix.ENOSPC}
				}
				return nil
			}
		}, refusal.DiskFull},
		"changed": {func(h *home) { h.renameOver("c", "theirs") }, refusal.Changed},
		"gone":    {func(h *home) { must(h.T, os.Remove(h.path("c"))) }, refusal.Changed},
		"staged, swapped": {func(h *home) {
			must(h.T, os.Remove(h.path(besides(2))), os.WriteFile(h.path(besides(2)), []byte("a stranger's"), 0o644))
		}, refusal.Changed},
		"in use": {func(h *home) {
			f, err := os.OpenFile(h.path("c"), os.O_WRONLY, 0)
			must(h.T, err)
			h.Cleanup(func() { f.Close() })
		}, refusal.InUse},
	} {
		h := newHome(t)
		for _, f := range []string{"a", "b", "c"} {
			h.put(f, "old", 0o644)
		}
		in := h.intent(all(h.write("a", "new"), h.delete("b"), h.write("c", "new")))
		spoilt := name == "full disk"
		if spoilt {
			c.spoil(h)
		}
		h.step = func(s Step, _ action.Path) error {
			if s == Hold && !spoilt {
				spoilt = true
				c.spoil(h)
			}
			if s == Exchange {
				return errors.New("something was exchanged")
			}
			return nil
		}
		h.refused(in, c.code)
		if name == "staged, swapped" {
			must(t, os.Remove(h.path(besides(2)))) // theirs
		}
		if got, err := os.ReadFile(h.path("a")); err != nil || string(got) != "old" || len(h.leftover()) > 0 {
			t.Errorf("%s: %q, %v, %v", name, got, err, h.leftover())
		}
	}
}

// S11 S13 S14: right before a file is exchanged, though others were before it, it
// and the staged file are once more what they were, by their whole identity.
func TestCheckedBeforeEachExchange(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, c := range map[string]struct {
		disturb func(*home)
		want    map[string]string
	}{
		"staged, another": {func(h *home) {
			must(h.T, os.Remove(h.path(besides(1))), os.WriteFile(h.path(besides(1)), []byte("a stranger's"), 0o644))
		}, map[string]string{"a": "old", "b": "old", besides(1): "a stranger's"}},
		"staged, gone":  {func(h *home) { must(h.T, os.Remove(h.path(besides(1)))) }, map[string]string{"a": "old", "b": "old"}},
		"staged, moved": {func(h *home) { h.rename(besides(1), "x") }, map[string]string{"a": "old", "b": "old", "x": "new b"}},
		"rename over":   {func(h *home) { h.renameOver("b", "theirs") }, map[string]string{"a": "old", "b": "theirs"}},
		"in place":      {func(h *home) { h.inPlace("b", "OLD") }, map[string]string{"a": "old", "b": "OLD"}},
		"mode":          {func(h *home) { must(h.T, os.Chmod(h.path("b"), 0o600)) }, map[string]string{"a": "old", "b": "old"}},
		"attribute": {func(h *home) { must(h.T, unix.Setxattr(h.path("b"), "user.note", []byte("x"), 0)) },
			map[string]string{"a": "old", "b": "old"}},
	} {
		h := newHome(t)
		h.put("a", "old", 0o644)
		h.put("b", "old", 0o644)
		in := h.intent(all(h.write("a", "new a"), h.write("b", "new b")))
		h.step = func(s Step, p action.Path) error {
			if s == Verify && p == in.Facts[0].Path {
				c.disturb(h)
			}
			if s == Exchange && p == in.Facts[1].Path {
				t.Errorf("%s: it would have been exchanged", name)
			}
			return nil
		}
		h.refused(in, refusal.Changed)
		h.late.Wait()
		h.holds(c.want)
	}
}

// S10 S19: what is taken back is put on disk before that is said, in each
// directory that an exchange was in.
func TestTakenBackIsSynced(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	for _, d := range []string{"one", "two"} {
		must(t, os.Mkdir(h.path(d), 0o755))
		h.put(d+"/f", "old", 0o644)
	}
	in := h.intent(all(h.write("one/f", "new"), h.write("two/f", "new")))
	synced := make(map[uint64]bool)
	back := false
	h.step = func(s Step, p action.Path) error {
		back = back || s == TakeBack
		if s == Verify && p == in.Facts[1].Path {
			return unix.EIO
		}
		return nil
	}
	h.sync = func(f *os.File) error {
		st, err := beneath.Fstat(f)
		synced[st.Ino] = synced[st.Ino] || back
		return err
	}
	h.refused(in, refusal.DiskError)
	if !synced[h.stat("one").Ino] || !synced[h.stat("two").Ino] {
		t.Error("a directory was not synced")
	}
}
