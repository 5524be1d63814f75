package gitrun

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"countersign/internal/canon"
)

// maxComplaint bounds what is kept of what git says of a failure.
const maxComplaint = 4 << 10

// asked is a git that was asked for: the daemon's ends of its pipes.
type asked struct {
	id        uint64
	out       *os.File
	in        *os.File // nil where it takes no input
	ended     chan reply
	complaint chan string
}

// ask makes the pipes and sends the request. Handles of the other ends are the
// runner's from then on.
func (g *Git) ask(c Call) (a *asked, err error) {
	// What a caller gave wrongly never reaches the runner.
	if _, err := compose(c.Vector, c.Values); err != nil {
		return nil, err
	}
	a = &asked{ended: make(chan reply, 1), complaint: make(chan string, 1)}
	var theirs []*os.File
	var errs *os.File
	defer func() {
		closeAll(theirs)
		if err != nil {
			closeAll(nonNil(a.out, a.in, errs))
			a = nil
		}
	}()
	for _, mine := range []**os.File{&a.out, &errs} {
		r, w, err := os.Pipe()
		if err != nil {
			return a, fmt.Errorf("making a pipe for git: %w", err)
		}
		*mine, theirs = r, append(theirs, w)
	}
	if vectors()[c.Vector].stdin {
		r, w, err := os.Pipe()
		if err != nil {
			return a, fmt.Errorf("making a pipe for git: %w", err)
		}
		a.in, theirs = w, append(theirs, r)
	}
	g.mu.Lock()
	g.last++
	a.id = g.last
	g.waiting[a.id] = a.ended
	g.mu.Unlock()
	p := c.Place
	err = send(g.conn, requestOf(a.id, c), append(append(theirs[:len(theirs):len(theirs)], p.Read...), p.Trees...)...)
	if err != nil {
		g.mu.Lock()
		delete(g.waiting, a.id)
		g.mu.Unlock()
		return a, fmt.Errorf("asking for git: %w", err)
	}
	go a.hear(errs)
	return a, nil
}

// read feeds git its input, and gives read its output. It closes both.
func (a *asked) read(in []byte, read func(io.Reader) error) error {
	fed := make(chan error, 1)
	if a.in == nil {
		fed <- nil
	} else {
		go func() {
			_, err := a.in.Write(in)
			fed <- errors.Join(err, a.in.Close())
		}()
	}
	err := read(a.out)
	a.out.Close() // a git that writes on ends by it
	fedErr := <-fed
	if err == nil && fedErr != nil && !errors.Is(fedErr, syscall.EPIPE) { // one that read no further has ended, and says why itself
		return fmt.Errorf("giving git its input: %w", fedErr)
	}
	return err
}

// hear keeps the beginning of what git complains of, and lets it complain on.
func (a *asked) hear(errs *os.File) {
	defer errs.Close()
	b, _ := io.ReadAll(io.LimitReader(errs, maxComplaint))
	a.complaint <- string(b)
	io.Copy(io.Discard, struct{ io.Reader }{errs})
}

func nonNil(files ...*os.File) (list []*os.File) {
	for _, f := range files {
		if f != nil {
			list = append(list, f)
		}
	}
	return list
}

func decode(b []byte, m any) error { return canon.Decode(b, m) }
