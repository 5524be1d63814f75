package stage

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// acl is an access control list as the kernel reads it (acl(5)): what owner,
// group and others may do, more users by number, and a mask where there is one.
func acl(owner uint16, users map[uint32]uint16, group uint16, mask *uint16, other uint16) []byte {
	type entry struct {
		Tag, Perm uint16
		ID        uint32
	}
	const none = ^uint32(0)
	entries := []entry{{0x01, owner, none}}
	for _, id := range slices.Sorted(maps.Keys(users)) {
		entries = append(entries, entry{0x02, users[id], id})
	}
	entries = append(entries, entry{0x04, group, none})
	if mask != nil {
		entries = append(entries, entry{0x10, *mask, none})
	}
	entries = append(entries, entry{0x20, other, none})
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, uint32(2))
	binary.Write(&b, binary.LittleEndian, entries)
	return b.Bytes()
}

// S9 S17 S22: a set-id file, and what the person could not write by hand, is
// refused by name, with nothing changed or left behind.
func TestRefusedFiles(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	mode := func(m uint32) func(*home) error {
		return func(h *home) error { return unix.Chmod(h.path("f"), m) }
	}
	for name, c := range map[string]struct {
		made func(*home) error
		code refusal.Code
	}{
		"set-user-ID":     {mode(0o4755), refusal.SetID},
		"set-group-ID":    {mode(0o2755), refusal.SetID},
		"sticky":          {mode(0o1644), refusal.SetID},
		"not writable":    {mode(0o444), refusal.NotWritable},
		"group may write": {mode(0o464), refusal.NotWritable},
		"directory":       {func(h *home) error { return os.Chmod(h.dir, 0o500) }, refusal.NotWritable},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.put("f", "old", 0o644)
			must(t, c.made(h))
			before := h.stat("f")
			for _, a := range []action.Action{h.write("f", "new"), h.edit("f", "old", "new"), h.delete("f")} {
				in, err := h.plan(a)
				if err != nil {
					if !refusal.Is(err, c.code) {
						t.Error(err)
					}
					continue
				}
				h.refused(in, c.code)
			}
			if h.stat("f") != before {
				t.Error("the file was touched")
			}
			h.holds(map[string]string{"f": "old"})
			if name == "directory" {
				h.refused(h.intent(h.write("new", "n")), c.code)
			}
			must(t, os.Chmod(h.dir, 0o700))
		})
	}
}

// S4 S22: a link, a directory, a pipe and a socket are refused by name, in
// every kind of change, and nothing waits on them. S21 also: a directory is
// not deleted. What is deleted where a link stands is the link. S28: a staged
// name is nobody's to name.
func TestRefusedKinds(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.put("real", "old", 0o644)
	must(t, os.Symlink("real", h.path("link")), os.Symlink("nowhere", h.path("dangling")), os.Mkdir(h.path("dir"), 0o755),
		os.Symlink("dir", h.path("dirlink")), unix.Mkfifo(h.path("pipe"), 0o644), unix.Mknod(h.path("socket"), unix.S_IFSOCK|0o644, 0))
	links := map[string]bool{"link": true, "dangling": true, "dirlink": true}
	for name, code := range map[string]refusal.Code{
		"link": refusal.Link, "dangling": refusal.Link, "dirlink": refusal.Link,
		"dir": refusal.NotRegular, "pipe": refusal.NotRegular, "socket": refusal.NotRegular,
		"dirlink/f": refusal.Link, "real/f": refusal.MissingParent,
		".git": refusal.GitDirectory, ".GIT": refusal.GitDirectory, ".git/new/f": refusal.GitDirectory, "missing/.git/f": refusal.GitDirectory,
		beside: refusal.NotGranted, "missing/" + beside: refusal.NotGranted, beside + "/f": refusal.NotGranted,
	} {
		for _, a := range []action.Action{h.write(name, "new"), h.edit(name, "old", "new"), h.delete(name)} {
			if links[name] && a.FileWrite.Changes[0].Delete != nil {
				continue
			}
			if _, err := h.plan(a); !refusal.Is(err, code) {
				t.Errorf("%s: %v", name, err)
			}
			h.refused(protocol.Intent{
				ID: action.NewID(), Action: a, Staged: []string{beside},
				Facts:   []action.Fact{{Path: a.Paths()[0], Base: action.Base{Version: &action.Version{}}}},
				Results: []action.Image{{Absent: true}},
			}, code)
		}
	}
	h.hasOnly(map[string]string{"real": "", "link": "", "dangling": "", "dir": "", "dirlink": "", "pipe": "", "socket": ""})
}

func grow(in *protocol.Intent, size int) {
	in.Action.FileWrite.Changes[0].Write.Content = bytes.Repeat([]byte("x"), size)
}

// S1 T3: the scribe does only what it finds and plans itself. Whatever an
// intent says otherwise, in a place it may say it, is refused with nothing
// written.
func TestIntentMustHold(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	other := action.HashOf([]byte("another"))
	for name, c := range map[string]struct {
		bend func(*protocol.Intent)
		code refusal.Code
	}{
		"no id":             {func(in *protocol.Intent) { in.ID = "" }, refusal.BadRequest},
		"no facts":          {func(in *protocol.Intent) { in.Facts = nil }, refusal.BadRequest},
		"no results":        {func(in *protocol.Intent) { in.Results = nil }, refusal.BadRequest},
		"two results":       {func(in *protocol.Intent) { in.Results = append(in.Results, in.Results[0]) }, refusal.BadRequest},
		"an empty result":   {func(in *protocol.Intent) { in.Results[0] = action.Image{} }, refusal.BadRequest},
		"both results":      {func(in *protocol.Intent) { in.Results[0].Absent = true }, refusal.BadRequest},
		"another's fact":    {func(in *protocol.Intent) { in.Facts[0].Path += "x" }, refusal.BadRequest},
		"an unclean place":  {func(in *protocol.Intent) { in.Facts[0].Follows = in.Facts[0].Path.Dir() + "/../f" }, refusal.BadRequest},
		"no staged name":    {func(in *protocol.Intent) { in.Staged = nil }, refusal.BadRequest},
		"a path for a name": {func(in *protocol.Intent) { in.Staged[0] = "../" + beside }, refusal.BadRequest},
		"a line behind it":  {func(in *protocol.Intent) { in.Staged[0] = beside + "\n" }, refusal.BadRequest},
		"another name":      {func(in *protocol.Intent) { in.Staged[0] = ".bashrc" }, refusal.BadRequest},
		"no action":         {func(in *protocol.Intent) { in.Action = action.Action{} }, refusal.BadAction},
		"half an action":    {func(in *protocol.Intent) { in.Action = action.Action{GitWrite: &action.GitWrite{}} }, refusal.BadAction},
		"deletes nothing": {func(in *protocol.Intent) {
			in.Action.FileWrite.Changes[0] = action.Change{Path: in.Facts[0].Path, Delete: &action.Delete{}}
			in.Facts[0].Base.Version, in.Results[0] = nil, action.Image{Absent: true}
		}, refusal.BadRequest},
		"another base":       {func(in *protocol.Intent) { in.Facts[0].Base.Version.Hash = other }, refusal.Changed},
		"an older base":      {func(in *protocol.Intent) { in.Facts[0].Base.Version.Ctime-- }, refusal.Changed},
		"another directory":  {func(in *protocol.Intent) { in.Facts[0].Base.Landing.Ino++ }, refusal.Changed},
		"nothing there":      {func(in *protocol.Intent) { in.Facts[0].Base.Version = nil }, refusal.Changed},
		"another landing":    {func(in *protocol.Intent) { in.Facts[0].Real += "x" }, refusal.Differs},
		"more is lost":       {func(in *protocol.Intent) { in.Facts[0].NotKept = []string{"x"} }, refusal.Differs},
		"another result":     {func(in *protocol.Intent) { in.Results[0].Hash = &other }, refusal.Differs},
		"another mode":       {func(in *protocol.Intent) { in.Results[0].Mode = 0o755 }, refusal.Differs},
		"another detail":     {func(in *protocol.Intent) { in.Approved = &other }, refusal.Differs},
		"too much to ask":    {func(in *protocol.Intent) { in.Approved = &other; grow(in, 65) }, refusal.TooLongToAsk},
		"too much to decide": {func(in *protocol.Intent) { grow(in, 1<<20+1) }, refusal.TooLongToAuto},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.put("f", "old", 0o644)
			in := h.intent(h.write("f", "new"))
			c.bend(&in)
			h.refused(in, c.code)
			h.holds(map[string]string{"f": "old"})
		})
	}
}

// T3: an action that an owner approved lands only as the very detail that was
// shown.
func TestApprovedDetail(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.put("f", "old", 0o644)
	in := h.intent(h.write("f", "new"))
	plans, err := in.Action.Plan([]action.Before{{Fact: in.Facts[0], Content: []byte("old"), Read: true}}, 0o022)
	must(t, err)
	hash, err := action.DetailOf(plans).Hash()
	must(t, err)
	in.Approved = &hash
	if out, _, err := h.Carry(in); err != nil || out.Result != protocol.Landed {
		t.Errorf("%+v, %v", out, err)
	}
}

// FuzzIntent sends intents as the wire does. S22: whatever comes, nothing
// panics, and nothing outside the home is there that was not.
func FuzzIntent(f *testing.F) {
	dir := f.TempDir()
	must(f, os.Mkdir(dir+"/home", 0o755), os.WriteFile(dir+"/home/f", []byte("old"), 0o644))
	var made testing.T // for its Helper alone: seeds are made before any test runs
	h := homeAt(&made, dir+"/home")
	for _, a := range []action.Action{
		h.write("f", "new"), h.write("g", "new"), h.edit("f", "old", "new"), h.delete("f"),
	} {
		in, err := h.plan(a)
		must(f, err)
		b, err := canon.Encode(in)
		must(f, err)
		f.Add(b)
	}
	empty, err := canon.Encode(protocol.Intent{Action: action.Action{GitWrite: &action.GitWrite{}}})
	must(f, err)
	f.Add(empty)
	f.Fuzz(func(t *testing.T, b []byte) {
		var in protocol.Intent
		if canon.Decode(b, &in) != nil {
			return
		}
		for _, do := range []func(protocol.Intent) (protocol.Outcome, []*os.File, error){h.Carry, h.Settle} {
			out, files, err := do(in)
			for _, f := range files {
				f.Close()
			}
			if err != nil && refusal.As(err) == nil {
				t.Errorf("an error that is no refusal: %v", err)
			}
			if err == nil && out.Result == "" {
				t.Error("neither a refusal nor an outcome")
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v", entries, err)
		}
	})
}

// S3: a place is judged where it lands, under the grant it was asked for under:
// a link in the home that a grant's root goes through opens no other place.
func TestLandingIsJudged(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	dir, outside := t.TempDir(), t.TempDir()
	for _, d := range []string{".ssh", "docs", "repo/.git", "notes"} {
		must(t, os.MkdirAll(dir+"/"+d, 0o755))
	}
	for link, to := range map[string]string{"keys": ".ssh", "papers": "docs", "hooks": "repo/.git", "away": outside} {
		must(t, os.Symlink(to, dir+"/"+link))
	}
	for root, code := range map[string]refusal.Code{
		"papers": "", "keys": refusal.Denied, "hooks": refusal.GitDirectory, "away": refusal.NobodysHome,
	} {
		g := grant.Grant{Root: dir + "/" + root, MaxFileSize: 1 << 20}
		h := homeAt(t, dir)
		h.cfg.Finder.Grants.Reads, h.cfg.Finder.Grants.Writes = []grant.Grant{g}, []grant.Grant{g}
		in, err := h.plan(h.write(root+"/f", "new"))
		if code != "" {
			if !refusal.Is(err, code) {
				t.Errorf("%s: %v", root, err)
			}
			continue
		}
		must(t, err)
		if got := in.Facts[0]; string(got.Real) != dir+"/docs/f" {
			t.Errorf("%s lands at %s", got.Path, got.Real)
		}
		h.land(in.Action)
	}
	for _, d := range []string{dir + "/.ssh", dir + "/repo/.git", outside} {
		if e, err := os.ReadDir(d); err != nil || len(e) > 0 {
			t.Errorf("%s: %v, %v", d, e, err)
		}
	}
}
