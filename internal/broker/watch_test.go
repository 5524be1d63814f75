package broker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"countersign/internal/action"
	"countersign/internal/policy"
	"countersign/internal/protocol"
)

func anybody(protocol.Transaction) bool { return true }

// looks asks a ledger what changed since, at once.
func looks(l *ledger, seen uint64, may func(protocol.Transaction) bool) protocol.WatchResult {
	var res protocol.WatchResult
	l.since(seen, may, &res)
	return res
}

func ids(res protocol.WatchResult) (out []action.ID) {
	for _, t := range res.Changed {
		out = append(out, t.ID)
	}
	return out
}

// O1: a watch has every change once that its caller may see, from the first
// record of the journal on, as it stands now; and nothing twice.
func TestWatchHasEveryChange(t *testing.T) {
	s := newTeller(t)
	start := looks(s.l, 0, anybody)
	for _, id := range []action.ID{"aaaaaaaaaaaaa", "bbbbbbbbbbbbb"} {
		if err := s.tell(kindProposed, id, proposed{By: string(id[:1])}); err != nil {
			t.Fatal(err)
		}
	}
	first := looks(s.l, start.Seen, anybody)
	if got := fmt.Sprint(ids(first)); got != "[aaaaaaaaaaaaa bbbbbbbbbbbbb]" {
		t.Errorf("at first %s", got)
	}
	if again := looks(s.l, first.Seen, anybody); len(again.Changed) != 0 || again.Seen != first.Seen {
		t.Errorf("twice: %+v", again)
	}
	if err := s.tell(kindWithdrawn, "aaaaaaaaaaaaa", ended{}); err != nil {
		t.Fatal(err)
	}
	next := looks(s.l, first.Seen, anybody)
	if len(next.Changed) != 1 || next.Changed[0].State != protocol.StateWithdrawn {
		t.Errorf("then %+v", next)
	}
	both := looks(s.l, start.Seen, anybody)
	if got := fmt.Sprint(ids(both)); got != "[bbbbbbbbbbbbb aaaaaaaaaaaaa]" {
		t.Errorf("both, by their last change: %s", got)
	}
	bs := looks(s.l, start.Seen, func(t protocol.Transaction) bool { return t.By == "b" })
	if got := fmt.Sprint(ids(bs)); got != "[bbbbbbbbbbbbb]" {
		t.Errorf("of b alone: %s", got)
	}
}

// O1: more than one answer holds comes in several, in order and without a gap;
// what is no longer remembered, and what was never, is said to be lost.
func TestWatchInPieces(t *testing.T) {
	s := newTeller(t)
	start := looks(s.l, 0, anybody)
	const many = remembered/2 + 100
	propose := func(n int) {
		if err := s.tell(kindProposed, action.ID(fmt.Sprintf("%013d", n)), proposed{By: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range many {
		propose(n)
	}
	got := 0
	for seen := start.Seen; ; {
		res := looks(s.l, seen, anybody)
		if res.Lost || len(res.Changed) > told {
			t.Fatalf("lost %v, %d at once", res.Lost, len(res.Changed))
		}
		if len(res.Changed) == 0 {
			break
		}
		for _, tx := range res.Changed {
			if tx.ID != action.ID(fmt.Sprintf("%013d", got)) {
				t.Fatalf("number %d is %s", got, tx.ID)
			}
			got++
		}
		seen = res.Seen
	}
	if got != many {
		t.Errorf("%d of %d came", got, many)
	}
	for n := many; n < 2*remembered; n++ {
		propose(n)
	}
	if !looks(s.l, start.Seen, anybody).Lost {
		t.Error("what is forgotten is not said to be lost")
	}
	if !looks(s.l, s.seq+1000, anybody).Lost {
		t.Error("what never was is not said to be lost")
	}
	if res := looks(s.l, s.seq+1, anybody); res.Lost || len(res.Changed) != 0 {
		t.Errorf("at the end: %+v", res)
	}
}

// O1: an undo changes what it undoes, and that is told too.
func TestWatchTellsOfWhatWasUndone(t *testing.T) {
	s := newTeller(t)
	tell := func(kind string, id action.ID, content any) {
		t.Helper()
		if err := s.tell(kind, id, content); err != nil {
			t.Fatal(err)
		}
	}
	land := func(id, of action.ID) {
		tell(kindProposed, id, proposed{By: "a", UndoOf: of})
		tell(kindDecided, id, decided{Approve: true, By: "alice"})
		tell(kindIntent, id, ended{})
		tell(kindOutcome, id, outcome{protocol.Outcome{Result: protocol.Landed, Changes: []protocol.PathOutcome{}}})
	}
	land("aaaaaaaaaaaaa", "")
	seen := looks(s.l, 0, anybody).Seen
	land("bbbbbbbbbbbbb", "aaaaaaaaaaaaa")
	res := looks(s.l, seen, anybody)
	undone := false
	for _, tx := range res.Changed {
		undone = undone || tx.ID == "aaaaaaaaaaaaa" && tx.UndoneBy == "bbbbbbbbbbbbb"
	}
	if !undone {
		t.Errorf("%+v", res.Changed)
	}
}

// O1: a watch waits until something changes, and ends with its caller.
func TestWatchWaits(t *testing.T) {
	s := newTeller(t)
	b := &Broker{ledger: s.l, cfg: Config{Policy: &policy.Policy{Agents: map[string]*policy.Agent{"claude": {UID: 970}}}}}
	now, err := b.Watch(t.Context(), protocol.WatchParams{}, anybody)
	if err != nil || len(now.Agents) != 1 || now.Agents[0] != (protocol.Agent{Name: "claude", UID: 970}) {
		t.Fatalf("%+v, %v", now, err)
	}
	came := make(chan protocol.WatchResult, 1)
	go func() {
		res, _ := b.Watch(context.Background(), protocol.WatchParams{Seen: now.Seen}, anybody)
		came <- res
	}()
	select {
	case res := <-came:
		t.Fatalf("at once: %+v", res)
	case <-time.After(50 * time.Millisecond):
	}
	if err := s.tell(kindProposed, "aaaaaaaaaaaaa", proposed{By: "a"}); err != nil {
		t.Fatal(err)
	}
	select {
	case res := <-came:
		if len(res.Changed) != 1 {
			t.Errorf("%+v", res)
		}
	case <-time.After(5 * time.Second):
		t.Error("it was not told")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Watch(ctx, protocol.WatchParams{Seen: s.seq + 1}, anybody); err == nil {
		t.Error("it goes on without its caller")
	}
}

// O6: the log is narrowed by who, where, what, when and how it stands, alone and
// together.
func TestAsked(t *testing.T) {
	at := func(n int64) protocol.Time { return protocol.Time(n) }
	tx := protocol.Transaction{
		By: "claude", Capability: action.CapFileWrite, State: protocol.StateLanded, Proposed: at(100),
		Paths: []action.Path{"/home/alice/a/b.txt", "/home/alice/c.txt"},
	}
	for name, c := range map[string]struct {
		in  protocol.LogParams
		yes bool
	}{
		"all":               {protocol.LogParams{}, true},
		"by":                {protocol.LogParams{By: "claude"}, true},
		"another's":         {protocol.LogParams{By: "claud"}, false},
		"a path":            {protocol.LogParams{Path: "/home/alice/c.txt"}, true},
		"beneath one":       {protocol.LogParams{Path: "/home/alice/a"}, true},
		"beneath a slash":   {protocol.LogParams{Path: "/home/alice/"}, true},
		"beneath all":       {protocol.LogParams{Path: "/"}, true},
		"only begins alike": {protocol.LogParams{Path: "/home/alice/c"}, false},
		"a kind":            {protocol.LogParams{Capability: action.CapFileWrite}, true},
		"another kind":      {protocol.LogParams{Capability: action.CapFileDelete}, false},
		"a state":           {protocol.LogParams{State: protocol.StateLanded}, true},
		"another state":     {protocol.LogParams{State: protocol.StateDenied}, false},
		"since then":        {protocol.LogParams{Since: at(100)}, true},
		"since later":       {protocol.LogParams{Since: at(101)}, false},
		"until later":       {protocol.LogParams{Until: at(101)}, true},
		"until then":        {protocol.LogParams{Until: at(100)}, false},
		"many paths":        {protocol.LogParams{Path: "/elsewhere"}, false},
		"one of two":        {protocol.LogParams{By: "claude", Since: at(101)}, false},
	} {
		if got := asked(c.in, tx); got != c.yes {
			t.Errorf("%s: %v", name, got)
		}
	}
}
