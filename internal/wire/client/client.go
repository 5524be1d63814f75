package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/canon"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// ErrUnanswered is in the chain of an error after which a request may have
// been carried out: it was sent whole, and no reply came that can be believed.
var ErrUnanswered = errors.New("the request was sent and not answered")

// errUnsent is in the chain of an error after which a request was certainly
// not carried out, because the server cannot have got all of it.
var errUnsent = errors.New("the request was not sent whole")

var errHandles = errors.New("the reply carries handles that are not awaited")

// lastWords is how long a server that no longer reads is listened to.
const lastWords = time.Second

// Client is one connection. It makes one call at a time, and none after an
// error that is not the server's answer to the call.
type Client struct {
	cfg    Config
	uc     *net.UnixConn
	lastID uint64
	ended  bool
}

// Close ends the connection.
func (c *Client) Close() error {
	c.ended = true
	return c.uc.Close()
}

// Call sends one request and decodes its result into result, or expects an
// empty map where result is nil. A refusal by the server is returned as it
// is. A reply that carries handles is not believed. When ctx ends the
// connection is closed, which ends methods that only read.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	handles, err := c.CallHandles(ctx, method, params, result)
	if len(handles) == 0 {
		return err
	}
	closeAll(handles)
	return c.lost(ctx, method, errHandles)
}

// CallHandles is Call for a method whose reply may carry handles: at most
// wire.MaxHandles, close-on-exec, the caller's to close. Beside an error there
// are none.
func (c *Client) CallHandles(ctx context.Context, method string, params, result any) ([]*os.File, error) {
	if c.ended {
		return nil, unsent(method, net.ErrClosed)
	}
	frame, err := c.request(method, params)
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.cfg.bound(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.uc.Close() })
	defer func() {
		if !stop() {
			c.ended = true
		}
	}()

	c.uc.SetWriteDeadline(time.Now().Add(c.cfg.FrameTimeout))
	if _, err := c.uc.Write(frame); err != nil {
		return nil, c.notSent(ctx, method, err)
	}
	resp, handles, err := c.readResponse(time.Time{})
	if err == nil && resp.Refusal == nil {
		if result == nil {
			result = &struct{}{}
		}
		err = canon.Decode(resp.Result, result)
	}
	switch {
	case err != nil:
		closeAll(handles)
		return nil, c.lost(ctx, method, err)
	case resp.Refusal != nil:
		return nil, resp.Refusal
	}
	return handles, nil
}

// request makes the frame of the next request.
func (c *Client) request(method string, params any) ([]byte, error) {
	raw, err := canon.Encode(params)
	if err != nil {
		return nil, fmt.Errorf("params of %s: %w", method, err)
	}
	c.lastID++
	item, err := canon.Encode(wire.Request{ID: c.lastID, Method: method, Params: raw})
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", method, err)
	}
	return wire.Frame(item)
}

// readResponse waits until begin, or without limit where that is zero, for the
// response to the last request to begin. A refusal with id 0
// is one too, and ends the connection. Handles are the caller's to close,
// beside an error too.
func (c *Client) readResponse(begin time.Time) (resp wire.Response, handles []*os.File, err error) {
	item, handles, err := c.readItem(begin)
	if err != nil {
		return resp, handles, err
	}
	if resp, err = wire.DecodeResponse(item); err != nil {
		return resp, handles, err
	}
	switch {
	case resp.Refusal != nil && len(handles) > 0:
		return resp, handles, errHandles
	case resp.ID == 0:
		c.Close()
	case resp.ID != c.lastID:
		return resp, handles, fmt.Errorf("the reply to request %d came to request %d", resp.ID, c.lastID)
	}
	return resp, handles, nil
}

// readItem reads one frame. Only its first byte may bring handles: the rest is
// read with plain read(2), where the kernel drops them.
func (c *Client) readItem(begin time.Time) (item []byte, handles []*os.File, err error) {
	var head [wire.HeadSize]byte
	c.uc.SetReadDeadline(begin)
	handles, err = recvHandles(c.uc, head[:1])
	if err != nil {
		return nil, handles, err
	}
	c.uc.SetReadDeadline(time.Now().Add(c.cfg.FrameTimeout))
	if _, err := io.ReadFull(c.uc, head[1:]); err != nil {
		return nil, handles, err
	}
	size, err := wire.Size(head)
	if err != nil {
		return nil, handles, err
	}
	item, err = wire.ReadItem(c.uc, size, nil)
	return item, handles, err
}

// recvHandles reads the one byte of b, with the handles on it. The kernel makes
// them close-on-exec, as net asks it to.
func recvHandles(uc *net.UnixConn, b []byte) (handles []*os.File, err error) {
	oob := make([]byte, unix.CmsgSpace(4*wire.MaxHandles))
	_, oobn, flags, _, err := uc.ReadMsgUnix(b, oob)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return nil, fmt.Errorf("control message: %w", err)
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return handles, fmt.Errorf("control message: %w", err)
		}
		for _, fd := range fds {
			handles = append(handles, os.NewFile(uintptr(fd), "handle "+strconv.Itoa(len(handles))))
		}
	}
	if flags&unix.MSG_CTRUNC != 0 {
		return handles, fmt.Errorf("the reply carries more handles than the %d allowed, or than this process can take", wire.MaxHandles)
	}
	return handles, nil
}

// notSent is the error after a request that could not be written whole. The
// server may have said why before it stopped reading.
func (c *Client) notSent(ctx context.Context, method string, cause error) error {
	defer c.Close()
	if ctx.Err() != nil {
		return fmt.Errorf("%w: calling %s: %w", errUnsent, method, context.Cause(ctx))
	}
	resp, handles, err := c.readResponse(time.Now().Add(lastWords))
	closeAll(handles)
	if err == nil && resp.ID == 0 {
		return resp.Refusal
	}
	return unsent(method, cause)
}

func unsent(method string, cause error) error {
	return fmt.Errorf("%w: %w", errUnsent,
		wire.Clean(refusal.New(refusal.Unavailable, "method "+quoted(method), "%v", cause)))
}

// lost is the error after a request that was sent and not answered soundly.
func (c *Client) lost(ctx context.Context, method string, cause error) error {
	c.Close()
	if ctx.Err() != nil {
		return fmt.Errorf("%w: calling %s: %w", ErrUnanswered, method, context.Cause(ctx))
	}
	return fmt.Errorf("%w: %w", ErrUnanswered, wire.Clean(refusal.New(refusal.Unavailable, "method "+quoted(method),
		"its reply did not come, or cannot be believed; whether it was done is not known: %v", cause)))
}

// alive reports whether an idle connection can be used: a server that hung up,
// or said something unasked, is not asked again.
func (c *Client) alive() bool {
	if c.ended {
		return false
	}
	rc, err := c.uc.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = rc.Control(func(fd uintptr) {
		var one [1]byte
		_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		quiet = errors.Is(err, unix.EAGAIN)
	})
	return err == nil && quiet
}

func quoted(s string) string { return strconv.QuoteToASCII(s) }

func closeAll(handles []*os.File) {
	for _, f := range handles {
		f.Close()
	}
}
