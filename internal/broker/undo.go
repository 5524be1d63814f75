package broker

import (
	"context"

	"countersign/internal/action"
	"countersign/internal/consent"
	"countersign/internal/journal"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Undo previews taking a landed transaction back, as a transaction of its own
// that waits; or, given the prefix of that preview, carries it out.
func (b *Broker) Undo(ctx context.Context, uid uint32, in protocol.UndoParams) (protocol.Transaction, error) {
	t, person, err := b.owned(uid, in.ID)
	if err != nil {
		return protocol.Transaction{}, err
	}
	done, err := b.takeRoad(t)
	if err != nil {
		return protocol.Transaction{}, err
	}
	defer done()
	what := "undo of " + string(in.ID)
	view := b.ledger.view(t)
	if view.State != protocol.StateLanded && (view.Outcome == nil || view.Outcome.Result != protocol.Partial) {
		return protocol.Transaction{}, refusal.New(refusal.WrongState, what, "it is %s", view.State)
	}
	if view.UndoneBy != "" {
		return protocol.Transaction{}, refusal.New(refusal.WrongState, what, "it was undone by %s", view.UndoneBy)
	}
	waiting := b.waitingUndo(in.ID)
	if in.Prefix != "" {
		if waiting == nil {
			return protocol.Transaction{}, refusal.New(refusal.Stale, what, "it has no preview that waits")
		}
		id := b.ledger.view(waiting).ID
		return b.Decide(ctx, uid, protocol.DecideParams{ID: id, Prefix: in.Prefix, Approve: true})
	}
	if waiting != nil {
		return b.undoAgain(ctx, waiting, person)
	}
	a, err := b.restores(t, person.Name)
	if err != nil {
		return protocol.Transaction{}, err
	}
	p, err := b.newProposal(uid, a)
	if err != nil {
		return protocol.Transaction{}, err
	}
	p.person, p.record.Person, p.record.By = person, person.Name, b.ownerName(uid)
	p.record.Self, p.record.UndoOf = true, in.ID
	return b.propose(ctx, p)
}

// waitingUndo finds the undo of a transaction that was previewed before.
func (b *Broker) waitingUndo(of action.ID) *transaction {
	found := b.ledger.list(true, 1, func(t protocol.Transaction) bool {
		return t.UndoOf == of && t.State == protocol.StateWaiting && !b.isOver(t)
	})
	if len(found) == 0 {
		return nil
	}
	t, _ := b.ledger.get(found[0].ID)
	return t
}

// undoAgain previews a waiting undo on disk as it is now.
func (b *Broker) undoAgain(ctx context.Context, t *transaction, person *policy.Person) (protocol.Transaction, error) {
	done, err := b.takeRoad(t)
	if err != nil {
		return protocol.Transaction{}, err
	}
	defer done()
	_, v, leave, err := b.revisit(ctx, t, person)
	if err != nil || v == nil {
		return b.ledger.view(t), err
	}
	defer leave()
	if _, _, _, whole := b.ledger.refs(t); consent.Names(v.judged.Prefix, whole) {
		return b.ledger.view(t), nil
	}
	err = b.showAnew(t, v)
	return b.ledger.view(t), err
}

// restores composes the undo of a landed transaction: each path from the image
// that the action left to the one it replaced, with the captured bytes. Of one
// that landed in part, those paths that it changed.
func (b *Broker) restores(t *transaction, person string) (action.Action, error) {
	in, err := b.intentOf(t)
	if err != nil {
		return action.Action{}, err
	}
	view := b.whole(t)
	undo := &action.Undo{Transaction: view.ID}
	for i, f := range in.Facts {
		if i >= len(view.Outcome.Changes) {
			return action.Action{}, refusal.New(refusal.Internal, "undo of "+string(view.ID), "its outcome is not whole")
		}
		landed := view.Outcome.Changes[i]
		if view.Outcome.Result == protocol.Partial && !landed.Did.Changed() {
			continue
		}
		r, err := b.restore(person, f, in.Results[i], landed)
		if err != nil {
			return action.Action{}, err
		}
		undo.Restores = append(undo.Restores, r)
	}
	return action.Action{Undo: undo}, nil
}

// restore puts one path back to what a fact says was there. What was the
// directory's to give is taken from what landed.
func (b *Broker) restore(person string, f action.Fact, left action.Image, landed protocol.PathOutcome) (r action.Restore, err error) {
	r = action.Restore{Path: f.Resolved(), Left: left, Back: f.Image(), AnyGroup: f.AnyGroup}
	if v := landed.Version; v != nil && !left.Absent && v.Hash == *left.Hash {
		r.Left.GID, r.Left.Attributes = v.GID, landed.Attributes
	}
	if r.Back.Absent {
		r.Made = uint64(len(f.Base.Landing.Missing()))
		return r, nil
	}
	r.Attributes = f.Attributes
	if r.Back.Kind == action.Symlink {
		r.Content = []byte(f.Target)
	} else if r.Content, err = b.vault.Get(person, *r.Back.Hash); err != nil {
		return r, refusal.New(refusal.NotCaptured, "undo of "+f.Path.String(), "%v", err)
	}
	return r, nil
}

// Show gives a transaction whole, to whoever may see it. The detail of one that
// policy landed was never made: it is made now, from what was captured.
func (b *Broker) Show(id action.ID, may func(protocol.Transaction) bool) (protocol.ShowResult, error) {
	t, view := b.ledger.get(id)
	if t == nil || !may(view) {
		return protocol.ShowResult{}, refusal.New(refusal.UnknownID, "action "+quoteID(id), "")
	}
	a, err := b.actionOf(t)
	if err != nil {
		return protocol.ShowResult{}, err
	}
	res := protocol.ShowResult{Transaction: b.whole(t), Action: a}
	_, ref, intent, _ := b.ledger.refs(t)
	switch {
	case ref != nil:
		res.Detail, err = b.storedDetail(*ref)
	case intent != nil:
		res.Detail, err = b.detailOf(t, view.Person, a)
	}
	return res, err
}

func (b *Broker) storedDetail(ref journal.Ref) (*action.Detail, error) {
	raw, err := b.journal.ReadBody(ref)
	if err != nil {
		return nil, err
	}
	d, err := decode[action.Detail](raw)
	return &d, err
}

// detailOf accounts for a landed action from what was captured before it.
// Where that is gone, there is an action and no account of it.
func (b *Broker) detailOf(t *transaction, person string, a action.Action) (*action.Detail, error) {
	plans, err := b.plansOf(t, person, a)
	if plans == nil {
		return nil, err
	}
	d := action.DetailOf(plans)
	return &d, nil
}

// plansOf plans a landed action again on what was captured before it; nil where
// that cannot be done any more.
func (b *Broker) plansOf(t *transaction, person string, a action.Action) ([]action.Planned, error) {
	in, err := b.intentOf(t)
	if err != nil {
		return nil, err
	}
	home := b.cfg.Policy.Persons[person]
	if home == nil {
		return nil, nil // the person was removed, and what was captured is not read for anybody else
	}
	befores := make([]action.Before, 0, len(in.Facts))
	for _, f := range in.Facts {
		before := action.Before{Fact: f}
		switch v := f.Base.Version; {
		case v == nil:
		case v.Kind == action.Symlink:
			before.Content, before.Read = []byte(f.Target), true
		default:
			content, err := b.vault.Get(person, v.Hash)
			before.Content, before.Read = content, err == nil
		}
		befores = append(befores, before)
	}
	plans, err := a.Plan(befores, home.Umask)
	if err != nil {
		return nil, nil
	}
	return plans, nil
}
