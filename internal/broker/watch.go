package broker

import (
	"context"
	"maps"
	"slices"
	"time"

	"countersign/internal/protocol"
)

const (
	// watchFor is how long a watch waits for something to change.
	watchFor = 20 * time.Second
	// remembered is how many changes a watch can look back on.
	remembered = 4096
	// told is how many transactions one answer to a watch has.
	told = 64
)

// Watch gives what has changed of the transactions that may says yes to, as
// soon as something has. It ends with ctx, or with nothing after watchFor.
func (b *Broker) Watch(ctx context.Context, in protocol.WatchParams, may func(protocol.Transaction) bool) (protocol.WatchResult, error) {
	res := protocol.WatchResult{
		Changed: []protocol.Transaction{}, Agents: []protocol.Agent{}, Unseparated: b.cfg.Policy.Consent.Unseparated,
	}
	for _, name := range slices.Sorted(maps.Keys(b.cfg.Policy.Agents)) {
		res.Agents = append(res.Agents, protocol.Agent{Name: name, UID: b.cfg.Policy.Agents[name].UID})
	}
	over := time.After(watchFor)
	for {
		next := b.ledger.since(in.Seen, may, &res)
		if in.Seen == 0 || res.Lost || len(res.Changed) > 0 {
			return res, nil
		}
		select {
		case <-next:
		case <-over:
			return res, nil
		case <-ctx.Done():
			return res, ctx.Err()
		}
	}
}

// news remembers which transactions changed last, and by which record of the
// journal. The ledger's lock guards it.
type news struct {
	seen    uint64 // the last record that changed a transaction
	first   uint64 // every change by this record and those behind it is in changes
	changes []change
	next    chan struct{} // closed at the next change; nil where nobody waits for it
}

type change struct {
	seq uint64
	of  *transaction
}

// add remembers a change, and forgets the older half of what it remembers where
// that is too much.
func (n *news) add(seq uint64, of *transaction) {
	if len(n.changes) == remembered {
		keep := n.changes[remembered/2:]
		n.first = keep[0].seq + 1 // other changes by that record may be among the forgotten
		n.changes = append(make([]change, 0, remembered), keep...)
	}
	n.seen, n.changes = seq, append(n.changes, change{seq, of})
}

// tell wakes who waits for a change.
func (n *news) tell() {
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}

// since fills in what has changed behind a record, each transaction once, and
// gives what is closed at the next change.
func (l *ledger) since(seen uint64, may func(protocol.Transaction) bool, res *protocol.WatchResult) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := &l.news
	if n.next == nil {
		n.next = make(chan struct{})
	}
	res.Seen = n.seen + 1 // what is seen is all before that; 0 asks only how things stand
	if seen == 0 {
		return n.next
	}
	if seen < n.first || seen > res.Seen {
		res.Lost = true
		return n.next
	}
	last := make(map[*transaction]uint64)
	for _, c := range n.changes {
		if c.seq >= seen {
			last[c.of] = c.seq
		}
	}
	for _, c := range n.changes {
		if last[c.of] != c.seq || !may(c.of.view) {
			continue
		}
		if len(res.Changed) >= told && c.seq >= res.Seen {
			break
		}
		delete(last, c.of)
		res.Changed = append(res.Changed, c.of.view)
		if len(res.Changed) >= told {
			res.Seen = c.seq + 1
		}
	}
	return n.next
}
