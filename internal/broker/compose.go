package broker

import (
	"context"
	"errors"

	"countersign/internal/action"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/vault"
)

// compose makes the undo of a landed transaction, on disk as it is now. What
// stands as the action left it is put back; what stands as it stood before it
// needs nothing; everything else is left, with its three versions. Where nothing
// is to be put back, the undo is of what cannot be, and its preview is refused
// by name.
func (b *Broker) compose(ctx context.Context, t *transaction, person *policy.Person) (action.Action, error) {
	in, err := b.intentOf(t)
	if err != nil {
		return action.Action{}, err
	}
	if in.Git != nil {
		return b.composeGit(t, in)
	}
	all, err := b.restores(t, person.Name)
	if err != nil {
		return action.Action{}, err
	}
	undo := &action.Undo{Transaction: b.ledger.view(t).ID}
	var back, contested []action.Restore
	err = b.glance(ctx, person, all, func(r restore, f action.Fact, why *refusal.Refusal) {
		switch {
		case why != nil:
			undo.Leaves = append(undo.Leaves, action.Leave{Path: r.Path, Left: r.Left, Back: r.Back, Why: cutWhy(why)})
		case r.Back.Is(f):
			back = append(back, r.Restore)
			return
		case !r.Left.Is(f):
			undo.Leaves = append(undo.Leaves, r.leave(f, "it changed since"))
		case r.noCopy != "":
			undo.Leaves = append(undo.Leaves, r.leave(f, r.noCopy))
			return
		default:
			undo.Restores = append(undo.Restores, r.Restore)
			return
		}
		if r.noCopy == "" {
			contested = append(contested, r.Restore)
		}
	})
	switch {
	case err != nil:
		return action.Action{}, err
	case len(undo.Restores) > 0:
		return action.Action{Undo: undo}, nil
	case len(contested) > 0:
		undo.Restores = contested
	case len(undo.Leaves) > 0:
		l := undo.Leaves[0]
		return action.Action{}, refusal.New(refusal.NotCaptured, "undo of "+l.Path.String(), "%s", l.Why)
	default:
		undo.Restores = back
	}
	undo.Leaves = nil
	return action.Action{Undo: undo}, nil
}

// restore is one path of an undo, and why it cannot be put back although it
// stands as the action left it, if that is so.
type restore struct {
	action.Restore
	noCopy string
}

// leave makes the entry of a path that stands as a fact says and is left so.
func (r restore) leave(f action.Fact, why string) action.Leave {
	now := f.Image()
	return action.Leave{Path: r.Path, Left: r.Left, Now: &now, Back: r.Back, Why: why}
}

// cutWhy gives a refusal in a line that is not too long to be one of many.
func cutWhy(r *refusal.Refusal) string {
	const most = 512
	if why := r.Why + " [" + string(r.Code) + "]"; len(why) <= most && harmless(why) {
		return why
	}
	return "it cannot be looked at [" + string(r.Code) + "]"
}

// glance asks the reader what stands at each path now, and gives it to say, in
// their order, or why that cannot be told. It reads no content. The error is one
// that says nothing of a path.
func (b *Broker) glance(ctx context.Context, person *policy.Person, of []restore, say func(restore, action.Fact, *refusal.Refusal)) error {
	if len(of) > protocol.MaxCapture {
		if err := b.glance(ctx, person, of[:protocol.MaxCapture], say); err != nil {
			return err
		}
		return b.glance(ctx, person, of[protocol.MaxCapture:], say)
	}
	targets := make([]action.Target, len(of))
	for i, r := range of {
		targets[i] = action.Target{Path: r.Path, How: action.ToEntry}
	}
	befores, err := b.captureSome(ctx, person, targets, &action.Room{Left: -1})
	r := refusal.As(err)
	switch {
	case err == nil:
		for i := range of {
			say(of[i], befores[i].Fact, nil)
		}
		return nil
	case r == nil || r.Again == refusal.Retry:
		return err
	case len(of) == 1:
		say(of[0], action.Fact{}, r)
		return nil
	}
	half := len(of) / 2 // one of them is refused, and the others are to be told apart from it
	if err := b.glance(ctx, person, of[:half], say); err != nil {
		return err
	}
	return b.glance(ctx, person, of[half:], say)
}

// restores gives what an undo of a transaction would put back, whatever disk
// holds by now: each path from the image that the action left to the one it
// replaced, with the captured bytes, as far as one undo carries them. Of one
// that landed in part it is those paths that it changed.
func (b *Broker) restores(t *transaction, person string) ([]restore, error) {
	in, err := b.intentOf(t)
	if err != nil {
		return nil, err
	}
	out, err := b.outcomeOf(t)
	if err != nil {
		return nil, err
	}
	if len(out.Changes) != len(in.Facts) {
		return nil, refusal.New(refusal.Internal, "undo of "+string(in.ID), "its outcome is not whole")
	}
	l, room := around(), action.Room{Left: b.cfg.Policy.Limits.AutoBytes}
	for i, f := range in.Facts {
		after := f.Attributes
		switch {
		case in.Results[i].Absent:
			after = nil
		case in.Action.Undo != nil:
			after = in.Action.Undo.Restores[i].Attributes
		}
		l.undo(f, after)
	}
	var all []restore
	for i, f := range in.Facts {
		if out.Result == protocol.Partial && !out.Changes[i].Did.Changed() {
			continue
		}
		r := restoreOf(f, in.Results[i], out.Changes[i])
		if v := f.Base.Version; v != nil && v.Kind == action.Regular {
			fits := room.Take(v.Size) && l.content(int(v.Size))
			if err := b.fill(&r, person, *v, fits); err != nil {
				return nil, err
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// fill gives a restore the bytes that stood there, or says why it has none.
func (b *Broker) fill(r *restore, person string, v action.Version, fits bool) (err error) {
	if !fits {
		r.noCopy = "no copy of what stood there was kept: it was more than one action keeps"
		return nil
	}
	r.Content, err = b.vault.Get(person, v.Hash)
	if errors.Is(err, vault.ErrNotHeld) || errors.Is(err, vault.ErrDamaged) {
		r.noCopy = "no copy of what stood there is kept"
		return nil
	}
	if err != nil {
		return refusal.New(refusal.NotCaptured, "undo of "+r.Path.String(), "%v", err)
	}
	return nil
}

// restoreOf puts one path back to what a fact says was there. What the plan left
// to the directory to give is taken from what landed.
func restoreOf(f action.Fact, left action.Image, landed protocol.PathOutcome) restore {
	r := action.Restore{Path: f.Resolved(), Left: left, Back: f.Image(), AnyGroup: f.AnyGroup, Attributes: f.Attributes}
	if v := landed.Version; v != nil && !left.Absent && v.Hash == *left.Hash {
		if left.GID == 0 {
			r.Left.GID = v.GID
		}
		if left.Attributes == nil {
			r.Left.Attributes = landed.Attributes
		}
	}
	switch r.Back.Kind {
	case action.Symlink:
		r.Content = []byte(f.Target)
	case action.Regular:
		if r.Back.Absent {
			r.Made = uint64(len(f.Base.Landing.Missing()))
		}
	}
	return restore{Restore: r}
}
