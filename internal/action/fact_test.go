package action

import (
	"slices"
	"strings"
	"testing"

	"countersign/internal/refusal"
)

// T3: two sides that found facts of a path found the same only where nothing of
// them differs.
func TestFactsAreCompared(t *testing.T) {
	full := func() Fact {
		return Fact{
			Path: "/h/a", Real: "/h/b", Follows: "/h/c", Base: base(), Target: "x", NotKept: []string{"y"}, AnyGroup: true, Default: ptr(uint32(0o640)),
			Attributes: []Attribute{{Name: "user.a", Value: []byte("v")}}, Aliases: []Path{"/h/.d"}, Repository: true,
		}
	}
	for name, flip := range map[string]func(*Fact){
		"path": func(f *Fact) { f.Path += "x" }, "real": func(f *Fact) { f.Real += "x" }, "follows": func(f *Fact) { f.Follows = "" },
		"base": func(f *Fact) { f.Base.Version.Ctime++ }, "target": func(f *Fact) { f.Target = "z" }, "lost": func(f *Fact) { f.NotKept = nil },
		"group": func(f *Fact) { f.AnyGroup = false }, "default": func(f *Fact) { *f.Default = 0 }, "no default": func(f *Fact) { f.Default = nil },
		"attribute": func(f *Fact) { f.Attributes[0].Value = []byte("w") }, "its name": func(f *Fact) { f.Attributes[0].Name += "b" },
		"alias": func(f *Fact) { f.Aliases = nil }, "repository": func(f *Fact) { f.Repository = false },
		"one more": func(f *Fact) { f.Attributes = append(f.Attributes, Attribute{Name: "user.b"}) },
	} {
		a, b := full(), full()
		if !a.Same(b) {
			t.Fatal("the same facts differ")
		}
		if flip(&b); a.Same(b) || b.Same(a) {
			t.Errorf("%s: it is not compared", name)
		}
	}
}

// S4 S21: what is written is the file that a path leads to, and what is deleted,
// or put back by an undo, is the entry itself.
func TestTargets(t *testing.T) {
	a := Action{FileWrite: &FileWrite{Changes: []Change{write("x"), {Path: "/h/b", Delete: &Delete{}}, {Path: "/h/c", Edit: &Edit{}}}}}
	if got, want := a.Targets(), []Target{{there, ToFile}, {"/h/b", ToEntry}, {"/h/c", ToFile}}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	u := undo(Restore{Path: there, Made: 2}, Restore{Path: "/h/b"})
	if got, want := u.Targets(), []Target{{there, ToEntry}, {"/h/b", ToEntry}}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := u.Made(); !slices.Equal(got, []uint64{2, 0}) {
		t.Errorf("made %v", got)
	}
	if got := a.Made(); !slices.Equal(got, []uint64{0, 0, 0}) {
		t.Errorf("made %v", got)
	}
}

// T11: what one action may have kept of old content is spent in the order of its
// paths; what does not fit is not kept, and takes nothing from what does.
func TestRoom(t *testing.T) {
	room := Room{Left: 10}
	for _, c := range []struct {
		size int
		kept bool
	}{{4, true}, {7, false}, {6, true}, {0, true}, {1, false}} {
		b := room.Keep(Before{Content: make([]byte, c.size), Read: true})
		if b.Read != c.kept || (b.Content == nil) == c.kept {
			t.Errorf("%d bytes: %+v", c.size, b)
		}
	}
	if b := room.Keep(Before{}); b.Read {
		t.Error("what was not read is kept")
	}
	spent := Room{Left: -1}
	if spent.Take(0) || spent.Take(1<<63) {
		t.Error("there was no room")
	}
}

// S9: an empty list of attributes has no hash, and every difference of another
// shows in it.
func TestAttributesHash(t *testing.T) {
	if AttributesHash(nil) != nil || AttributesHash([]Attribute{}) != nil {
		t.Error("no attributes have a hash")
	}
	seen := make(map[Hash]bool)
	for _, list := range [][]Attribute{
		{{"user.a", nil}}, {{"user.a", []byte("x")}}, {{"user.ax", nil}}, {{"user.a", nil}, {"user.b", nil}}, {{"user.b", nil}},
	} {
		h := AttributesHash(list)
		if seen[*h] {
			t.Errorf("%v has another's hash", list)
		}
		seen[*h] = true
	}
}

// S5: two paths of one change that reach one place or one file, and a file where
// another path needs a directory, are refused; names that only begin alike are
// not.
func TestOnePlaceEach(t *testing.T) {
	at := func(ino uint64, name Path, file uint64) Before {
		b := nothing()
		b.Fact.Base.Landing = Landing{Dev: 1, Ino: ino, Name: name}
		if file > 0 {
			v := *base().Version
			v.Ino, b.Fact.Base.Version = file, &v
		}
		return b
	}
	for name, c := range map[string]struct {
		a, b Before
		same bool
	}{
		"two files":           {at(2, "a", 10), at(2, "b", 11), false},
		"one landing":         {at(2, "a", 0), at(2, "a", 0), true},
		"other directories":   {at(2, "a", 0), at(3, "a", 0), false},
		"hard links":          {at(2, "a", 10), at(3, "b", 10), true},
		"a file as directory": {at(2, "new", 0), at(2, "new/f", 0), true},
		"the other way":       {at(2, "new/x/f", 0), at(2, "new", 0), true},
		"deeper":              {at(2, "new/x", 0), at(2, "new/x/y/z", 0), true},
		"siblings":            {at(2, "new/x", 0), at(2, "new/y", 0), false},
		"names alike":         {at(2, "new", 0), at(2, "newer/f", 0), false},
	} {
		a := Action{FileWrite: &FileWrite{Changes: []Change{write("x"), {Path: "/home/alice/b", Write: &Write{Content: []byte("y")}}}}}
		c.a.Fact.Path, c.b.Fact.Path = there, "/home/alice/b"
		_, err := a.Plan([]Before{c.a, c.b}, umask)
		if got := refusal.Is(err, refusal.SamePlace); got != c.same || !c.same && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// S9: what the directory or the file says of permissions, groups and attributes
// is what is planned: a default list instead of the umask, every attribute with
// what replaces a file, and where the group cannot be given, nothing for the one
// that comes in its place beyond what anybody may.
func TestPlanOfMetadata(t *testing.T) {
	list := []Attribute{{Name: "user.a", Value: []byte("x")}}
	attributed := standing("old")
	attributed.Fact.Attributes = list
	foreign := standing("old")
	foreign.Fact.AnyGroup, foreign.Fact.Base.Version.Mode = true, 0o764
	given := nothing()
	given.Fact.Default = ptr(uint32(0o760))
	none := standing("old")
	link := standing("old")
	link.Fact.Base.Version.Kind = Symlink
	left, back := image("old", 0o644), image("older", 0o600)
	listed, lost := back, back
	listed.Attributes, lost.GID = AttributesHash(list), 999
	target := Image{Kind: Symlink, Hash: ptr(HashOf([]byte("to"))), Size: 2, Mode: 0o777}
	for name, c := range map[string]struct {
		a      Action
		before Before
		want   Planned // Does, Group, Exact, Attributes, and of Result mode, group and kind
	}{
		"attributes":        {change(write("new")), attributed, Planned{Does: Replaces, Group: true, Exact: true, Attributes: list, Result: Image{Mode: 0o644, GID: 100}}},
		"none":              {change(write("new")), none, Planned{Does: Replaces, Group: true, Exact: true, Result: Image{Mode: 0o644, GID: 100}}},
		"a foreign group":   {change(write("new")), foreign, Planned{Does: Replaces, Exact: true, Result: Image{Mode: 0o744}}},
		"a default list":    {change(write("new")), given, Planned{Does: Creates, Result: Image{Mode: 0o660}}},
		"without":           {change(write("new")), nothing(), Planned{Does: Creates, Result: Image{Mode: 0o640}}},
		"undo":              {undo(Restore{Path: there, Left: left, Back: listed, Content: []byte("older"), Attributes: list}), none, Planned{Does: Replaces, Group: true, Exact: true, Attributes: list, Result: Image{Mode: 0o600, GID: 100}}},
		"undo, lost group":  {undo(Restore{Path: there, Left: left, Back: lost, Content: []byte("older"), AnyGroup: true}), none, Planned{Does: Replaces, Exact: true, Result: Image{Mode: 0o600}}},
		"undo, a link back": {undo(Restore{Path: there, Left: Image{Absent: true}, Back: target, Content: []byte("to")}), nothing(), Planned{Does: Creates, Exact: true, Result: Image{Kind: Symlink, Mode: 0o777}}},
		"delete of a link":  {change(Change{Path: there, Delete: &Delete{}}), link, Planned{Does: Deletes}},
	} {
		p, code := planOne(t, c.a, c.before)
		w := c.want
		if code != fine || p.Does != w.Does || p.Group != w.Group || p.Exact != w.Exact || p.Result.Mode != w.Result.Mode || p.Result.GID != w.Result.GID ||
			p.Result.Kind != w.Result.Kind || !slices.EqualFunc(p.Attributes, w.Attributes, Attribute.same) || !sameHash(p.Result.Attributes, AttributesHash(w.Attributes)) {
			t.Errorf("%s: %q %+v", name, code, p)
		}
	}
	for name, c := range map[string]struct {
		a      Action
		before Before
		want   refusal.Code
	}{
		"a link in a file's place":      {undo(Restore{Path: there, Left: left, Back: target, Content: []byte("to")}), none, refusal.NotRegular},
		"attributes changed since":      {undo(Restore{Path: there, Left: left, Back: back, Content: []byte("older")}), attributed, refusal.Conflict},
		"the same with its attributes":  {change(write("old")), attributed, refusal.NoChange},
		"the same, with no group":       {undo(Restore{Path: there, Left: left, Back: func() Image { i := left; i.GID = 999; return i }(), Content: []byte("old"), AnyGroup: true}), none, refusal.NoChange},
		"a link where a file was left":  {undo(Restore{Path: there, Left: left, Back: Image{Absent: true}}), link, refusal.Conflict},
		"the same bytes, as a link now": {undo(Restore{Path: there, Left: left, Back: back, Content: []byte("older")}), link, refusal.Conflict},
	} {
		if _, code := planOne(t, c.a, c.before); code != c.want {
			t.Errorf("%s: %q, want %q", name, code, c.want)
		}
	}
}

// S6: the directories missing on the way to a landing are named by it.
func TestMissing(t *testing.T) {
	for name, want := range map[Path]string{"f": "", "a/f": "a", "a/b/f": "a b"} {
		if got := strings.Join(Landing{Name: name}.Missing(), " "); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
