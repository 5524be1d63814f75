package client

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/internal/canon"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

type echo struct {
	Text string `cbor:"text"`
}

type number struct {
	N uint64 `cbor:"n"`
}

func anyone(wire.Caller) error { return nil }

func listen(t testing.TB, path string) *net.UnixListener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// table is the methods of the servers under test.
func table() map[string]wire.Method {
	return map[string]wire.Method{
		"echo": {May: anyone, Handle: wire.Typed(func(_ context.Context, _ wire.Caller, p echo) (echo, error) { return p, nil })},
		"none": {May: anyone, Handle: wire.Typed(func(context.Context, wire.Caller, struct{}) (struct{}, error) { return struct{}{}, nil })},
		"no": {May: anyone, Handle: wire.Typed(func(context.Context, wire.Caller, struct{}) (echo, error) {
			return echo{}, refusal.New(refusal.NotFound, "a thing", "")
		})},
		"wait": {May: anyone, Cancel: true, Handle: wire.Typed(func(ctx context.Context, _ wire.Caller, _ struct{}) (echo, error) {
			<-ctx.Done()
			return echo{}, ctx.Err()
		})},
		"handles": {May: anyone, Handle: wire.TypedHandles(func(_ context.Context, _ wire.Caller, p number) (number, []*os.File, error) {
			var files []*os.File
			for i := range p.N {
				f, err := os.CreateTemp("", "handle")
				if err != nil {
					return p, files, err
				}
				os.Remove(f.Name())
				f.Write([]byte{byte(i)})
				files = append(files, f)
			}
			return p, files, nil
		})},
	}
}

// serve starts a server and returns its socket and a stop that waits.
func serve(t testing.TB, change func(*wire.Config)) (path string, stop func()) {
	t.Helper()
	cfg := wire.Config{Name: "the test", Admit: anyone, Methods: table(), Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	s, err := wire.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "s")
	l := listen(t, path)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { s.Serve(ctx, l); close(done) }()
	stop = func() { cancel(); <-done; l.Close() }
	t.Cleanup(cancel)
	return path, stop
}

func dial(t *testing.T, path string) *Client {
	t.Helper()
	c, err := Dial(context.Background(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// caller is a Client or a Pool.
type caller interface {
	Call(ctx context.Context, method string, params, result any) error
	CallHandles(ctx context.Context, method string, params, result any) ([]*os.File, error)
}

func wantEcho(t *testing.T, c caller) {
	t.Helper()
	var got echo
	if err := c.Call(context.Background(), "echo", echo{"x"}, &got); err != nil || got.Text != "x" {
		t.Errorf("echo: %q, %v", got.Text, err)
	}
}

// T2: results and refusals come through whole; a result of another shape than
// the caller awaits is not taken for one.
func TestCall(t *testing.T) {
	path, _ := serve(t, nil)
	for name, c := range map[string]caller{"client": dial(t, path), "pool": NewPool(Config{Path: path}, 2)} {
		wantEcho(t, c)
		if err := c.Call(t.Context(), "none", struct{}{}, nil); err != nil {
			t.Errorf("%s: a result without fields: %v", name, err)
		}
		if err := c.Call(t.Context(), "no", struct{}{}, &echo{}); !refusal.Is(err, refusal.NotFound) || errors.Is(err, ErrUnanswered) {
			t.Errorf("%s: a refusal: %v", name, err)
		}
		if err := c.Call(t.Context(), "echo", make([]byte, wire.MaxFrame), nil); !refusal.Is(err, refusal.TooLarge) {
			t.Errorf("%s: params over the limit: %v", name, err)
		}
		wantEcho(t, c)
		if err := c.Call(t.Context(), "echo", echo{"x"}, &number{}); !errors.Is(err, ErrUnanswered) {
			t.Errorf("%s: a result of another shape: %v", name, err)
		}
	}
}

// T18: a reply that is not exactly what docs/wire.md describes is not
// believed, and the connection not used again.
func TestUnsoundReplies(t *testing.T) {
	good := wire.Response{ID: 1, Result: canon.Raw{0xa0}}
	framed := func(item string) []byte { return append([]byte{0, 0, 0, byte(len(item))}, item...) }
	for name, reply := range map[string][]byte{
		"nothing":         nil,
		"half a frame":    responseFrame(t, good)[:8],
		"empty frame":     {0, 0, 0, 0},
		"huge frame":      {0xff, 0xff, 0xff, 0xff},
		"another id":      responseFrame(t, wire.Response{ID: 2, Result: canon.Raw{0xa0}}),
		"result, id 0":    responseFrame(t, wire.Response{Result: canon.Raw{0xa0}}),
		"long-form id":    framed("\xa2\x62id\x18\x01\x66result\xa0"),
		"duplicate":       framed("\xa3\x62id\x01\x66result\xa0\x66result\xa0"),
		"unknown field":   framed("\xa3\x61z\x01\x62id\x01\x66result\xa0"),
		"trailing":        framed("\xa2\x62id\x01\x66result\xa0\xa0"),
		"result not ours": framed("\xa2\x62id\x01\x66result\xa1\x61z\x01"),
		"escape in a key": framed("\xa2\x62id\x01\x66result\xa2\x61\x1b\x01\x61\x1b\x01"),
	} {
		t.Run(name, func(t *testing.T) {
			c := answer(t, sent{reply, 0})
			err := c.Call(t.Context(), "x", nil, nil)
			if !errors.Is(err, ErrUnanswered) || !refusal.Is(err, refusal.Unavailable) {
				t.Errorf("%v", err)
			}
			if strings.ContainsRune(err.Error(), '\x1b') {
				t.Errorf("the error carries the peer's bytes: %q", err)
			}
			if err := c.Call(t.Context(), "x", nil, nil); !errors.Is(err, errUnsent) {
				t.Errorf("a second call: %v", err)
			}
		})
	}
}

// P2: a refusal with id 0 reaches the caller, before or after its request.
func TestRefusedConnection(t *testing.T) {
	path, _ := serve(t, func(c *wire.Config) {
		c.Admit = func(wire.Caller) error { return refusal.New(refusal.NotPermitted, "you", "") }
	})
	for name, params := range map[string]any{"small": echo{"x"}, "large": echo{strings.Repeat("x", 4<<20)}} {
		for _, wait := range []time.Duration{0, 50 * time.Millisecond} {
			c := dial(t, path)
			time.Sleep(wait)
			if err := c.Call(t.Context(), "echo", params, &echo{}); !refusal.Is(err, refusal.NotPermitted) || errors.Is(err, ErrUnanswered) {
				t.Errorf("%s after %v: %v", name, wait, err)
			}
		}
	}
}

// T18: ctx and Timeout end a call that waits, and its connection with it.
func TestContextEndsCall(t *testing.T) {
	path, _ := serve(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for name, call := range map[string]func() error{
		"ctx": func() error { return dial(t, path).Call(ctx, "wait", struct{}{}, &echo{}) },
		"timeout": func() error {
			return NewPool(Config{Path: path, Timeout: 50 * time.Millisecond}, 1).Call(t.Context(), "wait", struct{}{}, &echo{})
		},
	} {
		if err := call(); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrUnanswered) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// T18: a server that takes no more, or stops in the middle of a reply, is
// given up after FrameTimeout, and the error says which it was.
func TestServerThatHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listen(t, path) // nobody accepts
	cfg := Config{Path: path, FrameTimeout: 50 * time.Millisecond}
	c, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Call(t.Context(), "echo", make([]byte, 8<<20), nil)
	if !refusal.Is(err, refusal.Unavailable) || errors.Is(err, ErrUnanswered) {
		t.Errorf("a request that was not taken: %v", err)
	}
	go func() {
		for {
			uc, err := l.AcceptUnix()
			if err != nil {
				return
			}
			defer uc.Close()
			uc.Write([]byte{0, 0})
		}
	}()
	if c, err = Dial(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), "echo", nil, nil); !errors.Is(err, ErrUnanswered) {
		t.Errorf("half a reply: %v", err)
	}
}
