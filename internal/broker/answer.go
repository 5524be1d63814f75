package broker

import (
	"context"
	"time"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/journal"
	"countersign/internal/protocol"
)

// answer gives a transaction alone, once it has ended or has been waited for a
// while: with what became of every path, and of one that landed with the regions
// that changed. plans are those that landed; without them they are made again
// from what was captured.
func (b *Broker) answer(ctx context.Context, t *transaction, plans []action.Planned) protocol.Transaction {
	select {
	case <-t.done:
	case <-ctx.Done():
	case <-time.After(patience):
	}
	view, left := b.whole(t, protocol.MaxAnswer)
	if view.State != protocol.StateLanded {
		return view
	}
	if plans == nil {
		leave, err := b.look(ctx)
		if err != nil {
			return view
		}
		defer leave()
		a, err := b.actionOf(t)
		if err == nil {
			plans, err = b.plansOf(t, view.Person, a)
		}
		if err != nil {
			b.cfg.Log.Warn("the regions that changed cannot be told", "id", view.ID, "error", err)
		}
	}
	view.Regions, view.MoreRegions = action.Regions(standing(plans, *view.Outcome))
	for n := len(view.Regions); n > 0; n-- { // they come last, and give way first
		if size(view.Regions[:n]) <= left {
			break
		}
		view.Regions = view.Regions[:n-1]
		view.MoreRegions++
	}
	return view
}

// standing leaves out the plans of files that somebody else has written since.
func standing(plans []action.Planned, out protocol.Outcome) (those []action.Planned) {
	for i, p := range plans {
		if i >= len(out.Changes) || out.Changes[i].Did.Changed() {
			those = append(those, p)
		}
	}
	return those
}

// size gives how many bytes regions take in an answer.
func size(regions []action.Region) (n int) {
	for _, r := range regions {
		n += 64 + len(r.Path) + len(r.Text)
	}
	return n
}

// look takes one of the places for what is worked out again from the journal
// and the vault, which is an action's whole content and more.
func (b *Broker) look(ctx context.Context) (leave func(), err error) {
	select {
	case b.looks <- struct{}{}:
		return func() { <-b.looks }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// whole gives how a transaction stands, with as many paths of its outcome, and
// of what its undo leaves, as most bytes hold, and how many of them are left.
func (b *Broker) whole(t *transaction, most int) (view protocol.Transaction, left int) {
	view, ref := b.ledger.result(t)
	if view.MoreLeaves > 0 {
		if a, err := b.actionOf(t); err != nil {
			b.cfg.Log.Error("an action cannot be read", "id", view.ID, "error", err)
		} else if a.Undo != nil {
			view.Leaves, view.MoreLeaves = fitLeaves(a.Undo.Leaves, most/2)
			most /= 2
		}
	}
	if view.Outcome == nil {
		return view, most
	}
	all := *view.Outcome
	if ref != nil {
		stored, err := b.stored(*ref)
		if err != nil {
			b.cfg.Log.Error("an outcome cannot be read whole", "id", view.ID, "error", err)
		} else {
			all = stored
		}
	}
	fits, left := fitOutcome(all, most)
	view.Outcome = &fits
	return view, left
}

// outcomeOf gives the outcome of a transaction that has one, with all its paths.
func (b *Broker) outcomeOf(t *transaction) (protocol.Outcome, error) {
	view, ref := b.ledger.result(t)
	if ref == nil {
		return *view.Outcome, nil
	}
	return b.stored(*ref)
}

// stored reads an outcome that stands beside its record.
func (b *Broker) stored(ref journal.Ref) (protocol.Outcome, error) {
	raw, err := b.journal.ReadBody(ref)
	if err != nil {
		return protocol.Outcome{}, err
	}
	return decode[protocol.Outcome](raw)
}

// headBytes bounds an outcome within a record.
const headBytes = 64 << 10

// outcomeEntry makes the record of an outcome: its head, and where that is not
// all of it, the whole beside it.
func outcomeEntry(kind string, id action.ID, out protocol.Outcome) (journal.Entry, error) {
	head, whole := headOf(out)
	if whole {
		return entry(kind, id, outcome{head}), nil
	}
	all, err := canon.Encode(out)
	if err != nil {
		return journal.Entry{}, err
	}
	return entry(kind, id, outcome{head}, journal.Body{Role: roleResult, Data: all}), nil
}

// headOf keeps of an outcome what stands in a record and in a list: the first
// paths, and what fits of them. whole says whether that is all.
func headOf(out protocol.Outcome) (head protocol.Outcome, whole bool) {
	whole = true
	if n := len(out.Changes); n > protocol.MaxPaths {
		out.Changes, out.More, whole = out.Changes[:protocol.MaxPaths], out.More+uint64(n-protocol.MaxPaths), false
	}
	if n := len(out.Kept); n > protocol.MaxPaths {
		out.Kept, out.MoreKept, whole = out.Kept[:protocol.MaxPaths], out.MoreKept+uint64(n-protocol.MaxPaths), false
	}
	head, _ = fitOutcome(out, headBytes)
	for _, c := range head.Changes {
		whole = whole && !c.Cut
	}
	return head, whole && len(head.Changes) == len(out.Changes) && len(head.Kept) == len(out.Kept) && head.Words == out.Words
}
