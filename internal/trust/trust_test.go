package trust

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/testas"
)

const stranger = 61231

// P2: a directory is relied on where it and all above it belong to root or to
// the one who asks, and nobody else may write there; a sticky one only above.
func TestWay(t *testing.T) {
	testas.Root(t)
	top, err := os.MkdirTemp("/tmp", "trust-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	for _, c := range []struct {
		name  string
		mode  os.FileMode
		owner int
		below bool // whether a directory below it is asked about
		ok    bool
	}{
		{"own", 0o755, 0, false, true},
		{"private", 0o700, 0, false, true},
		{"group", 0o775, 0, false, false},
		{"others", 0o757, 0, false, false},
		{"sticky", 0o777 | os.ModeSticky, 0, false, false},
		{"above-sticky", 0o777 | os.ModeSticky, 0, true, true},
		{"above-open", 0o777, 0, true, false},
		{"foreign", 0o755, stranger, false, false},
		{"above-foreign", 0o755, stranger, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(top, c.name)
			ask := dir
			if c.below {
				ask = filepath.Join(dir, "below")
			}
			if err := os.MkdirAll(ask, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Chown(dir, c.owner, 0), os.Chmod(dir, c.mode)); err != nil {
				t.Fatal(err)
			}
			var bad *Untrusted
			err := Way(ask, 0)
			if (err == nil) != c.ok || err != nil && !errors.As(err, &bad) {
				t.Errorf("%v", err)
			}
			if c.owner == stranger {
				if err := Way(ask, stranger); err != nil {
					t.Errorf("asked by its owner: %v", err)
				}
			}
		})
	}
	file := filepath.Join(top, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if Way(file, 0) == nil || Way(filepath.Join(top, "absent"), 0) == nil {
		t.Error("a file, or nothing, is a directory to rely on")
	}
}

// P1: a path that goes through another user's link leads where that user
// wants, and is refused, wherever on the way the link stands.
func TestLinks(t *testing.T) {
	testas.Root(t)
	top := t.TempDir()
	mine, theirs := filepath.Join(top, "mine"), filepath.Join(top, "theirs")
	for _, l := range []string{mine, theirs} {
		if err := os.Symlink("/etc", l); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Lchown(theirs, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	for path, ok := range map[string]bool{
		mine: true, filepath.Join(mine, "new/below"): true, filepath.Join(top, "new"): true,
		theirs: false, filepath.Join(theirs, "new/below"): false,
	} {
		var bad *Untrusted
		if err := Links(path, 0); (err == nil) != ok || err != nil && !errors.As(err, &bad) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := Links(theirs, stranger); err != nil {
		t.Errorf("asked by its owner: %v", err)
	}
}
