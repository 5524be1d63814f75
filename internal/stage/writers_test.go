package stage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// inPlace rewrites a file with other bytes of its size, and gives it back the
// time it had: what a stat without ctime cannot tell. Where a lease keeps the
// writer waiting, it is left waiting, and writes once it may.
func (h *home) inPlace(name, content string) {
	h.Helper()
	st := h.stat(name)
	written := make(chan error, 1)
	h.late.Go(func() {
		f, err := os.OpenFile(h.path(name), os.O_WRONLY, 0)
		if err != nil {
			written <- err
			return
		}
		defer f.Close()
		_, err = f.WriteAt([]byte(content), 0)
		written <- errors.Join(err, unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), []unix.Timespec{st.Mtim, st.Mtim}, 0))
	})
	for {
		select {
		case err := <-written:
			must(h.T, err)
			return
		default:
		}
		if breaking(h.T, st.Ino) {
			return
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
	}
}

// breaking says whether somebody waits for the lease on a file.
func breaking(t *testing.T, ino uint64) bool {
	t.Helper()
	locks, err := os.ReadFile("/proc/locks")
	must(t, err)
	for line := range strings.Lines(string(locks)) {
		if strings.Contains(line, "BREAKING") && strings.Contains(line, fmt.Sprintf(":%d ", ino)) {
			return true
		}
	}
	return false
}

// renameOver saves a file as many editors do.
func (h *home) renameOver(name, content string) {
	h.Helper()
	must(h.T, os.WriteFile(h.dir+".save", []byte(content), 0o644), os.Rename(h.dir+".save", h.path(name)))
}

// writer is what somebody else does at an instant, and what must stand there
// afterwards: content, or a kind.
type writer struct {
	does    func(*home)
	content string
	kind    uint32
}

func writers() map[string]writer {
	replaced := func(kind uint32, make func(path string) error) writer {
		return writer{func(h *home) { must(h.T, os.RemoveAll(h.path("f")), make(h.path("f"))) }, "", kind}
	}
	return map[string]writer{
		"in place":    {func(h *home) { h.inPlace("f", "OLD") }, "OLD", unix.S_IFREG},
		"longer":      {func(h *home) { h.inPlace("f", "older") }, "older", unix.S_IFREG},
		"rename over": {func(h *home) { h.renameOver("f", "theirs") }, "theirs", unix.S_IFREG},
		"same bytes":  {func(h *home) { h.renameOver("f", "old") }, "old", unix.S_IFREG},
		"chmod":       {func(h *home) { must(h.T, os.Chmod(h.path("f"), 0o600)) }, "old", unix.S_IFREG},
		"unlink":      {func(h *home) { must(h.T, os.Remove(h.path("f"))) }, "", 0},
		"pipe":        replaced(unix.S_IFIFO, func(p string) error { return unix.Mkfifo(p, 0o644) }),
		"link":        replaced(unix.S_IFLNK, func(p string) error { return os.Symlink("/etc/passwd", p) }),
		"directory":   replaced(unix.S_IFDIR, func(p string) error { return os.Mkdir(p, 0o755) }),
	}
}

func (h *home) stands(w writer) {
	h.Helper()
	h.late.Wait()
	var st unix.Stat_t
	if err := unix.Lstat(h.path("f"), &st); err != nil && !errors.Is(err, unix.ENOENT) || st.Mode&unix.S_IFMT != w.kind {
		h.Fatalf("kind %o, %v", st.Mode, err)
	}
	switch w.kind {
	case 0:
		h.hasOnly(nil)
	case unix.S_IFREG:
		h.holds(map[string]string{"f": w.content})
	default:
		h.hasOnly(map[string]string{"f": ""})
	}
}

// S13 S14 S16 S21: whatever another writer did to the file since it was
// captured, at any instant up to the exchange, the change is refused, what
// they did stands, and nothing is left behind.
func TestAnotherWriter(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, w := range writers() {
		for _, at := range []Step{"plan", Create, Write, Hold, Exchange} {
			for _, does := range []string{"replace", "delete"} {
				if does == "delete" && (at == Create || at == Write) {
					continue // nothing is staged
				}
				t.Run(fmt.Sprint(name, " at ", at, " of ", does), func(t *testing.T) {
					h := newHome(t)
					h.put("f", "old", 0o644)
					a := h.write("f", "new")
					if does == "delete" {
						a = h.delete("f")
					}
					in := h.intent(a)
					if h.at[at] = func() { w.does(h) }; at == "plan" {
						w.does(h)
					}
					if at != Exchange {
						h.at[Verify] = func() { t.Error("the change stood for an instant") }
					}
					h.refused(in, refusal.Changed, refusal.Link, refusal.NotRegular)
					h.stands(w)
					if name == "chmod" && h.stat("f").Mode&0o777 != 0o600 {
						t.Error("the mode was put back")
					}
				})
			}
		}
	}
}

// S14: a file that appears where one was to be created is not replaced,
// whatever it is.
func TestAppears(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, w := range writers() {
		if w.kind == 0 || w.content != "theirs" && w.kind == unix.S_IFREG {
			continue // these change a file that is there
		}
		for _, at := range []Step{"plan", Create, Write, Hold, Exchange} {
			t.Run(fmt.Sprint(name, " at ", at), func(t *testing.T) {
				h := newHome(t)
				in := h.intent(h.write("f", "new"))
				if h.at[at] = func() { w.does(h) }; at == "plan" {
					w.does(h)
				}
				h.refused(in, refusal.Changed, refusal.Link, refusal.NotRegular)
				h.stands(w)
			})
		}
	}
}

// S14: who writes once the exchange stands writes on top of it: the change has
// landed, and their write stands.
func TestWriterBehindTheExchange(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, w := range writers() {
		for _, at := range []Step{Verify, Unlink, SyncDir} {
			t.Run(fmt.Sprint(name, " at ", at), func(t *testing.T) {
				h := newHome(t)
				h.put("f", "old", 0o644)
				h.at[at] = func() { w.does(h) }
				out, kept, err := h.Carry(h.intent(h.write("f", "new")))
				if err != nil || out.Result != protocol.Landed || len(kept) > 0 {
					t.Fatalf("%+v, %v", out, err)
				}
				if v := out.Changes[0].Version; v.Hash != action.HashOf([]byte("new")) || v.Size != 3 || v.Mode != 0o644 {
					t.Errorf("the outcome is not what landed: %+v", v)
				}
				if name == "chmod" {
					w.content = "new"
				}
				h.stands(w)
			})
		}
	}
}

// S14: where a filesystem has no leases, who writes through a handle from
// before the exchange, while the displaced file is being verified, has it back.
func TestOldHandle(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, does := range []string{"replace", "delete"} {
		h := newHome(t)
		h.cfg.Lease = func(*os.File) error { return unix.EINVAL }
		h.put("f", "old", 0o644)
		f, err := os.OpenFile(h.path("f"), os.O_WRONLY, 0)
		must(t, err)
		defer f.Close()
		h.at[Verify] = func() { f.WriteAt([]byte("OLD"), 0) }
		a := h.write("f", "new")
		if does == "delete" {
			a = h.delete("f")
		}
		h.refused(h.intent(a), refusal.Changed)
		h.holds(map[string]string{"f": "OLD"})
	}
}

// S14: where somebody wrote in between and, before that could be taken back,
// the target was written to once more, the last write stands, the one before
// it is kept under the staged name, and its handle comes with the answer.
func TestTwoWriters(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, w := range writers() {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.put("f", "old", 0o644)
			h.at[Exchange] = func() { h.renameOver("f", "first save") }
			var stood unix.Stat_t
			h.at[TakeBack] = func() { w.does(h); unix.Lstat(h.path("f"), &stood) }
			waits := name == "in place" || name == "longer" // it writes once the lease is let go of
			out, files, err := h.Carry(h.intent(h.write("f", "new")))
			if err != nil || out.Result != protocol.NotLanded || !refusal.Is(out.Refused, refusal.Changed) {
				t.Fatalf("%+v, %v", out, err)
			}
			h.keptAside(out, files, "first save")
			must(t, os.Remove(h.path(beside)))
			if name == "chmod" {
				w.content = "new" // theirs is the mode alone
			}
			h.stands(w)
			if now := (unix.Stat_t{}); w.kind != 0 && !waits && (unix.Lstat(h.path("f"), &now) != nil || now.Ctim != stood.Ctim) {
				t.Error("the last write was moved about")
			}
		})
	}
	t.Run("delete", func(t *testing.T) {
		h := newHome(t)
		h.put("f", "old", 0o644)
		h.at[Exchange] = func() { h.renameOver("f", "first save") }
		h.at[TakeBack] = func() { h.renameOver("f", "second save") }
		out, files, err := h.Carry(h.intent(h.delete("f")))
		if err != nil || out.Result != protocol.NotLanded {
			t.Fatalf("%+v, %v", out, err)
		}
		h.keptAside(out, files, "first save")
		h.holds(map[string]string{"f": "second save", beside: "first save"})
	})
	t.Run("not a file", func(t *testing.T) {
		h := newHome(t)
		h.put("f", "old", 0o644)
		h.at[Exchange] = func() { must(t, os.Remove(h.path("f")), unix.Mkfifo(h.path("f"), 0o600)) }
		h.at[TakeBack] = func() { h.renameOver("f", "second save") }
		out, files, err := h.Carry(h.intent(h.write("f", "new")))
		if err != nil || out.Result != protocol.NotLanded || len(files) > 0 || len(out.Changes[0].After) != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		h.hasOnly(map[string]string{"f": "", beside: ""})
	})
}

// S14: who writes in the very instant of taking back, behind the last look at
// the target, has what they wrote at the name, or in the file itself; what had
// been displaced before that is kept, handed over and told.
func TestWriterInTheTakingBack(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, w := range writers() {
		for _, created := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", created: ", created), func(t *testing.T) {
				h := newHome(t)
				h.put("b", "old", 0o644)
				if !created {
					h.put("f", "old", 0o644)
				}
				in := h.intent(all(h.write("f", "new"), h.write("b", "new")))
				h.step = func(s Step, p action.Path) error {
					if s == Verify && p == in.Facts[1].Path {
						return unix.EIO
					}
					if s == PutBack && p == in.Facts[0].Path {
						w.does(h)
					}
					return nil
				}
				out, files, err := h.Carry(in)
				h.late.Wait()
				must(t, err)
				for _, f := range files {
					f.Close()
				}
				if out.Result != protocol.NotLanded || out.Changes[0].Did != protocol.Overtaken || out.Changes[1].Did != protocol.TakenBack {
					t.Errorf("%+v", out)
				}
				if b, err := os.ReadFile(h.path("b")); string(b) != "old" || err != nil {
					t.Errorf("the other file holds %q, %v", b, err)
				}
				if left := h.leftover(); (len(left) == 1) != !created || !created && len(out.Kept) != 1 {
					t.Errorf("%v are left, %+v", left, out)
				}
				must(t, os.Remove(h.path("b")))
				os.Remove(h.path(beside))
				if name == "chmod" {
					w.content = "new" // theirs is the mode alone
				}
				h.stands(w)
			})
		}
	}
}

// exchanging saves as an editor that loses nothing: it exchanges its file with
// the target, and gives what it displaced.
func (h *home) exchanging(content string) (displaced string) {
	own := h.dir + ".exchange"
	must(h.T, os.WriteFile(own, []byte(content), 0o644))
	if err := unix.Renameat2(unix.AT_FDCWD, own, unix.AT_FDCWD, h.path("f"), unix.RENAME_EXCHANGE); err != nil {
		h.Errorf("the file is gone: %v", err)
	}
	b, err := os.ReadFile(own)
	must(h.T, err)
	return string(b)
}

// S14: an owner who saves by renaming over, in a loop beside an agent who edits
// the same file, loses no save: each was displaced by the owner's next, was
// what an edit landed on, was kept aside and said so, or stands.
func TestNoSaveIsLost(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.sync = func(*os.File) error { return nil }
	h.put("f", "save 0\n", 0o644)
	accounted := make(chan []string)
	var stop atomic.Bool
	const saves = 1500
	go func() {
		var seen []string
		for i := 1; i <= saves; i++ {
			seen = append(seen, h.exchanging(fmt.Sprintf("save %d\n", i)))
		}
		stop.Store(true)
		accounted <- seen
	}()
	found := make(map[string]bool)
	account := func(content []byte) { found[string(bytes.TrimPrefix(content, []byte("agent\n")))] = true }
	landed := 0
	for !stop.Load() {
		in, err := h.plan(h.edit("f", "save", "agent\nsave"))
		if err != nil {
			continue
		}
		base, err := os.ReadFile(h.path("f"))
		if err != nil || action.HashOf(base) != in.Facts[0].Base.Version.Hash {
			continue
		}
		out, files, err := h.Carry(in)
		if err == nil && out.Result == protocol.Landed {
			account(base)
			landed++
		}
		for _, f := range files {
			b, _ := io.ReadAll(f)
			account(b)
			must(t, f.Close(), os.Remove(h.path(beside)))
		}
	}
	for _, s := range <-accounted {
		account([]byte(s))
	}
	last, err := os.ReadFile(h.path("f"))
	must(t, err)
	account(last)
	for i := range saves + 1 {
		if !found[fmt.Sprintf("save %d\n", i)] {
			t.Errorf("save %d is lost", i)
		}
	}
	if landed < 10 {
		t.Errorf("%d edits landed among %d saves: that shows nothing", landed, saves)
	}
	h.hasOnly(map[string]string{"f": ""})
}

// S27: who reads a file in a loop while it is edited hundreds of times sees
// one edit's whole text or another's.
func TestReaderSeesWholeFiles(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	const edits, lines = 300, 2000
	h := newHome(t)
	h.sync = func(*os.File) error { return nil }
	text := func(i int) string { return string(bytes.Repeat(fmt.Appendf(nil, "edit %03d\n", i), lines)) }
	h.put("f", text(0), 0o644)
	var stop atomic.Bool
	reads := make(chan int)
	go func() {
		n := 0
		for ; !stop.Load(); n++ {
			b, err := os.ReadFile(h.path("f"))
			if err != nil || len(b) != len(text(0)) || bytes.Count(b, b[:len("edit 000\n")]) != lines {
				t.Errorf("read %d bytes, %v", len(b), err)
				break
			}
		}
		reads <- n
	}()
	for i := range edits {
		a := h.edit("f", fmt.Sprintf("edit %03d\n", i), fmt.Sprintf("edit %03d\n", i+1))
		a.FileWrite.Changes[0].Edit.Edits[0].Count = lines
		h.land(a)
	}
	stop.Store(true)
	if n := <-reads; n < edits {
		t.Errorf("%d reads during %d edits", n, edits)
	}
	h.holds(map[string]string{"f": text(edits)})
}

// S1: two intents on one landing go one after another, so that the second sees
// what the first left and touches nothing.
func TestOneAfterAnother(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.put("f", "old", 0o644)
	first, second := h.intent(h.write("f", "first")), h.intent(h.write("f", "second"))
	second.Staged = []string{besides(1)}
	answers := make(chan error)
	h.at[Exchange] = func() {
		h.at[Exchange] = nil
		go func() {
			_, _, err := h.Carry(second)
			answers <- err
		}()
		h.waits(second)
	}
	if _, _, err := h.Carry(first); err != nil {
		t.Error(err)
	}
	if err := <-answers; !refusal.Is(err, refusal.Changed) {
		t.Error(err)
	}
	h.holds(map[string]string{"f": "first"})
	if len(h.locks.held) > 0 {
		t.Errorf("locks are left: %v", h.locks.held)
	}
}

// waits returns once somebody waits for the lock of an intent's landing, which
// is held.
func (h *home) waits(in protocol.Intent) {
	at := in.Facts[0].Base.Landing
	for {
		h.locks.mu.Lock()
		users := h.locks.held[at].users
		h.locks.mu.Unlock()
		if users > 1 {
			return
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
	}
}
