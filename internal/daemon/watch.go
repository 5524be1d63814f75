package daemon

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"countersign/internal/beneath"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// lookEvery is how often a daemon that is asked nothing looks whether it is
// out of date.
const lookEvery = 2 * time.Second

// Watch notices that what a daemon was started on is no longer what stands
// there: the policy file, and directories that walls and grants are bound to.
// Landlock holds a directory as it was, so one that was replaced by another of
// the same name stays closed until the daemon is started again.
//
// It looks by stat alone, which walls let through. A directory on a filesystem
// that does not answer counts as unchanged, and holds up nobody. Its methods are safe for
// concurrent use once the first look has been taken at everything.
type Watch struct {
	name   string // of the daemon, in refusals
	places []watched
	silent beneath.Patience

	once    sync.Once
	changed chan struct{}
	what    string // set before changed is closed
}

type watched struct {
	what, path string
	whole      bool // its content counts, not only which it is
	was        state
}

// state is what is compared of a path; the zero value is that nothing is
// there.
type state struct {
	dev, ino     uint64
	size         int64
	mtime, ctime syscall.Timespec
}

// NewWatch watches for a daemon of this name the policy at a path. It is made
// before the policy is read, so that no change falls between the two.
func NewWatch(name, policy string) *Watch {
	w := &Watch{name: name, changed: make(chan struct{})}
	w.add(watched{what: "the policy", path: policy, whole: true})
	return w
}

// Directories adds directories by which of that name they are. One that is not
// there changes by coming to be.
func (w *Watch) Directories(what string, paths ...string) {
	for _, p := range paths {
		w.add(watched{what: what, path: p})
	}
}

func (w *Watch) add(p watched) {
	p.was, _ = w.see(p)
	w.places = append(w.places, p)
}

// see looks at a place, or says that its filesystem does not answer.
func (w *Watch) see(p watched) (state, bool) {
	if p.whole {
		return p.look(), true // the policy, where root keeps it
	}
	var now state
	if !w.silent.Try(p.path, func() { now = p.look() }, func() {}) {
		return state{}, false
	}
	return now, true
}

func (p watched) look() state {
	info, err := os.Stat(p.path)
	if err != nil {
		return state{}
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return state{}
	case p.whole:
		return state{st.Dev, st.Ino, st.Size, st.Mtim, st.Ctim}
	}
	return state{dev: st.Dev, ino: st.Ino}
}

// Check looks, and refuses as unavailable, to be tried again, where something
// changed. Once it did, it stays so: the daemon is on its way to a new start.
func (w *Watch) Check() error {
	select {
	case <-w.changed:
	default:
		w.look()
	}
	select {
	case <-w.changed:
		return refusal.New(refusal.Unavailable, w.name, "%s, and it is being started again", w.what)
	default:
		return nil
	}
}

func (w *Watch) look() {
	for _, p := range w.places {
		if now, seen := w.see(p); seen && now != p.was {
			w.once.Do(func() {
				w.what = fmt.Sprintf("%s %s changed", p.what, p.path)
				close(w.changed)
			})
			return
		}
	}
}

// Ended makes the end of something that the daemon needs a change as well.
func (w *Watch) Ended(what string, ended <-chan struct{}) {
	go func() {
		<-ended
		w.once.Do(func() {
			w.what = what + " has ended"
			close(w.changed)
		})
	}()
}

// run looks until something changed, which it calls then with, or ctx ends.
func (w *Watch) run(ctx context.Context, then func(error)) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.changed:
			then(fmt.Errorf("%s: %w", w.what, ErrAgain))
			return
		case <-tick.C:
			w.Check()
		case <-ctx.Done():
			return
		}
	}
}

// Guard gives a table whose methods refuse, whoever may call them, from the
// moment that something changed.
func (w *Watch) Guard(methods map[string]wire.Method) map[string]wire.Method {
	guarded := make(map[string]wire.Method, len(methods))
	for name, m := range methods {
		may := m.May
		m.May = func(c wire.Caller) error {
			if err := may(c); err != nil {
				return err
			}
			return w.Check()
		}
		guarded[name] = m
	}
	return guarded
}
