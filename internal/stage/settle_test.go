package stage

import (
	"errors"
	"os"
	"testing"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// disk is a state that a scribe can have been killed in, or that others made
// of it since: moves are done in order, after an intent was made of "old".
type disk func(*home)

func (h *home) staged(content string, mode os.FileMode) { h.put(beside, content, mode) }

func (h *home) rename(from, to string) { must(h.T, os.Rename(h.path(from), h.path(to))) }

// swapped is the state right behind an exchange.
func swapped(h *home) {
	h.staged("new", 0o640)
	h.rename("f", "x")
	h.rename(beside, "f")
	h.rename("x", beside)
}

// S12 S19 T16: an intent that was interrupted anywhere is finished or taken back
// by what disk holds, and the answer says which; what is neither is never
// guessed, and never deleted. Settled once more, disk stays as it is and the
// answer agrees.
func TestSettle(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	type files = map[string]string
	aside := func(h *home) { h.rename("f", beside) }
	for name, c := range map[string]struct {
		does   string
		disk   disk
		result protocol.Result
		want   files
		again  protocol.Result // where settling again does not find the same
	}{
		"replace, not begun":         {"replace", func(h *home) {}, protocol.NotLanded, files{"f": "old"}, ""},
		"replace, empty staged":      {"replace", func(h *home) { h.staged("", 0o600) }, protocol.NotLanded, files{"f": "old"}, ""},
		"replace, half staged":       {"replace", func(h *home) { h.staged("ne", 0o600) }, protocol.NotLanded, files{"f": "old"}, ""},
		"replace, staged":            {"replace", func(h *home) { h.staged("new", 0o640) }, protocol.NotLanded, files{"f": "old"}, ""},
		"replace, staged, edited":    {"replace", func(h *home) { h.staged("new", 0o640); h.renameOver("f", "theirs") }, protocol.NotLanded, files{"f": "theirs"}, protocol.Unknown},
		"replace, staged, gone":      {"replace", func(h *home) { h.staged("new", 0o640); must(h.T, os.Remove(h.path("f"))) }, protocol.NotLanded, files{}, protocol.Unknown},
		"replace, exchanged":         {"replace", swapped, protocol.Landed, files{"f": "new"}, ""},
		"replace, exchanged, edited": {"replace", func(h *home) { swapped(h); h.renameOver("f", "theirs") }, protocol.Landed, files{"f": "theirs"}, protocol.Unknown},
		"replace, exchanged, gone":   {"replace", func(h *home) { swapped(h); must(h.T, os.Remove(h.path("f"))) }, protocol.Landed, files{}, protocol.Unknown},
		"replace, done":              {"replace", func(h *home) { swapped(h); must(h.T, os.Remove(h.path(beside))) }, protocol.Landed, files{"f": "new"}, ""},
		"replace, edited":            {"replace", func(h *home) { h.renameOver("f", "theirs") }, protocol.Unknown, files{"f": "theirs"}, ""},
		"replace, gone":              {"replace", func(h *home) { must(h.T, os.Remove(h.path("f"))) }, protocol.Unknown, files{}, ""},
		"replace, chmod":             {"replace", func(h *home) { must(h.T, os.Chmod(h.path("f"), 0o600)) }, protocol.Unknown, files{"f": "old"}, ""},
		"replace, got in between":    {"replace", func(h *home) { h.renameOver("f", "theirs"); swapped(h) }, protocol.NotLanded, files{"f": "theirs"}, protocol.Unknown},
		"replace, two got in":        {"replace", func(h *home) { h.renameOver("f", "first"); swapped(h); h.renameOver("f", "second") }, protocol.Unknown, files{"f": "second", beside: "first"}, ""},
		"replace, staged is edited":  {"replace", func(h *home) { h.staged("another", 0o640); h.renameOver("f", "theirs") }, protocol.Unknown, files{"f": "theirs", beside: "another"}, ""},
		"replace, only zeros":        {"replace", func(h *home) { h.staged("\x00\x00\x00", 0o640) }, protocol.NotLanded, files{"f": "old"}, ""},
		"replace, zeros behind":      {"replace", func(h *home) { h.staged("n\x00\x00", 0o640) }, protocol.NotLanded, files{"f": "old"}, ""},
		"replace, another's aside":   {"replace", func(h *home) { h.staged("theirs", 0o644) }, protocol.Unknown, files{"f": "old", beside: "theirs"}, ""},
		"replace, longer aside":      {"replace", func(h *home) { h.staged("new, and more", 0o640) }, protocol.Unknown, files{"f": "old", beside: "new, and more"}, ""},
		"replace, zeros beyond":      {"replace", func(h *home) { h.staged("new\x00", 0o640) }, protocol.Unknown, files{"f": "old", beside: "new\x00"}, ""},
		"edit, half staged":          {"edit", func(h *home) { h.staged("ne", 0o600) }, protocol.NotLanded, files{"f": "old"}, ""},
		"edit, another's aside":      {"edit", func(h *home) { h.staged("theirs", 0o600) }, protocol.Unknown, files{"f": "old", beside: "theirs"}, ""},
		"edit, exchanged":            {"edit", swapped, protocol.Landed, files{"f": "new"}, ""},

		"create, another aside": {"create", func(h *home) { h.staged("theirs", 0o644) }, protocol.Unknown, files{"f": "old", beside: "theirs"}, ""},
		"create, zeros staged":  {"create", func(h *home) { h.staged("ne\x00", 0o644) }, protocol.NotLanded, files{"f": "old"}, ""},
		"create, not begun":     {"create", func(h *home) {}, protocol.NotLanded, files{"f": "old"}, ""},
		"create, half staged":   {"create", func(h *home) { h.staged("ne", 0o600) }, protocol.NotLanded, files{"f": "old"}, ""},
		"create, staged":        {"create", func(h *home) { h.staged("new", 0o644) }, protocol.NotLanded, files{"f": "old"}, ""},
		"create, staged, taken": {"create", func(h *home) { h.staged("new", 0o644); h.put("g", "theirs", 0o644) }, protocol.NotLanded, files{"f": "old", "g": "theirs"}, protocol.Unknown},
		"create, done":          {"create", func(h *home) { h.put("g", "new", 0o644) }, protocol.Landed, files{"f": "old", "g": "new"}, ""},
		"create, taken":         {"create", func(h *home) { h.put("g", "theirs", 0o644) }, protocol.Unknown, files{"f": "old", "g": "theirs"}, ""},
		"create, other mode":    {"create", func(h *home) { h.put("g", "new", 0o755) }, protocol.Unknown, files{"f": "old", "g": "new"}, ""},

		"delete, not begun":      {"delete", func(h *home) {}, protocol.NotLanded, files{"f": "old"}, ""},
		"delete, aside":          {"delete", aside, protocol.Landed, files{}, ""},
		"delete, aside, new":     {"delete", func(h *home) { aside(h); h.put("f", "theirs", 0o644) }, protocol.Landed, files{"f": "theirs"}, protocol.Unknown},
		"delete, done":           {"delete", func(h *home) { must(h.T, os.Remove(h.path("f"))) }, protocol.Landed, files{}, ""},
		"delete, edited":         {"delete", func(h *home) { h.renameOver("f", "theirs") }, protocol.Unknown, files{"f": "theirs"}, ""},
		"delete, got in between": {"delete", func(h *home) { h.renameOver("f", "theirs"); aside(h) }, protocol.NotLanded, files{"f": "theirs"}, protocol.Unknown},
		"delete, two got in": {"delete", func(h *home) { h.renameOver("f", "first"); aside(h); h.put("f", "second", 0o644) },
			protocol.Unknown, files{"f": "second", beside: "first"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.put("f", "old", 0o640)
			in := h.intent(map[string]action.Action{
				"replace": h.write("f", "new"), "edit": h.edit("f", "old", "new"), "create": h.write("g", "new"), "delete": h.delete("f"),
			}[c.does])
			c.disk(h)
			h.settles(in, c.result, c.want)
			if c.again == "" {
				c.again = c.result
			}
			h.settles(in, c.again, c.want)
			h.refused(in, refusal.WrongState)
			h.holds(c.want)
		})
	}
}

// settles checks one settling: its result, what it says stands there, and disk.
func (h *home) settles(in protocol.Intent, result protocol.Result, want map[string]string) {
	h.Helper()
	out, files, err := h.Settle(in)
	must(h.T, err)
	for _, f := range files {
		f.Close()
	}
	if out.Result != result || out.Words == "" || len(out.Changes) != 1 || len(out.Changes[0].After) > 0 {
		h.Errorf("%+v: wanted %s", out, result)
	}
	if (out.Refused != nil) != (result == protocol.NotLanded) {
		h.Errorf("refused: %v", out.Refused)
	}
	_, kept := want[beside]
	if kept != (len(files) == 1) || kept != (len(out.Kept) == 1) {
		h.Errorf("%d handles, %+v", len(files), out.Kept)
	}
	target := in.Facts[0].Path.Name()
	content, there := want[target]
	if v := out.Changes[0].Version; there != (v != nil) || there && v.Hash != action.HashOf([]byte(content)) {
		h.Errorf("it says that %+v stands there", v)
	}
	h.holds(want)
}

// T16: an undo that changed the group alone is told from one that did not
// happen.
func TestSettleTellsGroups(t *testing.T) {
	if _, ok := testas.Prepared(t, testas.Person, func() string { return "" }); !ok {
		return
	}
	h := newHome(t)
	h.put("f", "old", 0o644)
	hash := action.HashOf([]byte("old"))
	restore := action.Restore{
		Path: action.Path(h.path("f")), Content: []byte("old"),
		Left: action.Image{Hash: &hash, Size: 3, Mode: 0o644, GID: uint32(os.Getegid())},
		Back: action.Image{Hash: &hash, Size: 3, Mode: 0o644, GID: testas.Group(testas.Person)},
	}
	in := h.intent(action.Action{Undo: &action.Undo{Transaction: action.NewID(), Restores: []action.Restore{restore}}})
	h.settles(in, protocol.NotLanded, map[string]string{"f": "old"})
}

// T16: what is found landed is put on disk before that is said: whoever landed
// it may have been killed before its sync.
func TestSettleSyncs(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	in := h.intent(h.write("g", "new"))
	h.put("g", "new", 0o644)
	synced := 0
	h.sync = func(*os.File) error { synced++; return errors.New("no") }
	out, _, err := h.Settle(in)
	if err != nil || synced != 1 || len(out.Changes[0].After) != 1 {
		t.Errorf("%d syncs, %+v, %v", synced, out, err)
	}
}

// T16: settling waits for a change of the same landing that is in progress, and
// then says what became of it.
func TestSettleWaits(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.put("f", "old", 0o644)
	in := h.intent(h.write("f", "new"))
	answer := make(chan protocol.Outcome)
	h.at[Verify] = func() {
		go func() {
			out, _, err := h.Settle(in)
			must(t, err)
			answer <- out
		}()
		h.waits(in)
		select {
		case out := <-answer:
			t.Errorf("settled meanwhile: %+v", out)
		default:
		}
	}
	if out, _, err := h.Carry(in); err != nil || out.Result != protocol.Landed {
		t.Errorf("%+v, %v", out, err)
	}
	if out := <-answer; out.Result != protocol.Landed {
		t.Errorf("settled: %+v", out)
	}
	h.holds(map[string]string{"f": "new"})
}

// T16: a place that cannot be looked at, or is another one now, is unknown and
// is left alone; the intent is not carried out afterwards all the same.
func TestSettleElsewhere(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, move := range map[string]func(*home){
		"directory gone": func(h *home) { h.rename("dir", "moved") },
		"another directory": func(h *home) {
			h.rename("dir", "moved")
			must(h.T, os.Mkdir(h.path("dir"), 0o755))
			h.put("dir/f", "new", 0o644) // as if it had landed
		},
	} {
		h := newHome(t)
		must(t, os.Mkdir(h.path("dir"), 0o755))
		h.put("dir/f", "old", 0o644)
		in := h.intent(h.write("dir/f", "new"))
		gone := h.intent(h.delete("dir/f"))
		h.staged("new", 0o644)
		h.rename(beside, "dir/"+beside)
		move(h)
		if out, _, err := h.Settle(gone); err != nil || out.Result != protocol.Unknown {
			t.Errorf("%s: a delete: %+v, %v", name, out, err)
		}
		out, _, err := h.Settle(in)
		if err != nil || out.Result != protocol.Unknown {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
		if b, err := os.ReadFile(h.path("moved/" + beside)); err != nil || string(b) != "new" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		must(t, os.RemoveAll(h.path("dir")), os.Remove(h.path("moved/"+beside)), os.Rename(h.path("moved"), h.path("dir")))
		h.refused(in, refusal.WrongState)
	}
}

// T16: where something that is no file stands at either name, nothing is
// guessed. The call with nothing in it, which only asks whether anybody
// answers, is answered.
func TestSettleOddities(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, at := range []string{"f", beside} {
		h := newHome(t)
		h.put("f", "old", 0o644)
		in := h.intent(h.write("f", "new"))
		os.Remove(h.path(at))
		must(t, os.Symlink("/etc/passwd", h.path(at)))
		out, _, err := h.Settle(in)
		if err != nil || out.Result != protocol.Unknown {
			t.Errorf("%+v, %v", out, err)
		}
		if _, err := os.Lstat(h.path(at)); err != nil {
			t.Error(err)
		}
	}
	out, _, err := newHome(t).Settle(protocol.Intent{})
	if err != nil || out.Result != protocol.NotLanded {
		t.Errorf("%+v, %v", out, err)
	}
}

// T16: an intent that is settled was within the bounds of its time: a policy
// that allows less by now does not keep it from being settled.
func TestSettleIsNotBounded(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.put("f", "old", 0o644)
	in := h.intent(h.write("f", "new"))
	h.cfg.AutoBytes, h.cfg.AskedText = 1, 1
	h.refused(in, refusal.TooLongToAuto)
	h.settles(in, protocol.NotLanded, map[string]string{"f": "old"})
}
