package gitwrite

import (
	"context"
	"errors"
	"io"

	"countersign/internal/action"
	"countersign/internal/gitrun"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Settle finds out how far an intent came, and finishes it or takes it back. An
// intent that was settled is never carried out afterwards.
func (h *Hands) Settle(ctx context.Context, in protocol.Intent) (protocol.Outcome, error) {
	if err := check(in); err != nil {
		return protocol.Outcome{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settled[in.ID] = true
	found, err := h.cfg.Planner.Look(ctx, in.Action)
	if err != nil {
		if r := refusal.As(err); r != nil && r.Again == refusal.Retry {
			return protocol.Outcome{}, err
		}
		return unknown("the repository cannot be looked at: " + err.Error()), nil
	}
	w := &work{Hands: h, Work: found, ctx: ctx, in: in, dir: directory{found.GitDirectory()}}
	defer w.close()
	now, err := w.Resolve(ref(in.Git.Plan.Branch))
	if err != nil {
		return protocol.Outcome{}, err
	}
	if in.Action.Undo != nil {
		return settleUndo(*in.Action.Undo.Commit, now), nil
	}
	return w.settle(now)
}

func unknown(words string) protocol.Outcome {
	return protocol.Outcome{Result: protocol.Unknown, Changes: []protocol.PathOutcome{}, Words: action.Path(words).String()}
}

func settleUndo(u action.Uncommit, now string) protocol.Outcome {
	switch now {
	case u.To:
		return wentBack(u)
	case u.From:
		return protocol.Outcome{Result: protocol.NotLanded, Changes: []protocol.PathOutcome{}, Words: "the branch was not moved"}
	}
	return unknown("the branch points to neither of the two commits")
}

// settle looks where the branch is.
func (w *work) settle(now string) (protocol.Outcome, error) {
	notLanded := protocol.Outcome{Result: protocol.NotLanded, Changes: []protocol.PathOutcome{}, Words: "the commit was not made"}
	if now == w.in.Git.Plan.Head {
		w.tidy()
		return notLanded, nil
	}
	made, err := w.makeCommit()
	var failed *gitrun.Failed
	if errors.As(err, &failed) { // its tree is not there: it did not come that far
		w.tidy()
		return notLanded, nil
	}
	if err != nil {
		return protocol.Outcome{}, err
	}
	if now != made {
		within, err := w.within(made, now)
		if err != nil {
			return protocol.Outcome{}, err
		}
		if !within {
			w.tidy()
			return unknown("the branch points to neither what it did nor the commit"), nil
		}
	}
	after := w.takeUp()
	out := w.committed(made, after)
	out.Words = "the commit was made"
	return out, nil
}

// takeUp finishes what follows the commit, where the lock is still held for it.
func (w *work) takeUp() (after []string) {
	if w.dir.holds(w.in.Git.Staged) && w.dir.there(w.in.Git.Staged) {
		after = w.finish()
	}
	w.tidy()
	return after
}

// within says whether a commit is an ancestor of another.
func (w *work) within(commit, of string) (bool, error) {
	if of == "" {
		return false, nil
	}
	err := w.cfg.Planner.Run.Run(w.ctx, gitrun.Call{Vector: gitrun.Within, Values: gitrun.Values{New: commit, Rev: of}, Place: w.Place()}, discard)
	var failed *gitrun.Failed
	if errors.As(err, &failed) && failed.Code == 1 {
		return false, nil
	}
	return err == nil, err
}

func discard(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
