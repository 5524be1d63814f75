package daemon

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/wire"
	"countersign/internal/wire/client"
)

// actsAs is the variable that makes the test binary a daemon, instead of tests.
const actsAs = "COUNTERSIGN_TEST_DAEMON"

func TestMain(m *testing.M) {
	if kind := os.Getenv(actsAs); kind != "" {
		Run(kind, standIn)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// standIn is a daemon on the sockets one and two. Its policy says whether it
// may serve.
func standIn(ctx context.Context, log *slog.Logger, args []string) error {
	var policy string
	var idle time.Duration
	err := Flags("stand-in", args, func(f *flag.FlagSet) {
		f.StringVar(&policy, "policy", "", "")
		f.DurationVar(&idle, "idle", 0, "")
	}, "idle")
	if err != nil {
		return err
	}
	p, err := Take(Handles{Sockets: map[string]int{"one": -1, "two": -1}, Ready: -1}, log)
	if err != nil {
		return err
	}
	w := NewWatch("the stand-in", policy)
	return p.Serve(ctx, "the stand-in", w, func() (*Work, error) {
		if text, err := os.ReadFile(policy); err != nil || string(text) != "good" {
			return nil, fmt.Errorf("the policy is %q, %v", text, err)
		}
		i := NewIdle(idle)
		return &Work{Walls: []string{"none"}, Idle: i, Serve: func(ctx context.Context) error { return standsIn(ctx, p, w, i) }}, nil
	})
}

// standsIn answers each socket's callers with its name.
func standsIn(ctx context.Context, p *Passed, w *Watch, i *Idle) error {
	var serving sync.WaitGroup
	for name, l := range p.Sockets {
		all := func(wire.Caller) error { return nil }
		s, err := wire.New(wire.Config{Name: name, Log: p.Log, Admit: all, Methods: i.Count(w.Guard(map[string]wire.Method{
			"name": {May: all, Handle: wire.Typed(func(context.Context, wire.Caller, struct{}) (string, error) { return name, nil })},
		}))})
		if err != nil {
			return err
		}
		serving.Go(func() { s.Serve(ctx, l) })
	}
	serving.Wait()
	return nil
}

// manager is a service manager with one service: it holds the sockets, and
// hears what the service says.
type manager struct {
	t       *testing.T
	dir     string
	sockets []*os.File
	said    chan string // by the service, a datagram each
	cmd     *exec.Cmd
	stderr  *bufio.Scanner
}

func newManager(t *testing.T) *manager {
	m := &manager{t: t, dir: t.TempDir(), said: make(chan string, 10000)}
	for _, name := range []string{"one", "two"} {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: m.dir + "/" + name})
		must(t, err)
		l.SetUnlinkOnClose(false)
		f, err := l.File()
		must(t, err, l.Close())
		m.sockets = append(m.sockets, f)
		t.Cleanup(func() { f.Close() })
	}
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: m.dir + "/notify"})
	must(t, err)
	t.Cleanup(func() { notify.Close() })
	go func() {
		for buf := make([]byte, 4096); ; {
			n, err := notify.Read(buf)
			if err != nil {
				return
			}
			m.said <- string(buf[:n])
		}
	}()
	return m
}

func (m *manager) policy(text string) {
	m.t.Helper()
	must(m.t, os.WriteFile(m.dir+"/policy.new", []byte(text), 0o644), os.Rename(m.dir+"/policy.new", m.dir+"/policy"))
}

// start starts the service as a service manager does: the pid that the sockets
// are for is the service's own. The sockets are passed in the other order.
func (m *manager) start(args ...string) {
	m.t.Helper()
	r, w, err := os.Pipe()
	must(m.t, err)
	var st syscall.Stat_t
	must(m.t, syscall.Fstat(int(w.Fd()), &st))
	self, err := os.Executable()
	must(m.t, err)
	m.cmd = exec.Command("sh", append([]string{"-c", `LISTEN_PID=$$ WATCHDOG_PID=$$ exec "$@"`, "sh", self, "-policy", m.dir + "/policy"}, args...)...)
	m.cmd.Env = append(os.Environ(), actsAs+"=stand-in", "LISTEN_FDS=2", "LISTEN_FDNAMES=two:one", "NOTIFY_SOCKET="+m.dir+"/notify",
		"WATCHDOG_USEC=100000", fmt.Sprintf("JOURNAL_STREAM=%d:%d", st.Dev, st.Ino))
	m.cmd.ExtraFiles = []*os.File{m.sockets[1], m.sockets[0]}
	m.cmd.Stderr = w
	must(m.t, m.cmd.Start(), w.Close())
	m.stderr = bufio.NewScanner(r)
	m.t.Cleanup(func() {
		m.cmd.Process.Kill()
		m.cmd.Wait()
		r.Close()
	})
}

// hears waits for a word of the service's.
func (m *manager) hears(word string) string {
	m.t.Helper()
	var heard []string
	for end := time.After(10 * time.Second); ; {
		select {
		case said := <-m.said:
			if slices.Contains(strings.Split(said, "\n"), word) {
				return said
			}
			heard = append(heard, said)
		case <-end:
			m.t.Fatalf("no %s came, only %q", word, heard)
		}
	}
}

// ends waits for the service to end, and gives its exit code and last words.
func (m *manager) ends() (code int, log []string) {
	m.t.Helper()
	kill := time.AfterFunc(20*time.Second, func() { m.cmd.Process.Kill() })
	defer kill.Stop()
	for m.stderr.Scan() {
		log = append(log, m.stderr.Text())
	}
	m.cmd.Wait()
	return m.cmd.ProcessState.ExitCode(), log
}

func (m *manager) ask(socket string) (name string, err error) {
	c, err := client.Dial(context.Background(), client.Config{Path: m.dir + "/" + socket, Timeout: 10 * time.Second})
	if err != nil {
		return "", err
	}
	defer c.Close()
	err = c.Call(context.Background(), "name", struct{}{}, &name)
	return name, err
}

func (m *manager) answers() {
	m.t.Helper()
	for _, socket := range []string{"one", "two"} {
		if name, err := m.ask(socket); name != socket || err != nil {
			m.t.Errorf("%s answers %q, %v", socket, name, err)
		}
	}
}

// P5: started by a service manager, a daemon takes its sockets by their names,
// says when it is ready, gives signs of life, says that it is stopping, and
// ends in order; its log is the journal's, with priorities and without times.
func TestUnderAServiceManager(t *testing.T) {
	m := newManager(t)
	m.policy("good")
	m.start()
	if said := m.hears("READY=1"); !strings.Contains(said, "STATUS=serving") {
		t.Errorf("ready with %q", said)
	}
	m.hears("WATCHDOG=1")
	m.hears("WATCHDOG=1")
	m.answers()
	must(t, m.cmd.Process.Signal(syscall.SIGTERM))
	m.hears("STOPPING=1")
	code, log := m.ends()
	if code != 0 || len(log) == 0 {
		t.Errorf("it ended with %d: %q", code, log)
	}
	for _, line := range log {
		if !strings.HasPrefix(line, "<6>msg=") || strings.Contains(line, "time=") || !strings.Contains(line, "process=stand-in") {
			t.Errorf("a line of the log: %q", line)
		}
	}
}

// P13: a daemon that may not serve stays, tells the service manager and every
// caller why, and starts anew when its policy changes.
func TestStaysAndRefuses(t *testing.T) {
	m := newManager(t)
	m.policy("bad")
	m.start()
	if said := m.hears("READY=1"); !strings.Contains(said, `STATUS=may not serve: the policy is "bad"`) {
		t.Errorf("ready with %q", said)
	}
	for range 3 {
		for _, socket := range []string{"one", "two"} {
			_, err := m.ask(socket)
			if r := refusal.As(err); r == nil || r.Code != refusal.Unavailable || !strings.Contains(r.Why, `may not serve: the policy is "bad"`) {
				t.Errorf("%s: %v", socket, err)
			}
		}
	}
	m.hears("WATCHDOG=1")
	m.policy("good")
	code, log := m.ends()
	if code != protocol.ExitAgain {
		t.Errorf("it ended with %d: %q", code, log)
	}
	if !slices.ContainsFunc(log, func(l string) bool { return strings.HasPrefix(l, "<3>") && strings.Contains(l, "bad") }) {
		t.Errorf("its log does not say why: %q", log)
	}
	m.start()
	m.hears("READY=1")
	m.answers()
}

// P12: a daemon whose policy changed refuses from the next request on, to be
// tried again, ends so that it is started again on the same sockets, and no
// caller that comes in between is lost.
func TestStartsAnewOnAnotherPolicy(t *testing.T) {
	m := newManager(t)
	m.policy("good")
	m.start()
	m.hears("READY=1")
	m.answers()
	must(t, os.WriteFile(m.dir+"/policy", []byte("good"), 0o644)) // the same words, written anew
	if _, err := m.ask("one"); !refusal.Is(err, refusal.Unavailable) || refusal.As(err).Again != refusal.Retry {
		t.Errorf("after the change: %v", err)
	}
	m.hears("STOPPING=1")
	if code, log := m.ends(); code != protocol.ExitAgain {
		t.Errorf("it ended with %d: %q", code, log)
	}
	waited := make(chan error)
	go func() {
		_, err := m.ask("two")
		waited <- err
	}()
	m.start()
	must(t, <-waited)
}

// P5: a daemon that is asked nothing ends without an error, and its socket
// starts it again; one that is asked stays.
func TestEndsWhenIdle(t *testing.T) {
	m := newManager(t)
	m.policy("good")
	m.start("-idle", "600ms")
	m.hears("READY=1")
	begin := time.Now()
	for range 4 {
		time.Sleep(300 * time.Millisecond)
		m.answers()
	}
	code, log := m.ends()
	if took := time.Since(begin); code != 0 || took < 1600*time.Millisecond {
		t.Errorf("after %v it ended with %d: %q", took, code, log)
	}
	m.start("-idle", "600ms")
	m.hears("READY=1")
	m.answers()
}

// P5: a daemon that is started without its sockets does not start, and says
// what it lacks.
func TestNothingPassed(t *testing.T) {
	for name, h := range map[string]Handles{
		"nothing":        {Sockets: map[string]int{"one": -1}, Ready: -1},
		"no ready pipe":  {Sockets: map[string]int{"one": 3}, Ready: -1},
		"no socket":      {Sockets: map[string]int{"one": -1}, Ready: 3},
		"one of the two": {Sockets: map[string]int{"one": 3, "two": -1}, Ready: 4},
	} {
		if _, err := Take(h, slog.Default()); err == nil {
			t.Errorf("%s: it starts", name)
		}
	}
}

// P12: a directory is watched by which it is, not by what is in it; one that
// comes to be counts as changed, and what changed once stays so.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/policy", nil, 0o644), os.Mkdir(dir+"/root", 0o755))
	watch := func() *Watch {
		w := NewWatch("the reader", dir+"/policy")
		w.Directories("a root", dir+"/root", dir+"/later")
		return w
	}
	w := watch()
	must(t, os.WriteFile(dir+"/root/file", nil, 0o644), w.Check())
	for _, c := range []struct {
		what   string
		change func() error
	}{
		{"replaced", func() error { return errors.Join(os.Rename(dir+"/root", dir+"/old"), os.Mkdir(dir+"/root", 0o755)) }},
		{"made", func() error { return os.Mkdir(dir+"/later", 0o755) }},
		{"removed", func() error { return os.Remove(dir + "/later") }},
		{"renamed", func() error { return os.Rename(dir+"/root", dir+"/away") }},
	} {
		w := watch()
		must(t, w.Check(), c.change())
		if err := w.Check(); !refusal.Is(err, refusal.Unavailable) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	w = watch()
	must(t, os.Rename(dir+"/policy", dir+"/gone"))
	first := w.Check()
	must(t, os.Rename(dir+"/gone", dir+"/policy"))
	if second := w.Check(); first == nil || second == nil || !strings.Contains(second.Error(), filepath.Join(dir, "policy")) {
		t.Errorf("%v, then %v", first, second)
	}
}

// P5: stderr that is not the stream the service manager named is a terminal's
// or a file's: its lines keep their time, and no priority stands before them.
func TestLogElsewhere(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/log")
	must(t, err)
	t.Setenv("JOURNAL_STREAM", "1:1")
	NewLog(f, "reader").Warn("a word")
	b, err := os.ReadFile(f.Name())
	must(t, err, f.Close())
	if !strings.HasPrefix(string(b), "time=") || !strings.Contains(string(b), "level=WARN") {
		t.Errorf("%q", b)
	}
}
