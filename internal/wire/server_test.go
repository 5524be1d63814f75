package wire

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/canon"
)

// waiter is a method that says when it runs and how its context ends.
type waiter struct {
	entered chan struct{}
	ended   chan error    // the context's
	release chan struct{} // lets it return
}

func newWaiter() *waiter {
	return &waiter{make(chan struct{}, 9), make(chan error, 9), make(chan struct{})}
}

func (w *waiter) method(cancel bool) Method {
	return Method{May: anyone, Cancel: cancel, Handle: func(ctx context.Context, _ Caller, _ canon.Raw) (Reply, error) {
		w.entered <- struct{}{}
		select {
		case <-ctx.Done():
		case <-w.release:
		}
		w.ended <- ctx.Err()
		return Reply{Result: "done"}, ctx.Err()
	}}
}

// within gives what comes of a channel in five seconds.
func within[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(5 * time.Second):
		t.Fatalf("not within 5 s: %s", what)
	}
	return v
}

// T16: hanging up ends a request that only reads, and no other.
func TestHangUp(t *testing.T) {
	for name, hangUp := range map[string]func(*net.UnixConn) error{
		"close": (*net.UnixConn).Close, "shutdown": (*net.UnixConn).CloseWrite,
	} {
		reads, writes := newWaiter(), newWaiter()
		r := serve(t, func(c *Config) {
			c.FrameTimeout = 30 * time.Millisecond // bounds frames, not the watch
			c.Methods["read"] = reads.method(true)
			c.Methods["write"] = writes.method(false)
		})
		reader, writer := r.dial(t), r.dial(t)
		send(t, reader, requestFrame(t, 1, "read", nil))
		send(t, writer, requestFrame(t, 1, "write", nil))
		within(t, "both run", reads.entered)
		within(t, "both run", writes.entered)
		if err := hangUp(writer); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-reads.ended:
			t.Fatalf("%s: a peer that is there was taken for gone: %v", name, err)
		case <-time.After(100 * time.Millisecond):
		}
		if err := hangUp(reader); err != nil {
			t.Fatal(err)
		}
		if err := within(t, "the reader ends", reads.ended); err != context.Canceled {
			t.Errorf("%s: the reading request ended with %v", name, err)
		}
		close(writes.release)
		if err := within(t, "the writer ends", writes.ended); err != nil {
			t.Errorf("%s: the writing request was ended: %v", name, err)
		}
	}
}

// T18: watching for a hang-up takes nothing from the connection: one that
// stays is answered, and so is a request that was sent early.
func TestWatchTakesNothing(t *testing.T) {
	uc := serve(t, func(c *Config) {
		c.Methods["read"] = Method{May: anyone, Cancel: true, Handle: func(context.Context, Caller, canon.Raw) (Reply, error) {
			time.Sleep(5 * time.Millisecond) // for the watch to look
			return Reply{}, nil
		}}
	}).dial(t)
	for i := range uint64(20) {
		send(t, uc, append(requestFrame(t, 2*i+1, "read", echo{}), requestFrame(t, 2*i+2, "echo", echo{fmt.Sprint(i)})...))
		if resp := receive(t, uc); resp.ID != 2*i+1 || resp.Refusal != nil {
			t.Fatalf("round %d: %+v", i, resp)
		}
		if resp := receive(t, uc); resp.ID != 2*i+2 || resp.Refusal != nil {
			t.Fatalf("round %d: %+v", i, resp)
		}
	}
}

// P5: stopping lets what was read run to its end and be answered, carries out
// one more that was sent whole, ends what only waits, and leaves the listener open.
func TestStop(t *testing.T) {
	reads, writes := newWaiter(), newWaiter()
	r := serve(t, func(c *Config) {
		c.Methods["read"] = reads.method(true)
		c.Methods["write"] = writes.method(false)
	})
	idle, reader, writer, begun := r.dial(t), r.dial(t), r.dial(t), r.dial(t)
	wantEcho(t, idle)
	send(t, reader, requestFrame(t, 1, "read", nil))
	send(t, writer, requestFrame(t, 1, "write", nil))
	send(t, writer, requestFrame(t, 2, "echo", echo{"sent"}))
	send(t, writer, requestFrame(t, 3, "echo", echo{"one too many"}))
	send(t, begun, requestFrame(t, 1, "echo", nil)[:7])
	within(t, "run", reads.entered)
	within(t, "run", writes.entered)
	eventually(t, "all are accepted", func() bool { return r.held() == 4 })
	r.stop()
	wantCode(t, receive(t, reader), 1, "unavailable")
	for _, uc := range []*net.UnixConn{idle, reader, begun} {
		wantEnd(t, uc)
	}
	select {
	case err := <-r.done:
		t.Fatalf("Serve left a request behind: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if _, err := writer.Write(requestFrame(t, 4, "echo", echo{"late"})); err == nil {
		t.Error("a request was taken after the stop")
	}
	close(writes.release)
	for id := range uint64(2) {
		if resp := receive(t, writer); resp.ID != id+1 || resp.Refusal != nil {
			t.Errorf("%+v", resp)
		}
	}
	wantEnd(t, writer)
	if err := within(t, "Serve returns", r.done); err != nil {
		t.Error(err)
	}
	r.dial(t) // into the listener's queue
}

// T18: a listener that is closed under the server is an error, and ends it.
func TestListenerGone(t *testing.T) {
	r := serve(t, nil)
	uc := r.dial(t)
	wantEcho(t, uc)
	r.l.Close()
	if err := within(t, "Serve returns", r.done); err == nil {
		t.Error("no error")
	}
	wantEnd(t, uc)
}

// openHandles is how many descriptors this process has.
func openHandles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// T11: a server takes no handle: what a peer attaches is dropped by the kernel.
func TestServerTakesNoHandles(t *testing.T) {
	uc := serve(t, nil).dial(t)
	wantEcho(t, uc)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	before := openHandles(t)
	f := requestFrame(t, 1, "echo", echo{"x"})
	rights := unix.UnixRights(int(r.Fd()), int(r.Fd()), int(r.Fd()))
	for _, part := range [][]byte{f[:2], f[2:10], f[10:]} {
		if _, _, err := uc.WriteMsgUnix(part, rights, nil); err != nil {
			t.Fatal(err)
		}
	}
	if resp := receive(t, uc); resp.Refusal != nil {
		t.Error(resp.Refusal)
	}
	if after := openHandles(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	// With this process's own reader gone, nobody must be left to read.
	r.Close()
	eventually(t, "the pipe has no reader left", func() bool {
		_, err := w.Write([]byte{1})
		return err != nil
	})
}

// T11: a reply's handles are closed whatever became of it, and one that cannot
// be sent is a fault told as such.
func TestHandlesAreClosed(t *testing.T) {
	open := func(n int) (files []*os.File) {
		for range n {
			f, err := os.Open("/proc/self/status")
			if err != nil {
				t.Error(err)
			}
			files = append(files, f)
		}
		return files
	}
	method := func(n int, err error, spoil func([]*os.File)) Method {
		return Method{May: anyone, Handle: func(context.Context, Caller, canon.Raw) (Reply, error) {
			files := open(n)
			spoil(files)
			return Reply{Handles: files}, err
		}}
	}
	asIs := func([]*os.File) {}
	r := serve(t, func(c *Config) {
		c.Methods["most"] = method(MaxHandles, nil, asIs)
		c.Methods["too-many"] = method(MaxHandles+1, nil, asIs)
		c.Methods["failed"] = method(3, context.Canceled, asIs)
		c.Methods["closed"] = method(3, nil, func(f []*os.File) { f[1].Close() })
	})
	uc := r.dial(t)
	wantEcho(t, uc)
	before := openHandles(t)
	for method, code := range map[string]string{"most": "", "too-many": "internal", "failed": "internal", "closed": "internal"} {
		send(t, uc, requestFrame(t, 1, method, nil))
		if resp := receive(t, uc); code != "" {
			wantCode(t, resp, 1, code)
		} else if resp.Refusal != nil {
			t.Error(resp.Refusal)
		}
		eventually(t, method+"'s handles are closed", func() bool { return openHandles(t) == before })
	}
	wantEcho(t, uc)
}
