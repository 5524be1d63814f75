package road

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/protocol"
	"countersign/internal/wire"
	"countersign/tests/lab"
)

// liar is a reader that answers captures as a test tells it to. It stands at
// the place of alice's own from before the keeper's first question.
type liar struct {
	w      *world
	mu     sync.Mutex
	answer lie
}

type lie func(path action.Path) (protocol.CaptureResult, []*os.File)

// tell sets what is answered from now on.
func (l *liar) tell(a lie) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer = a
}

func (l *liar) serve() {
	w := l.w
	socket := w.Socket("readers/alice")
	w.must(os.Remove(socket))
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: socket})
	w.must(err)
	w.must(os.Chmod(socket, 0o666))
	server, err := wire.New(wire.Config{
		Name: "a liar", Log: slog.New(slog.DiscardHandler), Admit: func(wire.Caller) error { return nil },
		Methods: map[string]wire.Method{protocol.Capture: {
			May: func(wire.Caller) error { return nil },
			Handle: wire.TypedHandles(func(_ context.Context, _ wire.Caller, in protocol.CaptureParams) (protocol.CaptureResult, []*os.File, error) {
				l.mu.Lock()
				defer l.mu.Unlock()
				res, handles := l.answer(in.Targets[0].Path)
				return res, handles, nil
			}),
		}},
	})
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	w.t.Cleanup(func() {
		cancel()
		<-ended
		listener.Close()
	})
}

// honest is what a reader should say of a file of alice's.
func (w *world) honest(path action.Path) protocol.CaptureResult {
	w.t.Helper()
	f := w.open(string(path), os.O_RDONLY)
	defer f.Close()
	snap, err := beneath.Take(string(path), f, 1<<20)
	w.must(err)
	var dir unix.Stat_t
	w.must(unix.Stat(string(path.Dir()), &dir))
	landing := action.Landing{Dev: dir.Dev, Ino: dir.Ino, Name: action.Path(path.Name())}
	return protocol.CaptureResult{Facts: []action.Fact{{
		Path: path, Real: path, Base: action.Base{Landing: landing, Version: &snap.Version},
	}}}
}

func (w *world) open(path string, flags int) *os.File {
	w.t.Helper()
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	w.must(err)
	return os.NewFile(uintptr(fd), path)
}

// memory is a file of no directory's, opened for reading alone.
func (w *world) memory(content string) *os.File {
	w.t.Helper()
	fd, err := unix.MemfdCreate("memory", unix.MFD_CLOEXEC)
	w.must(err)
	f := os.NewFile(uintptr(fd), "/proc/self/fd/memory")
	defer f.Close()
	_, err = f.WriteString(content)
	w.must(err)
	again, err := os.Open("/proc/self/fd/" + itoa(fd))
	w.must(err)
	return again
}

// T11, T18: whatever a reader says and hands over, nothing lands that the
// disk does not bear out, and the answer says that it did not.
func TestLyingReader(t *testing.T) {
	w := start(t)
	l := &liar{w: w}
	l.serve()
	path := w.put("a.txt", "one\n", 0o644)
	runs := w.put("run.sh", "one\n", 0o755)
	other := w.put("b.txt", "other\n", 0o644)
	one := func(fs ...*os.File) []*os.File { return fs }
	lies := map[string]lie{
		"no handle": func(p action.Path) (protocol.CaptureResult, []*os.File) { return w.honest(p), nil },
		"two handles": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			return w.honest(p), one(w.open(path, 0), w.open(path, 0))
		},
		"a pipe": func(p action.Path) (protocol.CaptureResult, []*os.File) { return w.honest(p), one(pipe(w)) },
		"read and write": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			return w.honest(p), one(w.open(path, unix.O_RDWR))
		},
		"O_PATH": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			return w.honest(p), one(w.open(path, unix.O_PATH))
		},
		"a directory": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			return w.honest(p), one(w.open(w.Home("alice"), 0))
		},
		"a device": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			return w.honest(p), one(w.open("/dev/zero", 0))
		},
		"a file of proc": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			return w.honest(p), one(w.open("/proc/self/status", 0))
		},
		"other content": func(p action.Path) (protocol.CaptureResult, []*os.File) { return w.honest(p), one(w.open(other, 0)) },
		"a memory file": func(p action.Path) (protocol.CaptureResult, []*os.File) { return w.honest(p), one(w.memory("one\n")) },
		"no facts": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			return protocol.CaptureResult{Facts: []action.Fact{}}, nil
		},
		"too many facts": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			r := w.honest(p)
			r.Facts = append(r.Facts, r.Facts[0])
			return r, one(w.open(path, 0))
		},
		"another's facts": func(action.Path) (protocol.CaptureResult, []*os.File) {
			return w.honest(action.Path(other)), one(w.open(other, 0))
		},
		"not there": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			r := w.honest(p)
			r.Facts[0].Base.Version = nil
			return r, nil
		},
		"another landing": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			r := w.honest(p)
			r.Facts[0].Base.Landing.Ino++
			return r, one(w.open(string(p), 0))
		},
		"lands elsewhere": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			r := w.honest(p)
			r.Facts[0].Real = action.Path(other)
			return r, one(w.open(string(p), 0))
		},
		"in another home": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			r := w.honest(p)
			r.Facts[0].Real = action.Path(filepath.Join(w.Home("bob"), "x"))
			return r, one(w.open(string(p), 0))
		},
		"a denied place": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			r := w.honest(p)
			r.Facts[0].Real = action.Path(w.alice(".ssh/id"))
			return r, one(w.open(string(p), 0))
		},
		"another size": func(p action.Path) (protocol.CaptureResult, []*os.File) {
			r := w.honest(p)
			r.Facts[0].Base.Version.Size = 1 << 40
			return r, one(w.open(string(p), 0))
		},
	}
	keeper := w.PID("keeper")
	var open int
	for name, lie := range lies {
		l.tell(lie)
		tr, err := w.act(lab.Claude, write(path, "two\n"))
		w.nothingLanded(name, tr, err)
		w.holds(path, "one\n")
		if open == 0 {
			open = openFiles(keeper)
		}
	}
	if now := openFiles(keeper); now > open+5 {
		t.Errorf("the keeper had %d files open, and has %d", open, now)
	}
	// Policy asks about what can be run: a reader that denies that it can
	// must not get it landed alone.
	l.tell(func(p action.Path) (protocol.CaptureResult, []*os.File) {
		r := w.honest(p)
		r.Facts[0].Base.Version.Mode = 0o644
		return r, one(w.open(string(p), 0))
	})
	tr, err := w.act(lab.Claude, write(runs, "two\n"))
	w.nothingLanded("not a program", tr, err)
	w.holds(runs, "one\n")
	w.holds(other, "other\n")
	w.clean()
	if w.PID("keeper") != keeper {
		t.Error("the keeper did not survive it")
	}
}

// nothingLanded says that an answer admits that nothing landed, and why.
func (w *world) nothingLanded(name string, t protocol.Transaction, err error) {
	w.t.Helper()
	switch {
	case err != nil:
		if !strings.Contains(err.Error(), "[") {
			w.t.Errorf("%s: no refusal but %v", name, err)
		}
	case t.State == protocol.StateWaiting:
		var out protocol.Transaction
		in := protocol.IDParams{ID: t.ID}
		w.must(w.call(lab.Claude, "keeper/act", protocol.Withdraw, in, &out))
	case t.State != protocol.StateRefused && t.State != protocol.StateNotLanded:
		w.t.Errorf("%s: %s, %+v", name, t.State, t.Outcome)
	}
}

func pipe(w *world) *os.File {
	w.t.Helper()
	r, wr, err := os.Pipe()
	w.must(err)
	wr.Close()
	return r
}
