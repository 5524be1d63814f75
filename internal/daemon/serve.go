package daemon

import (
	"context"
	"errors"
	"strings"
	"sync"

	"countersign/internal/confine"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// Work is what a daemon does once its walls stand.
type Work struct {
	Walls []string // that stand
	Idle  *Idle    // what ends it for want of work; may be nil
	Serve func(ctx context.Context) error
}

// errIdle ends a daemon for which there was nothing to do.
var errIdle = errors.New("idle")

// Serve prepares, says ready, and serves until ctx ends, the daemon is idle,
// or what it stands on changed; then its error is ErrAgain. Where preparing
// fails, a daemon that a service manager started answers every caller with the
// reason instead, until something changes; another gives it as the error.
func (p *Passed) Serve(ctx context.Context, name string, watch *Watch, prepare func() (*Work, error)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work, err := prepare()
	status := "serving"
	if err != nil {
		if !p.Managed {
			return err
		}
		p.Log.Error("it may not serve, and says so to every caller", "error", err)
		status, work = "may not serve: "+err.Error(), p.refusing(name, err)
	}
	go watch.run(ctx, func(why error) { stop(why) })
	if work.Idle != nil {
		go work.Idle.run(ctx, func() { stop(errIdle) })
	}
	go p.tell.live(ctx)
	p.Log.Info("ready", "status", status, "walls", strings.Join(work.Walls, ", "))
	if err := p.tell.ready(status); err != nil {
		return err
	}
	said := make(chan struct{})
	unneeded := context.AfterFunc(ctx, func() {
		defer close(said)
		p.tell.stopping()
	})
	err = work.Serve(ctx)
	if !unneeded() {
		<-said
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrAgain):
		return errors.Join(err, cause)
	case errors.Is(cause, errIdle):
		p.Log.Info("idle")
	}
	return err
}

// refusing is the work of a daemon that may not serve. It takes on the walls
// of one that may open nothing; where preparing had raised some already, those
// refuse to be raised again and stand.
func (p *Passed) refusing(name string, why error) *Work {
	walls, err := confine.Enclose(confine.Walls{Notify: p.Notify()})
	if err != nil {
		p.Log.Info("no further walls around what refuses", "error", err)
	}
	said := refusal.New(refusal.Unavailable, name, "it may not serve: %s", oneLine(why.Error()))
	return &Work{Walls: walls, Serve: func(ctx context.Context) error { return p.answer(ctx, name, said) }}
}

// answer gives every caller on every socket one answer, until ctx ends.
func (p *Passed) answer(ctx context.Context, name string, said *refusal.Refusal) error {
	var serving sync.WaitGroup
	ended := make(chan error, len(p.Sockets))
	for _, l := range p.Sockets {
		s, err := wire.New(wire.Config{Name: name, Log: p.Log, Admit: func(wire.Caller) error { return said }})
		if err != nil {
			return err
		}
		serving.Go(func() { ended <- s.Serve(ctx, l) })
	}
	serving.Wait()
	close(ended)
	var all error
	for err := range ended {
		all = errors.Join(all, err)
	}
	return all
}

// Notify gives the handle of the connection to the service manager, for walls
// that keep it from being used for more; -1 where there is none.
func (p *Passed) Notify() int { return p.tell.handle() }
