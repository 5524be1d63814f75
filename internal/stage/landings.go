package stage

import (
	"cmp"
	"slices"
	"sync"

	"countersign/internal/action"
)

// landings are locks by landing. The zero value is ready.
type landings struct {
	mu   sync.Mutex
	held map[action.Landing]*landing
}

type landing struct {
	sync.Mutex
	users int
}

// lock waits for all the landings, one after another in one order, so that
// nobody waits in a ring, and gives the call that lets go of them.
func (l *landings) lock(at []action.Landing) (unlock func()) {
	at = slices.Clone(at)
	slices.SortFunc(at, func(a, b action.Landing) int {
		return cmp.Or(cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Ino, b.Ino), cmp.Compare(a.Name, b.Name))
	})
	at = slices.Compact(at)
	for _, one := range at {
		l.of(one).Lock()
	}
	return func() {
		for _, one := range at {
			l.leave(one).Unlock()
		}
	}
}

// of gives a landing's lock, and counts the caller among its users.
func (l *landings) of(at action.Landing) *landing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[action.Landing]*landing)
	}
	h := l.held[at]
	if h == nil {
		h = &landing{}
		l.held[at] = h
	}
	h.users++
	return h
}

// leave takes the caller from a lock's users.
func (l *landings) leave(at action.Landing) *landing {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[at]
	if h.users--; h.users == 0 {
		delete(l.held, at)
	}
	return h
}
