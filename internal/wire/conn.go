package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/canon"
	"countersign/internal/refusal"
)

// conn is one admitted connection. One goroutine reads, carries out and
// answers its requests in turn.
type conn struct {
	s      *Server
	uc     *net.UnixConn
	caller Caller
	share  *share
	serial uint64 // names the connection in the log
	count  uint64 // requests so far
}

// serve answers requests until the peer hangs up, breaks the protocol or is
// let go. Once ctx has ended it takes one more, which the peer may have sent
// before it could know.
func (c *conn) serve(ctx context.Context) {
	for last := false; !last; {
		last = ctx.Err() != nil
		item, giveBack, err := c.readItem(ctx)
		if err != nil {
			if r := refusal.As(err); r != nil {
				c.refuse(0, r)
			}
			return
		}
		goOn := c.answer(ctx, item)
		giveBack()
		if !goOn {
			return
		}
	}
}

// readItem waits for a frame without limit, and once it has begun reads it
// whole within FrameTimeout. giveBack frees the place that a large one holds.
// An error that is no refusal means that the peer is gone.
//
// It reads with plain read(2): handles that a peer attaches have nowhere to
// go, and the kernel drops them.
func (c *conn) readItem(ctx context.Context) (item []byte, giveBack func(), err error) {
	var head [HeadSize]byte
	c.uc.SetReadDeadline(time.Time{})
	n, err := c.uc.Read(head[:])
	if err != nil {
		return nil, nil, err
	}
	end := time.Now().Add(c.s.cfg.FrameTimeout)
	c.uc.SetReadDeadline(end)
	if _, err := io.ReadFull(c.uc, head[n:]); err != nil {
		return nil, nil, c.lateOrGone(err)
	}
	size, err := Size(head)
	if err != nil {
		return nil, nil, err
	}
	giveBack = func() {}
	item, err = ReadItem(c.uc, size, func() error {
		waiting, cancel := context.WithDeadline(ctx, end)
		defer cancel()
		place, err := c.s.places.takeLarge(waiting, c.share)
		if err == nil {
			giveBack = place
		}
		return err
	})
	if err != nil {
		giveBack()
		return nil, nil, c.lateOrGone(err)
	}
	return item, giveBack, nil
}

// lateOrGone makes a refusal of a deadline that ran out.
func (c *conn) lateOrGone(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refusal.New(refusal.BadRequest, "a frame", "it was not whole %s after it began", c.s.cfg.FrameTimeout)
	}
	return err
}

// answer carries out one request and replies. It reports whether the
// connection goes on.
func (c *conn) answer(ctx context.Context, item []byte) bool {
	c.count++
	req, err := decodeRequest(item)
	if err != nil {
		c.refuse(0, refusal.As(err))
		return false
	}
	attrs := []slog.Attr{slog.Uint64("conn", c.serial), slog.Uint64("request", c.count), slog.Uint64("uid", uint64(c.caller.UID))}
	if err := c.s.admits(c.caller); err != nil {
		c.refuse(req.ID, c.s.refusalOf(err, c.s.cfg.Name, attrs...))
		return false
	}
	giveBack, err := c.placeFor(ctx, req.Method)
	if err != nil {
		return c.refuse(req.ID, c.s.refusalOf(err, methodName(req.Method), attrs...)) == nil
	}
	defer giveBack()
	result, handles, err := c.perform(ctx, req)
	defer closeAll(handles)
	if err == nil {
		var frame []byte
		if frame, err = encode(Response{ID: req.ID, Result: result}); err == nil {
			return c.write(frame, handles) == nil
		}
	}
	var p *panicError
	return c.refuse(req.ID, c.s.refusalOf(err, methodName(req.Method), attrs...)) == nil && !errors.As(err, &p)
}

// placeFor takes the place that a method's reply may need.
func (c *conn) placeFor(ctx context.Context, method string) (giveBack func(), err error) {
	if !c.s.cfg.Methods[method].Large {
		return func() {}, nil
	}
	waiting, cancel := context.WithTimeout(ctx, c.s.cfg.FrameTimeout)
	defer cancel()
	return c.s.places.takeLarge(waiting, c.share)
}

// methodName is a method as a refusal names it: a peer chose it.
func methodName(method string) string { return "method " + quoted(method) }

// panicError is a panic of the code that carried a request out.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// recovered, deferred, makes a panic the function's error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = &panicError{value: p, stack: debug.Stack()}
	}
}

// perform looks the method up, asks whether the caller may, holds the params
// to their limit, and only then lets the handler see them. The handles are
// the caller's to close, beside an error too.
func (c *conn) perform(ctx context.Context, req Request) (result canon.Raw, handles []*os.File, err error) {
	defer recovered(&err)
	m, ok := c.s.cfg.Methods[req.Method]
	if !ok {
		return nil, nil, refusal.New(refusal.UnknownMethod, methodName(req.Method), "%s", c.s.cfg.Name)
	}
	if err := m.May(c.caller); err != nil {
		return nil, nil, err
	}
	if m.Limit > 0 && len(req.Params) > m.Limit {
		return nil, nil, refusal.New(refusal.TooLarge, methodName(req.Method),
			"its params have %d bytes, %d are allowed", len(req.Params), m.Limit)
	}
	reply, err := c.handle(ctx, m, req.Params)
	if err != nil {
		return nil, reply.Handles, err
	}
	if err := checkHandles(reply.Handles); err != nil {
		return nil, reply.Handles, err
	}
	result, err = canon.Encode(reply.Result)
	return result, reply.Handles, err
}

// handle runs the handler under the context its method calls for.
func (c *conn) handle(ctx context.Context, m Method, params canon.Raw) (Reply, error) {
	if !m.Cancel {
		return m.Handle(context.WithoutCancel(ctx), c.caller, params)
	}
	ctx, stop := c.untilHangUp(ctx)
	defer stop()
	reply, err := m.Handle(ctx, c.caller, params)
	if err != nil && refusal.As(err) == nil && ctx.Err() != nil {
		err = refusal.New(refusal.Unavailable, c.s.cfg.Name, "it ended the request before it was done")
	}
	return reply, err
}

// checkHandles holds a reply to what one message can carry.
func checkHandles(handles []*os.File) error {
	if len(handles) > MaxHandles {
		return fmt.Errorf("a reply with %d handles, %d are allowed", len(handles), MaxHandles)
	}
	for i, f := range handles {
		if int(f.Fd()) < 0 {
			return fmt.Errorf("handle %d of a reply is closed", i)
		}
	}
	return nil
}

// refuse sends a refusal.
func (c *conn) refuse(id uint64, r *refusal.Refusal) error {
	frame, err := encode(Response{ID: id, Refusal: Clean(r)})
	if err != nil {
		return err
	}
	return c.write(frame, nil)
}

func encode(resp Response) ([]byte, error) {
	item, err := canon.Encode(resp)
	if err != nil {
		return nil, err
	}
	return Frame(item)
}

// write sends a frame, handles on its first byte, within FrameTimeout. After
// an error nothing more can be sent.
func (c *conn) write(frame []byte, handles []*os.File) error {
	c.uc.SetWriteDeadline(time.Now().Add(c.s.cfg.FrameTimeout))
	sent := 0
	if len(handles) > 0 {
		fds := make([]int, len(handles))
		for i, f := range handles {
			fds[i] = int(f.Fd())
		}
		var err error
		if sent, _, err = c.uc.WriteMsgUnix(frame, unix.UnixRights(fds...), nil); err != nil {
			return err
		}
	}
	_, err := c.uc.Write(frame[sent:])
	return err
}
