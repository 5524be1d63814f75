package broker

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/wire/client"
)

// Own says which transactions a proposer may see: its own.
func Own(uid uint32) func(protocol.Transaction) bool {
	return func(t protocol.Transaction) bool { return t.UID == uid }
}

// Decides says which transactions an owner may see: those of homes that this
// uid decides for.
func (b *Broker) Decides(uid uint32) func(protocol.Transaction) bool {
	return func(t protocol.Transaction) bool {
		return b.cfg.Policy.OwnerOf(uid, t.Person)
	}
}

// Pending lists what waits, oldest first.
func (b *Broker) Pending(in protocol.PendingParams, may func(protocol.Transaction) bool) protocol.ListResult {
	reached := in.After == ""
	all := b.ledger.list(false, 0, func(t protocol.Transaction) bool {
		if !reached {
			reached = t.ID == in.After
			return false
		}
		return t.State == protocol.StateWaiting && !b.isOver(t) && may(t)
	})
	return b.fitted(all, protocol.MaxList)
}

// fitted gives as many transactions as one answer holds, and how many more
// there are.
func (b *Broker) fitted(all []protocol.Transaction, limit int) protocol.ListResult {
	const most = 4 << 20 // bytes
	n, size := 0, 0
	for ; n < min(len(all), limit); n++ {
		one, err := canon.Encode(all[n])
		if size += len(one); err != nil || size > most {
			break
		}
	}
	return protocol.ListResult{Transactions: all[:n], More: uint64(len(all) - n), Unseparated: b.cfg.Policy.Consent.Unseparated}
}

// waiting counts what Pending would list.
func (b *Broker) waiting(may func(protocol.Transaction) bool) uint64 {
	p := b.Pending(protocol.PendingParams{}, may)
	return uint64(len(p.Transactions)) + p.More
}

// Log lists transactions, newest first, as far as they are what was asked for.
func (b *Broker) Log(ctx context.Context, in protocol.LogParams, may func(protocol.Transaction) bool) (protocol.ListResult, error) {
	limit := int(min(max(in.Limit, 1), protocol.MaxList))
	for {
		reached := in.Before == ""
		page := b.ledger.list(true, limit, func(t protocol.Transaction) bool {
			if !reached {
				reached = t.ID == in.Before
				return false
			}
			return (in.Refused || t.State != protocol.StateRefused) && asked(in, t) && may(t)
		})
		kept, err := b.about(ctx, in.Path, page)
		if err != nil || len(kept) > 0 || len(page) < limit {
			return b.fitted(kept, limit), err
		}
		in.Before = page[len(page)-1].ID // none of these after all
	}
}

// asked says whether a transaction is one of those that the log is asked about;
// of one with more paths than a list tells it may be.
func asked(in protocol.LogParams, t protocol.Transaction) bool {
	return (in.By == "" || t.By == in.By) &&
		(in.Path == "" || t.More > 0 || touches(in.Path, t.Paths)) &&
		(in.Capability == "" || t.Capability == in.Capability) &&
		(in.State == "" || t.State == in.State) &&
		(in.Since == 0 || t.Proposed >= in.Since) &&
		(in.Until == 0 || t.Proposed < in.Until)
}

// touches says whether one of the paths is a place, or lies beneath it.
func touches(place action.Path, paths []action.Path) bool {
	beneath := strings.TrimSuffix(string(place), "/") + "/"
	return slices.ContainsFunc(paths, func(p action.Path) bool { return p == place || strings.HasPrefix(string(p), beneath) })
}

// about leaves of transactions those that touch a place, where one is asked
// about. All paths of those with many stand in their actions, which are read.
func (b *Broker) about(ctx context.Context, place action.Path, page []protocol.Transaction) (kept []protocol.Transaction, err error) {
	if place == "" {
		return page, nil
	}
	leave, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, v := range page {
		yes := touches(place, v.Paths)
		if !yes {
			t, _ := b.ledger.get(v.ID)
			a, err := b.actionOf(t)
			if err != nil {
				return nil, err
			}
			yes = touches(place, a.Paths())
		}
		if yes {
			kept = append(kept, v)
		}
	}
	return kept, nil
}

// Await returns a transaction of the caller's once it has ended, or ctx has.
func (b *Broker) Await(ctx context.Context, uid uint32, id action.ID) (protocol.Transaction, error) {
	t, view := b.ledger.get(id)
	if t == nil || view.UID != uid {
		return protocol.Transaction{}, refusal.New(refusal.UnknownID, "action "+quoteID(id), "")
	}
	select {
	case <-t.done:
		return b.answer(ctx, t, nil), nil
	case <-ctx.Done():
		return protocol.Transaction{}, ctx.Err()
	}
}

// Status is the keeper's account of itself and of the processes it calls.
func (b *Broker) Status(ctx context.Context, uid uint32) protocol.StatusResult {
	seq, head := b.journal.Head()
	s := protocol.StatusResult{
		Policy: b.cfg.Policy.Digest, Unseparated: b.cfg.Policy.Consent.Unseparated,
		UID: uint32(os.Geteuid()), PID: uint64(os.Getpid()), Walls: b.cfg.Walls,
		Waiting: b.waiting(b.Decides(uid)), Records: seq, Head: head,
		Persons: []protocol.PersonStatus{},
	}
	if c := b.found.Cut; c != nil {
		s.Cut = fmt.Sprintf("%d bytes of %s, records %d to %d: %s", c.Bytes, c.Segment, c.First, c.Last, c.What)
	}
	for _, name := range slices.Sorted(maps.Keys(b.cfg.Policy.Persons)) {
		if b.cfg.Policy.OwnerOf(uid, name) {
			s.Persons = append(s.Persons, b.personStatus(ctx, b.cfg.Policy.Persons[name]))
		}
	}
	return s
}

// personStatus asks both processes of a person how they are.
func (b *Broker) personStatus(ctx context.Context, p *policy.Person) protocol.PersonStatus {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h, s := b.hands[p.Name], protocol.PersonStatus{Name: p.Name, Home: string(p.Home), UID: p.UID}
	reader, scribe := protocol.ExecutorStatusResult{}, protocol.ExecutorStatusResult{}
	s.Reader, s.Scribe = b.executorStatus(ctx, h.reader, &reader), b.executorStatus(ctx, h.scribe, &scribe)
	s.ReaderWalls, s.ScribeWalls = reader.Walls, scribe.Walls
	s.ReaderGit, s.ScribeGit = reader.Git, scribe.Git
	return s
}

// executorStatus asks a process for its account of itself, and says that it
// answers, or why it cannot be worked with.
func (b *Broker) executorStatus(ctx context.Context, process *client.Pool, r *protocol.ExecutorStatusResult) string {
	err := process.Call(ctx, protocol.ExecutorStatus, struct{}{}, r)
	if err == nil {
		err = b.cfg.Policy.Same(r.Policy)
	}
	if err != nil {
		return err.Error()
	}
	return "answers"
}
