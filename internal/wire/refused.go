package wire

import (
	"sync"
	"time"

	"countersign/internal/refusal"
)

const (
	reportEvery = time.Second
	// maxTallies bounds the uids that are counted apart within a second; more
	// of them share one tally under a uid the kernel gives nobody.
	maxTallies = 256
	otherUIDs  = ^uint32(0)
)

// refusedPeers counts wrong peers and hands each uid's count on at most once a
// second, from a goroutine of its own: a report may be slow, accepting may not.
type refusedPeers struct {
	report func(Caller, *refusal.Refusal, int)
	wake   chan struct{}

	mu      sync.Mutex
	tallies map[uint32]*tally
}

type tally struct {
	caller Caller
	why    *refusal.Refusal
	n      int       // since the last report
	at     time.Time // of the last report
}

func newRefusedPeers(report func(Caller, *refusal.Refusal, int)) *refusedPeers {
	return &refusedPeers{report: report, wake: make(chan struct{}, 1), tallies: make(map[uint32]*tally)}
}

// note counts one wrong peer. It does not block.
func (p *refusedPeers) note(c Caller, why *refusal.Refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := c.UID
	if p.tallies[key] == nil && len(p.tallies) >= maxTallies {
		key = otherUIDs
	}
	t := p.tallies[key]
	if t == nil {
		t = &tally{}
		p.tallies[key] = t
	}
	t.caller, t.why, t.n = c, why, t.n+1
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run reports until done is closed, and then what is still unreported.
func (p *refusedPeers) run(done <-chan struct{}) {
	for {
		p.flush(false)
		var tick <-chan time.Time
		if p.counting() {
			tick = time.After(reportEvery)
		}
		select {
		case <-p.wake:
		case <-tick:
		case <-done:
			p.flush(true)
			return
		}
	}
}

func (p *refusedPeers) counting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.tallies) > 0
}

// flush reports every tally that is due, all of them where all is set, and
// forgets those that a second has passed over.
func (p *refusedPeers) flush(all bool) {
	now := time.Now()
	var due []tally
	p.mu.Lock()
	for key, t := range p.tallies {
		switch {
		case !all && now.Sub(t.at) < reportEvery:
		case t.n == 0:
			delete(p.tallies, key)
		default:
			due = append(due, *t)
			t.n, t.at = 0, now
		}
	}
	p.mu.Unlock()
	for _, t := range due {
		p.report(t.caller, t.why, t.n)
	}
}
