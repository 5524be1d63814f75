package daemon

import (
	"context"
	"sync"
	"time"

	"countersign/internal/canon"
	"countersign/internal/wire"
)

// Idle ends a daemon that is not asked anything for a while: a service manager
// holds its socket, and starts it again for the next caller.
type Idle struct {
	after time.Duration

	mu   sync.Mutex
	busy int
	last time.Time // when a request came or ended
}

// NewIdle counts from now. Of a duration of 0 nothing comes.
func NewIdle(after time.Duration) *Idle { return &Idle{after: after, last: time.Now()} }

// Count gives a table whose requests are counted.
func (i *Idle) Count(methods map[string]wire.Method) map[string]wire.Method {
	counted := make(map[string]wire.Method, len(methods))
	for name, m := range methods {
		handle := m.Handle
		m.Handle = func(ctx context.Context, c wire.Caller, params canon.Raw) (wire.Reply, error) {
			i.note(1)
			defer i.note(-1)
			return handle(ctx, c, params)
		}
		counted[name] = m
	}
	return counted
}

func (i *Idle) note(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.busy += n
	i.last = time.Now()
}

// left gives how long it takes, at the least, until it has been idle.
func (i *Idle) left() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.busy > 0 {
		return i.after
	}
	return i.after - time.Since(i.last)
}

// run calls then once it has been idle, unless ctx ends before.
func (i *Idle) run(ctx context.Context, then func()) {
	if i.after <= 0 {
		return
	}
	for {
		left := i.left()
		if left <= 0 {
			then()
			return
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
	}
}
