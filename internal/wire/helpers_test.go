package wire

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"countersign/internal/canon"
)

type echo struct {
	Text string `cbor:"text"`
}

func anyone(Caller) error { return nil }

// echoMethod answers with its params.
func echoMethod() Method {
	return Method{May: anyone, Handle: Typed(func(_ context.Context, _ Caller, p echo) (echo, error) { return p, nil })}
}

// safeBuffer takes the log of many goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// running is a server under test.
type running struct {
	*Server
	path string
	log  *safeBuffer
	l    *net.UnixListener
	stop context.CancelFunc
	done chan error // what Serve returned
}

// serve starts a server that admits everybody and has the method echo, unless
// change says otherwise.
func serve(t *testing.T, change func(*Config)) *running {
	t.Helper()
	r := &running{path: filepath.Join(t.TempDir(), "s"), log: &safeBuffer{}, done: make(chan error, 1)}
	cfg := Config{
		Name: "the test", Admit: anyone, FrameTimeout: 10 * time.Second,
		Methods: map[string]Method{"echo": echoMethod()},
		Log:     slog.New(slog.NewTextHandler(r.log, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if r.Server, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	if r.l, err = net.ListenUnix("unix", &net.UnixAddr{Name: r.path, Net: "unix"}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.done <- r.Serve(ctx, r.l)
	}()
	t.Cleanup(func() {
		stop()
		within(t, "the server ends", ended)
		r.l.Close()
	})
	return r
}

// held is how many connections the server has.
func (r *running) held() int {
	r.places.mu.Lock()
	defer r.places.mu.Unlock()
	return r.places.held
}

// largeHeld is how many large places this process's uid has.
func (r *running) largeHeld() int {
	r.places.mu.Lock()
	defer r.places.mu.Unlock()
	return len(r.places.share[uint32(os.Geteuid())].large)
}

func (r *running) dial(t *testing.T) *net.UnixConn {
	t.Helper()
	uc, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: r.path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { uc.Close() })
	uc.SetDeadline(time.Now().Add(20 * time.Second))
	return uc
}

// frame is the frame of an item that need not be sound.
func frame(t testing.TB, item []byte) []byte {
	t.Helper()
	f, err := Frame(item)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// requestFrame is the frame of a sound request.
func requestFrame(t testing.TB, id uint64, method string, params any) []byte {
	t.Helper()
	raw, err := canon.Encode(params)
	if err != nil {
		t.Fatal(err)
	}
	item, err := canon.Encode(Request{ID: id, Method: method, Params: raw})
	if err != nil {
		t.Fatal(err)
	}
	return frame(t, item)
}

func send(t *testing.T, w io.Writer, b []byte) {
	t.Helper()
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
}

// receive reads one response.
func receive(t *testing.T, r io.Reader) Response {
	t.Helper()
	var head [HeadSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		t.Fatalf("reading a response: %v", err)
	}
	size, err := Size(head)
	if err != nil {
		t.Fatal(err)
	}
	item, err := ReadItem(r, size, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := DecodeResponse(item)
	if err != nil {
		t.Fatalf("%x: %v", item, err)
	}
	return resp
}

// wantCode checks that a response refuses request id with code.
func wantCode(t *testing.T, resp Response, id uint64, code string) {
	t.Helper()
	if resp.Refusal == nil || resp.ID != id || string(resp.Refusal.Code) != code {
		t.Errorf("response %d, result %x, refusal %v; want %d, %s", resp.ID, resp.Result, resp.Refusal, id, code)
	}
}

// wantEcho checks that the connection still answers.
func wantEcho(t *testing.T, uc *net.UnixConn) {
	t.Helper()
	send(t, uc, requestFrame(t, 99, "echo", echo{"on"}))
	resp := receive(t, uc)
	var got echo
	if resp.Refusal != nil || resp.ID != 99 || canon.Decode(resp.Result, &got) != nil || got.Text != "on" {
		t.Errorf("echo: %+v", resp)
	}
}

// wantEnd checks that the server has closed the connection.
func wantEnd(t *testing.T, uc *net.UnixConn) {
	t.Helper()
	uc.SetReadDeadline(time.Now().Add(5 * time.Second))
	n, err := uc.Read(make([]byte, 1))
	if ne, ok := err.(net.Error); err == nil || ok && ne.Timeout() {
		t.Errorf("the connection goes on: %d bytes, %v", n, err)
	}
}

// eventually waits until ok, and fails after five seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 5 s: %s", what)
		}
	}
}
