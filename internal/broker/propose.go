package broker

import (
	"context"
	"fmt"
	"time"

	"countersign/internal/action"
	"countersign/internal/journal"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// proposal is an action on its way into the ledger.
type proposal struct {
	id     action.ID
	action action.Action
	person *policy.Person
	record proposed
	bytes  []byte // the action's encoding
}

func (p proposal) entry() journal.Entry {
	return entry(kindProposed, p.id, p.record, journal.Body{Role: roleAction, Data: p.bytes})
}

// Act takes a proposal in, and carries it as far as it goes without an owner:
// it lands, is refused, or waits. The error is a refusal that left no
// transaction behind; one that did is told by the transaction.
func (b *Broker) Act(ctx context.Context, uid uint32, in protocol.ActParams) (protocol.Transaction, error) {
	p, err := b.accept(uid, in)
	if err != nil {
		return protocol.Transaction{}, err
	}
	release, earlier, err := b.claim(uid, in.Nonce)
	if err != nil {
		return protocol.Transaction{}, err
	}
	defer release()
	if earlier != nil {
		view := b.ledger.view(earlier)
		if view.Digest != p.record.Digest {
			return protocol.Transaction{}, refusal.New(refusal.BadRequest, "the proposal", "its nonce is another action's")
		}
		if view.State.Ended() {
			view = b.answer(ctx, earlier, nil)
		}
		return view, nil
	}
	if p.person, err = b.whose(uid, p); err != nil {
		return b.refuseNew(p, err)
	}
	p.record.Person = p.person.Name
	p.record.Self = b.cfg.Policy.OwnerOf(uid, p.person.Name)
	if err := p.action.CarriedOut(); err != nil {
		return b.refuseNew(p, err)
	}
	return b.propose(ctx, p)
}

// accept checks a proposal by itself.
func (b *Broker) accept(uid uint32, in protocol.ActParams) (proposal, error) {
	if err := in.Action.Validate(); err != nil {
		return proposal{}, err
	}
	if in.Action.Undo != nil {
		return proposal{}, refusal.New(refusal.BadAction, "the action", "an undo is the owner's, and asked for by ID alone")
	}
	if len(in.Sentence) > protocol.MaxSentence {
		return proposal{}, refusal.New(refusal.TooLarge, "the sentence", "over %d bytes", protocol.MaxSentence)
	}
	p, err := b.newProposal(uid, in.Action)
	p.record.Sentence, p.record.Nonce = in.Sentence, &in.Nonce
	return p, err
}

func (b *Broker) newProposal(uid uint32, a action.Action) (proposal, error) {
	encoded, err := action.Encode(a)
	if err != nil {
		return proposal{}, err
	}
	paths := a.Paths()
	return proposal{
		id: action.NewID(), action: a, bytes: encoded,
		record: proposed{
			By: b.nameOf(uid), UID: uid, Capability: a.Capability(), Paths: paths[:min(len(paths), protocol.MaxPaths)], More: uint64(max(len(paths)-protocol.MaxPaths, 0)),
			Digest: action.HashOf(encoded), Unseparated: b.cfg.Policy.Consent.Unseparated,
		},
	}, nil
}

// nameOf gives the name that a uid proposes under.
func (b *Broker) nameOf(uid uint32) string {
	if a := b.cfg.Policy.AgentByUID(uid); a != nil {
		return a.Name
	}
	if p := b.cfg.Policy.PersonByUID(uid); p != nil {
		return p.Name
	}
	return fmt.Sprintf("uid %d", uid)
}

// whose says in whose home an action lies, and whether this uid may propose
// there: an agent of the person's, or one who decides for that home.
func (b *Broker) whose(uid uint32, p proposal) (*policy.Person, error) {
	var person *policy.Person
	for _, path := range p.action.Paths() {
		home, err := b.cfg.Policy.HomeOf(path)
		if err != nil {
			return nil, err
		}
		if person != nil && person != home {
			return nil, refusal.New(refusal.SeveralHomes, path.String(), "")
		}
		person = home
	}
	agent := b.cfg.Policy.AgentByUID(uid)
	if (agent == nil || !b.cfg.Policy.AgentMay(agent.Name, person.Name)) && !b.cfg.Policy.OwnerOf(uid, person.Name) {
		return nil, refusal.New(refusal.NotPermitted, p.action.Paths()[0].String(), "%s may not propose in the home of %s", b.nameOf(uid), person.Name)
	}
	return person, nil
}

// claim makes sure that one nonce makes one transaction: it gives the one it
// made already, or lets this call go first and others wait.
func (b *Broker) claim(uid uint32, n protocol.Nonce) (release func(), earlier *transaction, err error) {
	release, err = b.places.lock([]string{fmt.Sprintf("nonce %d %x", uid, n)})
	return release, b.ledger.ofNonce(uid, n), err
}

// refuseNew journals a proposal together with its refusal.
func (b *Broker) refuseNew(p proposal, cause error) (protocol.Transaction, error) {
	r := refusal.As(cause)
	if r == nil || r.Again == refusal.Retry {
		return protocol.Transaction{}, cause // nothing was decided about it: it can be sent again
	}
	if !b.refusals.allow(p.record.UID, len(p.bytes), b.cfg.Now()) {
		b.RefusedPeer("act", p.record.UID, r, 1)
		return protocol.Transaction{}, r
	}
	if err := b.record(p.entry(), entry(kindRefused, p.id, refused{*r})); err != nil {
		return protocol.Transaction{}, err
	}
	_, view := b.ledger.get(p.id)
	return view, nil
}

// propose previews a proposal and does what policy says of it. It holds the
// transaction's road throughout: nobody else acts on it in the middle of that.
func (b *Broker) propose(ctx context.Context, p proposal) (protocol.Transaction, error) {
	defer b.ledger.reserve(p.id)()
	leave, err := b.enter(p.person, p.record.Self, p.action.Paths())
	if err != nil {
		return protocol.Transaction{}, err
	}
	defer leave()
	v, err := b.preview(ctx, p.id, p.person, p.action, p.record)
	if err != nil {
		return b.refuseNew(p, err)
	}
	p.record.Judged = &v.judged
	switch policy.Verdict(v.judged.Verdict) {
	case policy.Auto:
		return b.landAuto(ctx, p, v)
	case policy.Ask:
		if r := b.bounded(p.record.UID); r != nil {
			b.RefusedPeer("act", p.record.UID, r, 1)
			return protocol.Transaction{}, r
		}
		if !b.asked.allow(p.record.UID, len(p.bytes)+len(v.detail), b.cfg.Now()) {
			return protocol.Transaction{}, refusal.New(refusal.Busy, "one more action", "%s has had as much written down in this minute as may be", p.record.By)
		}
		if err := b.record(v.withDetail(p.entry())); err != nil {
			return protocol.Transaction{}, err
		}
		_, view := b.ledger.get(p.id)
		return view, nil
	}
	return b.refuseNew(p, refusal.New(refusal.PolicyDenies, whatOf(p.action), "%s", v.judged.Rule))
}

// bounded refuses one more waiting action than an agent may have, or than may
// wait in all.
func (b *Broker) bounded(uid uint32) *refusal.Refusal {
	const inAll = 10_000
	mine := b.ledger.list(false, 0, func(t protocol.Transaction) bool {
		return t.UID == uid && t.State == protocol.StateWaiting
	})
	if limit := b.cfg.Policy.Consent.PendingPerAgent; int64(len(mine)) >= limit {
		return refusal.New(refusal.Flood, "one more action", "%d of %d", len(mine), limit)
	}
	if all := b.ledger.count(); all >= inAll {
		return refusal.New(refusal.Flood, "one more action", "%d of %d of all agents", all, inAll)
	}
	return nil
}

// landAuto lands what policy decided by itself. Where disk moved on under it,
// it is previewed again and judged again, a few times.
func (b *Broker) landAuto(ctx context.Context, p proposal, v *preview) (protocol.Transaction, error) {
	policyDecides := entry(kindDecided, p.id, decided{Approve: true, By: "policy"})
	before := []journal.Entry{v.withDetail(p.entry()), policyDecides}
	for try := 1; ; try++ {
		err := b.land(ctx, p.id, p.action, v, before)
		t, view := b.ledger.get(p.id)
		switch {
		case err != nil && t == nil:
			return view, err
		case err == nil && !b.ledger.isOvertaken(t):
			return b.answer(ctx, t, v.plans), nil
		case err != nil || try == attempts:
			return b.giveUp(t, *view.Outcome.Refused)
		}
		v, err = b.preview(ctx, p.id, p.person, p.action, p.record)
		if r := refusal.As(err); r != nil && r.Again != refusal.Retry {
			return b.giveUp(t, *r)
		} else if err != nil {
			return b.giveUp(t, *view.Outcome.Refused)
		}
		again := v.withDetail(entry(kindStale, p.id, stale{v.judged}))
		if policy.Verdict(v.judged.Verdict) != policy.Auto {
			return b.askInstead(t, v, again)
		}
		before = []journal.Entry{again, policyDecides}
	}
}

// askInstead leaves to the owner what policy would not land on this disk.
func (b *Broker) askInstead(t *transaction, v *preview, again journal.Entry) (protocol.Transaction, error) {
	if policy.Verdict(v.judged.Verdict) == policy.Deny {
		return b.giveUp(t, *refusal.New(refusal.PolicyDenies, "the action", "%s", v.judged.Rule))
	}
	err := b.record(again)
	return b.ledger.view(t), err
}

// giveUp ends a transaction with a refusal.
func (b *Broker) giveUp(t *transaction, r refusal.Refusal) (protocol.Transaction, error) {
	err := b.record(entry(kindRefused, b.ledger.view(t).ID, refused{r}))
	return b.ledger.view(t), err
}

// enter takes the paths of an action, and then one of the places that a person
// has for actions under way; a wait past queueFor is refused as busy.
func (b *Broker) enter(p *policy.Person, owner bool, paths []action.Path) (leave func(), err error) {
	unlock, err := b.places.lockPaths(paths, owner)
	if err != nil {
		return nil, err
	}
	h := b.hands[p.Name]
	queues := []chan struct{}{h.forAgents, h.all}
	if owner {
		queues = queues[1:]
	}
	patience := time.NewTimer(queueFor)
	defer patience.Stop()
	leave = unlock
	for _, q := range queues {
		select {
		case q <- struct{}{}:
			before := leave
			leave = func() { <-q; before() }
		case <-patience.C:
			leave()
			return nil, refusal.New(refusal.Busy, "the action", "%d of %s are under way", atOnce, p.Name)
		}
	}
	return leave, nil
}
