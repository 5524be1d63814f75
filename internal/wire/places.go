package wire

import (
	"context"
	"sync"

	"countersign/internal/refusal"
)

// places counts what the callers of one server hold: connections, and frames
// over SmallFrame from the first byte past it until they are answered. Both
// are bounded for each uid and in all, so that no uid can take the others'
// share or more memory than its own.
type places struct {
	what            string // the server, in a refusal
	conns, connsUID int
	largeUID        int
	large           chan struct{}

	mu    sync.Mutex
	held  int
	share map[uint32]*share
}

// share is what one uid holds; it exists while the uid has a connection.
type share struct {
	conns int
	large chan struct{}
}

func newPlaces(cfg Config) *places {
	return &places{
		what: cfg.Name, conns: cfg.MaxConns, connsUID: cfg.MaxConnsUID, largeUID: cfg.MaxLargeUID,
		large: make(chan struct{}, cfg.MaxLarge), share: make(map[uint32]*share),
	}
}

// enter takes a connection's place, or refuses as busy.
func (p *places) enter(uid uint32) (*share, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held >= p.conns {
		return nil, refusal.New(refusal.Busy, p.what, "it holds %d connections, its limit", p.held)
	}
	s := p.share[uid]
	if s == nil {
		s = &share{large: make(chan struct{}, p.largeUID)}
		p.share[uid] = s
	}
	if s.conns >= p.connsUID {
		return nil, refusal.New(refusal.Busy, p.what, "uid %d holds %d connections, the limit of one uid", uid, s.conns)
	}
	s.conns++
	p.held++
	return s, nil
}

// leave gives a connection's place back.
func (p *places) leave(uid uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held--
	s := p.share[uid]
	if s.conns--; s.conns == 0 {
		delete(p.share, uid)
	}
}

// takeLarge waits for a large frame's place: the uid's own first, so that one
// that has used up its share cannot stand in the queue of all.
func (p *places) takeLarge(ctx context.Context, s *share) (giveBack func(), err error) {
	for i, queue := range []chan struct{}{s.large, p.large} {
		select {
		case queue <- struct{}{}:
		case <-ctx.Done():
			if i > 0 {
				<-s.large
			}
			return nil, refusal.New(refusal.Busy, p.what, "no place for a frame over %d bytes came free in time", SmallFrame)
		}
	}
	return func() { <-p.large; <-s.large }, nil
}
