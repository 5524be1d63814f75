package daemon

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/refusal"
	"countersign/internal/testas"
	"countersign/internal/wire"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// passed gives a handle as another process would be started with it.
func passed(t *testing.T, f interface{ Fd() uintptr }) int {
	t.Helper()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	must(t, err)
	return fd
}

// P4: an executor serves for one person, and refuses to run as anybody else:
// the wrong uid, a person the policy has not, or a policy that is not there.
func TestExecutorIsThePerson(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	dir := t.TempDir()
	policy := func(uid int) string {
		path := filepath.Join(dir, fmt.Sprint(uid))
		text := fmt.Sprintf("version = 1\nhomes = %q\n[persons.alice]\nuid = %d\nhome = %q\nowners = [\"alice\"]\n", filepath.Dir(dir), uid, dir)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	own := policy(os.Geteuid())
	e := Executor{Person: "alice", PolicyFile: own}
	_, person, err := e.Load()
	if err != nil || person.Name != "alice" || int(person.UID) != os.Geteuid() {
		t.Errorf("%+v, %v", person, err)
	}
	for name, e := range map[string]Executor{
		"another uid": {Person: "alice", PolicyFile: policy(os.Geteuid() + 1)},
		"nobody":      {Person: "bob", PolicyFile: own},
		"no policy":   {Person: "alice", PolicyFile: dir + "/none"},
	} {
		if _, _, err := e.Load(); err == nil {
			t.Errorf("%s: it was loaded", name)
		}
	}
}

// P2: only the uid that was named is let in, root no more than others, and the
// refusal is one a person can read.
func TestOnly(t *testing.T) {
	only := Only(61101, "the scribe")
	for _, uid := range []uint32{0, 61100, 61102} {
		if err := only(wire.Caller{UID: uid}); !refusal.Is(err, refusal.NotPermitted) {
			t.Errorf("uid %d: %v", uid, err)
		}
	}
	must(t, only(wire.Caller{UID: 61101}))
}

// P4: a daemon that was started with a flag missing, unknown or malformed, or
// with words besides, does not start; it says every flag that is missing.
func TestFlags(t *testing.T) {
	optional := ExecutorOptional()
	whole := []string{"-person", "alice", "-policy", "/p", "-keeper", "7", "-socket", "3", "-ready", "4"}
	var e Executor
	must(t, Flags("scribe", whole, e.Define, optional...))
	if e != (Executor{Person: "alice", PolicyFile: "/p", KeeperUID: 7, Socket: 3, ReadyPipe: 4}) {
		t.Errorf("%+v", e)
	}
	e = Executor{}
	must(t, Flags("scribe", append(whole[:4:4], "-keeper", "root"), e.Define, optional...))
	if e != (Executor{Person: "alice", PolicyFile: "/p", KeeperUID: 0, Socket: -1, ReadyPipe: -1}) {
		t.Errorf("as a service manager starts it: %+v", e)
	}
	quiet := func(f *flag.FlagSet) { f.SetOutput(io.Discard); new(Executor).Define(f) }
	for name, args := range map[string][]string{
		"one missing": whole[2:], "none": nil, "a word": append(whole[:len(whole):len(whole)], "x"), "unknown": append([]string{"-x", "1"}, whole...),
		"nobody": append(whole[:len(whole):len(whole)], "-keeper", "no-such-user"), "no uid": append(whole[:len(whole):len(whole)], "-keeper", "-1"), "too large": append(whole[:len(whole):len(whole)], "-keeper", "4294967296"),
	} {
		if err := Flags("scribe", args, quiet, optional...); err == nil {
			t.Errorf("%s: it starts", name)
		}
	}
	var all interface{ Unwrap() []error }
	if err := Flags("scribe", []string{"-socket", "3"}, quiet, optional...); !errors.As(err, &all) {
		t.Error(err)
	}
}

// P10: the listening socket is one that was passed; what is no Unix socket, or
// no handle, is refused, and the socket's file stays its maker's.
func TestListener(t *testing.T) {
	path := t.TempDir() + "/socket"
	made, err := net.Listen("unix", path)
	must(t, err)
	made.(*net.UnixListener).SetUnlinkOnClose(false)
	f, err := made.(*net.UnixListener).File()
	must(t, err)
	l, err := Listener(passed(t, f))
	must(t, err, f.Close(), made.Close())
	go func() {
		if c, err := l.Accept(); err == nil {
			c.Close()
		}
	}()
	c, err := net.Dial("unix", path)
	must(t, err, c.Close(), l.Close())
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	tf, err := tcp.(*net.TCPListener).File()
	must(t, err)
	file, err := os.Create(t.TempDir() + "/file")
	must(t, err)
	for name, fd := range map[string]int{"TCP": passed(t, tf), "a file": passed(t, file), "closed": 1 << 20, "none": -1} {
		if l, err := Listener(fd); err == nil {
			t.Errorf("%s: %v", name, l)
		}
	}
}

// P5: under `up` readiness is one line on the pipe that was passed, and the end
// of it.
func TestReady(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	tell, err := tellPipe(passed(t, w))
	must(t, err, tell.ready("serving"), tell.say(sayWithin, "WATCHDOG=1"), w.Close())
	if b, err := io.ReadAll(r); err != nil || string(b) != "ready\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := tellPipe(-1); err == nil {
		t.Error("a pipe was taken that is none")
	}
	tell, err = tellPipe(1 << 20)
	must(t, err)
	if err := tell.ready("serving"); err == nil {
		t.Error("ready was said on a handle that is not open")
	}
}
