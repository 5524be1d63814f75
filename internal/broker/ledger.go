package broker

import (
	"fmt"
	"slices"
	"sync"

	"countersign/internal/action"
	"countersign/internal/consent"
	"countersign/internal/journal"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// ledger is every transaction's state, made from the journal's records alone:
// the same apply runs at start, over what is there, and behind every append.
type ledger struct {
	mu      sync.Mutex
	byID    map[action.ID]*transaction
	order   []*transaction // as proposed
	byNonce map[nonceOf]*transaction
	waiting int
	news    news

	// reserved are transactions that somebody holds the road of, and whose
	// proposal is not written yet.
	reserved map[action.ID]*transaction
}

type nonceOf struct {
	uid   uint32
	nonce protocol.Nonce
}

// transaction is one action and what became of it. Its fields are guarded by
// the ledger's lock; the road lock serialises those who carry it on.
type transaction struct {
	road sync.Mutex

	view   protocol.Transaction
	prefix string // whole
	action journal.Ref
	detail *journal.Ref
	intent *journal.Ref
	result *journal.Ref  // the whole outcome, where the view has only its head
	done   chan struct{} // closed at its end

	// overtaken says that disk moved on under an intent and nothing was
	// written: a stale or a refused follows, so this is no end yet.
	overtaken bool
}

func newLedger() *ledger {
	return &ledger{
		byID: make(map[action.ID]*transaction), byNonce: make(map[nonceOf]*transaction),
		reserved: make(map[action.ID]*transaction),
	}
}

// reserve takes the road of a transaction that is about to be proposed, so
// that nobody else acts on it before its proposer is done.
func (l *ledger) reserve(id action.ID) (release func()) {
	t := &transaction{done: make(chan struct{})}
	t.road.Lock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved[id] = t
	return func() {
		l.mu.Lock()
		delete(l.reserved, id)
		l.mu.Unlock()
		t.road.Unlock()
	}
}

// next is the table of states: what a record of a kind makes of a transaction,
// and from which states it may come.
var next = map[string]struct {
	from []protocol.State
	to   protocol.State
}{
	kindRefused:   {[]protocol.State{protocol.StateWaiting, protocol.StateApproved, protocol.StateNotLanded}, protocol.StateRefused},
	kindStale:     {[]protocol.State{protocol.StateWaiting, protocol.StateApproved, protocol.StateNotLanded}, protocol.StateWaiting},
	kindWithdrawn: {[]protocol.State{protocol.StateWaiting}, protocol.StateWithdrawn},
	kindExpired:   {[]protocol.State{protocol.StateWaiting}, protocol.StateExpired},
	kindDecided:   {[]protocol.State{protocol.StateWaiting}, protocol.StateApproved}, // or denied
	kindIntent:    {[]protocol.State{protocol.StateApproved}, protocol.StateIntent},
	kindOutcome:   {[]protocol.State{protocol.StateIntent}, ""}, // the outcome says
	kindSettled:   {[]protocol.State{protocol.StateIntent}, ""},
}

// apply takes the records of one write in, all of them or up to the first that
// does not fit: nobody sees a transaction between two of them. A record that
// does not fit the table is a fault of the journal's writer and stops a start.
func (l *ledger) apply(records ...journal.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.news.tell()
	for _, r := range records {
		if err := l.applyOne(r); err != nil {
			return err
		}
	}
	return nil
}

// fits says whether entries could be applied: what could not must never be
// written. The caller holds the road lock of their transactions, so that what
// fits now fits when it has been written.
func (l *ledger) fits(entries []journal.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	states := make(map[action.ID]protocol.State)
	for _, e := range entries {
		id := action.ID(e.ID)
		state, known := states[id]
		if t := l.byID[id]; !known && t != nil {
			state, known = t.view.State, true
		}
		switch e.Kind {
		case kindPeer, kindKept:
			continue
		case kindProposed:
			if known {
				return fmt.Errorf("[unexpected] %s is proposed twice", id)
			}
			states[id] = protocol.StateWaiting
			continue
		}
		if !known || !slices.Contains(next[e.Kind].from, state) {
			return refusal.New(refusal.WrongState, "action "+string(id), "it is %s", state)
		}
		states[id] = after(e.Kind, e.Content)
	}
	return nil
}

// after gives the state that a record of a kind leads to.
func after(kind string, content any) protocol.State {
	switch c := content.(type) {
	case decided:
		if !c.Approve {
			return protocol.StateDenied
		}
	case outcome:
		return stateOf(c.Outcome.Result)
	}
	return next[kind].to
}

// stateOf gives the state that an outcome leaves. One that is partial is the
// owner's to look at, path by path, as one that is unknown.
func stateOf(r protocol.Result) protocol.State {
	if r == protocol.Partial {
		return protocol.StateUnknown
	}
	return protocol.State(r)
}

func (l *ledger) applyOne(r journal.Record) error {
	switch r.Kind {
	case journal.KindCut, kindPeer, kindKept:
		return nil
	case kindProposed:
		if err := l.open(r); err != nil {
			return err
		}
		l.news.add(r.Seq, l.byID[action.ID(r.ID)])
		return nil
	}
	t := l.byID[action.ID(r.ID)]
	step, known := next[r.Kind]
	if t == nil || !known {
		return fmt.Errorf("[unexpected] record %d: a %s of transaction %q", r.Seq, r.Kind, r.ID)
	}
	if !slices.Contains(step.from, t.view.State) {
		return fmt.Errorf("[unexpected] record %d: %s of %s, which is %s", r.Seq, r.Kind, r.ID, t.view.State)
	}
	was := t.view.State
	if err := l.take(t, r); err != nil {
		return fmt.Errorf("record %d, a %s: %w", r.Seq, r.Kind, err)
	}
	l.moved(t, was, r)
	for ; t != nil; t = l.byID[t.view.UndoOf] { // what it undoes may stand otherwise now
		l.news.add(r.Seq, t)
	}
	return nil
}

// open takes in a proposal.
func (l *ledger) open(r journal.Record) error {
	p, err := decode[proposed](r.Content)
	if err != nil {
		return fmt.Errorf("record %d: %w", r.Seq, err)
	}
	t := l.reserved[action.ID(r.ID)]
	if t == nil {
		t = &transaction{done: make(chan struct{})}
	}
	delete(l.reserved, action.ID(r.ID))
	t.view = protocol.Transaction{
		ID: action.ID(r.ID), State: protocol.StateWaiting,
		By: p.By, UID: p.UID, Person: p.Person, Capability: p.Capability, Paths: p.Paths, More: p.More,
		Sentence: p.Sentence, Digest: p.Digest, Self: p.Self, Unseparated: p.Unseparated,
		UndoOf: p.UndoOf, Leaves: p.Leaves, MoreLeaves: p.MoreLeaves, Proposed: protocol.Time(r.Time.UnixNano()),
	}
	if len(r.Bodies) == 0 || r.Bodies[0].Role != roleAction || l.byID[t.view.ID] != nil {
		return fmt.Errorf("[unexpected] record %d: a proposal without its action, or twice", r.Seq)
	}
	t.action = r.Bodies[0]
	if p.Judged != nil {
		t.judge(*p.Judged, r)
	}
	l.byID[t.view.ID] = t
	l.order = append(l.order, t)
	if p.Nonce != nil {
		l.byNonce[nonceOf{p.UID, *p.Nonce}] = t
	}
	l.waiting++
	return nil
}

// take takes a step's content in.
func (l *ledger) take(t *transaction, r journal.Record) error {
	v := &t.view
	switch r.Kind {
	case kindRefused:
		c, err := decode[refused](r.Content)
		v.State, v.Refusal = protocol.StateRefused, &c.Refusal
		return err
	case kindStale:
		c, err := decode[stale](r.Content)
		v.State = protocol.StateWaiting
		v.Stale++
		v.Decided, v.DecidedBy, v.Outcome, t.result = 0, "", nil, nil
		t.judge(c.Judged, r)
		return err
	case kindDecided:
		c, err := decode[decided](r.Content)
		v.Decided, v.DecidedBy, v.Why = protocol.Time(r.Time.UnixNano()), c.By, c.Why
		v.State = after(r.Kind, c)
		return err
	case kindIntent:
		if len(r.Bodies) == 0 || r.Bodies[0].Role != roleIntent {
			return fmt.Errorf("[unexpected] an intent without its body")
		}
		v.State, t.intent = protocol.StateIntent, &r.Bodies[0]
		return nil
	case kindOutcome, kindSettled:
		c, err := decode[outcome](r.Content)
		v.Outcome, t.result = &c.Outcome, nil
		if len(r.Bodies) > 0 && r.Bodies[0].Role == roleResult {
			t.result = &r.Bodies[0]
		}
		v.State = after(r.Kind, c)
		t.overtaken = r.Kind == kindOutcome && v.State == protocol.StateNotLanded && len(c.Outcome.Kept) == 0 &&
			c.Outcome.Words == "" && c.Outcome.Refused != nil && anotherTime(c.Outcome.Refused.Code)
		if of := l.byID[v.UndoOf]; of != nil && c.Outcome.Result == protocol.Landed {
			l.undone(of, v.ID, true)
		}
		return err
	}
	v.State = next[r.Kind].to // withdrawn, expired
	return nil
}

// anotherTime says whether a scribe's refusal only says that this was not the
// moment: disk moved on, a program had a file open for writing, or the files
// would have been held too long.
func anotherTime(c refusal.Code) bool {
	return c == refusal.Changed || c == refusal.InUse || c == refusal.Busy
}

// undone notes that an undo landed, or stands no more. What an undo had undone
// stands again once it is undone itself, and so on down the row of undos.
func (l *ledger) undone(of *transaction, by action.ID, stands bool) {
	of.view.UndoneBy, of.view.InPart = "", false
	if stands {
		of.view.UndoneBy, of.view.InPart = by, len(l.byID[by].view.Leaves) > 0
	}
	if first := l.byID[of.view.UndoOf]; first != nil {
		l.undone(first, of.view.ID, !stands)
	}
}

// moved keeps count of what waits, and tells those who await an end.
func (l *ledger) moved(t *transaction, was protocol.State, r journal.Record) {
	now := t.view.State
	if was == protocol.StateWaiting && now != was {
		l.waiting--
	}
	if now == protocol.StateWaiting && now != was {
		l.waiting++
	}
	if !now.Ended() {
		t.view.Ended = 0
		return
	}
	t.view.Ended = protocol.Time(r.Time.UnixNano())
	if now == protocol.StateNotLanded && t.overtaken {
		return
	}
	t.end()
}

// end tells those who await it.
func (t *transaction) end() {
	select {
	case <-t.done:
	default:
		close(t.done)
	}
}

// judge takes in what a preview was judged to be.
func (t *transaction) judge(j judged, r journal.Record) {
	v := &t.view
	v.Verdict, v.Rule, v.Reasons, v.Reversible = j.Verdict, j.Rule, j.Reasons, j.Reversible
	t.prefix, v.Prefix, t.detail = j.Prefix, "", nil
	if len(j.Prefix) >= consent.PrefixShown {
		v.Prefix = j.Prefix[:consent.PrefixShown]
	}
	for i := range r.Bodies {
		if r.Bodies[i].Role == roleDetail {
			t.detail = &r.Bodies[i]
		}
	}
}

// get gives a transaction and how it stands.
func (l *ledger) get(id action.ID) (*transaction, protocol.Transaction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.byID[id]
	if t == nil {
		return nil, protocol.Transaction{}
	}
	return t, t.view
}

// view gives how a transaction stands now.
func (l *ledger) view(t *transaction) protocol.Transaction {
	l.mu.Lock()
	defer l.mu.Unlock()
	return t.view
}

// ofNonce gives the transaction that a proposal with this nonce became.
func (l *ledger) ofNonce(uid uint32, n protocol.Nonce) *transaction {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byNonce[nonceOf{uid, n}]
}

// list gives the transactions that keep says yes to: oldest first, or newest
// first and at most limit of them.
func (l *ledger) list(newest bool, limit int, keep func(protocol.Transaction) bool) []protocol.Transaction {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []protocol.Transaction
	for i := range l.order {
		t := l.order[i]
		if newest {
			t = l.order[len(l.order)-1-i]
		}
		if keep(t.view) {
			if out = append(out, t.view); len(out) == limit {
				break
			}
		}
	}
	return out
}

// interrupted gives the transactions that a start finds unfinished: an intent
// without an outcome; and what a torn commit or a crash left in the middle of a
// step, of which nothing had been sent to a scribe or nothing was written.
func (l *ledger) interrupted() (intents, halfway []*transaction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.order {
		switch {
		case t.view.State == protocol.StateIntent:
			intents = append(intents, t)
		case t.view.State == protocol.StateApproved,
			t.view.State == protocol.StateWaiting && t.prefix == "",
			t.view.State == protocol.StateNotLanded && t.overtaken:
			halfway = append(halfway, t)
		}
	}
	return intents, halfway
}

// told takes in an outcome that could not be written down, for the callers
// that wait for it: the keeper ends, and the next one finds it out again.
func (l *ledger) told(id action.ID, out protocol.Outcome, at protocol.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.byID[id]
	t.view.Outcome, t.view.State, t.view.Ended = &out, stateOf(out.Result), at
	t.result, t.overtaken = nil, false
	t.end()
}

// result gives how a transaction stands, and where its outcome stands whole in
// the journal, if the view has only its head.
func (l *ledger) result(t *transaction) (protocol.Transaction, *journal.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return t.view, t.result
}

// count gives how many transactions wait.
func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// isOvertaken says whether disk moved on under a transaction's intent.
func (l *ledger) isOvertaken(t *transaction) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return t.view.State == protocol.StateNotLanded && t.overtaken
}

// refs gives where a transaction's action, detail and intent stand in the
// journal.
func (l *ledger) refs(t *transaction) (act journal.Ref, detail, intent *journal.Ref, prefix string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return t.action, t.detail, t.intent, t.prefix
}
