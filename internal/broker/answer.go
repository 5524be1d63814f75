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
// while: with every path of its outcome, and what changed in each file. plans
// are those that landed; without them they are made again from what was
// captured.
func (b *Broker) answer(ctx context.Context, t *transaction, plans []action.Planned) protocol.Transaction {
	select {
	case <-t.done:
	case <-ctx.Done():
	case <-time.After(patience):
	}
	view := b.whole(t)
	if view.State != protocol.StateLanded {
		return view
	}
	if plans == nil {
		a, err := b.actionOf(t)
		if err == nil {
			plans, err = b.plansOf(t, view.Person, a)
		}
		if err != nil {
			b.cfg.Log.Warn("the regions that changed cannot be told", "id", view.ID, "error", err)
		}
	}
	view.Regions, view.MoreRegions = action.Regions(plans)
	return view
}

// whole gives how a transaction stands, with every path of its outcome.
func (b *Broker) whole(t *transaction) protocol.Transaction {
	view, ref := b.ledger.result(t)
	if ref == nil || view.Outcome == nil {
		return view
	}
	raw, err := b.journal.ReadBody(*ref)
	if err != nil {
		b.cfg.Log.Error("an outcome cannot be read whole", "id", view.ID, "error", err)
		return view
	}
	all, err := decode[protocol.Outcome](raw)
	if err != nil {
		b.cfg.Log.Error("an outcome cannot be read whole", "id", view.ID, "error", err)
		return view
	}
	view.Outcome = &all
	return view
}

// outcomeEntry makes the record of an outcome: its head, and where that has not
// all of its paths, the whole beside it.
func outcomeEntry(kind string, id action.ID, out protocol.Outcome) (journal.Entry, error) {
	if len(out.Changes) <= protocol.MaxPaths {
		return entry(kind, id, outcome{out}), nil
	}
	all, err := canon.Encode(out)
	if err != nil {
		return journal.Entry{}, err
	}
	return entry(kind, id, outcome{headOf(out)}, journal.Body{Role: roleResult, Data: all}), nil
}

// headOf keeps the first paths of an outcome, and counts the others.
func headOf(out protocol.Outcome) protocol.Outcome {
	if n := len(out.Changes); n > protocol.MaxPaths {
		out.Changes, out.More = out.Changes[:protocol.MaxPaths], uint64(n-protocol.MaxPaths)
	}
	if len(out.Kept) > protocol.MaxPaths {
		out.Kept = out.Kept[:protocol.MaxPaths]
	}
	return out
}
