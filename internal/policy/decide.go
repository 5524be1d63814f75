package policy

import (
	"fmt"
	"slices"

	"countersign/internal/action"
	"countersign/internal/classify"
)

// Verdict is what becomes of an action.
type Verdict string

// The verdicts.
const (
	Auto Verdict = "auto" // it lands at once
	Ask  Verdict = "ask"  // an owner decides
	Deny Verdict = "deny" // it is refused
)

// Proposer is who proposed an action, as far as a decision turns on it.
type Proposer struct {
	Agent string // name; empty where no agent proposed
	Self  bool   // the proposer's uid may approve for this home
}

// Decision is what policy makes of an action.
type Decision struct {
	Verdict Verdict           `cbor:"verdict" json:"verdict"`
	Rule    string            `cbor:"rule" json:"rule"` // for people: the line of the policy, or the rule of Countersign's own, that decided
	Reasons []classify.Reason `cbor:"reasons" json:"reasons"`
}

// Decide is the decision on an action of class c. The first of these that
// applies gives verdict and rule:
//
//  1. the capability is one that no policy decides, or its verdict is deny: deny;
//  2. a reason on the ask list: ask;
//  3. it is not reversible: ask;
//  4. its proposer could approve it, and the policy is not unseparated: ask;
//  5. the verdict of the capability.
//
// Reasons has those of c that are on the ask list, unless it is denied.
func (p *Policy) Decide(c classify.Class, who Proposer) Decision {
	verdict, known := p.Verdicts[c.Capability]
	d := Decision{Verdict: Ask, Reasons: []classify.Reason{}}
	switch {
	case c.Capability == action.CapUndo:
		d.Rule = "an undo is the owner's own"
		return d
	case !known:
		d.Verdict, d.Rule = Deny, fmt.Sprintf("no policy decides the capability %q", c.Capability)
		return d
	case verdict == Deny:
		d.Verdict, d.Rule = Deny, p.verdictRule(c.Capability, verdict)
		return d
	}
	for _, r := range c.Reasons {
		if p.Asks[r.Name] {
			d.Reasons = append(d.Reasons, r)
		}
	}
	switch {
	case len(d.Reasons) > 0:
		d.Rule = p.lines.cite("decide.ask", fmt.Sprintf("decide.ask has %q", d.Reasons[0].Name))
	case !c.Reversible:
		d.Rule = "what cannot be undone is asked"
	case who.Self && !p.Consent.Unseparated:
		d.Rule = "whoever could approve it proposed it"
	default:
		d.Verdict, d.Rule = verdict, p.verdictRule(c.Capability, verdict)
	}
	return d
}

func (p *Policy) verdictRule(c action.Capability, v Verdict) string {
	key := "decide." + string(c)
	return p.lines.cite(key, fmt.Sprintf("%s = %q", key, v))
}

// decided lists the capabilities that a policy gives a verdict for.
func decided() []action.Capability {
	return []action.Capability{action.CapFileWrite, action.CapFileDelete, action.CapGitCommit, action.CapGitDiscard}
}

func knownVerdict(v string) bool { return slices.Contains([]Verdict{Auto, Ask, Deny}, Verdict(v)) }
