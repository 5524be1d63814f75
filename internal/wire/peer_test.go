package wire

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/canon"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

const stranger = 61234

// TestStranger is no test: it is the peer that asStranger runs. It connects,
// sends what it was given, and prints what comes until the end.
func TestStranger(t *testing.T) {
	path := os.Getenv("COUNTERSIGN_TEST_SOCKET")
	if path == "" {
		t.Skip("only runs as another test's peer")
	}
	uc, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := hex.DecodeString(os.Getenv("COUNTERSIGN_TEST_SEND"))
	if err != nil {
		t.Fatal(err)
	}
	uc.Write(bytes) // the server may have hung up
	uc.SetDeadline(time.Now().Add(5 * time.Second))
	got, err := io.ReadAll(uc)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Fatal("the server does not hang up")
	}
	fmt.Printf("pid %d got %x.\n", os.Getpid(), got)
}

// asStranger connects to r as the uid and gid stranger, sends bytes, and
// returns the peer's pid and what it was answered.
func asStranger(t *testing.T, r *running, send []byte) (pid int32, got []byte) {
	t.Helper()
	dir, err := os.MkdirTemp("", "stranger")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	exe := filepath.Join(dir, "peer")
	copyProgram(t, exe)
	// Every user may enter these, unlike the directory the test gave r.
	for _, p := range []string{dir, exe, filepath.Dir(r.path), filepath.Dir(filepath.Dir(r.path)), r.path} {
		if err := os.Chmod(p, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(exe, "-test.run=^TestStranger$")
	cmd.Dir = "/"
	cmd.Env = []string{"COUNTERSIGN_TEST_SOCKET=" + r.path, "COUNTERSIGN_TEST_SEND=" + hex.EncodeToString(send)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var text string
	if _, err := fmt.Sscanf(string(out), "pid %d got %s", &pid, &text); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err = hex.DecodeString(strings.TrimSuffix(text, "."))
	if err != nil {
		t.Fatal(err)
	}
	return pid, got
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

// P2: a wrong peer is told from its uid alone, before a byte of it is read:
// one refusal with id 0, and the end. The count of it is reported.
func TestWrongPeer(t *testing.T) {
	testas.Root(t)
	reports := make(chan Caller, 10)
	var reached atomic.Bool
	r := serve(t, func(c *Config) {
		c.Admit = func(c Caller) error {
			if c.UID == stranger {
				return refusal.New(refusal.NotPermitted, "the socket", "uid %d", c.UID)
			}
			return nil
		}
		c.Refused = func(c Caller, _ *refusal.Refusal, _ int) { reports <- c }
		c.Methods["echo"] = Method{May: func(Caller) error { reached.Store(true); return nil }, Handle: echoMethod().Handle}
	})
	for name, sent := range map[string][]byte{"silent": nil, "with a request": requestFrame(t, 1, "echo", echo{"x"})} {
		pid, got := asStranger(t, r, sent)
		rest := strings.NewReader(string(got))
		wantCode(t, receive(t, rest), 0, "not-permitted")
		if rest.Len() > 0 {
			t.Errorf("%s: %d bytes follow the refusal", name, rest.Len())
		}
		if c := <-reports; c != (Caller{UID: stranger, GID: stranger, PID: pid}) {
			t.Errorf("%s: reported %+v, its pid is %d", name, c, pid)
		}
	}
	if reached.Load() {
		t.Error("a wrong peer's request was looked up")
	}
	wantEcho(t, r.dial(t))
}

// P2: an admitted peer is known by the uid the kernel names.
func TestCallerIsTheKernels(t *testing.T) {
	testas.Root(t)
	callers := make(chan Caller, 2)
	r := serve(t, func(c *Config) {
		c.Methods["who"] = Method{May: anyone, Handle: func(_ context.Context, c Caller, _ canon.Raw) (Reply, error) {
			callers <- c
			panic("which ends the connection")
		}}
	})
	pid, _ := asStranger(t, r, requestFrame(t, 1, "who", nil))
	if c := <-callers; c != (Caller{UID: stranger, GID: stranger, PID: pid}) {
		t.Errorf("%+v, want uid %d, pid %d", c, stranger, pid)
	}
	send(t, r.dial(t), requestFrame(t, 1, "who", nil))
	if c := <-callers; c.UID != 0 || c.PID != int32(os.Getpid()) {
		t.Errorf("%+v is not this process", c)
	}
}

// P2: a uid is reported at most once a second, with the number that came; none
// is lost, and a flood of uids takes bounded memory.
func TestRefusedPeersAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type report struct {
			uid uint32
			n   int
		}
		var mu sync.Mutex
		var got []report
		p := newRefusedPeers(func(c Caller, _ *refusal.Refusal, n int) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, report{c.UID, n})
		})
		done, ended := make(chan struct{}), make(chan struct{})
		go func() { p.run(done); close(ended) }()
		want := func(when string, reports ...report) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if fmt.Sprint(got) != fmt.Sprint(reports) {
				t.Errorf("%s: %v, want %v", when, got, reports)
			}
			got = nil
		}
		no := refusal.New(refusal.NotPermitted, "x", "")
		note := func(uid uint32, times int) {
			for range times {
				p.note(Caller{UID: uid}, no)
			}
		}
		note(7, 1)
		want("the first", report{7, 1})
		note(7, 100)
		want("within the second")
		note(8, 1)
		want("another uid", report{8, 1})
		time.Sleep(1100 * time.Millisecond)
		want("a second later", report{7, 100})
		time.Sleep(5 * time.Second)
		want("in silence")
		if p.counting() {
			t.Error("a uid that went away is remembered")
		}
		for uid := range uint32(10_000) {
			note(uid, 1)
		}
		synctest.Wait()
		if len(p.tallies) > maxTallies+1 {
			t.Errorf("%d tallies", len(p.tallies))
		}
		note(3, 5)
		close(done)
		<-ended
		total := 0
		for _, r := range got {
			total += r.n
		}
		if total != 10_005 {
			t.Errorf("%d of 10005 reported", total)
		}
	})
}

// P2: connections are bounded for a uid and in all; one more is told busy, and
// a place that is given back can be had.
func TestConnectionLimits(t *testing.T) {
	for name, limit := range map[string]func(*Config){
		"of a uid": func(c *Config) { c.MaxConnsUID = 2 },
		"in all":   func(c *Config) { c.MaxConns = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			r := serve(t, limit)
			first, second := r.dial(t), r.dial(t)
			wantEcho(t, first)
			wantEcho(t, second)
			third := r.dial(t)
			wantCode(t, receive(t, third), 0, "busy")
			wantEnd(t, third)
			first.Close()
			eventually(t, "a place", func() bool { return r.held() == 1 })
			wantEcho(t, r.dial(t))
			wantEcho(t, second)
		})
	}
}

// P2: large requests are bounded in number, for a uid and in all; one more
// waits, is refused in the end, and small ones pass it meanwhile.
func TestLargeLimits(t *testing.T) {
	for name, limit := range map[string]func(*Config){
		"of a uid": func(c *Config) { c.MaxLargeUID = 1 },
		"in all":   func(c *Config) { c.MaxLarge = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			hold, entered := make(chan struct{}), make(chan struct{}, 2)
			r := serve(t, func(c *Config) {
				limit(c)
				c.FrameTimeout = 300 * time.Millisecond
				c.Methods["hold"] = Method{May: anyone, Handle: func(context.Context, Caller, canon.Raw) (Reply, error) {
					entered <- struct{}{}
					<-hold
					return Reply{}, nil
				}}
			})
			large := requestFrame(t, 1, "hold", make([]byte, 2*SmallFrame))
			first, second, third := r.dial(t), r.dial(t), r.dial(t)
			send(t, first, large)
			<-entered
			send(t, second, large)
			wantEcho(t, third)
			wantCode(t, receive(t, second), 0, "busy")
			wantEnd(t, second)
			eventually(t, "only the first holds a place", func() bool { return r.held() == 2 && r.largeHeld() == 1 })
			send(t, third, large)
			close(hold)
			for _, uc := range []*net.UnixConn{first, third} {
				if resp := receive(t, uc); resp.Refusal != nil {
					t.Errorf("a large request that had its place: %v", resp.Refusal)
				}
			}
		})
	}
}

// T18: a method whose reply may be large takes a large frame's place for it,
// however small its request is, and one more is told busy.
func TestLargeReplies(t *testing.T) {
	hold, entered := make(chan struct{}), make(chan struct{}, 2)
	r := serve(t, func(c *Config) {
		c.MaxLargeUID, c.FrameTimeout = 1, 300*time.Millisecond
		c.Methods["hold"] = Method{May: anyone, Large: true, Handle: func(context.Context, Caller, canon.Raw) (Reply, error) {
			entered <- struct{}{}
			<-hold
			return Reply{}, nil
		}}
	})
	first, second := r.dial(t), r.dial(t)
	send(t, first, requestFrame(t, 1, "hold", nil))
	<-entered
	send(t, second, requestFrame(t, 2, "hold", nil))
	wantCode(t, receive(t, second), 2, "busy")
	close(hold)
	receive(t, first)
	eventually(t, "no place is held", func() bool { return r.largeHeld() == 0 })
	send(t, second, requestFrame(t, 3, "hold", nil))
	if resp := receive(t, second); resp.ID != 3 || resp.Refusal != nil {
		t.Errorf("the connection does not go on: %v", resp.Refusal)
	}
}
