package broker

import (
	"context"
	"fmt"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/journal"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// maxShow bounds a shown transaction, its action and its account, in bytes.
const maxShow = wire.MaxFrame - 64<<10

// Show gives a transaction whole, to whoever may see it, as far as it fits an
// answer. The detail of one that policy landed was never made: it is made now,
// from what was captured.
func (b *Broker) Show(ctx context.Context, id action.ID, may func(protocol.Transaction) bool) (protocol.ShowResult, error) {
	t, view := b.ledger.get(id)
	if t == nil || !may(view) {
		return protocol.ShowResult{}, refusal.New(refusal.UnknownID, "action "+quoteID(id), "")
	}
	leave, err := b.look(ctx)
	if err != nil {
		return protocol.ShowResult{}, err
	}
	defer leave()
	a, err := b.actionOf(t)
	if err != nil {
		return protocol.ShowResult{}, err
	}
	res := protocol.ShowResult{Action: &a}
	res.Transaction, _ = b.whole(t, protocol.MaxShown)
	act, ref, intent, _ := b.ledger.refs(t)
	switch {
	case ref != nil:
		res.Detail, err = b.storedDetail(*ref)
	case intent != nil:
		res.Detail, err = b.detailOf(t, view.Person, a)
	}
	if err != nil {
		return protocol.ShowResult{}, err
	}
	return res, fitShown(&res, int(act.Size), maxShow)
}

// fitShown leaves out of what is shown what does not fit so many bytes, and says
// so: first the action itself, whose account is there, then diffs from the end,
// then whole paths. Of one that waits an account was made only as long as it
// fits, and is never cut.
func fitShown(res *protocol.ShowResult, actionBytes, most int) error {
	transaction, err := canon.Encode(res.Transaction)
	if err != nil {
		return err
	}
	left := most - len(transaction)
	total, sizes := detailSizes(res.Detail)
	if actionBytes+total > left {
		res.Action = nil
		res.Cut = append(res.Cut, fmt.Sprintf("the action itself, of %d bytes", actionBytes))
		actionBytes = 0
	}
	if total += actionBytes; total <= left || res.Detail == nil || res.Transaction.State == protocol.StateWaiting {
		return nil
	}
	changes, diffs := res.Detail.Changes, 0
	for i := len(changes) - 1; i >= 0 && total > left; i-- {
		if c := &changes[i]; c.Diff != "" {
			total -= len(c.Diff)
			c.Diff, c.NoDiff = "", noDiffHere
			total, diffs = total+len(noDiffHere), diffs+1
		}
	}
	n := len(changes)
	for ; n > 0 && total > left; n-- {
		total -= sizes[n-1]
	}
	res.Detail.Changes = changes[:n]
	res.Cut = append(res.Cut, fmt.Sprintf("%d of %d diffs", diffs, len(changes)))
	if cut := len(changes) - n; cut > 0 {
		res.Cut = append(res.Cut, fmt.Sprintf("%d of %d paths of the account", cut, len(changes)))
	}
	return nil
}

// noDiffHere stands where a diff is left out of an answer.
const noDiffHere = "its diff is left out of this answer for its length"

// detailSizes counts what an account takes, and each of its paths without its
// diff.
func detailSizes(d *action.Detail) (total int, bare []int) {
	if d == nil {
		return 0, nil
	}
	for _, c := range d.Changes {
		n := 2*imageBytes + changeBytes + len(c.Path) + len(c.Real) + len(c.NoDiff)
		for _, list := range [][]string{c.Effects, c.NotKept} {
			for _, s := range list {
				n += len(s) + 5
			}
		}
		bare = append(bare, n)
		total += n + len(c.Diff)
	}
	return total, bare
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
	if in.Git != nil {
		return nil, nil // its account was made before it landed
	}
	home := b.cfg.Policy.Persons[person]
	if home == nil {
		return nil, nil // the person was removed, and what was captured is not read for anybody else
	}
	befores, room := make([]action.Before, 0, len(in.Facts)), action.Room{Left: b.cfg.Policy.Limits.AutoBytes}
	for _, f := range in.Facts {
		before := action.Before{Fact: f}
		switch v := f.Base.Version; {
		case v == nil:
		case v.Kind == action.Symlink:
			before = room.Keep(action.Before{Fact: f, Content: []byte(f.Target), Read: true})
		case room.Take(v.Size): // as much as was kept then, though the vault may hold more by now
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
