package broker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"time"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/canon"
	"countersign/internal/journal"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/wire/client"
)

// land writes the intent, on disk together with the records before it and with
// what will be replaced, and only then asks the scribe to carry it out. What
// became of it is in the ledger afterwards; the error is a record that could
// not be written, and then nothing was done.
func (b *Broker) land(ctx context.Context, id action.ID, a action.Action, v *preview, before []journal.Entry) error {
	if v.judged.Reversible && v.captures == nil {
		if err := b.keep(v); err != nil {
			return err
		}
	}
	in := protocol.Intent{ID: id, Action: a, Facts: v.facts(), Approved: v.hash}
	for _, p := range v.plans {
		in.Results = append(in.Results, p.Result)
		in.Staged = append(in.Staged, stagedName())
	}
	body, err := canon.Encode(intentBody{Facts: in.Facts, Results: in.Results, Staged: in.Staged, Approved: in.Approved})
	if err != nil {
		return err
	}
	unlock := b.places.lockLandings(in.Facts)
	bodies := append([]journal.Body{{Role: roleIntent, Data: body}}, v.captures...)
	if err := b.record(append(before, entry(kindIntent, id, intended{b.cfg.Policy.Digest}, bodies...))...); err != nil {
		unlock()
		return err
	}
	out, answered := b.forward(ctx, v.person, in)
	if !answered {
		b.later(func(ctx context.Context) {
			defer unlock()
			b.settle(ctx, v.person, in)
		})
		return nil
	}
	defer unlock()
	return b.note(entry(kindOutcome, in.ID, outcome{out}))
}

// stagedName makes the name that the scribe stages a file under.
func stagedName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return ".countersign-" + hex.EncodeToString(b[:])
}

// forward sends an intent to the scribe, once. An answer that did not come, or
// that the scribe broke down over it, says nothing about the disk: then the
// intent is to be settled by looking.
func (b *Broker) forward(ctx context.Context, person *policy.Person, in protocol.Intent) (out protocol.Outcome, answered bool) {
	kept, err := b.hands[person.Name].scribe.CallHandles(ctx, protocol.FileWrite,
		protocol.IntentParams{Policy: b.cfg.Policy.Digest, Intent: in}, &out)
	r := refusal.As(err)
	switch {
	case err == nil:
		b.keepAside(person, in.ID, out, kept)
		return out, true
	case r != nil && r.Code != refusal.Internal && !errors.Is(err, client.ErrUnanswered):
		return protocol.Outcome{Result: protocol.NotLanded, Changes: []protocol.PathOutcome{}, Refused: r}, true
	}
	b.cfg.Log.Warn("no answer from the scribe; settling", "id", in.ID, "error", err)
	return out, false
}

// keepAside takes files into the vault that an exchange displaced and that
// could not be put back: they are nobody's proposal, and somebody's work.
func (b *Broker) keepAside(person *policy.Person, id action.ID, out protocol.Outcome, handles []*os.File) {
	defer closeAll(handles)
	var bodies []journal.Body
	for i, k := range out.Kept {
		what := k.Path.String()
		if i >= len(handles) || soundHandle(handles[i], what) != nil {
			continue
		}
		snap, err := beneath.Take(what, handles[i], int64(b.cfg.Policy.Limits.AutoBytes))
		if err != nil || !snap.Whole {
			b.cfg.Log.Error("a displaced file could not be kept", "path", what, "error", err)
			continue
		}
		held, err := b.vault.Prepare(person.Name, snap.Content)
		if err != nil {
			b.cfg.Log.Error("a displaced file could not be kept", "path", what, "error", err)
			continue
		}
		if held.Body != nil {
			bodies = append(bodies, *held.Body)
		}
	}
	if len(bodies) > 0 {
		b.record(entry(kindKept, id, ended{}, bodies...))
	}
}

// settleAll settles, in the background, what an earlier keeper left without an
// outcome, holding the places of each until it is known.
func (b *Broker) settleAll(ctx context.Context) {
	intents, overtaken := b.ledger.interrupted()
	for _, t := range overtaken {
		b.giveUp(t, *b.ledger.view(t).Outcome.Refused)
	}
	for _, t := range intents {
		view := b.ledger.view(t)
		person := b.cfg.Policy.Persons[view.Person]
		in, err := b.intentOf(t)
		if err != nil || person == nil {
			b.cfg.Log.Error("an intent cannot be settled", "id", view.ID, "person", view.Person, "error", err)
			continue
		}
		unlock := b.places.lockLandings(in.Facts)
		b.work.Go(func() {
			defer unlock()
			b.settle(ctx, person, in)
		})
	}
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
	in.Action, in.Facts, in.Results, in.Staged, in.Approved = a, body.Facts, body.Results, body.Staged, body.Approved
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
			b.keepAside(person, in.ID, out, kept)
			if b.note(entry(kindSettled, in.ID, outcome{out})) == nil {
				b.cfg.Log.Info("settled", "id", in.ID, "result", string(out.Result), "words", out.Words)
			}
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

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
