package stage

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// S1: every kind of change goes one road, and its answer is the file that
// stands there now: the version on disk, or none.
func TestCarry(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	type files = map[string]string
	undo := func(h *home) action.Action {
		was, is := action.HashOf([]byte("was\n")), action.HashOf([]byte("old\n"))
		return action.Action{Undo: &action.Undo{Transaction: action.NewID(), Restores: []action.Restore{{
			Path: action.Path(h.path("f")), Content: []byte("was\n"),
			Left: action.Image{Hash: &is, Size: 4, Mode: 0o640, GID: uint32(os.Getegid())},
			Back: action.Image{Hash: &was, Size: 4, Mode: 0o751, GID: uint32(os.Getegid())},
		}}}}
	}
	for name, c := range map[string]struct {
		does func(*home) action.Action
		want files
		mode uint32
	}{
		"create":  {func(h *home) action.Action { return h.write("new", "n\n") }, files{"f": "old\n", "new": "n\n"}, 0o644},
		"replace": {func(h *home) action.Action { return h.write("f", "new\n") }, files{"f": "new\n"}, 0o640},
		"empty":   {func(h *home) action.Action { return h.write("f", "") }, files{"f": ""}, 0o640},
		"edit":    {func(h *home) action.Action { return h.edit("f", "ld", "dd") }, files{"f": "odd\n"}, 0o640},
		"undo":    {undo, files{"f": "was\n"}, 0o751},
		"delete":  {func(h *home) action.Action { return h.delete("f") }, files{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.put("f", "old\n", 0o640)
			a := c.does(h)
			got := h.land(a)
			h.holds(c.want)
			if got.Path != a.Paths()[0] {
				t.Errorf("the outcome is %s's", got.Path)
			}
			if c.mode == 0 {
				if got.Version != nil {
					t.Errorf("a deleted file has version %+v", got.Version)
				}
				return
			}
			target := got.Path.Name()
			want := beneath.VersionOf(h.stat(target), action.HashOf([]byte(c.want[target])))
			if *got.Version != want {
				t.Errorf("the outcome says %+v, disk %+v", *got.Version, want)
			}
			if want.Mode != c.mode {
				t.Errorf("mode %04o", want.Mode)
			}
		})
	}
}

// S9: a replaced file keeps mode and group, a write may name 0644 or 0755, and
// a new file takes 0666 less the person's umask, whatever the process has.
func TestModes(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	defer syscall.Umask(syscall.Umask(0o077))
	for _, was := range []uint32{0o600, 0o640, 0o644, 0o755, 0o777} {
		for _, named := range []uint32{0, 0o644, 0o755} {
			h := newHome(t)
			h.put("f", "old", os.FileMode(was))
			a := h.write("f", "new")
			a.FileWrite.Changes[0].Write.Mode = named
			want := was
			if named != 0 {
				want = named
			}
			if got := h.land(a).Version.Mode; got != want || h.stat("f").Mode&0o7777 != want {
				t.Errorf("%04o with %04o named: %04o", was, named, got)
			}
		}
	}
	for umask, want := range map[uint32]uint32{0o000: 0o666, 0o022: 0o644, 0o027: 0o640, 0o077: 0o600} {
		h := newHome(t)
		h.cfg.Umask = umask
		if h.land(h.write("f", "new")); h.stat("f").Mode&0o7777 != want {
			t.Errorf("umask %04o: %04o", umask, h.stat("f").Mode&0o7777)
		}
	}
}

// S9: a file's group stays, in a directory that would give another too; a
// created file takes the group that the directory gives.
func TestGroups(t *testing.T) {
	// Nobody but the one who is made here is sure to have a second group.
	if _, ok := testas.Prepared(t, testas.Person, func() string { return "" }); !ok {
		return
	}
	second := testas.Group(testas.Person)
	h := newHome(t)
	h.put("f", "old", 0o640)
	must(t, os.Chown(h.path("f"), -1, int(second)))
	if v := h.land(h.write("f", "new")).Version; v.GID != second || h.stat("f").Gid != second || v.Mode != 0o640 {
		t.Errorf("group %d, mode %04o", v.GID, v.Mode)
	}
	must(t, os.Chown(h.dir, -1, int(second)), os.Chmod(h.dir, 0o700|os.ModeSetgid))
	h.put("own", "old", 0o640)
	must(t, os.Chown(h.path("own"), -1, os.Getegid()))
	if v := h.land(h.write("own", "new")).Version; v.GID != uint32(os.Getegid()) {
		t.Errorf("in a set-group-ID directory: group %d", v.GID)
	}
	if v := h.land(h.write("created", "new")).Version; v.GID != second {
		t.Errorf("a created file has group %d", v.GID)
	}
}

// S8: the staged file stands beside its target under the intent's name, and is
// the person's alone until its bytes are written.
func TestStagedFile(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, create := range map[string]bool{"replace": false, "create": true} {
		h := newHome(t)
		if !create {
			h.put("f", "old", 0o666)
		}
		var steps []Step
		for _, s := range []Step{MakeDir, Create, Write, Hold, Exchange, Verify, TakeBack, Unlink, SyncDir} {
			h.at[s] = func() { steps = append(steps, s) }
		}
		h.at[Write] = func() {
			steps = append(steps, Write)
			if st := h.stat(beside); st.Mode != unix.S_IFREG|0o600 || st.Size != 0 {
				t.Errorf("%s: mode %o, %d bytes", name, st.Mode, st.Size)
			}
		}
		var synced []int64 // sizes, and -1 for the directory
		h.sync = func(f *os.File) error {
			st, err := beneath.Fstat(f)
			if st.Mode&unix.S_IFMT == unix.S_IFDIR {
				st.Size = -1
			} else if _, err := os.Lstat(h.path(beside)); err != nil {
				t.Errorf("%s: synced under its new name", name)
			}
			synced = append(synced, st.Size)
			return err
		}
		h.land(h.write("f", "newer"))
		want := []Step{Create, Write, Hold, Exchange, Verify, Unlink, SyncDir}
		if create {
			want = []Step{Create, Write, Hold, Exchange, Verify, SyncDir}
		}
		if !slices.Equal(steps, want) {
			t.Errorf("%s: %v", name, steps)
		}
		if !slices.Equal(synced, []int64{5, -1}) { // S10
			t.Errorf("%s: synced %v", name, synced)
		}
	}
}

// S8: a name of 255 bytes can be created, replaced and deleted.
func TestLongestName(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	long := strings.Repeat("n", 255)
	h.land(h.write(long, "one"))
	h.land(h.edit(long, "one", "two"))
	h.holds(map[string]string{long: "two"})
	h.land(h.delete(long))
	h.hasOnly(nil)
}

// S10: a failed sync of the file changes nothing and is refused; one of the
// directory, behind the landing, is told in the outcome and does not turn it
// into an error (S23).
func TestFailedSync(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	fail := func(mode uint32) func(*os.File) error {
		return func(f *os.File) error {
			if st, _ := beneath.Fstat(f); st.Mode&unix.S_IFMT == mode {
				return &os.PathError{Op: "sync", Err: unix.EIO}
			}
			return f.Sync()
		}
	}
	h := newHome(t)
	h.put("f", "old", 0o644)
	h.sync = fail(unix.S_IFREG)
	h.refused(h.intent(h.write("f", "new")), refusal.DiskError)
	h.refused(h.intent(h.write("g", "new")), refusal.DiskError)
	h.holds(map[string]string{"f": "old"})
	h.sync = fail(unix.S_IFDIR)
	for _, a := range []action.Action{h.write("f", "new"), h.write("g", "new"), h.delete("f")} {
		out, _, err := h.Carry(h.intent(a))
		if err != nil || out.Result != protocol.Landed || len(out.Changes[0].After) != 1 {
			t.Errorf("%+v, %v", out, err)
		}
	}
	h.holds(map[string]string{"g": "new"})
}

// S23: what fails behind a landing is told and no error; here the old file's
// removal.
func TestFailedUnlink(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.put("f", "old", 0o644)
	h.at[Unlink] = func() { must(t, os.Rename(h.path(beside), h.path("elsewhere"))) }
	out, _, err := h.Carry(h.intent(h.write("f", "new")))
	if err != nil || out.Result != protocol.Landed || len(out.Changes[0].After) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	h.holds(map[string]string{"f": "new", "elsewhere": "old"})
}

// S20: a file with other names gets one of its own, and the outcome counts the
// names that keep the old text.
func TestHardLinks(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.put("f", "old", 0o644)
	must(t, os.Link(h.path("f"), h.path("second")), os.Link(h.path("f"), h.path("third")))
	in := h.intent(h.write("f", "new"))
	if n := in.Facts[0].Base.Version.Links; n != 3 {
		t.Errorf("%d links captured", n)
	}
	if got := h.land(in.Action); got.Links != 2 || got.Version.Links != 1 {
		t.Errorf("%d other names, version %+v", got.Links, got.Version)
	}
	h.holds(map[string]string{"f": "new", "second": "old", "third": "old"})
}

// S11: a file that is not the staged one is neither put in place nor removed,
// though it stands at the staged name.
func TestStagedNameSwapped(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, old := range []string{"", "old"} {
		h := newHome(t)
		want := map[string]string{beside: "a stranger's"}
		if old != "" {
			h.put("f", old, 0o644)
			want["f"] = old
		}
		in := h.intent(h.write("f", "new"))
		h.sync = func(*os.File) error {
			return errors.Join(os.Remove(h.path(beside)), os.WriteFile(h.path(beside), []byte("a stranger's"), 0o644))
		}
		h.refused(in, refusal.Changed)
		h.holds(want)
	}
	h := newHome(t)
	h.put("f", "old", 0o644)
	h.put(beside, "was there", 0o644)
	h.refused(h.intent(h.write("f", "new")), refusal.DiskError)
	h.refused(h.intent(h.delete("f")), refusal.Changed)
	h.holds(map[string]string{"f": "old", beside: "was there"})
}

// S9: a filesystem that takes a mode and does not keep it is found out before
// anything is replaced.
func TestModeNotKept(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.put("f", "old", 0o644)
	in := h.intent(h.write("f", "new"))
	h.sync = func(f *os.File) error { return f.Chmod(0o600) }
	h.refused(in, refusal.NotKept)
	h.holds(map[string]string{"f": "old"})
}

// S14: a filesystem that cannot exchange two names is refused by name. The
// kernel gives the same error for two flags that exclude each other.
func TestNoExchange(t *testing.T) {
	h := newHome(t)
	h.put("f", "old", 0o644)
	found, err := h.cfg.Finder.Find(grant.Write, action.Target{Path: action.Path(h.path("f"))})
	must(t, err)
	defer found.Close()
	c := &change{Stager: h.Stager, what: "f", place: found.Place, aside: found.Place.Beside(beside)}
	if err := c.rename(c.place, c.aside, unix.RENAME_EXCHANGE|unix.RENAME_NOREPLACE); !refusal.Is(err, refusal.NoExchange) {
		t.Error(err)
	}
}
