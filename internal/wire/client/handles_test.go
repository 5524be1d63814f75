package client

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/canon"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// T11: handles come whole, in order and close-on-exec, as many as the limit.
func TestHandles(t *testing.T) {
	path, _ := serve(t, nil)
	c := dial(t, path)
	for _, n := range []uint64{0, 1, wire.MaxHandles} {
		var got number
		handles, err := c.CallHandles(t.Context(), "handles", number{n}, &got)
		if err != nil || uint64(len(handles)) != n || got.N != n {
			t.Fatalf("%d handles: %d, %v", n, len(handles), err)
		}
		for i, f := range handles {
			flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0)
			if err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("handle %d has flags %x, %v", i, flags, err)
			}
			var b [2]byte
			if n, err := f.ReadAt(b[:], 0); n != 1 || err != io.EOF || int(b[0]) != i {
				t.Errorf("handle %d of %d holds %d bytes, %x, %v", i, len(handles), n, b, err)
			}
			f.Close()
		}
	}
	wantEcho(t, c)
}

func openHandles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// sent is what a server of no good answers with: bytes, and with each piece
// some handles.
type sent struct {
	bytes   []byte
	handles int
}

// answer serves one connection: it reads a request and sends pieces.
func answer(t *testing.T, pieces ...sent) *Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l := listen(t, path)
	go func() {
		uc, err := l.AcceptUnix()
		if err != nil {
			return
		}
		defer uc.Close()
		uc.Read(make([]byte, 1<<16))
		for _, p := range pieces {
			fds := make([]int, p.handles) // of standard input
			uc.WriteMsgUnix(p.bytes, unix.UnixRights(fds...), nil)
		}
		uc.CloseWrite()
		io.Copy(io.Discard, uc)
	}()
	return dial(t, path)
}

func responseFrame(t *testing.T, resp wire.Response) []byte {
	t.Helper()
	item, err := canon.Encode(resp)
	if err != nil {
		t.Fatal(err)
	}
	f, err := wire.Frame(item)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// T11: handles that the call does not await, that come with a refusal, or that
// are more than the limit make the reply void, and none stays open.
func TestHandlesAreRefused(t *testing.T) {
	ok := responseFrame(t, wire.Response{ID: 1, Result: canon.Raw{0xa0}})
	no := responseFrame(t, wire.Response{ID: 1, Refusal: refusal.New(refusal.NotFound, "x", "")})
	awaited := func(c *Client) error {
		handles, err := c.CallHandles(t.Context(), "x", nil, nil)
		if err != nil && handles != nil {
			t.Errorf("%d handles beside an error", len(handles))
		}
		closeAll(handles)
		return err
	}
	unawaited := func(c *Client) error { return c.Call(t.Context(), "x", nil, nil) }
	for name, c := range map[string]struct {
		pieces []sent
		call   func(*Client) error
		ok     bool
	}{
		"as many as may be":   {[]sent{{ok, 64}}, awaited, true},
		"one more":            {[]sent{{ok, 65}}, awaited, false},
		"far more":            {[]sent{{ok, 253}}, awaited, false},
		"not awaited":         {[]sent{{ok, 5}}, unawaited, false},
		"with a refusal":      {[]sent{{no, 5}}, awaited, false},
		"with an unsound one": {[]sent{{[]byte{0, 0, 0, 1, 0xff}, 5}}, awaited, false},
		"and then the end":    {[]sent{{ok[:7], 5}}, awaited, false},
		"on later bytes":      {[]sent{{ok[:1], 0}, {ok[1:6], 3}, {ok[6:], 3}}, unawaited, true},
	} {
		t.Run(name, func(t *testing.T) {
			client := answer(t, c.pieces...)
			before := openHandles(t) + 1 // the server's accepted connection
			err := c.call(client)
			if c.ok && err != nil || !c.ok && !errors.Is(err, ErrUnanswered) {
				t.Errorf("%v", err)
			}
			if after := openHandles(t); after > before {
				t.Errorf("%d descriptors, %d before", after, before)
			}
		})
	}
}
