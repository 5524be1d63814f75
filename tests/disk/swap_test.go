package disk

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/stage"
	"countersign/internal/testas"
	"countersign/tests/hands"
)

// swapping exchanges a directory of a home with a link to outside, over and
// over, while changes of several files in it, one of them in directories that
// are missing, are carried out. Then nothing outside may have changed.
func swapping(t *testing.T) {
	const swaps = 10_000
	home, outside := t.TempDir(), t.TempDir()
	uid := os.Geteuid()
	must(t, os.Mkdir(home+"/dir", 0o755), os.Symlink(outside, home+"/link"))
	tree(t, home+"/dir", uid)
	tree(t, outside, uid)
	h := hands.New(home, func(c *stage.Config) { c.Sync = func(*os.File) error { return nil } })
	before := seen(t, outside)
	var stop atomic.Bool
	done := make(chan int)
	go func() {
		n := 0
		for ; n < swaps || !stop.Load(); n++ {
			if err := unix.Renameat2(unix.AT_FDCWD, home+"/dir", unix.AT_FDCWD, home+"/link", unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				break
			}
		}
		done <- n
	}()
	var landed, refused int
	for n := 0; landed < 100 || refused < 100; n++ {
		if n > 100_000 {
			t.Fatalf("%d landed, %d refused", landed, refused)
		}
		dir := home + "/dir/"
		out, err := h.Do(hands.Changes(
			hands.Write(dir+"one/a", fmt.Sprintf("a %d\n", n)),
			hands.Write(fmt.Sprintf("%stwo/new%d/deep/d", dir, n), "d\n"),
			hands.Write(dir+"two/c", fmt.Sprintf("c %d\n", n)),
		))
		switch {
		case err != nil:
			refused++
		case out.Result == protocol.Landed:
			landed++
		default:
			t.Fatalf("%+v", out)
		}
	}
	stop.Store(true)
	if got := <-done; got < swaps {
		t.Errorf("%d swaps", got)
	}
	same(t, before, seen(t, outside))
	for _, dir := range []string{home, outside} {
		for path := range seen(t, dir) {
			if strings.Contains(path, ".countersign-") {
				t.Errorf("%s was left", path)
			}
		}
	}
	t.Logf("%d landed, %d refused", landed, refused)
}

// S2, S6: a directory above several files of one change that is swapped for a
// link to outside, ten thousand times, leads no byte outside, and no directory
// is made there: as the person, whom the kernel would let write there.
func TestSwappedAboveSeveral(t *testing.T) {
	if testas.User(t, testas.Person) {
		swapping(t)
	}
}

// S2, S6: the same as root, whom no mode bit holds.
func TestSwappedAboveSeveralAsRoot(t *testing.T) {
	testas.Root(t)
	swapping(t)
}

// onceAt does something at the first of a kind of step.
func onceAt(at stage.Step, do func() error) func(stage.Step, action.Path) error {
	done := false
	return func(s stage.Step, _ action.Path) error {
		if s != at || done {
			return nil
		}
		done = true
		return do()
	}
}

// S13, S22: a pipe, a socket, a link or a directory that is put in the
// place of one of several files at any step is not opened and not waited on,
// and stays; the others are as they were.
func TestOneOfSeveralSwapped(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, put := range map[string]func(string) error{
		"pipe":      func(p string) error { return unix.Mkfifo(p, 0o644) },
		"socket":    func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o644, 0) },
		"link":      func(p string) error { return os.Symlink("/etc/passwd", p) },
		"directory": func(p string) error { return os.Mkdir(p, 0o755) },
	} {
		for _, at := range []stage.Step{stage.MakeDir, stage.Create, stage.Write, stage.Hold, stage.Exchange} {
			t.Run(fmt.Sprint(name, " at ", at), func(t *testing.T) {
				home := t.TempDir()
				tree(t, home, os.Geteuid())
				swapped := false
				var before map[string]string
				h := hands.New(home, func(c *stage.Config) {
					c.At = onceAt(at, func() error {
						swapped = true
						err := errors.Join(os.Remove(home+"/two/c"), put(home+"/two/c"))
						before = seen(t, home)
						return err
					})
				})
				out, err := h.Do(several(home, 3<<10))
				if !swapped || out.Result == protocol.Landed || err == nil && out.Refused == nil || err != nil && refusal.As(err) == nil {
					t.Errorf("swapped: %v, %+v, %v", swapped, out, err)
				}
				after := seen(t, home)
				for path := range after {
					if left := strings.TrimPrefix(path, home); strings.Contains(left, ".countersign-") || strings.Contains(left, "/new") {
						t.Errorf("%s was left", left)
					}
				}
				if before[home+"/two/c"] != after[home+"/two/c"] {
					t.Errorf("theirs is %q, was %q", after[home+"/two/c"], before[home+"/two/c"])
				}
				for name, want := range map[string]string{"one/a": "old a\n", "two/b": "old b\n"} {
					if b, err := os.ReadFile(home + "/" + name); err != nil || string(b) != want {
						t.Errorf("%s holds %q, %v", name, b, err)
					}
				}
			})
		}
	}
}
