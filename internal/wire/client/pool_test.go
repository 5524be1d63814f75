package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// P2: a pool answers every caller its own, over as many connections as there
// are calls at once, and keeps no more than it was told.
func TestPool(t *testing.T) {
	path, _ := serve(t, nil)
	p := NewPool(Config{Path: path}, 3)
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			for j := range 20 {
				want, got := fmt.Sprint(i, j), echo{}
				if err := p.Call(context.Background(), "echo", echo{want}, &got); err != nil || got.Text != want {
					t.Errorf("%s: %q, %v", want, got.Text, err)
				}
			}
		})
	}
	calls.Wait()
	if len(p.idle) == 0 || len(p.idle) > 3 {
		t.Errorf("%d connections are kept", len(p.idle))
	}
	p.Close()
	wantEcho(t, p)
	if len(p.idle) != 0 {
		t.Errorf("%d connections are kept after Close", len(p.idle))
	}
}

// T18: a server that was started anew is called as if nothing had been.
func TestPoolOutlivesServer(t *testing.T) {
	path, stop := serve(t, nil)
	p := NewPool(Config{Path: path}, 3)
	wantEcho(t, p)
	stop()
	if err := p.Call(t.Context(), "echo", echo{}, &echo{}); !refusal.Is(err, refusal.Unavailable) || errors.Is(err, ErrUnanswered) {
		t.Errorf("with no server: %v", err)
	}
	second, _ := serve(t, nil)
	if err := os.Symlink(second, path); err != nil {
		t.Fatal(err)
	}
	wantEcho(t, p)
}

// T16: a request that the server may have had is never sent again.
func TestPoolNeverSendsTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listen(t, path)
	var requests atomic.Int32
	go func() {
		for {
			uc, err := l.AcceptUnix()
			if err != nil {
				return
			}
			go func() {
				defer uc.Close()
				for {
					if _, err := uc.Read(make([]byte, 1<<16)); err != nil {
						return
					}
					if requests.Add(1) == 2 {
						return // it had the request, and nobody knows what became of it
					}
					uc.Write(responseFrame(t, wire.Response{ID: 1, Result: []byte{0xa0}}))
				}
			}()
		}
	}()
	p := NewPool(Config{Path: path}, 1)
	if err := p.Call(t.Context(), "x", nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Call(t.Context(), "x", nil, nil); !errors.Is(err, ErrUnanswered) {
		t.Errorf("%v", err)
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests were sent for two calls", n)
	}
}

// T18: a request that a kept connection could not take goes out on a new one.
func TestPoolSendsAgainWhatWasNotSent(t *testing.T) {
	path, _ := serve(t, nil)
	p := NewPool(Config{Path: path}, 1)
	wantEcho(t, p)
	kept := p.idle[0]
	// The server's end is whole, so alive cannot see it; writing fails.
	if err := kept.uc.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	var got echo
	handles, err := p.with(t.Context(), func(c *Client) ([]*os.File, error) {
		if c != kept {
			return nil, c.Call(t.Context(), "echo", echo{"x"}, &got)
		}
		return nil, unsent("echo", net.ErrClosed)
	})
	if err != nil || handles != nil || got.Text != "x" {
		t.Errorf("%q, %v", got.Text, err)
	}
}

// T18: a kept connection on which the server spoke unasked, or which it ended,
// is not used.
func TestAlive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listen(t, path)
	for name, c := range map[string]struct {
		do    func(*net.UnixConn)
		alive bool
	}{
		"quiet": {func(*net.UnixConn) {}, true},
		"ended": {func(uc *net.UnixConn) { uc.Close() }, false},
		"spoke": {func(uc *net.UnixConn) { uc.Write([]byte{0}) }, false},
	} {
		client := dial(t, path)
		uc, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		c.do(uc)
		if client.alive() != c.alive {
			t.Errorf("%s: alive is %v", name, !c.alive)
		}
		uc.Close()
	}
}

// BenchmarkCall is one small call on a kept connection, both ends in one
// process.
func BenchmarkCall(b *testing.B) {
	path, _ := serve(b, nil)
	p := NewPool(Config{Path: path}, 1)
	for b.Loop() {
		if err := p.Call(b.Context(), "echo", echo{"x"}, &echo{}); err != nil {
			b.Fatal(err)
		}
	}
}
