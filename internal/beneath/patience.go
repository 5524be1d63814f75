package beneath

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/refusal"
)

// Patience bounds what filesystems that do not answer can hold: a system call
// cannot be taken back, but it need not be waited for. Its zero value is ready,
// and it is safe for concurrent use.
type Patience struct {
	mu     sync.Mutex
	silent map[string]bool // places at which a call hangs
}

const (
	patience  = 200 * time.Millisecond
	maxSilent = 32 // places, each with a thread that hangs there
)

// Try runs what a filesystem may never answer at a place, and says whether it
// did. Where it did not, late is called once f has ended; until then nothing
// more is tried there: f is not begun, and late is called at once.
func (p *Patience) Try(place string, f, late func()) bool {
	p.mu.Lock()
	tooMany := p.silent[place] || len(p.silent) >= maxSilent
	p.mu.Unlock()
	if tooMany {
		late()
		return false
	}
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	}
	p.mark(place, true)
	go func() {
		<-done
		late()
		p.mark(place, false)
	}()
	return false
}

func (p *Patience) mark(place string, silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent == nil {
		p.silent = make(map[string]bool)
	}
	if delete(p.silent, place); silent {
		p.silent[place] = true
	}
}

// Where says where a directory is, every link on the way resolved. An error
// says that it cannot be reached, or that its filesystem does not answer.
func (p *Patience) Where(path string) (string, error) {
	var real string
	var err error
	if !p.Try(path, func() { real, err = where(path) }, func() {}) {
		return "", fmt.Errorf("asking where a directory is: %w", unix.ETIMEDOUT)
	}
	return real, err
}

// Lead says where directories lead, such as the roots of grants, for whoever
// judges a place by all of them. One that cannot be reached, or does not answer,
// can hold nothing but what it is listed for, and is left out; but where it is a
// link nobody can say what it holds, and that is a refusal, about what is judged.
func (p *Patience) Lead(what string, dirs []string) (map[string]string, error) {
	at := make(map[string]string, len(dirs))
	for _, d := range dirs {
		if _, done := at[d]; done {
			continue
		}
		real, err := p.Where(d)
		switch {
		case err == nil:
			at[d] = real
		case (errors.Is(err, unix.ETIMEDOUT) || refusal.Is(err, refusal.RootReplaced)) && p.isLink(d):
			return nil, refusal.New(refusal.Unavailable, what, "the grant of %s does not answer, and may cover it", action.Path(d))
		}
	}
	return at, nil
}

// isLink says whether the last name of a path is known to be a symbolic link,
// without asking what is mounted there.
func (p *Patience) isLink(path string) bool {
	link := make(chan bool, 1)
	answered := p.Try("the link "+path, func() {
		_, err := unix.Readlink(path, make([]byte, 1))
		link <- err == nil
	}, func() {})
	return answered && <-link
}

func where(path string) (string, error) {
	fd, real, err := openLed(path)
	if err != nil {
		return "", fmt.Errorf("opening a directory: %w", err)
	}
	return real, unix.Close(fd)
}
