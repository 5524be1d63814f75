// Package fault makes every system call fail that the scribe makes for a
// change, one after another, and kills the scribe before each, under a real
// keeper and reader. Then it looks at disk by itself: every file is old or new
// and whole, all of them alike, nothing is left, and what is said of the action
// is so.
//
// COUNTERSIGN_FAULT=all has it do so at every point and for every error; without
// it, a stated part.
package fault

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/testas"
	"countersign/tests/lab"
)

func TestMain(m *testing.M) { os.Exit(lab.Main(m, nil)) }

// rig is a lab whose scribe is the test's own, so that it can die as often as
// it must: `up` would make it wait. Behind the one that serves another stands
// ready on the same socket, and is held back as it says so.
type rig struct {
	*lab.Lab
	t       *testing.T
	socket  *os.File // the listening socket
	program string
	idle    int // sockets that a scribe has which nobody called yet
	ready   chan standby

	mu      sync.Mutex
	serving scribe
	closing bool
	plan    fault  // of the next scribe that comes to serve; none where it is zero
	held    *trace // of the one that came
}

// scribe is the process of one. It is nobody's child here: a wait of this
// process's would take what its tracer waits for, who is a thread of it.
type scribe int

// standby is a scribe that waits to say that it is ready: what it would say that
// to is full. It answers nobody until then.
type standby struct {
	scribe
	full *os.File
}

// serve makes room for its word.
func (s standby) serve() error {
	defer s.full.Close()
	_, err := io.ReadFull(s.full, make([]byte, pipeSize+len("ready\n")))
	return err
}

const pipeSize = 4096

func (s scribe) kill() {
	if s > 0 {
		syscall.Kill(int(s), syscall.SIGKILL)
	}
}

func newRig(t *testing.T) *rig {
	t.Helper()
	testas.Root(t)
	l, err := lab.New(lab.Config{})
	r := &rig{Lab: l, t: t, ready: make(chan standby, 1)}
	t.Cleanup(r.close)
	must(t, err, l.Up())
	must(t, r.takeSocket())
	r.idle = scribe(l.PID("scribe@alice")).sockets()
	r.program, err = os.Readlink(fmt.Sprintf("/proc/%d/exe", l.PID("scribe@alice")))
	must(t, err)
	r.prepare()
	must(t, r.next())
	must(t, syscall.Kill(l.PID("scribe@alice"), syscall.SIGKILL)) // whom the keeper may have called already
	return r
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// takeSocket puts a socket of the test's own where the keeper calls alice's
// scribe.
func (r *rig) takeSocket() error {
	path := r.Socket("scribes/alice")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path + ".fault"})
	if err != nil {
		return err
	}
	defer l.Close()
	l.SetUnlinkOnClose(false)
	if r.socket, err = l.File(); err != nil {
		return err
	}
	return errors.Join(os.Chmod(path+".fault", 0o600), os.Chown(path+".fault", lab.Keeper, 0), os.Rename(path+".fault", path))
}

// prepare starts another scribe behind the one that serves.
func (r *rig) prepare() {
	go func() {
		p, err := r.start()
		if err != nil {
			r.t.Errorf("starting a scribe: %v", err)
		}
		r.ready <- p
	}()
}

// start starts a scribe as `up` does, and holds it back.
func (r *rig) start() (s standby, err error) {
	hear, tell, err := os.Pipe()
	if err != nil {
		return s, err
	}
	defer tell.Close()
	size, err := unix.FcntlInt(tell.Fd(), unix.F_SETPIPE_SZ, pipeSize)
	if err != nil || size != pipeSize {
		return s, fmt.Errorf("a pipe of %d bytes: %w", size, err)
	}
	if _, err := tell.Write(make([]byte, pipeSize)); err != nil {
		return s, err
	}
	c := exec.Command("sh", "-c", `"$@" >/dev/null & echo $!`, "sh", r.program,
		"-person", "alice", "-policy", r.Ready.Policy, "-keeper", strconv.Itoa(lab.Keeper), "-socket", "3", "-ready", "4")
	c.Dir, c.Env, c.ExtraFiles = "/", []string{}, []*os.File{r.socket, tell}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: lab.Alice, Gid: lab.Alice}}
	log, err := os.OpenFile(filepath.Join(r.Dir, "up.log"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return s, err
	}
	defer log.Close()
	c.Stderr = log
	said, err := c.Output()
	if err != nil {
		return s, fmt.Errorf("starting %s: %w", r.program, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(said)))
	s = standby{scribe(pid), hear}
	for end := time.Now().Add(patience); err == nil && !s.says(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return s, errors.New("it does not come to be ready")
		}
	}
	return s, errors.Join(err, hear.SetReadDeadline(time.Now().Add(patience)))
}

// says whether it is in the middle of its word: a thread of it writes to what
// is full.
func (s standby) says() bool {
	in := fmt.Appendf(nil, "%d 0x4 ", unix.SYS_WRITE)
	for _, tid := range tasks(int(s.scribe)) {
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", s.scribe, tid)); bytes.HasPrefix(b, in) {
			return true
		}
	}
	return false
}

// sockets counts those that a process has open.
func (s scribe) sockets() (n int) {
	dir := fmt.Sprintf("/proc/%d/fd/", s)
	handles, _ := os.ReadDir(dir)
	for _, h := range handles {
		if on, _ := os.Readlink(dir + h.Name()); strings.HasPrefix(on, "socket:") {
			n++
		}
	}
	return n
}

const patience = 20 * time.Second

// next lets the scribe that stands ready serve, has another prepared, and does
// so again once the one that serves has died.
func (r *rig) next() error {
	s := <-r.ready
	if s.scribe == 0 {
		return errors.New("no scribe is left")
	}
	death, err := unix.PidfdOpen(int(s.scribe), 0)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serving = s.scribe
	r.prepare()
	if r.plan.at != 0 {
		r.held, err = hold(int(s.scribe), r.plan)
		r.plan = fault{}
		if err != nil {
			return err
		}
	}
	go func() {
		defer unix.Close(death)
		for {
			if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(death), Events: unix.POLLIN}}, -1); n == 1 {
				break
			}
		}
		r.mu.Lock()
		closing := r.closing
		r.mu.Unlock()
		if closing {
			return
		}
		if err := r.next(); err != nil {
			r.t.Error(err)
		}
	}()
	if err := s.serve(); err != nil && r.held == nil { // it may be killed before its word is said
		return err
	}
	return nil
}

// befalls plans a fault of the scribe that comes to serve next.
func (r *rig) befalls(f fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plan, r.held = f, nil
}

// befell gives the hold on the scribe that came to serve with a fault.
func (r *rig) befell() *trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plan = fault{}
	return r.held
}

func (r *rig) now() scribe {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.serving
}

func (r *rig) close() {
	log := r.Log()
	r.mu.Lock()
	r.closing = true
	r.mu.Unlock()
	r.serving.kill()
	(<-r.ready).kill()
	if err := r.Close(); err != nil {
		r.t.Errorf("closing the lab: %v", err)
	}
	if r.t.Failed() {
		r.t.Logf("the daemons' log ends:\n%s", log[max(0, len(log)-4000):])
	}
}

// quiet waits until no thread of a process runs.
func (s scribe) quiet() {
	for still := 0; still < 2; time.Sleep(200 * time.Microsecond) {
		still++
		for _, tid := range tasks(int(s)) {
			if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", s, tid)); !bytes.Contains(b, []byte(") S ")) {
				still = 0
			}
		}
	}
}

func (r *rig) act(a action.Action) (t protocol.Transaction, err error) {
	in := protocol.ActParams{Action: a}
	rand.Read(in.Nonce[:])
	err = r.Call(lab.Claude, "keeper/act", protocol.Act, in, &t)
	return t, err
}

// ended waits until a transaction has ended.
func (r *rig) ended(id action.ID) (protocol.Transaction, error) {
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		var s protocol.ShowResult
		err := r.Call(lab.Claude, "keeper/act", protocol.Show, protocol.IDParams{ID: id}, &s)
		if err != nil || s.Transaction.State.Ended() {
			return s.Transaction, err
		}
		if time.Now().After(end) {
			return s.Transaction, context.DeadlineExceeded
		}
	}
}
