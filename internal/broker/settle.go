package broker

import (
	"context"
	"errors"
	"time"

	"countersign/internal/action"
	"countersign/internal/journal"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/wire/client"
)

// settleAll settles, in the background, what an earlier keeper left without an
// outcome, holding the places of each until it is known.
func (b *Broker) settleAll(ctx context.Context) {
	intents, halfway := b.ledger.interrupted()
	for _, t := range halfway {
		if err := b.standUp(t); err != nil {
			b.cfg.Log.Error("an interrupted action could not be put right", "id", b.ledger.view(t).ID, "error", err)
		}
	}
	for _, t := range intents {
		view := b.ledger.view(t)
		person := b.cfg.Policy.Persons[view.Person]
		in, err := b.intentOf(t)
		if err != nil || person == nil {
			b.cfg.Log.Error("an intent cannot be settled", "id", view.ID, "person", view.Person, "error", err)
			continue
		}
		unlock, err := b.places.lockLandings(person.Name, in.Facts)
		if err != nil {
			b.cfg.Log.Error("an intent cannot be settled", "id", view.ID, "error", err)
			continue
		}
		b.work.Go(func() {
			defer unlock()
			b.settle(ctx, person, in)
		})
	}
}

// standUp puts right what stopped in the middle of a step. What an owner is
// asked about waits again as it was shown; what policy was to land is refused,
// and can be proposed again.
func (b *Broker) standUp(t *transaction) error {
	view := b.ledger.view(t)
	_, detail, _, prefix := b.ledger.refs(t)
	if prefix == "" || detail == nil {
		_, err := b.giveUp(t, *refusal.New(refusal.Interrupted, "action "+string(view.ID), ""))
		return err
	}
	shown, err := b.journal.ReadBody(*detail)
	if err != nil {
		return err
	}
	again := judged{Verdict: view.Verdict, Rule: view.Rule, Reasons: view.Reasons, Reversible: view.Reversible, Prefix: prefix}
	return b.record(entry(kindStale, view.ID, stale{again}, journal.Body{Role: roleDetail, Data: shown}))
}

// intentOf puts an intent together again from the journal.
func (b *Broker) intentOf(t *transaction) (protocol.Intent, error) {
	_, _, ref, _ := b.ledger.refs(t)
	in := protocol.Intent{ID: b.ledger.view(t).ID}
	a, err := b.actionOf(t)
	if err != nil {
		return in, err
	}
	raw, err := b.journal.ReadBody(*ref)
	if err != nil {
		return in, err
	}
	body, err := decode[intentBody](raw)
	in.Action, in.Facts, in.Results, in.Staged, in.Approved, in.Git = a, body.Facts, body.Results, body.Staged, body.Approved, body.Git
	return in, err
}

func (b *Broker) actionOf(t *transaction) (action.Action, error) {
	ref, _, _, _ := b.ledger.refs(t)
	raw, err := b.journal.ReadBody(ref)
	if err != nil {
		return action.Action{}, err
	}
	return action.Decode(raw)
}

// settle asks the scribe how far an intent came, until it answers or ctx ends.
// The scribe waits for a request of it that is still under way, and refuses
// one that arrives later.
func (b *Broker) settle(ctx context.Context, person *policy.Person, in protocol.Intent) {
	const first, longest = 50 * time.Millisecond, 5 * time.Second
	for wait := first; ; wait = min(2*wait, longest) {
		var out protocol.Outcome
		kept, err := b.hands[person.Name].scribe.CallHandles(ctx, protocol.Settle,
			protocol.IntentParams{Policy: b.cfg.Policy.Digest, Intent: in}, &out)
		if err == nil {
			if !soundOutcome(out, in) {
				out = unbelieved(in)
			}
			b.keepAside(person, in.ID, out, kept)
			b.conclude(kindSettled, in.ID, out)
			b.cfg.Log.Info("settled", "id", in.ID, "result", string(out.Result), "words", out.Words)
			return
		}
		if r := refusal.As(err); r != nil && r.Again == refusal.Never && !errors.Is(err, client.ErrUnanswered) {
			out = unbelieved(in)
			out.Words = "the scribe does not settle it: " + r.Error()
			b.conclude(kindSettled, in.ID, out)
			return
		}
		b.cfg.Log.Warn("settling must wait", "id", in.ID, "error", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}
