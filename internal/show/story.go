package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/visible"
)

// Story tells a transaction in one line: what became of it and by whom, and who
// wanted what. What an agent chose, the path, comes last.
func Story(t protocol.Transaction) visible.Text { return standing(t) + "  " + Writer{}.Sentence(t) }

// Stories lists transactions as Story tells them, each with when it was proposed
// and its ID.
func (w Writer) Stories(list []protocol.Transaction) {
	for _, t := range list {
		w.line("%s  %s  %s", t.Proposed.Time().Format(time.DateTime), t.ID, Story(t))
	}
}

// Event tells in one line what happened to a transaction last: when, what became
// of it, and who wanted what.
func (w Writer) Event(t protocol.Transaction) {
	at := max(t.Proposed, t.Decided, t.Ended)
	w.line("%s  %s  %s  %s", at.Time().Format(time.DateTime), t.ID, standing(t), w.Sentence(t))
}

// standing says what became of a transaction, who decided, and whether it was
// taken back.
func standing(t protocol.Transaction) visible.Text {
	out := visible.Line(string(t.State))
	switch {
	case t.State == protocol.StateRefused && t.Refusal != nil:
		out += " (" + visible.Line(string(t.Refusal.Code)) + ")"
	case t.State == protocol.StateWaiting && t.Stale > 0:
		out += " (previewed anew)"
	case t.DecidedBy == "":
	case t.State == protocol.StateDenied:
		out += " by " + visible.Line(t.DecidedBy)
	case t.DecidedBy == byPolicy:
		out += " by policy"
	default:
		out += ", approved by " + visible.Line(t.DecidedBy)
	}
	if t.UndoOf != "" {
		out += ", undo of " + visible.Line(string(t.UndoOf))
	}
	if t.UndoneBy != "" {
		out += ", undone by " + visible.Line(string(t.UndoneBy))
	}
	return out
}

// byPolicy is who decided where nobody was asked.
const byPolicy = "policy"

// Filters names the words that Narrow knows.
const Filters = "agent= path= kind= state= since= until= refused"

// Narrow takes one thing to narrow the log by, as a person says it: agent, path,
// kind, state, since, until, each with its value, or refused.
func Narrow(in *protocol.LogParams, by, value string, now time.Time) (err error) {
	if value == "" && by != "refused" {
		return fmt.Errorf("the log is narrowed by %s, each with what it is", Filters)
	}
	switch by {
	case "agent":
		in.By = value
	case "path":
		if in.Path, err = action.ParsePath(value); err == nil && !strings.HasPrefix(string(in.Path), "/") {
			err = fmt.Errorf("path: %s does not begin with /", in.Path)
		}
	case "kind":
		in.Capability = action.Capability(value)
	case "state":
		in.State = protocol.State(value)
		in.Refused = in.Refused || in.State == protocol.StateRefused
	case "since":
		in.Since, err = when(value, now)
	case "until":
		in.Until, err = when(value, now)
	case "refused":
		in.Refused = true
	default:
		err = fmt.Errorf("the log is narrowed by %s", Filters)
	}
	return err
}

// when reads a time: so many minutes, hours or days ago (30m, 2h, 7d), a day, a
// day and a time, or RFC 3339.
func when(s string, now time.Time) (protocol.Time, error) {
	if n, err := strconv.ParseUint(s[:len(s)-1], 10, 16); err == nil {
		if unit := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[s[len(s)-1]]; unit > 0 {
			return protocol.Time(now.Add(-time.Duration(n) * unit).UnixNano()), nil
		}
	}
	for _, form := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", time.DateTime, time.RFC3339} {
		if at, err := time.ParseInLocation(form, s, now.Location()); err == nil {
			return protocol.Time(at.UnixNano()), nil
		}
	}
	return 0, fmt.Errorf("%s is no time: 30m, 2h or 7d ago, or 2026-01-31, with T15:04 behind it or not", visible.Line(strconv.Quote(s)))
}
