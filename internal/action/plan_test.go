package action

import (
	"bytes"
	"strings"
	"testing"

	"countersign/internal/refusal"
)

// standing is a file of content that was captured and read whole.
func standing(content string) Before {
	b := base()
	b.Version.Hash, b.Version.Size = HashOf([]byte(content)), uint64(len(content))
	return Before{Fact: Fact{Path: there, Real: there, Base: b}, Content: []byte(content), Read: true}
}

// nothing is a path where nothing stands.
func nothing() Before {
	b := base()
	b.Version = nil
	return Before{Fact: Fact{Path: there, Real: there, Base: b}}
}

// unread is a file that is over the limit.
func unread(size uint64) Before {
	b := standing("")
	b.Fact.Base.Version.Size, b.Content, b.Read = size, nil, false
	return b
}

const umask = 0o027

func planOne(t *testing.T, a Action, b Before) (Planned, refusal.Code) {
	t.Helper()
	if err := a.Validate(); err != nil {
		t.Fatalf("not a valid action: %v", err)
	}
	plans, err := a.Plan([]Before{b}, umask)
	if err != nil {
		if len(plans) != 0 {
			t.Errorf("a refused plan has %d changes", len(plans))
		}
		return Planned{}, codeOf(t, err)
	}
	if len(plans) != 1 {
		t.Fatalf("%d planned changes", len(plans))
	}
	return plans[0], fine
}

// S9: what is replaced keeps its mode and group, a new file has 0666 without
// the person's umask, and a write may name 0644 or 0755. T1: an undo puts back
// content, mode and group of what was replaced. S24, S16: what changes nothing
// is refused, and so is an edit or a delete of what is not there.
func TestPlan(t *testing.T) {
	exec := change(Change{Path: there, Write: &Write{Content: []byte("old"), Mode: 0o755}})
	del := change(Change{Path: there, Delete: &Delete{}})
	back, gone := image("old", 0o600), Image{Absent: true}
	private := standing("old")
	private.Fact.Base.Version.Mode = 0o600
	setid := standing("old")
	setid.Fact.Base.Version.Mode = 0o2755
	left := image("old", 0o644)
	for name, c := range map[string]struct {
		a      Action
		before Before
		want   refusal.Code
		does   Does
		text   string
		mode   uint32
		group  bool
	}{
		"write over":           {change(write("new")), standing("old"), fine, Replaces, "new", 0o644, true},
		"write over private":   {change(write("new")), private, fine, Replaces, "new", 0o600, true},
		"write over unread":    {change(write("new")), unread(9 << 20), fine, Replaces, "new", 0o644, true},
		"write over set-id":    {change(write("new")), setid, fine, Replaces, "new", 0o755, true},
		"write of emptiness":   {change(write("")), standing("old"), fine, Replaces, "", 0o644, true},
		"write of a mode":      {exec, standing("old"), fine, Replaces, "old", 0o755, true},
		"write anew":           {change(write("new")), nothing(), fine, Creates, "new", 0o640, false},
		"write anew of a mode": {exec, nothing(), fine, Creates, "old", 0o755, false},
		"write an empty file":  {change(write("")), nothing(), fine, Creates, "", 0o640, false},
		"write of the same":    {change(write("old")), standing("old"), refusal.NoChange, "", "", 0, false},

		"edit":            {change(edit(rep("old", "new", 0))), standing("an old one"), fine, Replaces, "an new one", 0o644, true},
		"edit of nothing": {change(edit(rep("old", "new", 0))), nothing(), refusal.NotFound, "", "", 0, false},
		"edit of unread":  {change(edit(rep("old", "new", 0))), unread(9 << 20), refusal.FileTooBig, "", "", 0, false},
		"edits there and back": {change(edit(rep("old", "new", 0), rep("new", "old", 0))), standing("old"),
			refusal.NoChange, "", "", 0, false},

		"delete":            {del, standing("old"), fine, Deletes, "", 0, false},
		"delete of unread":  {del, unread(9 << 20), fine, Deletes, "", 0, false},
		"delete of nothing": {del, nothing(), refusal.NotFound, "", "", 0, false},

		"undo of a replace": {undo(Restore{Path: there, Left: image("new", 0o644), Back: back, Content: []byte("old")}),
			standing("new"), fine, Replaces, "old", 0o600, true},
		"undo of a delete": {undo(Restore{Path: there, Left: gone, Back: back, Content: []byte("old")}),
			nothing(), fine, Creates, "old", 0o600, true},
		"undo of a create": {undo(Restore{Path: there, Left: left, Back: gone}), standing("old"), fine, Deletes, "", 0, false},
		"undo done already": {undo(Restore{Path: there, Left: image("new", 0o644), Back: left, Content: []byte("old")}),
			standing("old"), refusal.NoChange, "", "", 0, false},
		"undo of a mode": {undo(Restore{Path: there, Left: left, Back: back, Content: []byte("old")}),
			standing("old"), fine, Replaces, "old", 0o600, true},
		"undo of what was edited since": {undo(Restore{Path: there, Left: image("new", 0o644), Back: back, Content: []byte("old")}),
			standing("newer"), refusal.Conflict, "", "", 0, false},
		"undo of what got a mode since": {undo(Restore{Path: there, Left: left, Back: gone}), private, refusal.Conflict, "", "", 0, false},
		"undo of what went since": {undo(Restore{Path: there, Left: left, Back: image("older", 0o644), Content: []byte("older")}),
			nothing(), refusal.Conflict, "", "", 0, false},
		"undo of a delete where one is": {undo(Restore{Path: there, Left: gone, Back: back, Content: []byte("old")}),
			standing("theirs"), refusal.Conflict, "", "", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, code := planOne(t, c.a, c.before)
			if code != c.want {
				t.Fatalf("%q, want %q", code, c.want)
			}
			if code != fine {
				return
			}
			if p.Does != c.does || p.Group != c.group || string(p.New) != c.text || p.Result.Mode != c.mode {
				t.Errorf("%s %q, mode %o, group given: %v", p.Does, p.New, p.Result.Mode, p.Group)
			}
			if p.Result.Absent != (c.does == Deletes) || !p.Result.Absent && *p.Result.Hash != HashOf(p.New) {
				t.Errorf("result %+v", p.Result)
			}
			if p.Group && p.Result.GID != 100 || !p.Result.valid() {
				t.Errorf("result %+v, want the group that was", p.Result)
			}
			if !bytes.Equal(p.Old, c.before.Content) {
				t.Errorf("replaces %q", p.Old)
			}
		})
	}
}

// T2: where a change says what its proposer saw, and disk has something else,
// it is outdated, whatever else it would do.
func TestExpect(t *testing.T) {
	saw := func(content string) *Expect { return &Expect{Hash: ptr(HashOf([]byte(content)))} }
	for name, c := range map[string]struct {
		expect *Expect
		before Before
		want   refusal.Code
	}{
		"nothing said":              {nil, standing("old"), fine},
		"the same":                  {saw("old"), standing("old"), fine},
		"another content":           {saw("older"), standing("old"), refusal.Outdated},
		"seen, and gone":            {saw("old"), nothing(), refusal.Outdated},
		"seen absent, and absent":   {&Expect{Absent: true}, nothing(), fine},
		"seen absent, and there":    {&Expect{Absent: true}, standing("old"), refusal.Outdated},
		"seen absent, and the same": {&Expect{Absent: true}, standing("new"), refusal.Outdated},
	} {
		w := write("new")
		w.Expect = c.expect
		if _, code := planOne(t, change(w), c.before); code != c.want {
			t.Errorf("write, %s: %q, want %q", name, code, c.want)
		}
		if c.want != refusal.Outdated {
			continue
		}
		for _, other := range []Change{edit(rep("old", "new", 0)), {Path: there, Delete: &Delete{}}} {
			other.Expect = c.expect
			if _, code := planOne(t, change(other), c.before); code != c.want {
				t.Errorf("edit or delete, %s: %q, want %q", name, code, c.want)
			}
		}
	}
}

// T1: an undo's conflict names its three versions, for the owner to choose.
func TestConflictNamesThreeVersions(t *testing.T) {
	a := undo(Restore{Path: there, Left: image("left", 0o644), Back: image("back", 0o644), Content: []byte("back")})
	_, err := a.Plan([]Before{standing("disk")}, umask)
	if codeOf(t, err) != refusal.Conflict {
		t.Fatal(err)
	}
	why := refusal.As(err).Why
	for _, content := range []string{"left", "disk", "back"} {
		if !strings.Contains(why, HashOf([]byte(content)).Short()) {
			t.Errorf("the %s version is not named: %s", content, why)
		}
	}
}

// T3: what was captured must be of the very paths that the action names; a
// reader's answer of another shape plans nothing.
func TestPlanWantsItsOwnPaths(t *testing.T) {
	a := Action{FileWrite: &FileWrite{Changes: []Change{write("x"), {Path: "/home/alice/b", Write: &Write{Content: []byte("y")}}}}}
	other := nothing()
	other.Fact.Path, other.Fact.Base.Landing.Name = "/home/alice/b", "b"
	for name, befores := range map[string][]Before{
		"none":     nil,
		"too few":  {nothing()},
		"too many": {nothing(), other, other},
		"swapped":  {other, nothing()},
		"another":  {nothing(), nothing()},
	} {
		if plans, err := a.Plan(befores, umask); codeOf(t, err) != refusal.Differs || plans != nil {
			t.Errorf("%s: %v, %v", name, plans, err)
		}
	}
	if plans, err := a.Plan([]Before{nothing(), other}, umask); err != nil || len(plans) != 2 {
		t.Errorf("its own: %v, %v", plans, err)
	}
}

// T1: a plan is all or nothing: where one change cannot be, none is planned.
func TestPlanIsWhole(t *testing.T) {
	a := Action{FileWrite: &FileWrite{Changes: []Change{write("x"), {Path: "/home/alice/b", Delete: &Delete{}}}}}
	other := nothing()
	other.Fact.Path, other.Fact.Base.Landing.Name = "/home/alice/b", "b"
	if plans, err := a.Plan([]Before{nothing(), other}, umask); codeOf(t, err) != refusal.NotFound || plans != nil {
		t.Errorf("%v, %v", plans, err)
	}
}

// S9: only permission bits come from a umask, whatever the rest of it says.
func TestUmaskIsMasked(t *testing.T) {
	for mask, want := range map[uint32]uint32{0: 0o666, 0o022: 0o644, 0o077: 0o600, 0o777: 0, 0o7022: 0o644} {
		plans, err := change(write("x")).Plan([]Before{nothing()}, mask)
		if err != nil || plans[0].Result.Mode != want {
			t.Errorf("umask %04o: %+v, %v, want mode %04o", mask, plans, err, want)
		}
	}
}
