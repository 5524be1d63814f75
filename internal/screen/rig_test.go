package screen

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/action"
	"countersign/internal/classify"
	"countersign/internal/protocol"
	"countersign/internal/terminal"
)

// rig is a screen without a terminal, a keeper and a clock of its own: the test
// is all three.
type rig struct {
	*app
	t      *testing.T
	glass  *glass
	keeper *keeper
	now    time.Time
	who    string // of the agents has the terminal
	hidden bool   // nobody can say
	whoErr error
}

// glass takes what is drawn.
type glass struct {
	width, height int
	rows          []terminal.Row
	number        int
	forgotten     int
}

func (g *glass) Draw(rows []terminal.Row, ask bool) (int, error) {
	if g.rows = rows; ask {
		g.number++
	}
	return g.number, nil
}
func (g *glass) Forget()                       { g.forgotten++ }
func (g *glass) Size() (int, int)              { return g.width, g.height }
func (g *glass) Events() <-chan terminal.Event { return nil }

// keeper answers from what it is told to have.
type keeper struct {
	mu     sync.Mutex
	shows  map[action.ID]protocol.ShowResult
	log    []protocol.Transaction
	calls  []any // the params of decisions and undos
	decide func(protocol.DecideParams) (protocol.Transaction, error)
	undo   protocol.Transaction
	err    error
}

func (k *keeper) call(_ context.Context, method string, params, result any) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch in := params.(type) {
	case protocol.IDParams:
		s, ok := k.shows[in.ID]
		if !ok {
			return fmt.Errorf("there is no %s", in.ID)
		}
		*result.(*protocol.ShowResult) = s
	case protocol.DecideParams:
		k.calls = append(k.calls, in)
		t, err := k.decide(in)
		*result.(*protocol.Transaction) = t
		return err
	case protocol.UndoParams:
		k.calls = append(k.calls, in)
		*result.(*protocol.Transaction) = k.undo
		return k.err
	case protocol.LogParams:
		k.calls = append(k.calls, in)
		if in.Before == "" {
			result.(*protocol.ListResult).Transactions = k.log
		}
	default:
		return fmt.Errorf("%s is not called here", method)
	}
	return nil
}

func newRig(t *testing.T, width, height int) *rig {
	t.Helper()
	r := &rig{t: t, glass: &glass{width: width, height: height}, now: time.Unix(1_800_000_000, 0)}
	r.keeper = &keeper{shows: make(map[action.ID]protocol.ShowResult), decide: func(in protocol.DecideParams) (protocol.Transaction, error) {
		s := r.keeper.shows[in.ID]
		s.Transaction.State, s.Transaction.DecidedBy, s.Transaction.Prefix = protocol.StateDenied, "alice", ""
		if in.Approve {
			s.Transaction.State = protocol.StateLanded
		}
		r.keeper.shows[in.ID] = s
		return s.Transaction, nil
	}}
	r.app = newApp(t.Context(), Config{
		Keeper: r.keeper.call, Terminal: r.glass, Now: func() time.Time { return r.now },
		Company: func([]protocol.Agent) (string, bool, error) { return r.who, r.hidden, r.whoErr },
	})
	return r
}

// settle takes in every answer that is on its way.
func (r *rig) settle() {
	r.t.Helper()
	for r.flying > 0 {
		select {
		case take := <-r.answers:
			take(r.app)
		case <-time.After(5 * time.Second):
			r.t.Fatal("a call is not answered")
		}
	}
	if err := r.draw(); err != nil {
		r.t.Fatal(err)
	}
}

// does takes events in, with all that comes of each.
func (r *rig) does(events ...terminal.Event) {
	r.t.Helper()
	for _, e := range events {
		r.event(e)
		r.settle()
	}
}

// types types characters, each well apart from the others.
func (r *rig) types(s string) {
	r.t.Helper()
	for _, c := range s {
		r.now = r.now.Add(time.Second)
		r.does(terminal.Event{Key: terminal.Rune, Rune: c})
	}
}

func (r *rig) press(k ...terminal.Key) {
	r.t.Helper()
	for _, k := range k {
		r.does(terminal.Event{Key: k})
	}
}

// stood has the terminal say that it shows the last drawing.
func (r *rig) stood() { r.does(terminal.Event{Drawn: r.glass.number}) }

// after lets time go by.
func (r *rig) after(d time.Duration) {
	r.now = r.now.Add(d)
	r.ripe()
	r.settle()
}

// read has the whole of what is on the screen read.
func (r *rig) read() {
	r.stood()
	r.after(stands)
}

// screen is what stands on the screen, row by row.
func (r *rig) screen() string {
	var b strings.Builder
	for _, row := range r.glass.rows {
		column := 0
		for _, s := range row {
			if s.Column != terminal.Behind && s.Column > column {
				b.WriteString(strings.Repeat(" ", s.Column-column))
				column = s.Column
			}
			b.WriteString(string(s.Text))
			column += terminal.Columns(s.Text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r *rig) shows(want string) {
	r.t.Helper()
	if !strings.Contains(r.screen(), want) {
		r.t.Errorf("%q is not on the screen:\n%s", want, r.screen())
	}
}

// decided gives the decisions that were sent.
func (r *rig) decided() (out []protocol.DecideParams) {
	r.keeper.mu.Lock()
	defer r.keeper.mu.Unlock()
	for _, c := range r.keeper.calls {
		if d, ok := c.(protocol.DecideParams); ok {
			out = append(out, d)
		}
	}
	return out
}

// id makes an ID of a number.
func id(n int) action.ID {
	const letters = "abcdefghijkmnpqrstuvwxyz23456789"
	b := []byte("aaaaaaaaaaaaa")
	for i := len(b) - 1; n > 0; i-- {
		b[i], n = letters[n%32], n/32
	}
	return action.ID(b)
}

// waiting makes an action that waits, with a diff.
func waiting(n int, by string, diff string) protocol.ShowResult {
	path := action.Path(fmt.Sprintf("/home/alice/%d.sh", n))
	t := protocol.Transaction{
		ID: id(n), State: protocol.StateWaiting, By: by, UID: 970, Person: "alice", Capability: action.CapFileWrite,
		Paths: []action.Path{path}, Sentence: "a sentence", Verdict: "ask", Rule: "a rule", Reversible: true,
		Reasons: []classify.Reason{{Name: classify.RunsLater, Path: path, Why: "the file is a program"}},
		Prefix:  fmt.Sprintf("%016x", n), Proposed: protocol.Time(1_799_999_000_000_000_000 + n),
	}
	d := &action.Detail{Changes: []action.ChangeDetail{{Path: path, Does: action.Replaces, Diff: diff}}}
	return protocol.ShowResult{Transaction: t, Detail: d}
}

// diffOf makes a diff of so many changed lines.
func diffOf(lines int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- a\n+++ b\n@@ -1,%d +1,%d @@\n", lines, lines)
	for i := range lines {
		fmt.Fprintf(&b, "-old %d\n+new %d\n", i, i)
	}
	return b.String()
}

// looking has actions wait, and the first of them looked at.
func (r *rig) looking(all ...protocol.ShowResult) {
	r.t.Helper()
	var list []protocol.Transaction
	for _, s := range all {
		r.keeper.shows[s.Transaction.ID] = s
		list = append(list, s.Transaction)
	}
	r.heard(protocol.WatchResult{Seen: 1, Agents: []protocol.Agent{{Name: "claude", UID: 970}}}, list, nil)
	r.settle()
	r.press(terminal.Enter)
}

// holds keeps back the answer to the next call until hold is closed; made is
// closed once the keeper has made it.
func (r *rig) holds() (made, hold chan struct{}) {
	made, hold = make(chan struct{}), make(chan struct{})
	ask, second := r.cfg.Keeper, atomic.Bool{}
	r.cfg.Keeper = func(ctx context.Context, method string, params, result any) error {
		err := ask(ctx, method, params, result)
		if !second.Swap(true) {
			close(made)
			<-hold
		}
		return err
	}
	return made, hold
}

// changes has the keeper tell of a transaction that stands otherwise now.
func (r *rig) changes(s protocol.ShowResult) {
	r.keeper.mu.Lock()
	r.keeper.shows[s.Transaction.ID] = s
	r.keeper.mu.Unlock()
	r.heard(protocol.WatchResult{Seen: 2, Agents: r.agents, Changed: []protocol.Transaction{s.Transaction}}, nil, nil)
	r.settle()
}
