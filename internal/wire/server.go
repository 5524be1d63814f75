package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/refusal"
)

// Config is what a server is made of. The numbers have a default at 0.
type Config struct {
	// Name is the server's own in refusals and logs, such as "the keeper".
	Name string
	// Methods is the whole table; it is not changed after New.
	Methods map[string]Method
	// Admit says who may connect: nil, or a *refusal.Refusal. It is asked
	// before a byte is read and at every request, and must not block.
	Admit func(Caller) error
	// Refused hears of callers that Admit turned away at connect: the latest,
	// why, and how many of its uid since the last report; at most one report a
	// second for each uid. In a second with more than 256 uids the surplus is
	// counted as one. Reports come one at a time and may block. May be nil.
	Refused func(c Caller, why *refusal.Refusal, n int)
	// MaxConns and MaxConnsUID bound connections in all and for each uid; one
	// more is refused as busy. Defaults 1024 and 128.
	MaxConns, MaxConnsUID int
	// MaxLarge and MaxLargeUID bound the requests over SmallFrame that are
	// being read or carried out, in all and for each uid; one more waits for
	// FrameTimeout and is then refused as busy. Defaults 32 and 4.
	MaxLarge, MaxLargeUID int
	// FrameTimeout is how long a frame that has begun may take to arrive, and
	// a reply to be taken. Default 30 s.
	FrameTimeout time.Duration
	// Log hears of faults: handlers' errors and panics. It never gets params
	// or results.
	Log *slog.Logger
}

// Server answers on a Unix socket by one table.
type Server struct {
	cfg    Config
	places *places
	serial atomic.Uint64 // of the last connection

	mu    sync.Mutex
	conns map[*conn]struct{}
}

// New makes a server, or says what its Config lacks: a row without May or
// Handle, or no Admit, would be a door without a lock.
func New(cfg Config) (*Server, error) {
	if cfg.Name == "" || cfg.Admit == nil || cfg.Log == nil {
		return nil, errors.New("wire: a server needs Name, Admit and Log")
	}
	for name, m := range cfg.Methods {
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("wire: method %s: %w", name, err)
		}
	}
	cfg.MaxConns = orDefault(cfg.MaxConns, 1024)
	cfg.MaxConnsUID = orDefault(cfg.MaxConnsUID, 128)
	cfg.MaxLarge = orDefault(cfg.MaxLarge, 32)
	cfg.MaxLargeUID = orDefault(cfg.MaxLargeUID, 4)
	cfg.FrameTimeout = orDefault(cfg.FrameTimeout, 30*time.Second)
	if cfg.Refused == nil {
		cfg.Refused = func(Caller, *refusal.Refusal, int) {}
	}
	return &Server{cfg: cfg, places: newPlaces(cfg), conns: make(map[*conn]struct{})}, nil
}

func orDefault[T int | time.Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}

// Serve answers l's callers until ctx ends, then waits for the requests in
// hand and returns nil. What a peer had sent whole by then is still carried
// out, one request a connection; it can send nothing more. Serve does not
// close l: callers that it did not accept wait there for whoever serves next.
// The error is l's, when it was closed under the server. A Server serves one
// listener, once, and leaves it with a deadline that has passed.
func (s *Server) Serve(ctx context.Context, l *net.UnixListener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() {
		l.SetDeadline(time.Unix(1, 0))
		s.closeReads(func(Caller) bool { return true })
	})
	refused, done := newRefusedPeers(s.cfg.Refused), make(chan struct{})
	var reporting, serving sync.WaitGroup
	reporting.Go(func() { refused.run(done) })
	err := s.accept(ctx, l, refused, &serving)
	cancel()
	serving.Wait()
	close(done)
	reporting.Wait()
	return err
}

// accept hands each caller that is admitted a goroutine, until ctx ends.
func (s *Server) accept(ctx context.Context, l *net.UnixListener, refused *refusedPeers, serving *sync.WaitGroup) error {
	for ctx.Err() == nil {
		uc, err := l.AcceptUnix()
		switch {
		case err == nil:
			if c := s.admit(uc, refused); c != nil {
				serving.Go(func() { s.serveConn(ctx, c) })
			}
		case ctx.Err() != nil:
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accepting: %w", err)
		default: // no descriptor left, or a caller that is gone already
			s.cfg.Log.Error("accepting", "err", err)
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// admit makes a connection of uc, or tells the peer why not and closes it.
// Nothing has been read then, and what is written fits an empty buffer.
func (s *Server) admit(uc *net.UnixConn, refused *refusedPeers) *conn {
	c := &conn{s: s, uc: uc, serial: s.serial.Add(1)}
	var err error
	if c.caller, err = callerOf(uc); err == nil {
		if err = s.admits(c.caller); err != nil {
			refused.note(c.caller, s.refusalOf(err, s.cfg.Name, slog.Uint64("conn", c.serial)))
		} else if c.share, err = s.places.enter(c.caller.UID); err == nil {
			return c
		}
	}
	c.refuse(0, s.refusalOf(err, s.cfg.Name, slog.Uint64("conn", c.serial)))
	uc.Close()
	return nil
}

// admits asks Admit; a panic there is a no.
func (s *Server) admits(c Caller) (err error) {
	defer recovered(&err)
	return s.cfg.Admit(c)
}

// serveConn serves one admitted connection and gives its place back.
func (s *Server) serveConn(ctx context.Context, c *conn) {
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	if ctx.Err() != nil { // closeReads may have passed before c was there
		c.uc.CloseRead()
	}
	c.serve(ctx)
	c.uc.Close()
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.places.leave(c.caller.UID)
}

// Recheck asks Admit again about every connection and ends those it no longer
// admits, once the request in hand is done: for a reload of what Admit reads.
func (s *Server) Recheck() {
	s.closeReads(func(c Caller) bool { return s.admits(c) != nil })
}

// closeReads makes chosen connections end after what they have been sent.
func (s *Server) closeReads(chosen func(Caller) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if chosen(c.caller) {
			c.uc.CloseRead()
		}
	}
}

// refusalOf is the one place where an error becomes what a peer reads. Only a
// refusal's own text travels. Any other error is a fault: its text goes to the
// log, under attributes by which the refusal lets it be found.
func (s *Server) refusalOf(err error, what string, attrs ...slog.Attr) *refusal.Refusal {
	if r := refusal.As(err); r != nil {
		return r
	}
	where := ""
	for _, a := range attrs[:min(2, len(attrs))] {
		where += " " + a.String()
	}
	attrs = append(attrs, slog.String("what", what), slog.Any("err", err))
	var p *panicError
	if errors.As(err, &p) {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	s.cfg.Log.LogAttrs(context.Background(), slog.LevelError, "request failed", attrs...)
	return refusal.New(refusal.Internal, what, "look for%s", where)
}
