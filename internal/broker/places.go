package broker

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"countersign/internal/action"
	"countersign/internal/refusal"
)

// places are locks on where actions land, from capture to outcome: first by
// the paths as they were asked for, then by the landings that were found.
// Every action takes the first kind before the second and each in order, so
// none waits for another in a ring.
type places struct {
	mu   sync.Mutex
	held map[string]*placeLock
}

type placeLock struct {
	taken chan struct{} // holds one token while somebody has the lock
	users int
}

// An agent is refused at once where a crowd waits already: an owner who comes
// then waits for no more than that.
func (p *places) lockPaths(paths []action.Path, owner bool) (unlock func(), err error) {
	keys := make([]string, len(paths))
	for i, path := range paths {
		keys[i] = "path " + string(path)
		if !owner && p.crowded(keys[i]) {
			return nil, refusal.New(refusal.Busy, path.String(), "%d others wait for it", crowd)
		}
	}
	return p.lock(keys)
}

// crowd is how many wait for one path before an agent is sent away.
const crowd = 8

func (p *places) crowded(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.held[key]
	return l != nil && l.users > crowd
}

// lockLandings locks landings within one person's part: what a reader says of
// a landing holds up nobody else.
func (p *places) lockLandings(person string, facts []action.Fact) (unlock func(), err error) {
	keys := make([]string, len(facts))
	for i, f := range facts {
		l := f.Base.Landing
		keys[i] = fmt.Sprintf("landing %s %d %d %s", person, l.Dev, l.Ino, string(l.Name))
	}
	return p.lock(keys)
}

// lock takes all the keys, or none: a wait past queueFor is refused as busy.
func (p *places) lock(keys []string) (unlock func(), err error) {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	patience := time.NewTimer(queueFor)
	defer patience.Stop()
	for i, k := range keys {
		select {
		case p.of(k).taken <- struct{}{}:
		case <-patience.C:
			p.leave(k)
			p.unlock(keys[:i])
			return nil, refusal.New(refusal.Busy, "the action", "another one on the same file is under way")
		}
	}
	return func() { p.unlock(keys) }, nil
}

// of gives a key's lock, and counts the caller among its users.
func (p *places) of(key string) *placeLock {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held = make(map[string]*placeLock)
	}
	l := p.held[key]
	if l == nil {
		l = &placeLock{taken: make(chan struct{}, 1)}
		p.held[key] = l
	}
	l.users++
	return l
}

func (p *places) unlock(keys []string) {
	for _, k := range keys {
		<-p.leave(k).taken
	}
}

// leave takes the caller from a lock's users.
func (p *places) leave(key string) *placeLock {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.held[key]
	if l.users--; l.users == 0 {
		delete(p.held, key)
	}
	return l
}

// floods lets one record a minute through for each kind of nuisance.
type floods struct {
	mu   sync.Mutex
	seen map[string]*flood
}

type flood struct {
	since time.Time
	count uint64
}

// count counts one more, and gives how many there were where a minute is over
// since the last record, 0 otherwise.
func (f *floods) count(key string, n uint64, now time.Time) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = make(map[string]*flood)
	}
	one := f.seen[key]
	if one == nil {
		if len(f.seen) >= 4096 {
			clear(f.seen)
		}
		f.seen[key] = &flood{since: now}
		return n
	}
	one.count += n
	if now.Sub(one.since) < time.Minute {
		return 0
	}
	n, one.count, one.since = one.count, 0, now
	return n
}

// budget bounds what one uid can have written in a minute about proposals that
// land nothing, so that being refused, or withdrawing, is no way to fill the
// keeper's disk.
type budget struct {
	count, bytes int // a minute, of one uid

	mu    sync.Mutex
	since time.Time
	spent map[uint32]spending
}

type spending struct{ count, bytes int }

// Refused proposals over the bound are counted and not journaled; one that
// asks is refused as busy, and can be sent later.
func refusedBudget() budget { return budget{count: 120, bytes: 1 << 20} }
func askedBudget() budget   { return budget{count: 600, bytes: 32 << 20} }

// allow says whether one more, of so many bytes, is within the bound.
func (b *budget) allow(uid uint32, bytes int, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.since) >= time.Minute {
		b.since, b.spent = now, make(map[uint32]spending)
	}
	s := b.spent[uid]
	s.count, s.bytes = s.count+1, s.bytes+bytes
	b.spent[uid] = s
	return s.count <= b.count && s.bytes <= b.bytes
}
