package disk

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/stage"
	"countersign/internal/testas"
	"countersign/tests/hands"
	"countersign/tests/lab"
)

// coarse makes a home where two writes within one second have one stamp, and
// where a new file may take the number of one that was just removed: ext4
// with the small inodes of its older days.
func coarse(t *testing.T) (home string, ok bool) {
	return testas.Prepared(t, testas.Person, func() string {
		dir := testas.Dir(t)
		lab.Filesystem(t, dir, 16, "mkfs.ext4", "-q", "-I", "128")
		home := filepath.Join(dir, "home")
		must(t, os.Mkdir(home, 0o755), os.Chown(home, testas.Person, testas.Person))
		return home
	})
}

// withinOneSecond does something that must happen between two ticks of a clock
// of seconds, and does it again where it did not.
func withinOneSecond(t *testing.T, do func() (stamps bool)) {
	t.Helper()
	for range 20 {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1020 * time.Millisecond)))
		if do() {
			return
		}
		if t.Failed() {
			return
		}
	}
	t.Fatal("it never happened within a second")
}

// stamp is all that a stat tells of a file.
func stamp(t *testing.T, path string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(path, &st))
	st.Atim = unix.Timespec{}
	return st
}

// S13: where a rewrite of the same size leaves no trace in any stamp, it is
// found by its bytes, at every step up to the exchange, and stays.
func TestRewriteWithoutAStamp(t *testing.T) {
	home, ok := coarse(t)
	if !ok {
		return
	}
	path := home + "/f"
	for _, at := range []stage.Step{"before", stage.Create, stage.Write, stage.Hold} {
		t.Run(string(at), func(t *testing.T) {
			withinOneSecond(t, func() bool {
				os.Remove(path)
				must(t, os.WriteFile(path, []byte("old\n"), 0o644))
				before := stamp(t, path)
				rewrite := func() error {
					f, err := os.OpenFile(path, os.O_WRONLY, 0)
					if err != nil {
						return err
					}
					defer f.Close()
					_, err = f.WriteString("OLD\n")
					return err
				}
				h := hands.New(home, func(c *stage.Config) { c.At = onceAt(at, rewrite) })
				in, _, err := h.Intent(hands.Changes(hands.Edit(path, "old", "new")))
				must(t, err)
				if at == "before" {
					must(t, rewrite())
				}
				out, _, err := h.Carry(in)
				if stamp(t, path) != before {
					return false // it took longer than a second, and shows nothing
				}
				if !refusal.Is(err, refusal.Changed) {
					t.Errorf("%+v, %v", out, err)
				}
				if b, err := os.ReadFile(path); err != nil || string(b) != "OLD\n" {
					t.Errorf("it holds %q, %v", b, err)
				}
				return true
			})
		})
	}
}

// S11: a file that another program puts at the staged name, with the staged
// file's size, mode and every stamp, is never put in place and never removed:
// the staged file is held open, so that no other can have its number.
func TestStagedNameTakenWithTheSameStamps(t *testing.T) {
	home, ok := coarse(t)
	if !ok {
		return
	}
	path := home + "/f"
	withinOneSecond(t, func() bool {
		os.Remove(path)
		must(t, os.WriteFile(path, []byte("old\n"), 0o644))
		var in protocol.Intent
		var aside string
		var before, after unix.Stat_t
		h := hands.New(home, func(c *stage.Config) {
			c.At = onceAt(stage.Hold, func() error {
				aside = filepath.Join(home, in.Staged[0])
				before = stamp(t, aside)
				must(t, os.Remove(aside), os.WriteFile(aside, []byte("bad\n"), 0o644), os.Chmod(aside, os.FileMode(before.Mode&0o777)))
				after = stamp(t, aside)
				return nil
			})
		})
		in, _, err := h.Intent(hands.Changes(hands.Edit(path, "old", "new")))
		must(t, err)
		out, _, err := h.Carry(in)
		defer os.Remove(aside)
		number := before.Ino
		if before.Ino = after.Ino; before != after {
			return false // not within the second
		}
		if number == after.Ino {
			t.Error("the staged file's number was given out again")
		}
		if !refusal.Is(err, refusal.Changed) {
			t.Errorf("%+v, %v", out, err)
		}
		for name, want := range map[string]string{path: "old\n", aside: "bad\n"} {
			if b, err := os.ReadFile(name); err != nil || string(b) != want {
				t.Errorf("%s holds %q, %v: want %q", name, b, err, want)
			}
		}
		return true
	})
}
