package broker

import (
	"context"
	"time"

	"countersign/internal/action"
	"countersign/internal/consent"
	"countersign/internal/journal"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// maxWhy bounds an owner's words to an agent, in bytes.
const maxWhy = 1000

// Decide is an owner's word on a waiting action: no, or yes to exactly what
// the prefix names. A yes previews again, and lands only what the owner saw.
func (b *Broker) Decide(ctx context.Context, uid uint32, in protocol.DecideParams) (protocol.Transaction, error) {
	if len(in.Why) > maxWhy {
		return protocol.Transaction{}, refusal.New(refusal.TooLarge, "the reason", "over %d bytes", maxWhy)
	}
	t, person, err := b.owned(uid, in.ID)
	if err != nil {
		return protocol.Transaction{}, err
	}
	done, err := b.waits(t)
	if err != nil {
		return protocol.Transaction{}, err
	}
	defer done()
	by := decided{Approve: in.Approve, By: b.ownerName(uid), UID: uid, Prefix: in.Prefix, Why: in.Why}
	if !in.Approve {
		err := b.record(entry(kindDecided, in.ID, by))
		return b.ledger.view(t), err
	}
	if _, _, _, whole := b.ledger.refs(t); !consent.Names(in.Prefix, whole) {
		r := refusal.New(refusal.Stale, "approval of "+string(in.ID), "")
		r.Why, r.Fix = "the prefix is not that of its preview", "look at it with `countersign show` and give the prefix that stands there"
		return b.ledger.view(t), r
	}
	return b.approve(ctx, t, person, by)
}

// approve previews again and lands, if that preview is the one approved.
func (b *Broker) approve(ctx context.Context, t *transaction, person *policy.Person, by decided) (protocol.Transaction, error) {
	view := b.ledger.view(t)
	a, v, leave, err := b.revisit(ctx, t, person)
	if err != nil || v == nil {
		return b.ledger.view(t), err
	}
	defer leave()
	if !consent.Names(by.Prefix, v.judged.Prefix) {
		return b.isStale(t, v)
	}
	if err := b.land(ctx, view.ID, a, v, []journal.Entry{entry(kindDecided, view.ID, by)}); err != nil {
		return b.ledger.view(t), err
	}
	if !b.ledger.isOvertaken(t) {
		return b.answer(ctx, t, v.plans), nil
	}
	why := b.ledger.view(t).Outcome.Refused
	switch now, err := b.previewAgain(ctx, t, person, a); {
	case now != nil && err == nil:
		v = now
	case b.ledger.view(t).State.Ended() && !b.ledger.isOvertaken(t):
		return b.ledger.view(t), err
	}
	tx, err := b.isStale(t, v) // on the preview it had, where none could be made just now
	if refusal.Is(err, refusal.Stale) && why.Code != refusal.Changed {
		err = waitsAgain(view.ID, why)
	}
	return tx, err
}

// waitsAgain says that an approval came to nothing though disk is as it was,
// because a program had a file open, or for want of time: the action waits again.
func waitsAgain(id action.ID, why *refusal.Refusal) error {
	r := refusal.New(why.Code, "approval of "+string(id), "%s; the action waits again", why.What)
	r.Fix = "look at it with `countersign show` and approve it again, once the file is closed or the machine has less to do"
	return r
}

// revisit takes up a waiting transaction for its owner, with the places that it
// needs until leave is called, and previews it again. Without a preview the
// places are left already.
func (b *Broker) revisit(ctx context.Context, t *transaction, person *policy.Person) (a action.Action, v *preview, leave func(), err error) {
	if a, err = b.actionOf(t); err != nil {
		return a, nil, nil, err
	}
	if leave, err = b.enter(person, true, a.Paths()); err != nil {
		return a, nil, nil, err
	}
	if v, err = b.previewAgain(ctx, t, person, a); v == nil || err != nil {
		leave()
		return a, nil, nil, err
	}
	return a, v, leave, nil
}

// previewAgain makes the preview of a transaction on disk as it is now. Where
// that is refused for good the transaction ends with it, and no preview is
// given; where it can be tried again, it waits as before.
func (b *Broker) previewAgain(ctx context.Context, t *transaction, person *policy.Person, a action.Action) (*preview, error) {
	view := b.ledger.view(t)
	v, err := b.preview(ctx, view.ID, person, a, proposed{
		By: view.By, Self: view.Self, Capability: view.Capability, Digest: view.Digest, UndoOf: view.UndoOf,
	})
	if r := refusal.As(err); r != nil && r.Again != refusal.Retry {
		_, err := b.giveUp(t, *r)
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if policy.Verdict(v.judged.Verdict) == policy.Deny {
		_, err := b.giveUp(t, *refusal.New(refusal.PolicyDenies, "action "+string(view.ID), "%s", v.judged.Rule))
		return nil, err
	}
	return v, b.asks(v, a, view)
}

// asks makes sure that a preview has what an approval binds: policy may by now
// call auto what waits for an owner, and what waits is the owner's.
func (b *Broker) asks(v *preview, a action.Action, view protocol.Transaction) error {
	if v.hash != nil {
		return nil
	}
	v.judged.Verdict = string(policy.Ask)
	of := proposed{Capability: view.Capability, Digest: view.Digest}
	if v.git != nil {
		return v.finishGit(view.ID, a, of)
	}
	return b.finish(v, view.ID, a, of)
}

// isStale puts a transaction back to waiting, on a new preview, and says so.
func (b *Broker) isStale(t *transaction, v *preview) (protocol.Transaction, error) {
	if err := b.showAnew(t, v); err != nil {
		return b.ledger.view(t), err
	}
	view := b.ledger.view(t)
	return view, refusal.New(refusal.Stale, "approval of "+string(view.ID), "it was previewed again")
}

// showAnew has a transaction wait on a new preview.
func (b *Broker) showAnew(t *transaction, v *preview) error {
	return b.record(v.withDetail(entry(kindStale, b.ledger.view(t).ID, stale{v.judged})))
}

// Withdraw takes a waiting action back, for its proposer.
func (b *Broker) Withdraw(uid uint32, id action.ID) (protocol.Transaction, error) {
	t, view := b.ledger.get(id)
	if t == nil || view.UID != uid {
		return protocol.Transaction{}, refusal.New(refusal.UnknownID, "action "+quoteID(id), "")
	}
	done, err := b.waits(t)
	if err != nil {
		return protocol.Transaction{}, err
	}
	defer done()
	err = b.record(entry(kindWithdrawn, id, ended{}))
	return b.ledger.view(t), err
}

// takeRoad makes the caller the one who acts on a transaction, or says that
// somebody does.
func (b *Broker) takeRoad(t *transaction) (done func(), err error) {
	if !t.road.TryLock() {
		return nil, refusal.New(refusal.Busy, "action "+string(b.ledger.view(t).ID), "it is being acted on")
	}
	return t.road.Unlock, nil
}

// waits takes the road of an action that waits, and refuses what is to happen
// to one that does not, or no longer: one that is over its time expires here.
func (b *Broker) waits(t *transaction) (done func(), err error) {
	if done, err = b.takeRoad(t); err != nil {
		return nil, err
	}
	view := b.ledger.view(t)
	switch {
	case view.State != protocol.StateWaiting:
		err = refusal.New(refusal.WrongState, "action "+string(view.ID), "it is %s", view.State)
	case b.isOver(view):
		if err = b.record(entry(kindExpired, view.ID, ended{})); err == nil {
			err = refusal.New(refusal.WrongState, "action "+string(view.ID), "it expired")
		}
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

func (b *Broker) isOver(t protocol.Transaction) bool {
	age := b.cfg.Now().Sub(t.Proposed.Time())
	return t.State == protocol.StateWaiting && age > b.cfg.Policy.Consent.Expire
}

// expire ends what waited longer than policy lets it.
func (b *Broker) expire(ctx context.Context) {
	const every = 30 * time.Second
	for {
		for _, v := range b.ledger.list(false, 0, b.isOver) {
			t, _ := b.ledger.get(v.ID)
			if done, err := b.waits(t); err == nil {
				done()
			}
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return
		}
	}
}

// owned gives a transaction of a home that this uid decides for. To anybody
// else there is no such transaction.
func (b *Broker) owned(uid uint32, id action.ID) (*transaction, *policy.Person, error) {
	t, view := b.ledger.get(id)
	if t != nil {
		if person := b.cfg.Policy.Persons[view.Person]; person != nil && b.cfg.Policy.OwnerOf(uid, person.Name) {
			return t, person, nil
		}
	}
	return nil, nil, refusal.New(refusal.UnknownID, "action "+quoteID(id), "")
}

// quoteID shows what was given as an ID, if it has the form of one.
func quoteID(id action.ID) string {
	if id.Valid() {
		return string(id)
	}
	return "with a malformed ID"
}

func (b *Broker) ownerName(uid uint32) string {
	if p := b.cfg.Policy.PersonByUID(uid); p != nil {
		return p.Name
	}
	return b.nameOf(uid)
}
