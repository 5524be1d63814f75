package gitwrite

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/gitplan"
	"countersign/internal/gitrun"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Tries is how often a lock of git's that others hold is tried, pause apart.
const (
	Tries = 10
	pause = 100 * time.Millisecond
)

// Config says whose repositories are changed.
type Config struct {
	Planner gitplan.Planner
	Log     *slog.Logger

	// At is called before each step that changes disk: a test ends the process
	// there, or puts another writer there. An error is the step's. Nil does
	// nothing.
	At func(Step) error
}

// Step is an instant in a change.
type Step string

// The steps, in their order.
const (
	Copy   Step = "copy"
	Stage  Step = "stage"
	Lock   Step = "lock"
	Commit Step = "commit"
	Move   Step = "move"
	Swap   Step = "swap"
	Unlock Step = "unlock"
)

// Hands carry out git actions, one at a time.
type Hands struct {
	cfg Config

	mu      sync.Mutex // held by the one that is under way
	settled map[action.ID]bool
}

// New makes hands.
func New(cfg Config) *Hands {
	if cfg.At == nil {
		cfg.At = func(Step) error { return nil }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Hands{cfg: cfg, settled: make(map[action.ID]bool)}
}

// check refuses an intent that is malformed.
func check(in protocol.Intent) error {
	if err := in.Action.Validate(); err != nil {
		return err
	}
	if err := in.Action.CarriedOut(); err != nil {
		return err
	}
	g := in.Git
	if !in.ID.Valid() || !in.Action.Git() || g == nil || len(in.Facts)+len(in.Results)+len(in.Staged) > 0 || !grant.IsStagedName(g.Staged) || g.When < 0 {
		return refusal.New(refusal.BadRequest, "intent "+string(in.ID), "it does not fit its action")
	}
	return nil
}

// Carry carries an intent out. An error is a refusal, and nothing but objects
// that nothing names was written. When it returns landed, what git made is on
// disk.
func (h *Hands) Carry(ctx context.Context, in protocol.Intent) (protocol.Outcome, error) {
	if err := check(in); err != nil {
		return protocol.Outcome{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.settled[in.ID] {
		return protocol.Outcome{}, refusal.New(refusal.WrongState, "intent "+string(in.ID), "it was settled before it arrived")
	}
	w, err := h.open(ctx, in)
	if err != nil {
		return protocol.Outcome{}, err
	}
	defer w.close()
	if err := w.compare(); err != nil {
		return protocol.Outcome{}, err
	}
	if in.Action.Undo != nil {
		return w.uncommit(*in.Action.Undo.Commit)
	}
	return w.commit()
}

// work is an intent on its way.
type work struct {
	*Hands
	*gitplan.Work
	ctx context.Context
	in  protocol.Intent
	dir directory // the git directory
}

func (h *Hands) open(ctx context.Context, in protocol.Intent) (*work, error) {
	planned, err := h.cfg.Planner.Open(ctx, in.Action)
	if err != nil {
		if r := refusal.As(err); r != nil && (r.Code == refusal.NoChange || r.Code == refusal.Conflict) {
			return nil, refusal.New(refusal.Changed, r.What, "%s", r.Why)
		}
		return nil, err
	}
	return &work{Hands: h, Work: planned, ctx: ctx, in: in, dir: directory{planned.GitDirectory()}}, nil
}

func (w *work) close() { w.Work.Close() }

// compare holds what was found here against what was decided on.
func (w *work) compare() error {
	same := func(a, b any) bool {
		x, err1 := canon.Encode(a)
		y, err2 := canon.Encode(b)
		return err1 == nil && err2 == nil && string(x) == string(y)
	}
	if !same(w.Plan, w.in.Git.Plan) {
		return refusal.New(refusal.Changed, w.Path.String(), "")
	}
	if w.in.Approved == nil {
		return nil
	}
	if hash, err := w.Detail.Hash(); err != nil || hash != *w.in.Approved {
		return refusal.New(refusal.Differs, w.Path.String(), "what the owner was shown")
	}
	return nil
}

// git runs a vector that changes the repository, and gives what it says.
func (w *work) git(v gitrun.Vector, values gitrun.Values, input []byte) (said string, err error) {
	err = w.cfg.Planner.Run.Run(w.ctx, gitrun.Call{Vector: v, Values: values, Place: w.WritePlace(), Input: input}, func(r io.Reader) error {
		b, err := io.ReadAll(io.LimitReader(r, 4<<10))
		said = strings.TrimSpace(string(b))
		return err
	})
	return said, err
}

// locked says whether git failed for a lock that somebody else holds.
func locked(err error) bool {
	var failed *gitrun.Failed
	return errors.As(err, &failed) && strings.Contains(failed.Stderr, ".lock': File exists")
}

// patiently tries while a lock is held by others.
func (w *work) patiently(try func() error) error {
	for n := 1; ; n++ {
		err := try()
		if !locked(err) && !errors.Is(err, errHeld) {
			return err
		}
		if n == Tries {
			return refusal.New(refusal.Busy, w.Path.String(), "another git holds a lock in the repository; it was tried %d times", Tries)
		}
		select {
		case <-time.After(pause):
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
	}
}

// hash makes sure that git named an object.
func hash(said string, err error) (string, error) {
	if err == nil && !gitrun.IsHash(said) {
		err = refusal.New(refusal.GitFailed, "git", "it named no object")
	}
	return said, err
}
