package gitrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Config says what git is run for.
type Config struct {
	Program string   // git's path; empty looks in the usual places
	Read    []string // directories in which repositories may be read
	Trees   []string // directories in which they may be changed; none makes a runner that only reads
	Closed  []string // directories that must not be open to it, which is tried
	Self    string   // the program to start as the runner; empty is the running one
}

// Git runs git through a runner. Its methods are safe for concurrent use.
type Git struct {
	about protocol.GitRun
	conn  *net.UnixConn
	gone  chan struct{} // closed once the runner is

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan reply
}

// startWithin bounds how long a runner may take until it says which git there
// is.
const startWithin = 10 * time.Second

// Start starts the runner. It is called before the daemon's own walls stand,
// and once. Where git is not there, is too old or cannot be walled in, there is
// no error: Run refuses by name, and About has the reason. The runner ends when
// the daemon does.
func Start(c Config) (*Git, error) {
	here, there, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer there.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	self := c.Self
	if self == "" {
		self = "/proc/self/exe"
	}
	p, err := os.StartProcess(self, []string{"run-git", RunnerArg}, &os.ProcAttr{Dir: "/", Env: []string{}, Files: []*os.File{null, null, os.Stderr, there}})
	if err != nil {
		here.Close()
		return nil, fmt.Errorf("starting what runs git: %w", err)
	}
	p.Release()
	there.Close()
	g := &Git{conn: here, gone: make(chan struct{}), waiting: make(map[uint64]chan reply)}
	buf := make([]byte, maxMessage)
	here.SetDeadline(time.Now().Add(startWithin))
	err = send(here, hello{Program: c.Program, Read: c.Read, Trees: c.Trees, Closed: c.Closed, Writes: len(c.Trees) > 0})
	if err == nil {
		_, err = receive(here, buf, &g.about)
	}
	if err != nil {
		g.about.Why = "what runs it did not start: " + err.Error()
	}
	here.SetDeadline(time.Time{})
	if g.about.Why != "" {
		here.Close()
		return g, nil
	}
	go g.listen(buf)
	return g, nil
}

// About says which git is run, or why none is.
func (g *Git) About() protocol.GitRun { return g.about }

// Gone is closed when the runner has ended though the daemon has not: a new one
// can only be had by starting the daemon anew.
func (g *Git) Gone() <-chan struct{} { return g.gone }

// listen hands out replies until the runner is gone.
func (g *Git) listen(buf []byte) {
	for {
		var re reply
		n, err := g.conn.Read(buf)
		if err == nil {
			err = decode(buf[:n], &re)
		}
		if err != nil {
			close(g.gone)
			g.conn.Close()
			return
		}
		g.mu.Lock()
		if c := g.waiting[re.ID]; c != nil {
			c <- re
			delete(g.waiting, re.ID)
		}
		g.mu.Unlock()
	}
}

// Call is one run of git.
type Call struct {
	Vector Vector
	Values Values
	Place  Place
	Input  []byte        // for a vector that takes input
	Within time.Duration // how long it may run; 0 is a minute
}

// ErrEnough is what a reader of git's output returns when it wants no more of
// it: git is killed, and that is no failure.
var ErrEnough = errors.New("enough")

// Failed says that git ended with another exit code than 0.
type Failed struct {
	Code   int
	Stderr string // the beginning of it, which is not fit to be shown as it is
}

// Error gives what git said.
func (f *Failed) Error() string {
	return fmt.Sprintf("git ended with %d: %s", f.Code, strings.TrimSpace(f.Stderr))
}

// Run runs git and gives read its output as it comes. It returns once git has
// ended: with read's error, a *Failed, a refusal, or nil. When ctx ends git is
// killed.
func (g *Git) Run(ctx context.Context, c Call, read func(io.Reader) error) error {
	if g.about.Why != "" {
		return refusal.New(refusal.NoGit, "git", "%s", g.about.Why)
	}
	if c.Within == 0 {
		c.Within = time.Minute
	}
	limited, stop := context.WithTimeout(ctx, c.Within)
	defer stop()
	a, err := g.ask(c)
	if err != nil {
		select {
		case <-g.gone:
			err = errGone()
		default:
		}
		return err
	}
	defer a.out.Close()
	killing := context.AfterFunc(limited, func() { send(g.conn, request{ID: a.id, Cancel: true}) })
	defer killing()
	readErr := a.read(c.Input, read)
	if readErr != nil {
		stop()
	}
	var re reply
	select {
	case re = <-a.ended:
	case <-g.gone:
		return errGone()
	}
	complaint := <-a.complaint
	switch {
	case errors.Is(readErr, ErrEnough):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(limited.Err(), context.DeadlineExceeded) && (re.Code != 0 || re.Failed != ""):
		return refusal.New(refusal.TooLarge, "git "+string(c.Vector), "it took longer than %v", c.Within)
	case re.Code > 0:
		return &Failed{Code: re.Code, Stderr: complaint}
	case readErr != nil:
		return readErr
	case re.Failed != "":
		return fmt.Errorf("git %s: %s", c.Vector, re.Failed)
	case re.Code != 0:
		return fmt.Errorf("git %s was ended by a signal", c.Vector)
	}
	return nil
}

func errGone() error { return refusal.New(refusal.Unavailable, "git", "what runs it has ended") }

// Close ends the runner, and every git that still runs.
func (g *Git) Close() { g.conn.Close() }
