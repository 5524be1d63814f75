// Package protocol is what Countersign's processes say to one another: the
// methods of each socket, and what goes with them. Servers fill their tables
// from it and clients call by it; docs/wire.md describes it for others.
//
// It holds data only. Who may call what stands in each server's table.
package protocol

import (
	"countersign/internal/action"
	"countersign/internal/refusal"
)

// The keeper's methods. Act, Await and Withdraw are on the act socket; Pending,
// Show and Log on both, there for the caller's own actions; the rest on the
// consent socket.
const (
	Act      = "keeper.act"
	Await    = "keeper.await"
	Withdraw = "keeper.withdraw"
	Pending  = "keeper.pending"
	Show     = "keeper.show"
	Log      = "keeper.log"
	Watch    = "keeper.watch"
	Decide   = "keeper.decide"
	Undo     = "keeper.undo"
	Verify   = "keeper.verify"
	Status   = "keeper.status"
	Allow    = "keeper.allow"
	Revoke   = "keeper.revoke"
)

// The reader's method for the keeper, the scribe's, and the one that both have.
const (
	Capture        = "executor.capture"
	FileWrite      = "executor.file-write"
	Settle         = "executor.settle"
	ExecutorStatus = "executor.status"
)

// ExecutorStatusResult is a reader's or scribe's account of itself.
type ExecutorStatusResult struct {
	Policy action.Hash `cbor:"policy"`
	UID    uint32      `cbor:"uid"`
	PID    uint64      `cbor:"pid"`
	Walls  []string    `cbor:"walls"`
	Git    *GitRun     `cbor:"git,omitempty"`
}

// ExitAgain is the exit code of a daemon that has finished what it had and must
// be started again on the same sockets, because what it was started on has
// changed. It is no failure. (sysexits.h calls it a temporary one.)
const ExitAgain = 75

// MaxCapture bounds the targets of one capture: each may bring a handle, and
// that is how many one answer carries.
const MaxCapture = 64

// CaptureParams asks for what stands at the targets of an action, MaxCapture of
// them at most. Every call between daemons carries the digest of the policy its
// caller holds.
type CaptureParams struct {
	Policy  action.Hash     `cbor:"policy"`
	Targets []action.Target `cbor:"targets"`
}

// CaptureResult has a fact for each target, and with it rides one read-only
// handle for each fact that has a regular file, in the same order.
type CaptureResult struct {
	Facts []action.Fact `cbor:"facts"`
}

// Intent is what the keeper has decided and journaled, and all a scribe needs
// to carry it out or, after a crash, to find out how far it came.
type Intent struct {
	ID       action.ID      `cbor:"id"`
	Action   action.Action  `cbor:"action"`
	Facts    []action.Fact  `cbor:"facts"`              // what was captured, a path each
	Results  []action.Image `cbor:"results"`            // what was planned to stand there
	Staged   []string       `cbor:"staged"`             // the name beside each path
	Approved *action.Hash   `cbor:"approved,omitempty"` // hash of the detail an owner approved
	Git      *GitIntent     `cbor:"git,omitempty"`      // of a git action
}

// IntentParams goes to the scribe, for file-write and for settle.
type IntentParams struct {
	Policy action.Hash `cbor:"policy"`
	Intent Intent      `cbor:"intent"`
}

// Result says what became of an intent.
type Result string

const (
	Landed    Result = "landed"
	NotLanded Result = "not-landed"
	Partial   Result = "partial" // some paths changed, and could not be taken back
	Unknown   Result = "unknown" // disk is neither as it was nor as planned
)

// Outcome is how an intent ended. One that was refused before anything was
// changed is answered with the refusal instead. Where it does not fit, More and
// MoreKept say how many of a list are left out: a scribe leaves out none.
type Outcome struct {
	Result   Result           `cbor:"result" json:"result"`
	Changes  []PathOutcome    `cbor:"changes" json:"changes"`
	More     uint64           `cbor:"more,omitempty" json:"more,omitempty"`
	Words    string           `cbor:"words,omitempty" json:"words,omitempty"` // how it was found out, where it was not simply done
	Kept     []KeptAside      `cbor:"kept,omitempty" json:"kept,omitempty"`
	MoreKept uint64           `cbor:"more-kept,omitempty" json:"more_kept,omitempty"`
	Refused  *refusal.Refusal `cbor:"refused,omitempty" json:"refused,omitempty"` // of NotLanded and Partial: why
	Git      *GitOutcome      `cbor:"git,omitempty" json:"git,omitempty"`         // of a git action that landed
}

// PathOutcome is what became of one path, and what stands there now.
type PathOutcome struct {
	Path       action.Path     `cbor:"path" json:"path"`
	Did        Did             `cbor:"did,omitempty" json:"did,omitempty"`
	Version    *action.Version `cbor:"version,omitempty" json:"version,omitempty"`       // none where nothing stands there
	Attributes *action.Hash    `cbor:"attributes,omitempty" json:"attributes,omitempty"` // of its extended attributes, if it has any
	Links      uint64          `cbor:"links,omitempty" json:"links,omitempty"`           // other names that keep the old content
	NotKept    []string        `cbor:"not-kept,omitempty" json:"not_kept,omitempty"`     // what the old file had and the new one has not
	NoLease    string          `cbor:"no-lease,omitempty" json:"no_lease,omitempty"`     // why only the exchange stood against other writers
	After      []string        `cbor:"after,omitempty" json:"after,omitempty"`           // what failed after it had landed
	Cut        bool            `cbor:"cut,omitempty" json:"cut,omitempty"`               // some of this did not fit: keeper.show has it
}

// Did says what became of one path.
type Did string

const (
	Created   Did = "created"
	Replaced  Did = "replaced"
	Deleted   Did = "deleted"
	Untouched Did = "untouched"  // as it was
	TakenBack Did = "taken-back" // changed for an instant
	Overtaken Did = "overtaken"  // somebody else's work stands there
	Unsettled Did = "unsettled"  // neither as it was nor as planned
)

// Changed says whether the path was left as the action planned it.
func (d Did) Changed() bool { return d == Created || d == Replaced || d == Deleted }

// Known says whether d is one of the above.
func (d Did) Known() bool {
	switch d {
	case Untouched, TakenBack, Overtaken, Unsettled:
		return true
	}
	return d.Changed()
}

// KeptAside is a file of somebody else's that an exchange displaced and that
// could not be put back: it stays under its staged name, and its handle rides
// with the answer.
type KeptAside struct {
	Path    action.Path    `cbor:"path" json:"path"`
	Version action.Version `cbor:"version" json:"version"`
}
