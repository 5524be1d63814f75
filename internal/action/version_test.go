package action

import (
	"strings"
	"testing"
)

// base is a captured file with no field empty.
func base() Base {
	return Base{
		Landing: Landing{Dev: 1, Ino: 2, Name: "a.txt"},
		Version: &Version{
			Hash: HashOf([]byte("old")), Size: 3, Mode: 0o644, UID: 1000, GID: 100,
			Dev: 1, Ino: 3, Links: 1, Mtime: 10, Ctime: 20,
		},
	}
}

// T7: there are three comparisons. SameContent, for consent, expect and undo:
// hash, mode, owner, group and landing. Same, for a capture against disk: the
// whole. SameDisplaced, after an exchange: without ctime, which the exchange
// changes, and the count of links.
func TestComparisons(t *testing.T) {
	for name, c := range map[string]struct {
		flip                      func(*Base)
		content, whole, displaced bool
	}{
		"nothing":           {func(*Base) {}, true, true, true},
		"directory device":  {func(b *Base) { b.Landing.Dev++ }, false, false, true},
		"directory inode":   {func(b *Base) { b.Landing.Ino++ }, false, false, true},
		"the name on disk":  {func(b *Base) { b.Landing.Name = "A.txt" }, false, false, true},
		"content":           {func(b *Base) { b.Version.Hash[31]++ }, false, false, false},
		"mode":              {func(b *Base) { b.Version.Mode |= 0o4000 }, false, false, false},
		"owner":             {func(b *Base) { b.Version.UID++ }, false, false, false},
		"group":             {func(b *Base) { b.Version.GID++ }, false, false, false},
		"size":              {func(b *Base) { b.Version.Size++ }, true, false, false},
		"device":            {func(b *Base) { b.Version.Dev++ }, true, false, false},
		"inode, as a copy":  {func(b *Base) { b.Version.Ino++ }, true, false, false},
		"mtime, as a touch": {func(b *Base) { b.Version.Mtime++ }, true, false, false},
		"ctime":             {func(b *Base) { b.Version.Ctime++ }, true, false, true},
		"links":             {func(b *Base) { b.Version.Links++ }, true, false, true},
	} {
		a, b := base(), base()
		c.flip(&b)
		for _, way := range [][2]Base{{a, b}, {b, a}} {
			if got := way[0].SameContent(way[1]); got != c.content {
				t.Errorf("%s: SameContent %v", name, got)
			}
			if got := way[0].Same(way[1]); got != c.whole {
				t.Errorf("%s: Same %v", name, got)
			}
			if got := way[0].Version.SameDisplaced(*way[1].Version); got != c.displaced {
				t.Errorf("%s: SameDisplaced %v", name, got)
			}
		}
	}
}

// T7: absence is compared too: where nothing stands is the same as nothing,
// never as a file.
func TestComparisonsOfAbsence(t *testing.T) {
	file, gone := base(), base()
	gone.Version = nil
	if !gone.Same(gone) || !gone.SameContent(gone) {
		t.Error("nothing is not the same as nothing")
	}
	for _, way := range [][2]Base{{file, gone}, {gone, file}} {
		if way[0].Same(way[1]) || way[0].SameContent(way[1]) {
			t.Error("a file is the same as nothing")
		}
	}
	elsewhere := gone
	elsewhere.Landing.Ino++
	if gone.Same(elsewhere) || gone.SameContent(elsewhere) {
		t.Error("nothing in one directory is the same as nothing in another")
	}
}

// T1: an undo knows what an action left by hash, mode and group, or absence.
func TestImageIs(t *testing.T) {
	for name, c := range map[string]struct {
		flip func(*Base)
		want bool
	}{
		"nothing": {func(*Base) {}, true},
		"touched": {func(b *Base) { b.Version.Mtime++; b.Version.Ctime++; b.Version.Ino++ }, true},
		"content": {func(b *Base) { b.Version.Hash[0]++ }, false},
		"mode":    {func(b *Base) { b.Version.Mode = 0o600 }, false},
		"set-id":  {func(b *Base) { b.Version.Mode |= 0o4000 }, false},
		"group":   {func(b *Base) { b.Version.GID++ }, false},
		"gone":    {func(b *Base) { b.Version = nil }, false},
	} {
		a, b := base(), base()
		c.flip(&b)
		if got := (Fact{Base: a}).Image().Is(Fact{Base: b}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	gone := Fact{}
	if !gone.Image().Is(gone) || gone.Image().Is(Fact{Base: base()}) {
		t.Error("an absent image is not known by absence")
	}
}

// T3: keeper and scribe planned the same where everything a result says is the
// same; what a peer sends as no image at all is no result, and no crash.
func TestSameResult(t *testing.T) {
	old := image("old", 0o644)
	size, mode, group, hash := old, old, old, old
	size.Size++
	mode.Mode++
	group.GID++
	hash.Hash = ptr(HashOf([]byte("new")))
	for name, c := range map[string]struct {
		a, b Image
		want bool
	}{
		"equal":           {old, image("old", 0o644), true},
		"both absent":     {Image{Absent: true}, Image{Absent: true}, true},
		"one absent":      {old, Image{Absent: true}, false},
		"size":            {old, size, false},
		"mode":            {old, mode, false},
		"group":           {old, group, false},
		"hash":            {old, hash, false},
		"no image":        {old, Image{}, false},
		"two no images":   {Image{}, Image{}, false},
		"absent, no file": {Image{Absent: true}, Image{}, false},
	} {
		if c.a.SameResult(c.b) != c.want || c.b.SameResult(c.a) != c.want {
			t.Errorf("%s: not %v", name, c.want)
		}
	}
}

// T2: an ID is the keeper's making, random, of one form.
func TestIDs(t *testing.T) {
	seen := map[ID]bool{}
	for range 10_000 {
		id := NewID()
		if !id.Valid() || seen[id] {
			t.Fatalf("ID %q: valid %v, seen before %v", id, id.Valid(), seen[id])
		}
		seen[id] = true
	}
	for _, id := range []ID{
		"", "abcdefghijkm", "abcdefghijkmno", "ABCDEFGHIJKMN", "abcdefghijklm", "abcdefghijkm0", "abcdefghijkm1",
		"abcdef-hijkmn", "abcdef\nhijkmn", "abcdefg/../ab", "abcdefghijkmo", ID(strings.Repeat("é", 6) + "a"),
	} {
		if id.Valid() {
			t.Errorf("%q passes for an ID", id)
		}
	}
}

// T2: a hash is read whole or not at all.
func TestHashText(t *testing.T) {
	h := HashOf([]byte("x"))
	var got Hash
	if err := got.UnmarshalText([]byte(h.String())); err != nil || got != h {
		t.Errorf("%v, %v", got, err)
	}
	for _, s := range []string{"", h.String()[:62], h.String() + "00", strings.Repeat("g", 64), " " + h.String()[1:]} {
		if err := got.UnmarshalText([]byte(s)); err == nil {
			t.Errorf("%q is read as a hash", s)
		}
	}
}
