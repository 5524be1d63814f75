package beneath

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
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

func where(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("opening a directory: %w", err)
	}
	defer unix.Close(fd)
	return realPath(fd)
}
