package broker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"strings"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/canon"
	"countersign/internal/grant"
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
	captures, err := b.keep(v)
	if err != nil && v.judged.Reversible {
		return err
	}
	in := protocol.Intent{ID: id, Action: a, Facts: v.facts(), Results: []action.Image{}, Staged: []string{}, Approved: v.hash, Git: v.gitIntent(b.cfg.Now())}
	for _, p := range v.plans {
		in.Results = append(in.Results, p.Result)
		in.Staged = append(in.Staged, stagedName())
	}
	body, err := canon.Encode(intentBody{Facts: in.Facts, Results: in.Results, Staged: in.Staged, Approved: in.Approved, Git: in.Git})
	if err != nil {
		return err
	}
	unlock, err := b.places.lockLandings(v.person.Name, in.Facts)
	if err != nil {
		return err
	}
	bodies := append([]journal.Body{{Role: roleIntent, Data: body}}, captures...)
	if err := b.record(append(before, entry(kindIntent, id, intended{b.cfg.Policy.Digest}, bodies...))...); err != nil {
		unlock()
		return err
	}
	settling := false
	defer func() {
		if !settling {
			unlock()
		}
	}()
	out, answered := b.forward(ctx, v.person, in)
	if answered {
		b.conclude(kindOutcome, in.ID, out)
		return nil
	}
	settling = true
	b.later(func(ctx context.Context) {
		defer unlock()
		b.settle(ctx, v.person, in)
	})
	return nil
}

// conclude writes down how an intent ended. Whether that can be written is no
// part of how it ended: those who wait are answered all the same, the keeper
// ends, and the next one finds it out again.
func (b *Broker) conclude(kind string, id action.ID, out protocol.Outcome) {
	e, err := outcomeEntry(kind, id, out)
	if err == nil {
		err = b.note(e)
	}
	if err != nil {
		out, _ = headOf(out)
		out.Words = strings.TrimPrefix(out.Words+"; it could not be written down, and will be found out again", "; ")
		b.ledger.told(id, out, protocol.Time(b.cfg.Now().UnixNano()))
	}
}

// stagedName makes the name that the scribe stages a file under.
func stagedName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return grant.StagedPrefix + hex.EncodeToString(b[:])
}

// forward sends an intent to the scribe, once. An answer that did not come, or
// that the scribe broke down over it, says nothing about the disk: then the
// intent is to be settled by looking.
func (b *Broker) forward(ctx context.Context, person *policy.Person, in protocol.Intent) (out protocol.Outcome, answered bool) {
	method := protocol.FileWrite
	if in.Git != nil {
		method = protocol.GitWrite
	}
	kept, err := b.hands[person.Name].scribe.CallHandles(ctx, method,
		protocol.IntentParams{Policy: b.cfg.Policy.Digest, Intent: in}, &out)
	r := refusal.As(err)
	switch {
	case err == nil && soundOutcome(out, in):
		b.keepAside(person, in.ID, out, kept)
		return out, true
	case err == nil:
		closeAll(kept)
		return unbelieved(in), true
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
		if i >= len(handles) {
			b.cfg.Log.Error("a displaced file came without its handle, and stays where it is alone", "path", what)
			continue
		}
		size, err := soundHandle(handles[i], what)
		if err != nil || size > b.cfg.Policy.Limits.AutoBytes {
			b.cfg.Log.Error("a displaced file could not be kept", "path", what, "size", size, "error", err)
			continue
		}
		snap, err := beneath.Take(what, handles[i], b.cfg.Policy.Limits.AutoBytes)
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

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
