package broker

import (
	"strings"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/visible"
)

// What reader and scribe say is held to the forms it can have before anything
// is made of it: either may be anybody's by now.
const (
	maxSaid  = 4096 // bytes of one sentence of theirs
	maxNames = 1024 // bytes of one name of theirs
	maxList  = 64   // names in one list
)

// soundFact holds what a reader says of a target to the forms it can have.
func soundFact(f action.Fact, t action.Target) error {
	v := f.Base.Version
	link := v != nil && v.Kind == action.Symlink
	sound := f.Real.Validate() == nil && f.Resolved().Validate() == nil && len(f.Base.Landing.Missing()) <= action.MaxMade &&
		action.Path("/"+f.Base.Landing.Name).Validate() == nil && soundWords(f.NotKept) && soundAttributes(f.Attributes) &&
		(f.Default == nil || *f.Default <= 0o777) && (v == nil || link || v.Kind == action.Regular)
	sound = sound && (v != nil || len(f.Attributes) == 0 && len(f.NotKept) == 0 && !f.AnyGroup)
	if link {
		sound = sound && t.How == action.ToEntry && len(f.Target) == int(v.Size) && len(f.Target) > 0 && len(f.Target) < maxSaid &&
			!strings.Contains(string(f.Target), "\x00") && action.HashOf([]byte(f.Target)) == v.Hash && len(f.Attributes) == 0
	} else {
		sound = sound && f.Target == ""
	}
	if !sound {
		return refusal.New(refusal.Differs, f.Path.String(), "what the reader says of it is malformed")
	}
	return nil
}

// soundWords says whether a list of words can be shown as it is.
func soundWords(list []string) bool {
	sound := len(list) <= maxList
	for _, n := range list {
		sound = sound && len(n) <= maxNames && visible.Line(n) == visible.Text(n)
	}
	return sound
}

func soundAttributes(list []action.Attribute) bool {
	room, last := action.Room{Left: action.MaxAttributes}, action.Path("")
	for _, a := range list {
		if a.Name <= last || len(a.Name) > maxNames || !room.Take(uint64(len(a.Name)+len(a.Value))) {
			return false
		}
		last = a.Name
	}
	return true
}

// soundOutcome holds what a scribe says to the forms it can have.
func soundOutcome(out protocol.Outcome, in protocol.Intent) bool {
	const after = 16
	result := out.Result == protocol.Landed || out.Result == protocol.NotLanded || out.Result == protocol.Partial || out.Result == protocol.Unknown
	sound := result && out.More == 0 && len(out.Changes) == len(in.Facts) && len(out.Kept) <= len(in.Facts) && len(out.Words) <= maxSaid
	for i, c := range out.Changes {
		sound = sound && i < len(in.Facts) && c.Path == in.Facts[i].Path && len(c.After) <= after && len(c.NoLease) <= maxSaid && soundWords(c.NotKept)
		for _, a := range c.After {
			sound = sound && len(a) <= maxSaid
		}
	}
	for _, k := range out.Kept {
		sound = sound && k.Path.Validate() == nil
	}
	return sound && (out.Refused == nil || refusal.Known(out.Refused.Code) && len(out.Refused.Error()) <= maxSaid)
}

// unbelieved is the outcome where a scribe's answer is malformed: it says
// nothing about the disk.
func unbelieved(in protocol.Intent) protocol.Outcome {
	out := protocol.Outcome{Result: protocol.Unknown, Words: "the scribe's answer was malformed"}
	for _, f := range in.Facts {
		out.Changes = append(out.Changes, protocol.PathOutcome{Path: f.Path, Did: protocol.Unsettled})
	}
	return out
}
