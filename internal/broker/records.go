package broker

import (
	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/classify"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// The kinds of record that the keeper writes, each with its content below.
// docs/journal.md describes them for whoever reads a journal without this
// program.
const (
	kindProposed  = "proposed"
	kindRefused   = "refused"
	kindDecided   = "decided"
	kindStale     = "stale"
	kindWithdrawn = "withdrawn"
	kindExpired   = "expired"
	kindIntent    = "intent"
	kindOutcome   = "outcome"
	kindSettled   = "settled"
	kindKept      = "kept"         // a displaced file that could not be put back; body: capture
	kindPeer      = "refused-peer" // counted, one a minute
)

// The roles of bodies, beside the vault's.
const (
	roleAction = "action" // canonical encoding of the action
	roleDetail = "detail" // of the detail an owner is shown
	roleIntent = "intent" // of an intentBody
	roleResult = "result" // of an outcome with all its paths
)

// proposed opens a transaction. Body: action.
type proposed struct {
	By          string            `cbor:"by"`
	UID         uint32            `cbor:"uid"`
	Person      string            `cbor:"person"`
	Nonce       *protocol.Nonce   `cbor:"nonce,omitempty"` // none for an undo
	Capability  action.Capability `cbor:"capability"`
	Paths       []action.Path     `cbor:"paths"`          // the first protocol.MaxPaths
	More        uint64            `cbor:"more,omitempty"` // paths beyond those
	Sentence    string            `cbor:"sentence"`
	Digest      action.Hash       `cbor:"digest"`
	Self        bool              `cbor:"self,omitempty"`
	Unseparated bool              `cbor:"unseparated,omitempty"`
	UndoOf      action.ID         `cbor:"undo-of,omitempty"`
	Leaves      []action.Leave    `cbor:"leaves,omitempty"`      // of an undo: the first protocol.MaxPaths that it leaves as they are
	MoreLeaves  uint64            `cbor:"more-leaves,omitempty"` // beyond those
	Judged      *judged           `cbor:"judged,omitempty"`      // none where it was refused before
}

// judged is what classification and policy made of a preview, and the prefix
// that an owner approves it by. Body where it asks: detail.
type judged struct {
	Verdict    string            `cbor:"verdict"`
	Rule       string            `cbor:"rule"`
	Reasons    []classify.Reason `cbor:"reasons,omitempty"`
	Reversible bool              `cbor:"reversible"`
	Prefix     string            `cbor:"prefix,omitempty"` // 64 hex digits; where it asks
}

// refused ends a transaction before its intent.
type refused struct {
	Refusal refusal.Refusal `cbor:"refusal"`
}

// decided is a decision: policy's, or an owner's on a prefix.
type decided struct {
	Approve bool   `cbor:"approve"`
	By      string `cbor:"by"` // "policy", or a person's name
	UID     uint32 `cbor:"uid,omitempty"`
	Prefix  string `cbor:"prefix,omitempty"`
	Why     string `cbor:"why,omitempty"`
}

// stale says that disk moved on: the transaction waits on a new preview.
type stale struct {
	Judged judged `cbor:"judged"`
}

// ended ends a transaction without more to say: withdrawn, expired.
type ended struct{}

// intended says that what follows may have happened from here on. Bodies: an
// intentBody, then the captures that were not in the vault yet.
type intended struct {
	Policy action.Hash `cbor:"policy"`
}

// intentBody is a protocol.Intent without what the transaction has already.
type intentBody struct {
	Facts    []action.Fact       `cbor:"facts"`
	Results  []action.Image      `cbor:"results"`
	Staged   []string            `cbor:"staged"`
	Approved *action.Hash        `cbor:"approved,omitempty"`
	Git      *protocol.GitIntent `cbor:"git,omitempty"`
}

// outcome ends an intent, as the scribe answered it or, of kind settled, as it
// was found out afterwards. It names the first protocol.MaxPaths paths; where
// there are more, a body has them all: result.
type outcome struct {
	Outcome protocol.Outcome `cbor:"outcome"`
}

// peer counts callers that were turned away.
type peer struct {
	Socket string `cbor:"socket"`
	UID    uint32 `cbor:"uid"`
	Count  uint64 `cbor:"count"`
	Code   string `cbor:"code"`
}

// decode reads a record's content as what its kind says it is.
func decode[T any](raw canon.Raw) (T, error) {
	var v T
	err := canon.Decode(raw, &v)
	return v, err
}
