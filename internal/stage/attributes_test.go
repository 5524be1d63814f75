package stage

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// listed gives a file an access control list of more than its mode says.
func (h *home) listed(name string) {
	h.Helper()
	h.put(name, "old", 0o640)
	must(h.T, unix.Setxattr(h.path(name), accessList, acl(6, map[uint32]uint16{12345: 6, 54321: 4}, 4, ptr(uint16(6)), 0), 0))
}

// S9: access control lists and the person's own attributes are the old file's,
// byte for byte, after a write, an edit, and an undo of either and of a delete;
// what the outcome says of them is what the undo finds.
func TestAttributesAreKept(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, does := range map[string]func(*home) action.Action{
		"write":  func(h *home) action.Action { return h.write("f", "new") },
		"edit":   func(h *home) action.Action { return h.edit("f", "old", "new") },
		"delete": func(h *home) action.Action { return h.delete("f") },
		"mode": func(h *home) action.Action {
			a := h.write("f", "new")
			a.FileWrite.Changes[0].Write.Mode = 0o755
			return a
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.listed("f")
			must(t, unix.Setxattr(h.path("f"), "user.note", []byte("a\x00b\xff"), 0), unix.Setxattr(h.path("f"), "user.empty", nil, 0))
			before := h.tree()
			in := h.intent(does(h))
			if f := in.Facts[0]; len(f.Attributes) != 3 || len(f.NotKept) > 0 {
				t.Fatalf("%+v", f)
			}
			undo := h.undoOf(in.Action)
			if now, err := h.before(action.Target{Path: in.Facts[0].Path}); name != "delete" {
				must(t, err)
				is, was := now.Fact.Attributes, in.Facts[0].Attributes
				if name == "mode" { // the group's bits are the list's mask
					must(t, os.Chmod(h.path("f"), 0o664))
					now, err = h.before(action.Target{Path: in.Facts[0].Path})
					must(t, err, os.Chmod(h.path("f"), 0o755))
					is = now.Fact.Attributes
					is[0].Value, was[0].Value = is[0].Value[:20], was[0].Value[:20]
				}
				if !slices.EqualFunc(is, was, func(a, b action.Attribute) bool { return a.Name == b.Name && bytes.Equal(a.Value, b.Value) }) {
					t.Errorf("%q became %q", was, is)
				}
			}
			if h.landAll(undo); h.tree() != before {
				t.Errorf("put back:\n%s\nit was\n%s", h.tree(), before)
			}
		})
	}
}

// S8 S9: what a directory gives to new files by a default list is taken off a
// file that replaces, or puts back, one that had none of it, and gives nobody a
// look at it before it is whole.
func TestInheritedListIsTakenOff(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.put("f", "old", 0o644)
	must(t, unix.Setxattr(h.dir, defaultList, acl(7, map[uint32]uint16{12345: 7}, 7, ptr(uint16(7)), 7), 0))
	before := h.tree()
	h.landAll(h.undoOf(h.write("f", "new")))
	h.landAll(h.undoOf(h.delete("f")))
	if h.tree() != before {
		t.Errorf("%s\nit was\n%s", h.tree(), before)
	}
	h.at[Write] = func() { // nobody else reads it before it is whole
		if st := h.stat(beside); st.Mode&0o077 != 0 {
			t.Errorf("staged with mode %o", st.Mode)
		}
	}
	if h.land(h.write("f", "new")); h.stat("f").Mode&0o777 != 0o644 {
		t.Errorf("mode %o", h.stat("f").Mode)
	}
}

// S9 S16: what changes of attributes alone since a capture is another file, and is
// not written over.
func TestAttributesOfAnotherWriter(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, at := range []Step{"plan", Create, Write, Hold} {
		h := newHome(t)
		h.listed("f")
		in := h.intent(h.write("f", "new"))
		change := func() { must(t, unix.Setxattr(h.path("f"), "user.theirs", []byte("x"), 0)) }
		if h.at[at] = change; at == "plan" {
			change()
		}
		h.refused(in, refusal.Changed)
		h.holds(map[string]string{"f": "old"})
	}
	h := newHome(t)
	h.listed("f")
	undo := h.undoOf(h.write("f", "new"))
	must(t, unix.Removexattr(h.path("f"), accessList))
	if _, err := h.plan(undo); !refusal.Is(err, refusal.Conflict) {
		t.Errorf("an undo over a list that was changed: %v", err)
	}
}

// S9 T16: an undo that changes attributes alone is told from one that did not
// happen, and settled like any other.
func TestSettleTellsAttributes(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.listed("f")
	with, err := h.look(h.write("f", "new"))
	must(t, err, unix.Removexattr(h.path("f"), accessList), os.Chmod(h.path("f"), 0o660))
	without, err := h.look(h.write("f", "new"))
	must(t, err)
	a := action.Action{Undo: &action.Undo{Transaction: action.NewID(), Restores: []action.Restore{{
		Path: without[0].Fact.Path, Left: without[0].Fact.Image(), Back: with[0].Fact.Image(), Content: []byte("old"), Attributes: with[0].Fact.Attributes,
	}}}}
	h.settles(h.intent(a), protocol.NotLanded, map[string]string{"f": "old"})
	in := h.intent(a)
	out, _, err := h.Carry(in)
	if err != nil || out.Result != protocol.Landed || h.tree() == "" {
		t.Fatalf("%+v, %v", out, err)
	}
	settled, _, err := h.Settle(in)
	if err != nil || settled.Result != protocol.Landed || settled.Changes[0].Attributes == nil || *settled.Changes[0].Attributes != *out.Changes[0].Attributes {
		t.Errorf("%+v, %v", settled, err)
	}
}

// S9: a file of a group that the person may not give, and one with an attribute
// that only the system may, are named as not kept before anybody is asked, and
// in the answer; and no group gets what the lost one could do.
func TestNotKeptIsNamed(t *testing.T) {
	const foreign = 45678
	dir, ok := testas.Prepared(t, testas.Person, func() string {
		dir, file := givenHome(t, nil)
		capability := []byte{0, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // VFS_CAP_REVISION_2, net_bind_service
		for _, name := range []string{"group", "listed", "capable"} {
			must(t, os.WriteFile(dir+"/"+name, []byte("old"), 0o664), os.Chown(dir+"/"+name, testas.Person, testas.Person), os.Chmod(dir+"/"+name, 0o664))
		}
		must(t, unix.Setxattr(dir+"/capable", "security.capability", capability, 0),
			os.Chown(dir+"/group", testas.Person, foreign), os.Chmod(dir+"/group", 0o764), os.Chown(dir+"/listed", testas.Person, foreign),
			unix.Setxattr(dir+"/listed", accessList, acl(6, map[uint32]uint16{12345: 6}, 6, ptr(uint16(6)), 0), 0), os.Remove(file))
		return dir
	})
	if !ok {
		return
	}
	h := homeAt(t, dir)
	for name, c := range map[string]struct {
		lost []string
		mode uint32
		was  uint32
	}{
		"group":   {[]string{"group 45678"}, 0o744, 0o764},
		"listed":  {[]string{"group 45678", "attribute " + accessList + ", which names the group"}, 0o600, 0o660},
		"capable": {[]string{"attribute security.capability"}, 0o664, 0o664},
	} {
		if st := h.stat(name); st.Mode&0o777 != c.was {
			t.Fatalf("%s: mode %o", name, st.Mode)
		}
		in := h.intent(h.write(name, "new"))
		if got := in.Facts[0]; !slices.Equal(got.NotKept, c.lost) || got.AnyGroup != (name != "capable") {
			t.Errorf("%s: %q, %v", name, got.NotKept, got.AnyGroup)
		}
		got := h.land(in.Action)
		st := h.stat(name)
		if !slices.Equal(got.NotKept, c.lost) || st.Gid != uint32(os.Getegid()) || st.Mode&0o777 != c.mode {
			t.Errorf("%s: %q, group %d, mode %o", name, got.NotKept, st.Gid, st.Mode)
		}
		if n, err := unix.Lgetxattr(h.path(name), accessList, nil); !errors.Is(err, unix.ENODATA) {
			t.Errorf("%s: a list of %d bytes, %v", name, n, err)
		}
	}
}

// S9: a filesystem that takes an attribute and does not keep it is found out
// before anything is replaced, and so is one that has no room for it.
func TestAttributesNotTaken(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.listed("f")
	in := h.intent(h.write("f", "new"))
	h.sync = func(f *os.File) error { return unix.Fremovexattr(int(f.Fd()), accessList) }
	h.refused(in, refusal.NotKept)
	h.holds(map[string]string{"f": "old"})
}

// S4 T12: the undo of a change through a link puts back the file that it led to,
// wherever the link leads by now.
func TestUndoThroughLink(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h, _ := linked(t)
	before := h.tree()
	undo := h.undoOf(all(h.write("relative", "new"), h.write("way/new/f", "n")))
	must(t, os.Remove(h.path("relative")), os.Symlink("elsewhere", h.path("relative")))
	h.landAll(undo)
	must(t, os.Remove(h.path("relative")), os.Symlink("dir/f", h.path("relative")))
	if h.tree() != before {
		t.Error(h.tree())
	}
}
