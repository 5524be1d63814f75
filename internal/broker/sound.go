package broker

import (
	"slices"
	"strings"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/visible"
)

// What reader and scribe say is held to the forms it can have before anything
// is made of it: either may be anybody's by now. What is said of several paths
// together is bounded by the frames it comes in.
const (
	maxSaid   = 48 << 10 // bytes of one sentence of theirs, which may name two paths, spelled out
	maxTarget = 4096     // bytes of what a link points to
	maxNames  = 1024     // bytes of one name of theirs, spelled out
	maxList   = 64 << 10 // bytes of the names in one list: what the kernel lists of one file
	maxAfter  = 16       // sentences on what failed after one path had landed
)

// soundFact holds what a reader says of a target to the forms it can have.
func soundFact(f action.Fact, t action.Target) error {
	v, missing := f.Base.Version, len(f.Base.Landing.Missing())
	sound := f.Real.Validate() == nil && f.Resolved().Validate() == nil && action.Path("/"+f.Base.Landing.Name).Validate() == nil &&
		missing <= action.MaxMade && (f.Default == nil || *f.Default <= 0o777) &&
		len(f.Aliases) <= action.MaxAliases && !slices.ContainsFunc(f.Aliases, func(a action.Path) bool { return a.Validate() != nil })
	switch {
	case v == nil:
		sound = sound && f.Target == "" && len(f.Attributes) == 0 && len(f.NotKept) == 0 && !f.AnyGroup
	case v.Kind == action.Symlink:
		sound = sound && missing == 0 && t.How == action.ToEntry && soundTarget(f.Target, v) && len(f.Attributes) == 0 && len(f.NotKept) == 0 && !f.AnyGroup
	default:
		sound = sound && missing == 0 && v.Kind == action.Regular && f.Target == "" && soundWords(f.NotKept) && soundAttributes(f.Attributes)
	}
	if !sound {
		return refusal.New(refusal.Differs, f.Path.String(), "what the reader says of it is malformed")
	}
	return nil
}

// soundTarget says whether a link can point to this, in this version.
func soundTarget(target action.Path, v *action.Version) bool {
	return target != "" && len(target) < maxTarget && uint64(len(target)) == v.Size &&
		!strings.Contains(string(target), "\x00") && action.HashOf([]byte(target)) == v.Hash
}

// soundWords says whether a list of words can be shown as it is.
func soundWords(list []string) bool {
	size := 0
	for _, n := range list {
		if size += len(n); size > maxList || len(n) > maxNames || !harmless(n) {
			return false
		}
	}
	return true
}

func harmless(s string) bool { return visible.Line(s) == visible.Text(s) }

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

// soundOutcome holds what a scribe says to the forms it can have, and to what
// was asked of it: what landed has landed at every path.
func soundOutcome(out protocol.Outcome, in protocol.Intent) bool {
	switch out.Result {
	case protocol.Landed, protocol.NotLanded, protocol.Partial, protocol.Unknown:
	default:
		return false
	}
	if !soundGit(out, in) {
		return false
	}
	if len(out.Changes) != len(in.Facts) || len(out.Kept) > len(in.Facts) || out.More != 0 || out.MoreKept != 0 || !soundSentence(out.Words) {
		return false
	}
	for i, c := range out.Changes {
		if c.Path != in.Facts[i].Path || !soundPath(c) || out.Result == protocol.NotLanded && c.Did.Changed() {
			return false
		}
		if over := c.Did.Changed() || c.Did == protocol.Overtaken; out.Result == protocol.Landed && !over {
			return false
		}
	}
	for _, k := range out.Kept {
		if k.Path.Validate() != nil || !soundKind(&k.Version) {
			return false
		}
	}
	return out.Refused == nil || refusal.Known(out.Refused.Code) && soundSentence(out.Refused.Error())
}

// soundPath holds what a scribe says of one path to the forms it can have.
func soundPath(c protocol.PathOutcome) bool {
	return c.Did.Known() && !c.Cut && soundKind(c.Version) && soundSentence(c.NoLease) && soundWords(c.NotKept) &&
		len(c.After) <= maxAfter && !slices.ContainsFunc(c.After, func(s string) bool { return !soundSentence(s) })
}

func soundKind(v *action.Version) bool {
	return v == nil || v.Kind == action.Regular || v.Kind == action.Symlink
}

func soundSentence(s string) bool { return len(s) <= maxSaid && harmless(s) }

// unbelieved is the outcome where a scribe's answer is malformed: it says
// nothing about the disk.
func unbelieved(in protocol.Intent) protocol.Outcome {
	out := protocol.Outcome{Result: protocol.Unknown, Words: "the scribe's answer was malformed"}
	for _, f := range in.Facts {
		out.Changes = append(out.Changes, protocol.PathOutcome{Path: f.Path, Did: protocol.Unsettled})
	}
	return out
}
