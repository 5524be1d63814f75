package broker

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"countersign/internal/action"
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
	sync.Mutex
	users int
}

func (p *places) lockPaths(paths []action.Path) (unlock func()) {
	keys := make([]string, len(paths))
	for i, path := range paths {
		keys[i] = "path " + string(path)
	}
	return p.lock(keys)
}

func (p *places) lockLandings(facts []action.Fact) (unlock func()) {
	keys := make([]string, len(facts))
	for i, f := range facts {
		l := f.Base.Landing
		keys[i] = fmt.Sprintf("landing %d %d %s", l.Dev, l.Ino, string(l.Name))
	}
	return p.lock(keys)
}

func (p *places) lock(keys []string) (unlock func()) {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	locks := make([]*placeLock, len(keys))
	for i, k := range keys {
		p.mu.Lock()
		if p.held == nil {
			p.held = make(map[string]*placeLock)
		}
		l := p.held[k]
		if l == nil {
			l = &placeLock{}
			p.held[k] = l
		}
		l.users++
		p.mu.Unlock()
		l.Lock()
		locks[i] = l
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for i, k := range keys {
			locks[i].Unlock()
			if locks[i].users--; locks[i].users == 0 {
				delete(p.held, k)
			}
		}
	}
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

// budget bounds what one uid can have written about its refused proposals, so
// that being refused is no way to fill the keeper's disk.
type budget struct {
	mu    sync.Mutex
	since time.Time
	spent map[uint32]int
}

// refusalsAMinute is how many refused proposals of one uid are journaled whole
// within a minute; more are counted.
const refusalsAMinute = 120

func (b *budget) allow(uid uint32, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.since) >= time.Minute {
		b.since, b.spent = now, make(map[uint32]int)
	}
	b.spent[uid]++
	return b.spent[uid] <= refusalsAMinute
}
