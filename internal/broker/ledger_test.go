package broker

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/journal"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// teller makes journal records without a journal.
type teller struct {
	t   *testing.T
	l   *ledger
	seq uint64
}

func (s *teller) tell(kind string, id action.ID, content any) error {
	s.t.Helper()
	raw, err := canon.Encode(content)
	if err != nil {
		s.t.Fatal(err)
	}
	s.seq++
	r := journal.Record{Seq: s.seq, Time: time.Unix(int64(s.seq), 0), Kind: kind, ID: string(id), Content: raw}
	switch kind {
	case kindProposed:
		r.Bodies = []journal.Ref{{Role: roleAction}}
	case kindIntent:
		r.Bodies = []journal.Ref{{Role: roleIntent}}
	}
	fits := s.l.fits([]journal.Entry{{Kind: kind, ID: string(id), Content: content}})
	err = s.l.apply(r)
	if (fits == nil) != (err == nil) {
		s.t.Errorf("a %s may be written: %v; and taken in: %v", kind, fits, err)
	}
	return err
}

func newTeller(t *testing.T) *teller { return &teller{t: t, l: newLedger()} }

// contents of the steps that the tests tell, by a short name.
func step(name string) (kind string, content any) {
	changed := refusal.New(refusal.Changed, "x", "")
	out := func(r protocol.Result, why *refusal.Refusal) outcome {
		return outcome{protocol.Outcome{Result: r, Refused: why}}
	}
	switch name {
	case "yes":
		return kindDecided, decided{Approve: true, By: "alice"}
	case "no":
		return kindDecided, decided{By: "alice"}
	case "stale":
		return kindStale, stale{judged{Verdict: "ask", Prefix: strings.Repeat("b", 64)}}
	case "refused":
		return kindRefused, refused{*changed}
	case "withdrawn":
		return kindWithdrawn, ended{}
	case "expired":
		return kindExpired, ended{}
	case "intent":
		return kindIntent, intended{}
	case "landed":
		return kindOutcome, out(protocol.Landed, nil)
	case "overtaken":
		return kindOutcome, out(protocol.NotLanded, changed)
	case "in-use":
		return kindOutcome, out(protocol.NotLanded, refusal.New(refusal.InUse, "x", ""))
	case "busy":
		return kindOutcome, out(protocol.NotLanded, refusal.New(refusal.Busy, "x", ""))
	case "full":
		return kindOutcome, out(protocol.NotLanded, refusal.New(refusal.DiskFull, "x", ""))
	case "settled":
		return kindSettled, out(protocol.NotLanded, changed)
	case "unknown":
		return kindSettled, out(protocol.Unknown, nil)
	}
	panic(name)
}

// T14: the states are one table; a record that does not fit it is a fault.
func TestStates(t *testing.T) {
	for _, c := range []struct {
		steps string
		want  protocol.State
		ended bool
		fault bool // the last step does not fit
	}{
		{"", protocol.StateWaiting, false, false},
		{"yes", protocol.StateApproved, false, false},
		{"yes intent", protocol.StateIntent, false, false},
		{"yes intent landed", protocol.StateLanded, true, false},
		{"yes intent full", protocol.StateNotLanded, true, false},
		{"yes intent settled", protocol.StateNotLanded, true, false},
		{"yes intent unknown", protocol.StateUnknown, true, false},
		{"yes intent overtaken", protocol.StateNotLanded, false, false},
		{"yes intent overtaken stale", protocol.StateWaiting, false, false},
		{"yes intent overtaken stale yes intent landed", protocol.StateLanded, true, false},
		{"yes intent overtaken refused", protocol.StateRefused, true, false},
		{"yes intent in-use", protocol.StateNotLanded, false, false},
		{"yes intent busy stale", protocol.StateWaiting, false, false},
		{"no", protocol.StateDenied, true, false},
		{"stale stale no", protocol.StateDenied, true, false},
		{"refused", protocol.StateRefused, true, false},
		{"withdrawn", protocol.StateWithdrawn, true, false},
		{"expired", protocol.StateExpired, true, false},
		{"intent", protocol.StateWaiting, false, true},
		{"landed", protocol.StateWaiting, false, true},
		{"yes landed", protocol.StateApproved, false, true},
		{"yes yes", protocol.StateApproved, false, true},
		{"no yes", protocol.StateDenied, true, true},
		{"no intent", protocol.StateDenied, true, true},
		{"withdrawn yes", protocol.StateWithdrawn, true, true},
		{"expired yes", protocol.StateExpired, true, true},
		{"yes withdrawn", protocol.StateApproved, false, true},
		{"yes intent intent", protocol.StateIntent, false, true},
		{"yes intent stale", protocol.StateIntent, false, true},
		{"yes intent landed landed", protocol.StateLanded, true, true},
		{"yes intent landed intent", protocol.StateLanded, true, true},
	} {
		t.Run(c.steps, func(t *testing.T) {
			s, id := newTeller(t), action.NewID()
			if err := s.tell(kindProposed, id, proposed{UID: 970, Person: "alice"}); err != nil {
				t.Fatal(err)
			}
			steps := strings.Fields(c.steps)
			for i, name := range steps {
				kind, content := step(name)
				err := s.tell(kind, id, content)
				if last := i == len(steps)-1; (err != nil) != (last && c.fault) {
					t.Fatalf("%s: %v", name, err)
				}
			}
			tx, view := s.l.get(id)
			ended := false
			select {
			case <-tx.done:
				ended = true
			default:
			}
			if view.State != c.want || ended != c.ended {
				t.Errorf("state %s, ended %v; want %s, %v", view.State, ended, c.want, c.ended)
			}
			waits := map[bool]int{true: 1}[c.want == protocol.StateWaiting]
			if got := s.l.count(); got != waits {
				t.Errorf("%d wait, want %d", got, waits)
			}
		})
	}
}

// T14, T18: several records of one write are judged one after another before any
// is written, and nobody acts on a transaction whose proposer is not done.
func TestWhatDoesNotFitIsNotWritten(t *testing.T) {
	s, id := newTeller(t), action.NewID()
	entries := func(names ...string) []journal.Entry {
		list := []journal.Entry{{Kind: kindProposed, ID: string(id), Content: proposed{}}}
		for _, name := range names {
			kind, content := step(name)
			list = append(list, journal.Entry{Kind: kind, ID: string(id), Content: content})
		}
		return list
	}
	if err := s.l.fits(entries("yes", "intent", "landed")); err != nil {
		t.Error(err)
	}
	for _, names := range [][]string{{"intent"}, {"yes", "withdrawn"}, {"no", "intent"}, {"yes", "intent", "landed", "refused"}} {
		if err := s.l.fits(entries(names...)); !refusal.Is(err, refusal.WrongState) {
			t.Errorf("%v: %v", names, err)
		}
	}
	release := s.l.reserve(id)
	if err := s.tell(kindProposed, id, proposed{}); err != nil {
		t.Fatal(err)
	}
	tx, _ := s.l.get(id)
	if tx.road.TryLock() {
		t.Error("somebody else may act on it before its proposer is done")
	}
	release()
	if !tx.road.TryLock() {
		t.Error("nobody may act on it afterwards")
	}
}

// T14: records of no transaction, or of one that is proposed twice, stop a start.
func TestRecordsOfNobody(t *testing.T) {
	s, id := newTeller(t), action.NewID()
	kind, content := step("yes")
	if s.tell(kind, id, content) == nil {
		t.Error("a decision on nothing was taken in")
	}
	if err := s.tell(kindProposed, id, proposed{}); err != nil {
		t.Fatal(err)
	}
	if s.tell(kindProposed, id, proposed{}) == nil {
		t.Error("one ID was proposed twice")
	}
	if s.tell("from-the-future", id, ended{}) == nil {
		t.Error("a kind that nobody knows was taken in")
	}
}

// T12: an undo that landed marks what it undid, and its own undo takes the mark
// away.
func TestUndoneFollowsTheOutcome(t *testing.T) {
	s := newTeller(t)
	ids := []action.ID{action.NewID(), action.NewID(), action.NewID()}
	land := func(id, of action.ID) {
		t.Helper()
		if err := s.tell(kindProposed, id, proposed{UndoOf: of}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"yes", "intent", "landed"} {
			kind, content := step(name)
			if err := s.tell(kind, id, content); err != nil {
				t.Fatal(err)
			}
		}
	}
	undoneBy := func(id action.ID) action.ID {
		_, view := s.l.get(id)
		return view.UndoneBy
	}
	land(ids[0], "")
	land(ids[1], ids[0])
	if got := undoneBy(ids[0]); got != ids[1] {
		t.Fatalf("undone by %q, want %q", got, ids[1])
	}
	land(ids[2], ids[1])
	if a, b := undoneBy(ids[0]), undoneBy(ids[1]); a != "" || b != ids[2] {
		t.Errorf("undone by %q and %q, want none and %q", a, b, ids[2])
	}
	last := action.NewID()
	land(last, ids[2])
	if a, b, c := undoneBy(ids[0]), undoneBy(ids[1]), undoneBy(ids[2]); a != ids[1] || b != "" || c != last {
		t.Errorf("undone by %q, %q and %q, want %q, none and %q", a, b, c, ids[1], last)
	}
}

// T12: an undo that left a path as it was undoes in part, and says so until it is
// undone itself.
func TestUndoneInPart(t *testing.T) {
	s, first := newTeller(t), action.NewID()
	land := func(of action.ID, leaves int) action.ID {
		t.Helper()
		id := first
		if of != "" {
			id = action.NewID()
		}
		if err := s.tell(kindProposed, id, proposed{UndoOf: of, Leaves: make([]action.Leave, leaves)}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"yes", "intent", "landed"} {
			kind, content := step(name)
			if err := s.tell(kind, id, content); err != nil {
				t.Fatal(err)
			}
		}
		return id
	}
	inPart := func() (action.ID, bool) {
		_, view := s.l.get(first)
		return view.UndoneBy, view.InPart
	}
	land("", 0)
	some := land(first, 1)
	if by, part := inPart(); by != some || !part {
		t.Errorf("undone by %q, in part: %v", by, part)
	}
	again := land(some, 0)
	if by, part := inPart(); by != "" || part {
		t.Errorf("that undone, it is undone by %q, in part: %v", by, part)
	}
	land(again, 0)
	if by, part := inPart(); by != some || !part {
		t.Errorf("and that, it is undone by %q, in part: %v", by, part)
	}
	rest := land(first, 0)
	if by, part := inPart(); by != rest || part {
		t.Errorf("the rest undone, it is undone by %q, in part: %v", by, part)
	}
}

// T2: a nonce is one uid's: it finds what that uid proposed with it, and
// nothing of another's.
func TestNonceIsOneUIDs(t *testing.T) {
	s, id, n := newTeller(t), action.NewID(), protocol.Nonce{1}
	if err := s.tell(kindProposed, id, proposed{UID: 970, Nonce: &n}); err != nil {
		t.Fatal(err)
	}
	if tx := s.l.ofNonce(970, n); tx == nil || tx.view.ID != id {
		t.Error("the nonce finds nothing")
	}
	if s.l.ofNonce(971, n) != nil || s.l.ofNonce(970, protocol.Nonce{2}) != nil {
		t.Error("another's nonce, or another nonce, finds it")
	}
}

// T18: locks on several places at once, in any order, exclude and never wait
// for one another in a ring.
func TestPlaces(t *testing.T) {
	var p places
	var inside [4]int
	var guard sync.Mutex
	var work sync.WaitGroup
	for i := range 400 {
		work.Go(func() {
			mine := []int{i % 4, (i*7 + 1) % 4}
			paths := []action.Path{action.Path(fmt.Sprint("/", mine[0])), action.Path(fmt.Sprint("/", mine[1]))}
			unlock, err := p.lockPaths(paths, true)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			slices.Sort(mine)
			for _, m := range slices.Compact(mine) {
				guard.Lock()
				if inside[m]++; inside[m] != 1 {
					t.Error("two in one place")
				}
				guard.Unlock()
				defer func() {
					guard.Lock()
					inside[m]--
					guard.Unlock()
				}()
			}
		})
	}
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("they wait for one another")
	}
	if len(p.held) != 0 {
		t.Errorf("%d locks are kept that nobody holds", len(p.held))
	}
}

// T15: refused peers and floods are one record a minute; refused proposals are
// journaled whole up to a bound a minute.
func TestNuisancesAreBounded(t *testing.T) {
	var f floods
	at := time.Unix(1000, 0)
	if n := f.count("k", 1, at); n != 1 {
		t.Errorf("the first is told as %d", n)
	}
	for range 10 {
		if n := f.count("k", 1, at.Add(time.Second)); n != 0 {
			t.Errorf("told %d within the minute", n)
		}
	}
	if n := f.count("k", 1, at.Add(61*time.Second)); n != 11 {
		t.Errorf("told %d after the minute, want 11", n)
	}
	b := refusedBudget()
	for i := range b.count {
		if !b.allow(970, 100, at) {
			t.Fatalf("refusal %d is not journaled", i)
		}
	}
	if b.allow(970, 100, at) || !b.allow(971, 100, at) || !b.allow(970, 100, at.Add(time.Minute)) {
		t.Error("the bound is not one uid's, a minute long")
	}
	if b.allow(972, b.bytes+1, at) {
		t.Error("one refusal of many bytes is journaled")
	}
}
