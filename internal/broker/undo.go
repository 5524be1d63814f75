package broker

import (
	"context"

	"countersign/internal/action"
	"countersign/internal/consent"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Undo previews taking a landed transaction back, as a transaction of its own
// that waits; or, given the prefix of that preview, carries it out. What does
// not stand any more as the action left it is left as it is.
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
	if err := undoable(b.ledger.view(t)); err != nil {
		return protocol.Transaction{}, err
	}
	waiting := b.waitingUndo(in.ID)
	switch {
	case in.Prefix == "":
		return b.previewUndo(ctx, uid, t, person, waiting)
	case waiting == nil:
		return protocol.Transaction{}, refusal.New(refusal.Stale, "undo of "+string(in.ID), "it has no preview that waits")
	}
	return b.Decide(ctx, uid, protocol.DecideParams{ID: b.ledger.view(waiting).ID, Prefix: in.Prefix, Approve: true})
}

// undoable refuses to take back what did not land, and what was taken back
// whole.
func undoable(view protocol.Transaction) error {
	what := "undo of " + string(view.ID)
	if view.State != protocol.StateLanded && (view.Outcome == nil || view.Outcome.Result != protocol.Partial) {
		return refusal.New(refusal.WrongState, what, "it is %s", view.State)
	}
	if view.UndoneBy != "" && !view.InPart {
		return refusal.New(refusal.WrongState, what, "it was undone by %s", view.UndoneBy)
	}
	return nil
}

// previewUndo composes an undo on disk as it is now, and proposes it, unless
// the very same one waits already.
func (b *Broker) previewUndo(ctx context.Context, uid uint32, t *transaction, person *policy.Person, waiting *transaction) (protocol.Transaction, error) {
	a, err := b.compose(ctx, t, person)
	if err != nil {
		return protocol.Transaction{}, err
	}
	p, err := b.newProposal(uid, a)
	if err != nil {
		return protocol.Transaction{}, err
	}
	if waiting != nil && b.ledger.view(waiting).Digest == p.record.Digest {
		return b.undoAgain(ctx, waiting, person)
	}
	if waiting != nil {
		if err := b.supersede(waiting); err != nil {
			return protocol.Transaction{}, err
		}
	}
	p.person, p.record.Person, p.record.By = person, person.Name, b.ownerName(uid)
	p.record.Self, p.record.UndoOf = true, a.Undo.Transaction
	n := min(len(a.Undo.Leaves), protocol.MaxPaths)
	p.record.Leaves, p.record.MoreLeaves = a.Undo.Leaves[:n], uint64(len(a.Undo.Leaves)-n)
	return b.propose(ctx, p)
}

// supersede ends a waiting undo whose paths, or what it leaves of them, are no
// longer what an undo would be composed of now.
func (b *Broker) supersede(waiting *transaction) error {
	done, err := b.waits(waiting)
	if err != nil {
		return err
	}
	defer done()
	r := refusal.New(refusal.Stale, "undo "+string(b.ledger.view(waiting).ID), "another one takes its place")
	_, err = b.giveUp(waiting, *r)
	return err
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
