package fileread

import (
	"context"
	"os"
	"testing"
	"time"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// R4: another name of a file in one of the deny list's places is refused, for
// reading and for a capture, however deep the place and however the secret came
// there, from the moment it does and until it goes; any other file with several
// names is read, and their number told.
func TestSecondNames(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	put(t, home, ".ssh/known", ".ssh/deep/er/key", ".config/google-chrome-beta/Default/Cookies", ".bash_history", "p/plain", "p/x", ".config/other/f", ".netrc")
	names := map[string]string{"known": ".ssh/known", "key": ".ssh/deep/er/key", "cookies": ".config/google-chrome-beta/Default/Cookies", "history": ".bash_history", "net": ".netrc"}
	for name, secret := range names {
		must(t, os.Link(home+"/"+secret, home+"/p/"+name))
	}
	must(t, os.Link(home+"/p/plain", home+"/p/plain2"), os.Link(home+"/.config/other/f", home+"/p/fine"))
	f := granting(t, home, grant.Grant{Root: home})
	read := func(name string) error {
		t.Helper()
		got, err := one(f, protocol.ReadWanted{Path: action.Path(home + "/p/" + name)})
		if err == nil && got.Version.Links != 2 {
			t.Errorf("%s: %d names", name, got.Version.Links)
		}
		return err
	}
	for name := range names {
		if err := read(name); !refusal.Is(err, refusal.Denied) {
			t.Errorf("%s: %v", name, err)
		}
		if _, handles, err := f.Capture([]action.Target{{Path: action.Path(home + "/p/" + name)}}); !refusal.Is(err, refusal.Denied) || handles != nil {
			t.Errorf("capture of %s: %v", name, err)
		}
	}
	for _, name := range []string{"plain", "plain2", "fine"} {
		must(t, read(name))
	}
	for range 3 { // as fast as the clock of the filesystem ticks, and faster
		must(t, os.Rename(home+"/p/plain2", home+"/.ssh/deep/er/new"))
		if err := read("plain"); !refusal.Is(err, refusal.Denied) {
			t.Errorf("a secret that came: %v", err)
		}
		must(t, os.Rename(home+"/.ssh/deep/er/new", home+"/p/plain2"), read("plain"))
	}
	must(t, os.Mkdir(home+"/.aws", 0o700), os.Link(home+"/p/x", home+"/.aws/credentials"))
	if err := read("x"); !refusal.Is(err, refusal.Denied) {
		t.Errorf("in a place that came: %v", err)
	}
	off, err := grant.DenyExcept([]string{"ssh"})
	must(t, err)
	f.Finder.Grants.Deny, f.secrets = off, new(secretPlaces)
	must(t, read("known"))
	if err := read("net"); !refusal.Is(err, refusal.Denied) {
		t.Errorf("beside an entry that is off: %v", err)
	}
}

// R4: a look that finds nothing changed is the one before; where there is more
// than can be kept, a file with several names is refused.
func TestSecretsAreKept(t *testing.T) {
	home := t.TempDir()
	put(t, home, ".ssh/a", ".ssh/b/c", "x")
	must(t, os.Link(home+"/x", home+"/y"))
	var s secretPlaces
	set := grant.Set{Home: home}
	first, err := s.look(context.Background(), set)
	must(t, err)
	if len(first.dirs) != 3 || len(first.all()) != 2 {
		t.Errorf("%d directories, %d files", len(first.dirs), len(first.all()))
	}
	time.Sleep(2 * shortly) // or what was changed so shortly before is looked into again
	first, err = s.look(context.Background(), set)
	must(t, err)
	if second, err := s.look(context.Background(), set); err != nil || second != first {
		t.Errorf("looked again: %v", err)
	}
	root, err := beneath.OpenRoot(home)
	must(t, err)
	defer root.Close()
	known, ssh := *first.dirs[".ssh"], way{rel: ".ssh"}
	for _, known.fresh = range []bool{true, false} {
		d, err := lookInto(context.Background(), root, ssh, &known, make([]byte, readBuffer), 9)
		if err != nil || (d == &known) == known.fresh {
			t.Errorf("changed shortly before: %v; looked into again: %v, %v", known.fresh, d != &known, err)
		}
	}
	put(t, home, ".ssh/now")
	if d, err := lookInto(context.Background(), root, ssh, nil, make([]byte, readBuffer), 9); err != nil || !d.fresh {
		t.Errorf("%+v, %v", d, err)
	}
	first.whole = false
	if err := first.refuse("x", identity{1, 1}); !refusal.Is(err, refusal.Denied) {
		t.Errorf("what cannot be told: %v", err)
	}
}

// R4: a place that holds more names than are looked at is not taken for one that
// holds none: then a file with several names is refused.
func TestSecretsTooMany(t *testing.T) {
	home := t.TempDir()
	put(t, home, ".ssh/a", ".ssh/b")
	for most, whole := range map[int]bool{1: false, 2: true} {
		s := secretPlaces{names: most}
		for range 2 { // the second knows what the first found
			found, err := s.look(context.Background(), grant.Set{Home: home})
			must(t, err)
			if err := found.refuse("x", identity{1, 1}); (err == nil) != whole {
				t.Errorf("two names, and %d looked at: %v", most, err)
			}
		}
	}
}
