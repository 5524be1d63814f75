package client

import (
	"context"
	"errors"
	"os"
	"sync"
)

// Pool calls one server over as many connections as there are calls at once,
// and keeps some of them for the next. It is safe for concurrent use.
//
// A request goes out a second time only where the server cannot have got the
// first whole, because it had let a kept connection go.
type Pool struct {
	cfg  Config
	keep int

	mu     sync.Mutex
	idle   []*Client
	closed bool
}

// NewPool makes a pool that keeps at most keep idle connections. Nothing is
// connected before the first call.
func NewPool(cfg Config, keep int) *Pool { return &Pool{cfg: cfg, keep: keep} }

// Call is Client.Call.
func (p *Pool) Call(ctx context.Context, method string, params, result any) error {
	_, err := p.with(ctx, func(c *Client) ([]*os.File, error) {
		return nil, c.Call(ctx, method, params, result)
	})
	return err
}

// CallHandles is Client.CallHandles.
func (p *Pool) CallHandles(ctx context.Context, method string, params, result any) ([]*os.File, error) {
	return p.with(ctx, func(c *Client) ([]*os.File, error) {
		return c.CallHandles(ctx, method, params, result)
	})
}

// Close ends the idle connections, and those in use once their call is done.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		c.Close()
	}
	p.idle = nil
}

// with makes a call on a kept connection, or on a new one.
func (p *Pool) with(ctx context.Context, call func(*Client) ([]*os.File, error)) ([]*os.File, error) {
	if c := p.take(); c != nil {
		handles, err := call(c)
		p.put(c)
		if !errors.Is(err, errUnsent) || ctx.Err() != nil {
			return handles, err
		}
	}
	c, err := Dial(ctx, p.cfg)
	if err != nil {
		return nil, err
	}
	defer p.put(c)
	return call(c)
}

// take returns a kept connection that is still good, the latest used first, or
// nil.
func (p *Pool) take() *Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		last := len(p.idle) - 1
		c := p.idle[last]
		p.idle = p.idle[:last]
		if c.alive() {
			return c
		}
		c.Close()
	}
	return nil
}

// put keeps a connection, or closes it.
func (p *Pool) put(c *Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.ended || p.closed || len(p.idle) >= p.keep {
		c.Close()
		return
	}
	p.idle = append(p.idle, c)
}
