package screen

import (
	"errors"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/wire/client"
)

// sure is an approval that goes out in a moment, unless another key comes.
type sure struct {
	at   time.Time
	text text
}

// approve takes the approval key.
func (a *app) approve(follows bool) {
	if why := a.forbids(); why != "" {
		a.say("not approved: " + why)
		return
	}
	if follows {
		a.say("not approved: an A among other letters is no approval; press it by itself")
		return
	}
	a.sure = &sure{at: a.cfg.Now(), text: a.detail.text()}
}

// forbids says why an approval does not count now; empty where it does.
func (a *app) forbids() string {
	d := a.detail
	switch {
	case a.busy != "":
		return "something is still under way"
	case d.whole.Transaction.State != protocol.StateWaiting:
		return "it is " + string(d.whole.Transaction.State)
	case d.preview == "":
		return "there is no preview of it"
	case a.trouble != "":
		return "the keeper is not heard of"
	case !d.atEnd:
		return "there is more of it below; End goes there"
	}
	if why := a.guard.hold(d.text(), a.cfg.Now()); why != "" {
		return why
	}
	return a.company()
}

// company says which agent has this terminal; empty where none does.
func (a *app) company() string {
	if a.open { // agents and owner are one user, which every screen says
		return ""
	}
	who, hidden, err := a.cfg.Company(a.agents)
	a.hidden = hidden
	if err != nil {
		return "whether an agent has this terminal cannot be told: " + err.Error()
	}
	if who != "" {
		return "an agent has this terminal too: " + who
	}
	return ""
}

// ripe sends an approval that nothing stopped.
func (a *app) ripe() {
	if a.sure == nil || a.cfg.Now().Sub(a.sure.at) < apart {
		return
	}
	s := a.sure
	a.sure = nil
	why := a.forbids()
	if why == "" && !s.text.same(a.detail.text()) {
		why = "the screen has just changed: look at it"
	}
	if why != "" {
		a.say("not approved: " + why)
		return
	}
	t := a.detail.whole.Transaction
	in := protocol.DecideParams{ID: t.ID, Prefix: t.Prefix, Approve: true}
	a.decide(in, "approving "+string(t.ID))
}

// deny asks for a word to the agent, and denies.
func (a *app) deny() {
	t := a.detail.whole.Transaction
	switch why := a.guard.hold(a.detail.text(), a.cfg.Now()); {
	case a.busy != "" || t.State != protocol.StateWaiting:
		a.say("it cannot be denied: " + a.forbids())
		return
	case why != "" && a.detail.preview != "":
		a.say("not denied: " + why)
		return
	}
	const most = 1000
	a.input = &input{asks: "Deny it. A word to the agent:", enters: "denies it", most: most, take: func(a *app, why string) {
		a.decide(protocol.DecideParams{ID: t.ID, Why: why}, "denying "+string(t.ID))
	}}
}

// decide sends a decision.
func (a *app) decide(in protocol.DecideParams, busy string) {
	a.busy, a.mine = busy, in.ID
	var t protocol.Transaction
	a.call(protocol.Decide, in, &t, true, func(a *app, err error) {
		a.busy = ""
		if err != nil {
			a.say(notDecided(err))
		} else {
			a.took(t)
		}
		a.look(in.ID)
	})
}

// notDecided says what became of a decision that was not answered with yes.
func notDecided(err error) string {
	switch {
	case refusal.Is(err, refusal.Stale):
		return "not approved: disk moved on since it was shown; it is previewed anew, look again"
	case errors.Is(err, client.ErrUnanswered):
		return "it is not known whether that was done: " + failed(err)
	}
	return failed(err)
}

// took says what a decision led to, and takes it in.
func (a *app) took(t protocol.Transaction) {
	switch t.State {
	case protocol.StateLanded:
		a.say("It has landed. u takes it back.")
	case protocol.StateDenied:
		a.say("Denied.")
	case protocol.StateNotLanded, protocol.StateUnknown, protocol.StateRefused:
		a.say("It is " + string(t.State) + ": see below why.")
	default:
		a.say("It is " + string(t.State) + ".")
	}
	a.list.take(t)
	a.log.take(t)
	if d := a.detail; a.view == theDetail && d.whole.Transaction.ID == t.ID {
		d.whole.Transaction = t // until the whole of it is here
		if t.State != protocol.StateWaiting {
			d.preview = ""
		}
	}
}

// undoable says whether a transaction can be asked to be taken back.
func undoable(t protocol.Transaction) bool {
	partial := t.Outcome != nil && t.Outcome.Result == protocol.Partial
	return (t.State == protocol.StateLanded || partial) && (t.UndoneBy == "" || t.InPart)
}

// undo previews taking a transaction back. The preview waits, and is approved
// or denied like any other.
func (a *app) undo(t protocol.Transaction) {
	switch {
	case a.busy != "":
		a.say("something is still under way")
		return
	case t.UndoneBy != "" && !t.InPart:
		a.say("it was undone already")
		return
	case !undoable(t):
		a.say("it is " + string(t.State) + ": there is nothing to undo")
		return
	}
	a.busy = "previewing the undo of " + string(t.ID)
	var u protocol.Transaction
	a.call(protocol.Undo, protocol.UndoParams{ID: t.ID}, &u, true, func(a *app, err error) {
		a.busy = ""
		if err != nil {
			a.say(failed(err))
			return
		}
		a.list.take(u)
		a.show(u.ID)
	})
}

// show looks at another transaction than the one on the screen.
func (a *app) show(id action.ID) {
	if id == "" {
		return
	}
	if a.view == theDetail { // so that it is taken for another, and begins at its top
		a.view = a.behind
	}
	a.look(id)
}
