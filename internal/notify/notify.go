package notify

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Desk is where notifications are shown. Its methods are called by one
// goroutine, and return when their ctx ends.
type Desk interface {
	// Show puts up a notice in place of the notification of an earlier one, or
	// beside all others where replaces is 0. After an error it may be there.
	Show(ctx context.Context, replaces uint32, n Notice) (id uint32, err error)
	// Close takes a notification away; one that is gone is no error.
	Close(ctx context.Context, id uint32) error
	// Gone says which notifications went away by themselves. It is closed when
	// the desk is gone for good.
	Gone() <-chan Gone
}

// Gone is a notification that is no longer shown.
type Gone struct {
	ID  uint32
	All bool // whoever showed notifications ended, and all of them with it
}

// Config says whom to ask, where to tell, and how often.
type Config struct {
	// Pending asks the keeper what waits for the owner. It takes its own time
	// limit.
	Pending func(context.Context) (protocol.ListResult, error)
	Desk    Desk
	Log     *slog.Logger

	Every    time.Duration // between two questions; default 2 s
	Patience time.Duration // the longest between two where one or the other side cannot be reached; default 30 s
	Gap      time.Duration // the shortest between two notifications; default 5 s
}

func (c *Config) defaults() {
	c.Every = cmp.Or(c.Every, 2*time.Second)
	c.Patience = cmp.Or(c.Patience, 30*time.Second)
	c.Gap = cmp.Or(c.Gap, 5*time.Second)
}

// callTimeout bounds a call of the desk; a server may have to be started.
const callTimeout = 10 * time.Second

// farewell bounds taking the notification away at the end.
const farewell = time.Second

// Run tells until ctx ends, which is no error, and takes away what it showed.
// Where keeper or notification server cannot be reached it goes on trying, and
// says so once. It gives up, with the refusal, when the keeper has refused
// this user twice running, and when the desk is gone for good.
func Run(ctx context.Context, cfg Config) error {
	cfg.defaults()
	t := &teller{cfg: cfg, wait: cfg.Every}
	defer t.leave(context.WithoutCancel(ctx))
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case gone, open := <-cfg.Desk.Gone():
			if !open {
				t.id = 0
				return lost("it ended, and what was shown with it")
			}
			t.gone(gone)
		case <-next.C:
			err := t.round(ctx)
			if t.after(ctx, err); t.refused > 1 {
				return err
			}
			next.Reset(t.wait)
		}
	}
}

// teller is what was told, and how it went.
type teller struct {
	cfg  Config
	told protocol.ListResult
	id   uint32    // of the notification that stands; 0: none
	at   time.Time // when the owner last heard of something

	wait    time.Duration // until the next round
	failing string        // what was said to fail
	refused int           // answers running that this user may not ask
}

// failure is a round that did not come to its end, by who failed it.
type failure struct {
	who string
	error
}

// Unwrap gives what failed.
func (f failure) Unwrap() error { return f.error }

// round asks and, where there is something to tell, tells.
func (t *teller) round(ctx context.Context) error {
	now, err := t.cfg.Pending(ctx)
	if err != nil {
		return failure{"the keeper", err}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := t.tell(ctx, news(now)); err != nil {
		return failure{"the notification server", err}
	}
	return nil
}

// tell brings the notification to what waits now, as far as the gap lets it.
// What it leaves for later is found again by the next round.
func (t *teller) tell(ctx context.Context, now protocol.ListResult) error {
	change := Compare(t.told, now)
	switch {
	case change == Keep:
		return nil
	case change == Withdraw:
		return t.withdraw(ctx)
	case change == Correct && t.id == 0: // the owner put it away
		t.told = now
		return nil
	case !t.at.IsZero() && time.Since(t.at) < t.cfg.Gap:
		return nil
	}
	id, err := t.cfg.Desk.Show(ctx, t.id, Words(now))
	if err != nil {
		return err
	}
	t.id, t.told, t.at = id, now, time.Now()
	return nil
}

func (t *teller) withdraw(ctx context.Context) error {
	if t.id != 0 {
		if err := t.cfg.Desk.Close(ctx, t.id); err != nil {
			return err
		}
	}
	t.id, t.told = 0, protocol.ListResult{}
	return nil
}

// gone takes note of a notification that went away. What the owner put away
// stays so until something new waits; what was lost with its server is told
// again.
func (t *teller) gone(g Gone) {
	if g.All {
		t.id, t.told = 0, protocol.ListResult{}
	} else if g.ID == t.id {
		t.id = 0
	}
}

// after says how a round ended, where that is news, and when the next begins.
func (t *teller) after(ctx context.Context, err error) {
	var f failure
	switch {
	case ctx.Err() != nil:
	case errors.As(err, &f):
		t.wait = min(2*t.wait, t.cfg.Patience)
		if t.failing != f.who {
			t.cfg.Log.Warn("it cannot be reached, and is tried again", "who", f.who, "error", f.error)
		}
		t.failing = f.who
	default:
		if t.failing != "" {
			t.cfg.Log.Info("all can be reached again")
		}
		t.wait, t.failing = t.cfg.Every, ""
	}
	if t.refused++; !refusal.Is(err, refusal.NotPermitted) {
		t.refused = 0
	}
}

// leave takes away what would otherwise stand with nobody to close it.
func (t *teller) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	if t.id != 0 {
		t.cfg.Desk.Close(ctx, t.id) // the session may be ending: there is nobody to tell
	}
}

// lost is the refusal of a session bus that is not, or no longer, there.
func lost(why string, args ...any) error {
	r := refusal.New(refusal.Unavailable, "the session bus", why, args...)
	r.Fix = "start it within the owner's desktop session"
	r.Again = refusal.After
	return r
}
