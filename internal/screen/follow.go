package screen

import (
	"context"
	"errors"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// follow keeps up with the keeper until ctx ends.
func (a *app) follow() {
	const most = 8 * time.Second
	wait, seen := 250*time.Millisecond, uint64(0)
	for a.ctx.Err() == nil {
		news, all, err := a.news(seen)
		take := func(a *app) { a.heard(news, all, err) }
		select {
		case a.answers <- take:
		case <-a.ctx.Done():
			return
		}
		if err == nil {
			seen, wait = news.Seen, 100*time.Millisecond // a flood is taken in in gulps
		} else {
			seen, wait = 0, min(2*wait, most)
		}
		select {
		case <-time.After(wait):
		case <-a.ctx.Done():
		}
	}
}

// news waits for something to change; with nothing seen yet, or where the
// keeper cannot say what changed, it brings all that waits.
func (a *app) news(seen uint64) (news protocol.WatchResult, all []protocol.Transaction, err error) {
	ctx, cancel := context.WithTimeout(a.ctx, calling)
	defer cancel()
	if err = a.cfg.Keeper(ctx, protocol.Watch, protocol.WatchParams{Seen: seen}, &news); err != nil {
		return news, nil, err
	}
	if seen != 0 && !news.Lost {
		return news, nil, nil
	}
	all = []protocol.Transaction{}
	for in := (protocol.PendingParams{}); ; {
		var some protocol.ListResult
		if err = a.cfg.Keeper(ctx, protocol.Pending, in, &some); err != nil {
			return news, nil, err
		}
		all = append(all, some.Transactions...)
		if some.More == 0 || len(some.Transactions) == 0 {
			return news, all, nil
		}
		in.After = all[len(all)-1].ID
	}
}

// heard takes in what the keeper said, or that it said nothing.
func (a *app) heard(news protocol.WatchResult, all []protocol.Transaction, err error) {
	if err != nil {
		first := a.agents == nil && a.list.waiting() == 0
		if refusal.Is(err, refusal.NotPermitted) && first {
			a.end, a.ended = err, true
		}
		if !errors.Is(err, context.Canceled) {
			a.trouble = failed(err)
		}
		return
	}
	a.trouble, a.agents, a.open = "", news.Agents, news.Unseparated
	if all != nil {
		a.list.keep(all)
		a.again(func(action.ID) bool { return true })
	}
	changed := make(map[action.ID]bool)
	for _, t := range news.Changed {
		changed[t.ID] = true
		a.list.take(t)
		a.log.take(t)
	}
	a.again(func(id action.ID) bool { return changed[id] })
}

// again looks anew at what is on the screen, if it is one of those that changed.
func (a *app) again(changed func(action.ID) bool) {
	switch {
	case a.asked != "" && changed(a.asked):
		a.anew = true
	case a.asked == "" && a.view == theDetail && changed(a.detail.whole.Transaction.ID):
		a.look(a.detail.whole.Transaction.ID)
	}
}
