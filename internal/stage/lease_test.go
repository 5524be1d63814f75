package stage

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// S14: a file that a program has open for writing is tried again, and then
// refused by name with nothing changed; once the program has closed it, between
// two tries or afterwards, the change lands.
func TestInUse(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, does := range []func(*home) action.Action{
		func(h *home) action.Action { return h.write("f", "new") }, func(h *home) action.Action { return h.delete("f") },
	} {
		for _, flags := range []int{os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND} {
			h := newHome(t)
			h.put("f", "old", 0o644)
			f, err := os.OpenFile(h.path("f"), flags, 0)
			must(t, err)
			tries := 0
			h.cfg.Lease = func(f *os.File) error { tries++; return setLease(f) }
			in := h.intent(does(h))
			if h.refused(in, refusal.InUse); tries != leaseTries {
				t.Errorf("it was tried %d times", tries)
			}
			h.holds(map[string]string{"f": "old"})
			tries = 0
			h.cfg.Lease = func(file *os.File) error {
				if tries++; tries == 2 {
					f.Close()
				}
				return setLease(file)
			}
			if out, _, err := h.Carry(in); err != nil || out.Result != protocol.Landed {
				t.Errorf("%+v, %v", out, err)
			}
		}
	}
}

// S14: who opens a file for writing between check and exchange, or behind the
// exchange, by whatever name, waits until it is decided; then their bytes are in
// the file that stands at the name, or in one that is kept and told.
func TestBreakTakesTheExchangeBack(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, does := range []string{"write", "delete"} {
		for _, at := range []Step{Exchange, Verify} {
			h := newHome(t)
			h.put("f", "old", 0o644)
			must(t, os.Link(h.path("f"), h.path("second"))) // another name of what is displaced
			a := h.write("f", "new")
			if does == "delete" {
				a = h.delete("f")
			}
			stood := false
			h.at[at] = func() { h.inPlace("second", "OLD") }
			h.at[TakeBack] = func() { stood = true }
			h.refused(h.intent(a), refusal.Changed)
			h.late.Wait()
			h.holds(map[string]string{"f": "OLD", "second": "OLD"})
			if !stood {
				t.Errorf("%s at %s: it was not exchanged", does, at)
			}
		}
	}
}

// S14 S19: who opens one of several displaced files for writing, though it was
// verified, before all are, has all of them taken back.
func TestBreakTakesAllBack(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for which := range 3 {
		h := newHome(t)
		want := map[string]string{}
		for _, f := range []string{"a", "b", "c"} {
			h.put(f, "old", 0o644)
			must(t, os.Link(h.path(f), h.path(f+" too")))
			want[f], want[f+" too"] = "old", "old"
		}
		in := h.intent(all(h.write("a", "new"), h.write("b", "new"), h.delete("c")))
		name := in.Facts[which].Path.Name()
		h.step = func(s Step, p action.Path) error {
			if s == Verify && p == in.Facts[2].Path {
				h.inPlace(name+" too", "OLD")
			}
			return nil
		}
		h.refused(in, refusal.Changed)
		h.late.Wait()
		want[name], want[name+" too"] = "OLD", "OLD"
		h.holds(want)
	}
}

// S14 S23: who opens the displaced file for writing once it was verified, and
// before it is removed, does not lose it: the change has landed, and the old file
// is kept, handed over and told.
func TestDisplacedFileInUse(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, more := range map[string]string{"one directory": "", "several": "dir/g"} {
		h := newHome(t)
		must(t, os.Mkdir(h.path("dir"), 0o755))
		h.put("f", "old", 0o644)
		must(t, os.Link(h.path("f"), h.path("second")))
		a := h.write("f", "new")
		if more != "" {
			a = all(a, h.write(more, "more"))
		}
		h.at[Unlink] = func() { h.inPlace("second", "OLD") }
		out, files, err := h.Carry(h.intent(a))
		h.late.Wait()
		if err != nil || out.Result != protocol.Landed || len(out.Changes[0].After) != 1 || len(files) != 1 || len(out.Kept) != 1 {
			t.Fatalf("%s: %+v, %v", name, out, err)
		}
		files[0].Close()
		for path, want := range map[string]string{"f": "new", beside: "OLD", "second": "OLD"} {
			if b, err := os.ReadFile(h.path(path)); err != nil || string(b) != want {
				t.Errorf("%s: %s holds %q, %v", name, path, b, err)
			}
		}
	}
}

// S14 S19: who has opened a new file for writing before it is taken back, and
// writes only afterwards, finds what they wrote at the name.
func TestNewFileIsWrittenLater(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.put("a", "old", 0o644)
	h.put("b", "old", 0o644)
	in := h.intent(all(h.write("a", "new"), h.write("b", "new")))
	ended, written := make(chan bool), make(chan error, 1)
	h.step = func(s Step, p action.Path) error {
		if s != Exchange || p != in.Facts[1].Path {
			return nil
		}
		ino, opened := h.stat("a").Ino, make(chan bool)
		go func() {
			f, err := os.OpenFile(h.path("a"), os.O_WRONLY, 0)
			close(opened)
			<-ended
			if err == nil {
				_, err = f.WriteString("NEW")
				err = errors.Join(err, f.Close())
			}
			written <- err
		}()
		for waits := true; waits && !breaking(t, ino); time.Sleep(time.Millisecond) {
			select {
			case <-opened: // nobody kept it from it
				waits = false
			default:
			}
		}
		return unix.EIO
	}
	out, files, err := h.Carry(in)
	close(ended)
	must(t, <-written)
	if err != nil || out.Changes[0].Did != protocol.Overtaken {
		t.Fatalf("%+v, %v", out, err)
	}
	h.keptAside(out, files, "old")
	h.holds(map[string]string{"a": "NEW", "b": "old", beside: "old"})
}

// S14 S19: a new file that somebody opens for writing while the change may still
// be taken back is theirs then: it stands, with what they write, and is told;
// the other files are as they were.
func TestNewFileInUse(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, created := range []bool{false, true} {
		h := newHome(t)
		h.put("a", "old", 0o644)
		h.put("b", "old", 0o644)
		first := "a"
		if created {
			first = "n"
		}
		in := h.intent(all(h.write(first, "new"), h.write("b", "new")))
		h.step = func(s Step, p action.Path) error {
			if s != Exchange || p != in.Facts[1].Path {
				return nil
			}
			h.inPlace(first, "NEW")
			return unix.EIO
		}
		out, files, err := h.Carry(in)
		h.late.Wait()
		if err != nil || out.Result != protocol.NotLanded || out.Changes[0].Did != protocol.Overtaken || out.Changes[1].Did != protocol.Untouched {
			t.Fatalf("%+v, %v", out, err)
		}
		if created {
			h.holds(map[string]string{"n": "NEW", "a": "old", "b": "old"})
			continue
		}
		h.keptAside(out, files, "old")
		h.holds(map[string]string{"a": "NEW", "b": "old", beside: "old"})
	}
}

// S14: where a filesystem has no leases the answer says of each file that was
// replaced or deleted that only the exchange stood; where it has them, nothing.
func TestNoLease(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, errno := range []error{nil, unix.EINVAL, unix.EACCES} {
		h := newHome(t)
		h.put("a", "old", 0o644)
		h.put("b", "old", 0o644)
		if errno != nil {
			h.cfg.Lease = func(*os.File) error { return errno }
		}
		for _, c := range h.landAll(all(h.write("a", "new"), h.delete("b"))) {
			if (c.NoLease != "") != (errno != nil) {
				t.Errorf("%v: %q", errno, c.NoLease)
			}
		}
	}
}

// S14: files are held no longer than other programs are to wait: what takes
// longer, whatever it is at, is taken back and refused as busy.
func TestHoldIsBounded(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, slow := range []Step{Hold, Exchange, Verify} {
		for which := range 3 {
			if slow != Hold && which == 2 {
				continue // it is over then, and nobody waits any more
			}
			h := newHome(t)
			now := time.Now()
			h.cfg.Now = func() time.Time { return now }
			for _, f := range []string{"a", "b", "c"} {
				h.put(f, "old", 0o644)
			}
			in := h.intent(all(h.write("a", "new"), h.write("b", "new"), h.delete("c")))
			over := false
			h.step = func(s Step, p action.Path) error {
				if over && s == Hold {
					t.Errorf("%s: %s is held too", slow, p)
				}
				if s == slow && p == in.Facts[which].Path {
					now, over = now.Add(h.cfg.Hold/2+1), true
				}
				return nil
			}
			h.refused(in, refusal.Busy)
			h.holds(map[string]string{"a": "old", "b": "old", "c": "old"})
			h.step = nil
			h.landAll(in.Action)
		}
	}
}

// S14: nobody is kept waiting by a sync: once a change is decided, every file of
// it can be opened for writing at once.
func TestSyncKeepsNobodyWaiting(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	must(t, os.Mkdir(h.path("dir"), 0o755))
	h.put("f", "old", 0o644)
	h.put("dir/g", "old", 0o644)
	must(t, os.Link(h.path("f"), h.path("second")), os.Link(h.path("dir/g"), h.path("third")))
	syncs := 0
	h.at[SyncDir] = func() {
		syncs++
		for _, name := range []string{"f", "dir/g", "second", "third"} {
			fd, err := unix.Open(h.path(name), unix.O_WRONLY|unix.O_NONBLOCK, 0)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			must(t, unix.Close(fd))
		}
	}
	if h.landAll(all(h.write("f", "new"), h.write("dir/g", "new"))); syncs != 4 {
		t.Errorf("%d syncs", syncs)
	}
}

// S14: an owner who rewrites a file in place, in a loop beside an agent that
// edits it, loses nothing: what they wrote last stands in the file, or an edit
// landed on top of it.
func TestNoSaveInPlaceIsLost(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.sync = func(*os.File) error { return nil }
	h.put("f", strings.Repeat(".", 40), 0o644)
	const saves = 1000
	done := make(chan error, 1)
	go func() { // each save marks a byte of the file as it finds it
		for i := range saves {
			time.Sleep(100 * time.Microsecond) // room for an edit
			f, err := os.OpenFile(h.path("f"), os.O_RDWR, 0)
			if err != nil {
				done <- err
				return
			}
			b := make([]byte, 1)
			at := int64(i % 20)
			if _, err = f.ReadAt(b, at); err == nil {
				b[0] = '.' + (b[0]-'.'+1)%64
				_, err = f.WriteAt(b, at)
			}
			if err = errors.Join(err, f.Close()); err != nil {
				done <- err
				return
			}
		}
		close(done)
	}()
	landed := 0
	for running := true; running; {
		select {
		case err, failed := <-done:
			if running = false; failed {
				t.Fatal(err)
			}
		default:
		}
		b, err := os.ReadFile(h.path("f"))
		must(t, err)
		in, err := h.plan(h.edit("f", string(b[20:]), strings.Repeat(string(rune('a'+landed%26)), 20)))
		if err != nil {
			continue
		}
		if out, files, err := h.Carry(in); err == nil && out.Result == protocol.Landed && len(files) == 0 {
			landed++
		}
	}
	b, err := os.ReadFile(h.path("f"))
	must(t, err)
	for i, c := range b[:20] {
		if want := byte('.' + saves/20%64); c != want {
			t.Errorf("byte %d is %q, not %q: a save is lost", i, c, want)
		}
	}
	if landed < 10 {
		t.Errorf("%d edits landed among %d saves: that shows nothing", landed, saves)
	}
}
