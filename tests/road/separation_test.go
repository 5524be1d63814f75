package road

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/confine"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
	"countersign/tests/lab"
)

// denied says that the kernel itself refuses f to a user.
func denied(t *testing.T, uid uint32, what string, f func() error) {
	t.Helper()
	if err := lab.As(uid, f); !errors.Is(err, syscall.EACCES) {
		t.Errorf("uid %d, %s: %v, want permission denied", uid, what, err)
	}
}

func connecting(path string) func() error {
	return func() error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	}
}

// P1: the kernel refuses each socket to every user it is not for.
func TestSocketsAreClosedToOthers(t *testing.T) {
	w := start(t)
	type row struct {
		socket string
		open   []uint32
	}
	everyone := []uint32{lab.Alice, lab.Bob, lab.Claude, lab.Other, lab.Keeper, lab.Stranger}
	for _, r := range []row{
		{"scribes/alice", []uint32{lab.Keeper}},
		{"scribes/bob", []uint32{lab.Keeper}},
		{"readers/alice", []uint32{lab.Alice, lab.Claude, lab.Other, lab.Keeper}},
		{"keeper/act", []uint32{lab.Alice, lab.Bob, lab.Claude, lab.Other, lab.Keeper}},
		{"keeper/consent", []uint32{lab.Alice, lab.Bob, lab.Keeper}},
	} {
		for _, uid := range everyone {
			err := lab.As(uid, connecting(w.Socket(r.socket)))
			open := false
			for _, u := range r.open {
				open = open || u == uid
			}
			if open && err != nil || !open && !errors.Is(err, syscall.EACCES) {
				t.Errorf("uid %d at %s: %v, open is %v", uid, r.socket, err, open)
			}
		}
	}
	for _, uid := range []uint32{lab.Alice, lab.Claude, lab.Stranger} {
		denied(t, uid, "listing the scribes' sockets", func() error {
			_, err := os.ReadDir(filepath.Join(w.Root, "run/scribes"))
			return err
		})
	}
}

// P1: an agent cannot write in a home, whether the home lets it walk or not.
func TestAgentCannotWriteInAHome(t *testing.T) {
	w := start(t)
	file := w.put("a.txt", "a\n", 0o644)
	creating := func() error {
		return os.WriteFile(w.alice("new"), nil, 0o644)
	}
	changing := func() error {
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err == nil {
			f.Close()
		}
		return err
	}
	for _, mode := range []os.FileMode{0o700, 0o755} {
		w.must(os.Chmod(w.Home("alice"), mode))
		for _, uid := range []uint32{lab.Claude, lab.Keeper} {
			denied(t, uid, fmt.Sprintf("creating in a home of %o", mode), creating)
			denied(t, uid, fmt.Sprintf("changing in a home of %o", mode), changing)
			denied(t, uid, fmt.Sprintf("removing in a home of %o", mode), func() error { return os.Remove(file) })
		}
	}
	w.holds(file, "a\n")
}

// T8: an agent cannot approve, and is told that it cannot.
func TestAgentCannotApprove(t *testing.T) {
	w := start(t)
	file := w.put("run.sh", "one\n", 0o755)
	waiting := w.propose(lab.Claude, write(file, "two\n"), protocol.StateWaiting)
	r := w.Run(lab.Claude, "", "approve", string(waiting.ID)+"@"+waiting.Prefix)
	if r.Code != 3 || !strings.Contains(r.Stderr, "[not-permitted]") {
		t.Fatalf("exit code %d: %s", r.Code, r.Stderr)
	}
	w.holds(file, "one\n")
	if s := w.show(lab.Alice, "keeper/consent", waiting.ID).State; s != protocol.StateWaiting {
		t.Fatalf("it is %s", s)
	}
}

// P2: with its mode opened to everybody, the consent socket still refuses an
// agent by its uid, before it reads a byte of what the agent says.
func TestConsentChecksThePeer(t *testing.T) {
	w := start(t)
	file := w.put("run.sh", "one\n", 0o755)
	waiting := w.propose(lab.Claude, write(file, "two\n"), protocol.StateWaiting)
	w.must(os.Chmod(w.Socket("keeper/consent"), 0o666))
	if _, err := w.decide(lab.Claude, waiting); !refusal.Is(err, refusal.NotPermitted) {
		t.Fatalf("approving as the agent: %v", err)
	}
	for _, uid := range []uint32{lab.Claude, lab.Stranger, lab.Keeper} {
		w.refusedUnasked(uid, "keeper/consent")
	}
	w.holds(file, "one\n")
}

// refusedUnasked says that a server refuses a peer that has not said a word.
func (w *world) refusedUnasked(uid uint32, socket string) {
	w.t.Helper()
	c, err := w.raw(uid, socket)
	w.must(err)
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(5 * time.Second))
	buf := make([]byte, 4096)
	n, err := c.Read(buf)
	if err != nil || n < 4 || !strings.Contains(string(buf[:n]), string(refusal.NotPermitted)) {
		w.t.Errorf("uid %d at %s: %d bytes, %v: %q", uid, socket, n, err, buf[:n])
		return
	}
	if size := binary.BigEndian.Uint32(buf); int(size) != n-4 {
		w.t.Errorf("uid %d at %s: more than one frame", uid, socket)
	}
}

// P2: a person cannot call the scribe that runs as that person: the kernel
// refuses, and with the modes opened the scribe does.
func TestPersonCannotCallTheScribe(t *testing.T) {
	w := start(t)
	denied(t, lab.Alice, "the scribe's socket", connecting(w.Socket("scribes/alice")))
	w.must(os.Chmod(filepath.Join(w.Root, "run/scribes"), 0o755))
	denied(t, lab.Alice, "the scribe's socket in an open directory", connecting(w.Socket("scribes/alice")))
	w.must(os.Chmod(w.Socket("scribes/alice"), 0o666))
	for _, uid := range []uint32{lab.Alice, lab.Bob, lab.Claude, lab.Stranger} {
		w.refusedUnasked(uid, "scribes/alice")
	}
}

// P2: a reader answers the agents its person's policy names, and captures for
// the keeper alone.
func TestReaderAnswersItsOwn(t *testing.T) {
	w := start(t, "\n")
	w.must(os.Chmod(w.Socket("readers/bob"), 0o666))
	w.refusedUnasked(lab.Other, "readers/bob")
	w.refusedUnasked(lab.Alice, "readers/bob")
	w.put("a.txt", "a\n", 0o644)
	policy := w.status().Policy
	for _, uid := range []uint32{lab.Claude, lab.Alice} {
		var out protocol.CaptureResult
		in := protocol.CaptureParams{Policy: policy, Targets: []action.Target{{Path: action.Path(w.alice("a.txt"))}}}
		if err := w.call(uid, "readers/alice", protocol.Capture, in, &out); !refusal.Is(err, refusal.NotPermitted) {
			t.Errorf("capture for uid %d: %v", uid, err)
		}
		var text protocol.ReadResult
		w.must(w.call(uid, "readers/alice", protocol.Read, protocol.ReadParams{Files: []protocol.ReadWanted{{Path: in.Targets[0].Path}}}, &text))
		if len(text.Files) != 1 || text.Files[0].Text != "a\n" {
			t.Errorf("uid %d read %+v", uid, text.Files)
		}
	}
}

func (w *world) status() (s protocol.StatusResult) {
	w.t.Helper()
	w.must(w.call(lab.Alice, "keeper/consent", protocol.Status, struct{}{}, &s))
	return s
}

// P3: no method that writes exists on a reader, and it says so by name.
func TestReaderHasNoWriteMethod(t *testing.T) {
	w := start(t)
	for _, method := range []string{protocol.FileWrite, protocol.Settle, protocol.Act, protocol.Decide} {
		err := w.call(lab.Keeper, "readers/alice", method, struct{}{}, nil)
		if !refusal.Is(err, refusal.UnknownMethod) {
			t.Errorf("%s at the reader: %v", method, err)
		}
	}
}

// T6: a scribe refuses another home, even on the keeper's word.
func TestScribeRefusesAnotherHome(t *testing.T) {
	w := start(t)
	path := filepath.Join(w.Home("bob"), "b.txt")
	w.must(w.Put(lab.Bob, path, "bob's\n", 0o666))
	w.must(os.Chmod(w.Home("bob"), 0o777))
	var facts protocol.CaptureResult
	policy := w.status().Policy
	c, err := w.Dial(lab.Keeper, "readers/bob")
	w.must(err)
	defer c.Close()
	handles, err := c.CallHandles(t.Context(), protocol.Capture,
		protocol.CaptureParams{Policy: policy, Targets: []action.Target{{Path: action.Path(path)}}}, &facts)
	w.must(err)
	for _, h := range handles {
		h.Close()
	}
	a, hash := write(path, "alice's\n"), action.HashOf([]byte("alice's\n"))
	in := protocol.IntentParams{Policy: policy, Intent: protocol.Intent{
		ID: action.NewID(), Action: a, Facts: facts.Facts, Staged: []string{".countersign-0123456789abcdef"},
		Results: []action.Image{{Hash: &hash, Size: 8, Mode: 0o666, GID: lab.Bob}},
	}}
	var out protocol.Outcome
	err = w.call(lab.Keeper, "scribes/alice", protocol.FileWrite, in, &out)
	if r := refusal.As(err); r == nil || r.Code != refusal.NotGranted && r.Code != refusal.NobodysHome {
		t.Errorf("alice's scribe in bob's home: %v, %+v", err, out)
	}
	in.Policy[0]++
	if err := w.call(lab.Keeper, "scribes/alice", protocol.FileWrite, in, &out); !refusal.Is(err, refusal.PolicyDiffers) {
		t.Errorf("by another policy: %v", err)
	}
	w.holds(path, "bob's\n")
}

// keeperOpens is a process with the keeper's walls that tries to open a file,
// and one of its own.
func keeperOpens(args []string) error {
	state, path := args[0], args[1]
	if _, err := confine.Enclose(confine.Walls{State: []string{state}}); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(state, "own"), nil, 0o600); err != nil {
		return fmt.Errorf("its own state: %w", err)
	}
	for _, flags := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREATE} {
		f, err := os.OpenFile(path, flags, 0o600)
		if err == nil {
			f.Close()
			return errors.New("it opened " + path)
		}
		if !errors.Is(err, syscall.EACCES) {
			return err
		}
	}
	return nil
}

// P4: the keeper's walls hold it out of a home that everybody may read, and
// the keeper that runs stands behind them under its own uid.
func TestKeeperSeesNoHome(t *testing.T) {
	w := start(t)
	w.must(os.Chmod(w.Home("alice"), 0o755))
	file := w.put("open.txt", "for all\n", 0o666)
	state := filepath.Join(w.Dir, "keepers")
	w.must(os.Mkdir(state, 0o700))
	w.must(os.Chown(state, lab.Keeper, lab.Keeper))
	c, err := lab.Again(lab.Keeper, "keeper-opens", state, file)
	w.must(err)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("behind the keeper's walls: %v: %s", err, out)
	}
	status := read(fmt.Sprintf("/proc/%d/status", w.PID("keeper")))
	id := fmt.Sprintf("\t%d\t%d\t%d\t%d\n", lab.Keeper, lab.Keeper, lab.Keeper, lab.Keeper)
	for _, line := range []string{"NoNewPrivs:\t1\n", "Uid:" + id, "Gid:" + id, "CapEff:\t0000000000000000\n"} {
		if !strings.Contains(status, line) {
			t.Errorf("the keeper's status lacks %q:\n%s", line, status)
		}
	}
	if walls := strings.Join(w.status().Walls, " "); !strings.Contains(walls, "landlock files") {
		t.Errorf("its walls: %s", walls)
	}
}

// P1: nobody but the keeper can look into its state.
func TestKeepersStateIsItsOwn(t *testing.T) {
	w := start(t)
	for _, uid := range []uint32{lab.Alice, lab.Claude, lab.Stranger} {
		denied(t, uid, "the keeper's state", func() error {
			_, err := os.ReadDir(filepath.Join(w.Root, "state/keeper"))
			return err
		})
	}
}

// P7: `up` says which agents need nobody's permission in a home, because the
// home lets them in; and it serves no home that is not the person's own.
func TestOpenHomesAreSaid(t *testing.T) {
	testas.Root(t)
	w := build(t, lab.Config{})
	w.up()
	if len(w.Ready.Open) > 0 {
		t.Errorf("homes that are closed are said to be open: %q", w.Ready.Open)
	}
	w.must(w.Stop())
	w.must(os.Chmod(w.Home("alice"), 0o755))
	w.up()
	if open := strings.Join(w.Ready.Open, "\n"); !strings.Contains(open, "claude needs no permission in the home of alice") || strings.Contains(open, "bob") {
		t.Errorf("what is open is said so: %q", w.Ready.Open)
	}
	w.must(w.Stop())
	w.must(os.Chown(w.Home("alice"), lab.Bob, lab.Bob))
	if err := w.Up(); err == nil || !strings.Contains(w.Log(), "alice is uid") {
		t.Errorf("a home of somebody else's is served: %v", err)
	}
}
