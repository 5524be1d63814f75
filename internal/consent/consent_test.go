package consent

import (
	"strings"
	"testing"

	"countersign/internal/action"
)

// seenOnce is what an owner was shown of one file.
func seenOnce() Shown {
	return Shown{
		ID: "abcdefghijkmn", Digest: action.HashOf([]byte("action")), Detail: action.HashOf([]byte("detail")), Reversible: true,
		Facts: []action.Fact{{
			Path: "/home/alice/a", Real: "/home/alice/A",
			Base: action.Base{
				Landing: action.Landing{Dev: 1, Ino: 2, Name: "A"},
				Version: &action.Version{Hash: action.HashOf([]byte("old")), Size: 3, Mode: 0o644, UID: 1000, GID: 100,
					Dev: 1, Ino: 3, Links: 1, Mtime: 4, Ctime: 5},
			},
		}},
	}
}

func prefix(t *testing.T, s Shown) string {
	t.Helper()
	p, err := s.Prefix()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// O4, T7: the prefix is over the ID, the action, where each path landed, what
// stood there, the detail, and whether it can be undone; a touch or a backup
// of the file leaves it as it is.
func TestPrefixBinds(t *testing.T) {
	type change = func(*Shown, *action.Fact, *action.Version)
	for name, c := range map[string]struct {
		change change
		same   bool
	}{
		"nothing":          {func(*Shown, *action.Fact, *action.Version) {}, true},
		"ID":               {func(s *Shown, _ *action.Fact, _ *action.Version) { s.ID = "bbcdefghijkmn" }, false},
		"action":           {func(s *Shown, _ *action.Fact, _ *action.Version) { s.Digest[0]++ }, false},
		"detail":           {func(s *Shown, _ *action.Fact, _ *action.Version) { s.Detail[31]++ }, false},
		"reversible":       {func(s *Shown, _ *action.Fact, _ *action.Version) { s.Reversible = false }, false},
		"no file":          {func(s *Shown, _ *action.Fact, _ *action.Version) { s.Facts = nil }, false},
		"the file twice":   {func(s *Shown, f *action.Fact, _ *action.Version) { s.Facts = append(s.Facts, *f) }, false},
		"path":             {func(_ *Shown, f *action.Fact, _ *action.Version) { f.Path = "/home/alice/b" }, false},
		"landing's path":   {func(_ *Shown, f *action.Fact, _ *action.Version) { f.Real = f.Path }, false},
		"directory device": {func(_ *Shown, f *action.Fact, _ *action.Version) { f.Base.Landing.Dev++ }, false},
		"directory inode":  {func(_ *Shown, f *action.Fact, _ *action.Version) { f.Base.Landing.Ino++ }, false},
		"name on disk":     {func(_ *Shown, f *action.Fact, _ *action.Version) { f.Base.Landing.Name = "a" }, false},
		"gone":             {func(_ *Shown, f *action.Fact, _ *action.Version) { f.Base.Version = nil }, false},
		"content":          {func(_ *Shown, _ *action.Fact, v *action.Version) { v.Hash[0]++ }, false},
		"mode":             {func(_ *Shown, _ *action.Fact, v *action.Version) { v.Mode = 0o755 }, false},
		"owner":            {func(_ *Shown, _ *action.Fact, v *action.Version) { v.UID++ }, false},
		"group":            {func(_ *Shown, _ *action.Fact, v *action.Version) { v.GID++ }, false},
		"a touch":          {func(_ *Shown, _ *action.Fact, v *action.Version) { v.Mtime++; v.Ctime++ }, true},
		"a backup":         {func(_ *Shown, _ *action.Fact, v *action.Version) { v.Links++; v.Ctime++ }, true},
		"a copy of it":     {func(_ *Shown, _ *action.Fact, v *action.Version) { v.Ino++; v.Dev++ }, true},
	} {
		s := seenOnce()
		c.change(&s, &s.Facts[0], s.Facts[0].Base.Version)
		if same := prefix(t, s) == prefix(t, seenOnce()); same != c.same {
			t.Errorf("%s: the same prefix: %v", name, same)
		}
	}
}

// T7: a new prefix comes exactly with what SameContent calls another content.
func TestPrefixAgreesWithSameContent(t *testing.T) {
	for name, change := range map[string]func(*action.Version){
		"hash": func(v *action.Version) { v.Hash[1]++ }, "mode": func(v *action.Version) { v.Mode++ },
		"owner": func(v *action.Version) { v.UID++ }, "group": func(v *action.Version) { v.GID++ },
		"inode": func(v *action.Version) { v.Ino++ }, "mtime": func(v *action.Version) { v.Mtime++ },
		"ctime": func(v *action.Version) { v.Ctime++ }, "links": func(v *action.Version) { v.Links++ },
	} {
		a, b := seenOnce(), seenOnce()
		change(b.Facts[0].Base.Version)
		if same := prefix(t, a) == prefix(t, b); same != a.Facts[0].Base.SameContent(b.Facts[0].Base) {
			t.Errorf("%s: the same prefix: %v", name, same)
		}
	}
}

// O4: what an owner gives names a preview by 16 hex digits or more, in either
// case, and nothing else does.
func TestNames(t *testing.T) {
	whole := prefix(t, seenOnce())
	if len(whole) != prefixWhole || strings.Trim(whole, "0123456789abcdef") != "" {
		t.Fatalf("the whole prefix is %q", whole)
	}
	other := strings.Repeat("0", 63) + "1"
	for name, c := range map[string]struct {
		given, whole string
		want         bool
	}{
		"what is shown":  {whole[:PrefixShown], whole, true},
		"more":           {whole[:40], whole, true},
		"all":            {whole, whole, true},
		"in upper case":  {strings.ToUpper(whole[:PrefixShown]), whole, true},
		"nothing":        {"", whole, false},
		"one digit less": {whole[:PrefixShown-1], whole, false},
		"another's":      {other[:PrefixShown], whole, false},
		"the end of it":  {whole[64-PrefixShown:], whole, false},
		"wrong at last":  {whole[:63] + string(whole[63]^1), whole, false},
		"too long":       {whole + "0", whole, false},
		"with a space":   {" " + whole[:PrefixShown], whole, false},
		"of no preview":  {whole[:PrefixShown], "", false},
		"of half a one":  {whole[:PrefixShown], whole[:PrefixShown], false},
		"both nothing":   {"", "", false},
	} {
		if got := Names(c.given, c.whole); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
