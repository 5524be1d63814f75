package road

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
	"countersign/tests/lab"
)

// T14, T18: with no room for the intent nothing is done, and the refusal says
// why; what waited still waits, and with room the keeper goes on.
func TestJournalWithoutRoom(t *testing.T) {
	w, ballast := startSmall(t)
	path := w.put("a.txt", "one\n", 0o644)
	runs := w.put("run.sh", "one\n", 0o755)
	waiting := w.propose(lab.Claude, write(runs, "two\n"), protocol.StateWaiting)
	fill(ballast)

	_, err := w.act(lab.Claude, write(path, string(make([]byte, 64<<10))))
	if !refusal.Is(err, refusal.JournalFailed) {
		t.Fatalf("without room: %v", err)
	}
	w.holds(path, "one\n")
	w.clean()
	w.must(os.Remove(ballast))
	if got := w.insist(write(path, "two\n")); got.State != protocol.StateLanded {
		t.Fatalf("with room: %s", got.State)
	}
	w.approve(w.show(lab.Alice, "keeper/consent", waiting.ID))
	w.holds(runs, "two\n")
}

// T14, T18: an agent that goes on proposing to a keeper without room does not
// end the others: the keeper is there once there is room again.
func TestJournalWithoutRoomForLong(t *testing.T) {
	w, ballast := startSmall(t)
	path := w.put("a.txt", "one\n", 0o644)
	w.propose(lab.Claude, write(path, "two\n"), protocol.StateLanded)
	fill(ballast)
	for range 7 { // more than a process may die in a row without a pause
		if _, err := w.act(lab.Claude, write(path, string(make([]byte, 64<<10)))); refusal.As(err) == nil {
			t.Fatalf("without room: %v", err)
		}
	}
	w.must(os.Remove(ballast))
	if got := w.insist(write(path, "three\n")); got.State != protocol.StateLanded {
		t.Fatalf("with room: %s", got.State)
	}
	w.holds(path, "three\n")
}

// startSmall starts a world whose keeper has little room, and names a file
// that can take all of it.
func startSmall(t *testing.T) (w *world, ballast string) {
	testas.Root(t)
	w = build(t, lab.Config{})
	state := filepath.Join(w.Root, "state")
	w.must(os.MkdirAll(state, 0o755))
	w.mount(state, "size=4m,mode=0755")
	w.up()
	return w, filepath.Join(state, "ballast")
}

// mount mounts a filesystem of its own until the test ends.
func (w *world) mount(dir, options string) {
	w.t.Helper()
	w.must(unix.Mount("tmpfs", dir, "tmpfs", 0, options))
	w.t.Cleanup(func() {
		w.Stop()
		w.must(unix.Unmount(dir, 0))
	})
}

// fill takes what room a filesystem has.
func fill(path string) {
	f, err := os.Create(path)
	if err != nil {
		return
	}
	defer f.Close()
	for _, size := range []int{64 << 10, 4 << 10} {
		for {
			if _, err := f.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
}

// T18: a home without room refuses the change, and leaves the file and nothing
// else.
func TestHomeWithoutRoom(t *testing.T) {
	testas.Root(t)
	w := build(t, lab.Config{})
	w.mount(w.Home("alice"), "size=256k,mode=0700,uid=61201,gid=61201")
	w.up()
	path := w.put("a.txt", "one\n", 0o644)
	tr := w.propose(lab.Claude, write(path, text(255<<10)), protocol.StateNotLanded)
	if tr.Outcome.Refused == nil || tr.Outcome.Refused.Code != refusal.DiskFull {
		t.Fatalf("without room: %+v", tr.Outcome)
	}
	w.holds(path, "one\n")
	w.clean()
	w.propose(lab.Claude, write(path, "two\n"), protocol.StateLanded)
}

// text makes n bytes of text.
func text(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(i%25)
		if i%64 == 63 {
			b[i] = '\n'
		}
	}
	return string(b)
}
