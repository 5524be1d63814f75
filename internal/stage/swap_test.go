package stage

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

const swaps = 10_000

// swapping exchanges a directory of a home with a link to outside, over and
// over, while changes of a file in it are carried out; then nothing outside
// may have changed.
func swapping(t *testing.T) {
	outside := t.TempDir()
	h := newHome(t)
	h.sync = func(*os.File) error { return nil }
	must(t, os.Mkdir(h.path("dir"), 0o755), os.Symlink(outside, h.path("link")))
	must(t, os.WriteFile(outside+"/f", []byte("theirs 0"), 0o644), os.WriteFile(outside+"/gone", []byte("theirs"), 0o644))
	var before unix.Stat_t
	must(t, unix.Stat(outside, &before))
	h.put("dir/f", "mine 0", 0o644)
	var stop atomic.Bool
	done := make(chan int)
	go func() {
		n := 0
		for ; n < swaps || !stop.Load(); n++ {
			if err := unix.Renameat2(unix.AT_FDCWD, h.path("dir"), unix.AT_FDCWD, h.path("link"), unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				break
			}
		}
		done <- n
	}()
	var landed, refused, n int
	for landed < 300 || refused < 300 {
		if n++; n > 200_000 {
			t.Fatalf("%d landed, %d refused", landed, refused)
		}
		a := h.write("dir/f", fmt.Sprintf("mine %d", n))
		switch n % 3 {
		case 1:
			a = h.write(fmt.Sprintf("dir/new%d", n), "new")
		case 2:
			a = h.delete("dir/gone")
		}
		in, err := h.plan(a)
		if err == nil {
			var out protocol.Outcome
			if out, _, err = h.Carry(in); err == nil && out.Result == protocol.Landed {
				landed++
			}
		}
		if err != nil {
			refused++
		}
	}
	stop.Store(true)
	if got := <-done; got < swaps {
		t.Errorf("%d swaps", got)
	}
	var after unix.Stat_t
	must(t, unix.Stat(outside, &after))
	if before.Mtim != after.Mtim || before.Ctim != after.Ctim {
		t.Error("a name outside was made or taken away")
	}
	for name, want := range map[string]string{"f": "theirs 0", "gone": "theirs"} {
		if b, err := os.ReadFile(outside + "/" + name); err != nil || string(b) != want {
			t.Errorf("outside, %s holds %q, %v", name, b, err)
		}
	}
}

// S2: a directory on the way that is swapped for a link to outside, ten
// thousand times, leads no byte outside: as the person, whom the kernel would
// let write there.
func TestSwappedDirectory(t *testing.T) {
	if testas.User(t, testas.Person) {
		swapping(t)
	}
}

// S2: the same as root, whom no mode bit holds.
func TestSwappedDirectoryAsRoot(t *testing.T) {
	testas.Root(t)
	swapping(t)
}

// S2: a directory that is swapped for a link to outside at any instant of a
// change, and stays so, changes nothing outside: the change lands in the
// directory that was resolved.
func TestSwappedAtEachStep(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, at := range []Step{Create, Write, Exchange, Verify, Unlink, SyncDir} {
		outside := t.TempDir()
		h := newHome(t)
		must(t, os.Mkdir(h.path("dir"), 0o755), os.Symlink(outside, h.path("link")))
		must(t, os.WriteFile(outside+"/f", []byte("theirs"), 0o644))
		h.put("dir/f", "old", 0o644)
		h.at[at] = func() {
			must(t, unix.Renameat2(unix.AT_FDCWD, h.path("dir"), unix.AT_FDCWD, h.path("link"), unix.RENAME_EXCHANGE))
		}
		h.land(h.write("dir/f", "new"))
		in, err := os.ReadFile(h.path("link/f"))
		out, err2 := os.ReadFile(outside + "/f")
		if string(in) != "new" || string(out) != "theirs" || errors.Join(err, err2) != nil {
			t.Errorf("%s: %q inside, %q outside, %v", at, in, out, errors.Join(err, err2))
		}
		if e, err := os.ReadDir(outside); err != nil || len(e) != 1 {
			t.Errorf("%s: %v, %v", at, e, err)
		}
	}
}

// S7: a grant's root that was replaced while the change was being prepared is
// refused, with nothing written in either.
func TestRootReplaced(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	for _, d := range []string{"one", "two"} {
		must(t, os.Mkdir(h.path(d), 0o755))
		h.put(d+"/f", "old", 0o644)
	}
	must(t, os.Symlink("one", h.path("root")))
	root := h.cfg.Finder.Grants.Reads[0]
	root.Root = h.path("root")
	h.cfg.Finder.Grants.Reads = append(h.cfg.Finder.Grants.Reads, root)
	h.cfg.Finder.Grants.Writes = h.cfg.Finder.Grants.Reads
	in := h.intent(h.write("root/f", "new"))
	if got := string(in.Facts[0].Real); got != h.path("one/f") {
		t.Errorf("lands at %s", got)
	}
	must(t, os.Remove(h.path("root")), os.Symlink("two", h.path("root")))
	h.refused(in, refusal.Changed) // repointed before: another landing
	in = h.intent(h.write("root/f", "new"))
	unlock := h.locks.lock([]action.Landing{in.Facts[0].Base.Landing})
	answer := make(chan error)
	go func() {
		_, _, err := h.Carry(in)
		answer <- err
	}()
	h.waits(in) // it has found the root
	must(t, os.Remove(h.path("root")), os.Symlink("one", h.path("root")))
	unlock()
	if err := <-answer; !refusal.Is(err, refusal.RootReplaced) {
		t.Error(err)
	}
	for _, d := range []string{"one", "two"} {
		if b, err := os.ReadFile(h.path(d + "/f")); err != nil || string(b) != "old" {
			t.Errorf("%s: %q, %v", d, b, err)
		}
	}
}
