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
	if view.State != protocol.StateLanded {
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
// that the action left to the one it replaced, with the captured bytes.
func (b *Broker) restores(t *transaction, person string) (action.Action, error) {
	in, err := b.intentOf(t)
	if err != nil {
		return action.Action{}, err
	}
	view := b.ledger.view(t)
	undo := &action.Undo{Transaction: view.ID}
	for i, f := range in.Facts {
		r := action.Restore{Path: f.Path, Left: in.Results[i], Back: f.Base.Image()}
		if landed := view.Outcome.Changes; i < len(landed) && !r.Left.Absent && landed[i].Version != nil &&
			landed[i].Version.Hash == *r.Left.Hash {
			r.Left.GID = landed[i].Version.GID
		}
		if !r.Back.Absent {
			if r.Content, err = b.vault.Get(person, *r.Back.Hash); err != nil {
				return action.Action{}, refusal.New(refusal.NotCaptured, "undo of "+f.Path.String(), "%v", err)
			}
		}
		undo.Restores = append(undo.Restores, r)
	}
	return action.Action{Undo: undo}, nil
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
	res := protocol.ShowResult{Transaction: view, Action: a}
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

// detailOf plans a landed action again on what was captured before it.
func (b *Broker) detailOf(t *transaction, person string, a action.Action) (*action.Detail, error) {
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
		if f.Base.Version != nil {
			content, err := b.vault.Get(person, f.Base.Version.Hash)
			before.Content, before.Read = content, err == nil
		}
		befores = append(befores, before)
	}
	plans, err := a.Plan(befores, home.Umask)
	if err != nil {
		return nil, nil // what was captured is gone: there is an action, and no account of it
	}
	d := action.DetailOf(plans)
	return &d, nil
}
