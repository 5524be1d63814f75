package screen

import (
	"errors"
	"testing"
	"time"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/terminal"
)

// O4: an A by itself, on a text that has stood whole for half a second, approves
// exactly the preview that stands there, once.
func TestApproves(t *testing.T) {
	r := newRig(t, 80, 40)
	s := waiting(1, "claude", diffOf(3))
	r.looking(s)
	r.read()
	r.shows("A approves")
	r.does(terminal.Event{Pasted: "A"})
	r.shows("what is pasted decides nothing")
	r.types("A")
	r.shows("any other key stops it")
	r.after(apart - time.Millisecond)
	if len(r.decided()) != 0 {
		t.Fatal("it was sent before another key could stop it")
	}
	r.after(time.Millisecond)
	want := protocol.DecideParams{ID: s.Transaction.ID, Prefix: s.Transaction.Prefix, Approve: true}
	if got := r.decided(); len(got) != 1 || got[0] != want {
		t.Fatalf("%+v", got)
	}
	r.shows("It has landed")
	r.read()
	r.types("A")
	r.after(time.Minute)
	if len(r.decided()) != 1 {
		t.Error("it was approved twice")
	}
}

// O4: what does not approve: a text that has not stood, that has not stood long
// enough, that changed or moved, or whose end was not reached; any other key, a
// paste, letters in a row; and an agent at the terminal.
func TestDoesNotApprove(t *testing.T) {
	early := func(r *rig) { r.stood(); r.now = r.now.Add(499 * time.Millisecond) }
	bare := func(r *rig) { r.does(terminal.Event{Key: terminal.Rune, Rune: 'A'}) } // no time goes by
	for name, c := range map[string]struct {
		rows int
		do   func(r *rig)
	}{
		"the terminal did not answer": {40, func(r *rig) { r.after(time.Minute); bare(r) }},
		"it answered for another":     {40, func(r *rig) { r.does(terminal.Event{Drawn: r.glass.number - 1}); r.after(time.Minute); bare(r) }},
		"not for half a second":       {40, func(r *rig) { early(r); bare(r) }},
		"typed at once":               {40, func(r *rig) { bare(r); r.stood(); r.after(time.Minute) }},
		"there is more below":         {16, func(r *rig) { r.read(); bare(r) }},
		"the end only flew by":        {16, func(r *rig) { r.press(terminal.End); r.press(terminal.Home); r.read(); bare(r) }},
		"the end has not stood yet":   {16, func(r *rig) { r.read(); r.press(terminal.End); bare(r); r.after(time.Minute) }},
		"the end has not stood long":  {16, func(r *rig) { r.read(); r.press(terminal.End); early(r); bare(r); r.after(time.Minute) }},
		"moved since":                 {16, func(r *rig) { r.press(terminal.End); r.read(); r.press(terminal.Up); bare(r); r.after(time.Minute) }},
		"moved in the same breath": {16, func(r *rig) {
			r.press(terminal.End)
			r.read()
			r.event(terminal.Event{Key: terminal.Up})
			r.event(terminal.Event{Key: terminal.Rune, Rune: 'A'}) // before anything is drawn
			r.settle()
			r.stood()
			r.after(time.Minute)
		}},
		"an old answer for a new text": {16, func(r *rig) {
			r.press(terminal.End)
			r.read()
			r.press(terminal.Up)
			r.does(terminal.Event{Drawn: r.glass.number - 1})
			r.after(time.Minute)
			bare(r)
			r.after(time.Minute)
		}},
		"an old answer for the end": {16, func(r *rig) {
			r.press(terminal.End)
			r.does(terminal.Event{Drawn: r.glass.number - 1})
			r.press(terminal.Home)
			r.read()
			bare(r)
			r.after(time.Minute)
		}},
		"the end stood under help": {16, func(r *rig) {
			r.press(terminal.End)
			r.types("?")
			r.read()
			r.types("?")
			r.press(terminal.Home)
			r.read()
			bare(r)
			r.after(time.Minute)
		}},
		"other words, meanwhile": {40, func(r *rig) {
			r.read()
			bare(r)
			s := waiting(1, "claude", diffOf(3))
			s.Transaction.Sentence = "another"
			r.changes(s) // under the same prefix
			r.stood()
			r.after(time.Minute)
		}},
		"another size": {40, func(r *rig) {
			r.read()
			r.glass.width = 70
			r.does(terminal.Event{Resized: true})
			bare(r)
			r.after(time.Minute)
		}},
		"drawn anew": {40, func(r *rig) {
			r.read()
			r.does(terminal.Event{Key: terminal.Control, Rune: 'l'})
			bare(r)
			r.after(time.Minute)
		}},
		"stopped in the meantime": {40, func(r *rig) { r.read(); r.does(terminal.Event{Resized: true}); bare(r); r.after(time.Minute) }},
		"help came and went": {40, func(r *rig) {
			r.read()
			r.types("?")
			r.stood()
			r.types("?")
			bare(r)
			r.after(time.Minute)
		}},
		"under help": {40, func(r *rig) { r.read(); r.types("?"); r.read(); r.types("A"); r.after(time.Minute) }},
		"Enter": {40, func(r *rig) {
			r.read()
			r.press(terminal.Enter)
			r.after(time.Minute)
			r.press(terminal.Enter)
			r.after(time.Minute)
		}},
		"a small a":      {40, func(r *rig) { r.read(); r.types("a"); r.after(time.Minute) }},
		"y, Y, yes":      {40, func(r *rig) { r.read(); r.types("yYyes"); r.after(time.Minute) }},
		"A with Alt":     {40, func(r *rig) { r.read(); r.press(terminal.Unknown); r.after(time.Minute) }},
		"A with Control": {40, func(r *rig) { r.read(); r.does(terminal.Event{Key: terminal.Control, Rune: 'a'}); r.after(time.Minute) }},
		"a paste":        {40, func(r *rig) { r.read(); r.does(terminal.Event{Pasted: "A"}); r.after(time.Minute) }},
		"a word that begins with A": {40, func(r *rig) {
			r.read()
			bare(r)
			r.now = r.now.Add(100 * time.Millisecond)
			r.does(terminal.Event{Key: terminal.Rune, Rune: 'n'})
			r.after(time.Minute)
		}},
		"a word with an A in it": {40, func(r *rig) {
			r.read()
			r.types("z")
			r.now = r.now.Add(100 * time.Millisecond)
			bare(r)
			r.after(time.Minute)
		}},
		"AA":                          {40, func(r *rig) { r.read(); bare(r); bare(r); r.after(time.Minute) }},
		"A, and a paste":              {40, func(r *rig) { r.read(); bare(r); r.does(terminal.Event{Pasted: "x"}); r.after(time.Minute) }},
		"A, and another size":         {40, func(r *rig) { r.read(); bare(r); r.does(terminal.Event{Resized: true}); r.after(time.Minute) }},
		"an agent is at the terminal": {40, func(r *rig) { r.who = "claude"; r.read(); bare(r); r.after(time.Minute) }},
		"an agent comes to it":        {40, func(r *rig) { r.read(); bare(r); r.who = "claude"; r.after(time.Minute) }},
		"nobody can say who is at it": {40, func(r *rig) { r.whoErr = errors.New("hidden"); r.read(); bare(r); r.after(time.Minute) }},
		"the keeper is not heard of": {40, func(r *rig) {
			r.read()
			r.heard(protocol.WatchResult{}, nil, errors.New("gone"))
			bare(r)
			r.after(time.Minute)
		}},
		"too small a screen":         {40, func(r *rig) { r.glass.height = 9; r.settle(); r.read(); bare(r); r.after(time.Minute) }},
		"left, and back to the list": {40, func(r *rig) { r.read(); r.press(terminal.Escape); bare(r); r.after(time.Minute) }},
		"in a search":                {40, func(r *rig) { r.read(); r.types("/"); bare(r); r.after(time.Minute) }},
	} {
		r := newRig(t, 80, c.rows)
		r.looking(waiting(1, "claude", diffOf(3)), waiting(2, "claude", diffOf(3)))
		c.do(r)
		r.after(0)
		if got := r.decided(); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// O4: an account that is longer than the screen is approved from its end, or
// from anywhere once its end has stood; the key End is enough.
func TestLongAccount(t *testing.T) {
	r := newRig(t, 80, 16)
	r.looking(waiting(1, "claude", diffOf(300)))
	r.read()
	r.shows("End, then A approves")
	r.press(terminal.End)
	r.shows("This is the end of aaaaaaaaaaaab@0000000000000001.")
	r.read()
	r.press(terminal.Home)
	r.read()
	r.types("A")
	r.after(apart)
	if len(r.decided()) != 1 {
		t.Error("it was read to its end, and not approved")
	}
}

// O4: where what is looked at changes under the owner's eyes, it is a new text:
// it begins at its top, its end is to be reached again, and an approval that was
// about to be sent is not.
func TestChangesWhileLookedAt(t *testing.T) {
	s := waiting(1, "claude", diffOf(3))
	again := waiting(1, "claude", diffOf(40))
	again.Transaction.Prefix, again.Transaction.Stale = "ffffffffffffffff", 1
	r := newRig(t, 80, 30)
	r.looking(s)
	r.read()
	r.types("A")
	r.changes(again)
	r.after(apart)
	r.shows("it changed while you looked")
	r.shows("read again 1 time")
	r.read()
	r.types("A")
	r.after(time.Minute)
	if got := r.decided(); len(got) != 0 {
		t.Fatalf("%+v", got)
	}
	r.press(terminal.End)
	r.read()
	r.types("A")
	r.after(apart)
	if got := r.decided(); len(got) != 1 || got[0].Prefix != "ffffffffffffffff" {
		t.Errorf("%+v", got)
	}
}

// O4: of what was withdrawn, or decided by somebody else, while it was looked at,
// the screen says so and sends nothing.
func TestEndsWhileLookedAt(t *testing.T) {
	for _, state := range []protocol.State{protocol.StateWithdrawn, protocol.StateDenied, protocol.StateExpired, protocol.StateLanded} {
		r := newRig(t, 80, 40)
		s := waiting(1, "claude", diffOf(3))
		r.looking(s)
		r.read()
		s.Transaction.Prefix = ""
		if state == protocol.StateLanded { // on its way
			s.Transaction.State = protocol.StateIntent
			r.changes(s)
			r.shows("while you looked it was approved")
		}
		s.Transaction.State = state
		r.changes(s)
		r.shows("while you looked it came to be " + string(state))
		r.read()
		r.types("A")
		r.after(time.Minute)
		if got := r.decided(); len(got) != 0 {
			t.Errorf("%s: %+v", state, got)
		}
		if state != protocol.StateLanded {
			r.types("d")
			if r.input != nil {
				t.Errorf("%s: it can be denied", state)
			}
		}
	}
}

// O4: an approval that the keeper calls stale is no approval: the new preview is
// shown.
func TestStaleAnswer(t *testing.T) {
	r := newRig(t, 80, 40)
	s := waiting(1, "claude", diffOf(3))
	r.looking(s)
	again := s
	again.Transaction.Prefix, again.Transaction.Stale = "ffffffffffffffff", 1
	r.keeper.decide = func(in protocol.DecideParams) (protocol.Transaction, error) {
		r.keeper.shows[in.ID] = again
		return again.Transaction, refusal.New(refusal.Stale, "approval", "")
	}
	r.read()
	r.types("A")
	r.after(apart)
	r.shows("disk moved on")
	r.shows("@ffffffffffffffff")
	r.types("A")
	r.after(time.Minute)
	if len(r.decided()) != 1 {
		t.Error("the new preview was approved unseen")
	}
}

// O4: where nothing separates agents from their owner, every process is the
// owner's: the terminal is not looked through, and the screen says why.
func TestUnseparated(t *testing.T) {
	r := newRig(t, 80, 40)
	s := waiting(1, "claude", diffOf(3))
	r.looking(s)
	r.heard(protocol.WatchResult{Seen: 3, Unseparated: true, Agents: r.agents}, nil, nil)
	r.who = "claude"
	r.settle()
	r.shows("NOT SEPARATED")
	r.read()
	r.types("A")
	r.after(apart)
	if len(r.decided()) != 1 {
		t.Error("it was not approved")
	}
}

// O4: where other users' processes are hidden the screen says what it cannot
// see, and goes by what it can.
func TestHiddenProcesses(t *testing.T) {
	r := newRig(t, 80, 40)
	r.hidden = true
	r.looking(waiting(1, "claude", diffOf(3)))
	r.shows("Whether an agent has this terminal is not to be seen here")
	r.read()
	r.types("A")
	r.after(apart)
	if len(r.decided()) != 1 {
		t.Error("it was not approved")
	}
}

// O1: a denial takes a word to the agent, of one line and bounded, and Escape
// leaves it.
func TestDenies(t *testing.T) {
	r := newRig(t, 80, 40)
	r.looking(waiting(1, "claude", diffOf(3)))
	r.types("d")
	if r.input != nil {
		t.Error("it is denied before it stood")
	}
	r.read()
	r.types("dno")
	r.press(terminal.Escape)
	if len(r.decided()) != 0 {
		t.Fatal("it was denied after all")
	}
	r.types("d")
	r.does(terminal.Event{Pasted: "too\nbroad\x1b[2J" + string(make([]byte, 5000))})
	r.press(terminal.Backspace)
	r.does(terminal.Event{Key: terminal.Control, Rune: 'u'})
	r.types("too broad")
	r.press(terminal.Enter)
	if got := r.decided(); len(got) != 1 || got[0] != (protocol.DecideParams{ID: id(1), Why: "too broad"}) {
		t.Errorf("%+v", got)
	}
	r.shows("Denied.")
}

// O1: of two accounts on their way the one that was asked for last is shown,
// whichever comes first.
func TestLateAccount(t *testing.T) {
	for _, newerFirst := range []bool{true, false} {
		r := newRig(t, 80, 40)
		s := waiting(1, "claude", diffOf(3))
		r.looking(s)
		made, hold := r.holds()
		r.look(id(1))
		<-made
		s.Transaction.State, s.Transaction.Prefix = protocol.StateLanded, ""
		r.keeper.mu.Lock()
		r.keeper.shows[id(1)] = s
		r.keeper.mu.Unlock()
		r.look(id(1))
		newer := <-r.answers
		close(hold)
		older := <-r.answers
		if newerFirst {
			newer(r.app)
			older(r.app)
		} else {
			older(r.app)
			newer(r.app)
		}
		r.settle()
		r.shows("aaaaaaaaaaaab  landed")
	}
}

// O1: what changes while its account is on its way is asked for again.
func TestChangesOnItsWay(t *testing.T) {
	r := newRig(t, 80, 40)
	s := waiting(1, "claude", diffOf(3))
	r.looking(s)
	made, hold := r.holds()
	r.look(id(1))
	<-made
	s.Transaction.State, s.Transaction.Prefix = protocol.StateWithdrawn, ""
	r.keeper.mu.Lock()
	r.keeper.shows[id(1)] = s
	r.keeper.mu.Unlock()
	r.heard(protocol.WatchResult{Seen: 2, Agents: r.agents, Changed: []protocol.Transaction{s.Transaction}}, nil, nil)
	close(hold)
	r.settle()
	r.shows("aaaaaaaaaaaab  withdrawn")
}

// O1: an undo is previewed as an action of its own, and approved by that
// preview's prefix.
func TestUndoes(t *testing.T) {
	r := newRig(t, 80, 40)
	s := waiting(1, "claude", diffOf(3))
	s.Transaction.State = protocol.StateLanded
	u := waiting(2, "alice", diffOf(3))
	u.Transaction.UndoOf, u.Transaction.Capability = id(1), "undo"
	r.keeper.shows[id(1)], r.keeper.shows[id(2)] = s, u
	r.keeper.log, r.keeper.undo = []protocol.Transaction{s.Transaction}, u.Transaction
	r.heard(protocol.WatchResult{Seen: 1}, []protocol.Transaction{}, nil)
	r.settle()
	r.types("l")
	r.shows("landed")
	r.types("u")
	r.shows("@" + u.Transaction.Prefix)
	if len(r.decided()) != 0 {
		t.Fatal("it was undone without a look")
	}
	r.read()
	r.types("A")
	r.after(apart)
	if got := r.decided(); len(got) != 1 || got[0] != (protocol.DecideParams{ID: id(2), Prefix: u.Transaction.Prefix, Approve: true}) {
		t.Errorf("%+v", got)
	}
}
