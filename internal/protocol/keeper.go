package protocol

import (
	"time"

	"countersign/internal/action"
	"countersign/internal/classify"
	"countersign/internal/refusal"
)

// Nonce makes a proposal repeatable: sent again, it is answered with the ID it
// got the first time.
type Nonce [16]byte

// ActParams proposes an action, with one sentence of the proposer's own.
type ActParams struct {
	Nonce    Nonce         `cbor:"nonce"`
	Action   action.Action `cbor:"action"`
	Sentence string        `cbor:"sentence"`
}

// MaxSentence bounds the proposer's sentence, in bytes.
const MaxSentence = 1000

// IDParams names a transaction: for await, withdraw and show.
type IDParams struct {
	ID action.ID `cbor:"id"`
}

// State is where a transaction stands.
type State string

// Waiting, approved and intent are passed through; the others are ends.
const (
	StateWaiting   State = "waiting"
	StateApproved  State = "approved"
	StateIntent    State = "intent"
	StateLanded    State = "landed"
	StateNotLanded State = "not-landed"
	StateUnknown   State = "unknown"
	StateRefused   State = "refused"
	StateDenied    State = "denied"
	StateWithdrawn State = "withdrawn"
	StateExpired   State = "expired"
)

// Ended says whether nothing more happens to a transaction in this state.
func (s State) Ended() bool {
	return s != StateWaiting && s != StateApproved && s != StateIntent
}

// Time is nanoseconds since 1970; 0 is not yet. In JSON it is RFC 3339, UTC.
type Time int64

// Time gives t as the standard library's.
func (t Time) Time() time.Time { return time.Unix(0, int64(t)) }

// MarshalText writes RFC 3339.
func (t Time) MarshalText() ([]byte, error) {
	return t.Time().UTC().AppendFormat(nil, time.RFC3339Nano), nil
}

// UnmarshalText reads RFC 3339.
func (t *Time) UnmarshalText(b []byte) error {
	at, err := time.Parse(time.RFC3339Nano, string(b))
	*t = Time(at.UnixNano())
	return err
}

// Transaction is an action and what became of it.
type Transaction struct {
	ID         action.ID         `cbor:"id" json:"id"`
	State      State             `cbor:"state" json:"state"`
	By         string            `cbor:"by" json:"by"` // the agent's name, or the person's
	UID        uint32            `cbor:"uid" json:"uid"`
	Person     string            `cbor:"person" json:"person"`
	Capability action.Capability `cbor:"capability" json:"capability"`
	Paths      []action.Path     `cbor:"paths" json:"paths"`                   // the first MaxPaths
	More       uint64            `cbor:"more,omitempty" json:"more,omitempty"` // paths beyond those
	Sentence   string            `cbor:"sentence" json:"sentence"`
	Digest     action.Hash       `cbor:"digest" json:"digest"`

	Self        bool `cbor:"self,omitempty" json:"self,omitempty"`               // proposed by one who may approve it
	Unseparated bool `cbor:"unseparated,omitempty" json:"unseparated,omitempty"` // no separation of users stands

	Verdict    string            `cbor:"verdict" json:"verdict"`
	Rule       string            `cbor:"rule" json:"rule"` // what in the policy decided
	Reasons    []classify.Reason `cbor:"reasons,omitempty" json:"reasons,omitempty"`
	Reversible bool              `cbor:"reversible" json:"reversible"`
	Prefix     string            `cbor:"prefix,omitempty" json:"prefix,omitempty"` // of what an owner is shown
	Stale      uint64            `cbor:"stale,omitempty" json:"stale,omitempty"`   // times it was previewed again

	Proposed  Time   `cbor:"proposed" json:"proposed"`
	Decided   Time   `cbor:"decided,omitempty" json:"decided,omitempty"`
	Ended     Time   `cbor:"ended,omitempty" json:"ended,omitempty"`
	DecidedBy string `cbor:"decided-by,omitempty" json:"decided_by,omitempty"`
	Why       string `cbor:"why,omitempty" json:"why,omitempty"` // the owner's words to the agent

	Outcome  *Outcome         `cbor:"outcome,omitempty" json:"outcome,omitempty"`
	Refusal  *refusal.Refusal `cbor:"refusal,omitempty" json:"refusal,omitempty"`
	UndoOf   action.ID        `cbor:"undo-of,omitempty" json:"undo_of,omitempty"`
	UndoneBy action.ID        `cbor:"undone-by,omitempty" json:"undone_by,omitempty"`
	InPart   bool             `cbor:"in-part,omitempty" json:"in_part,omitempty"` // that undo left some paths as they were

	// Of an undo: what it leaves as it is, in a list the first MaxPaths.
	Leaves     []action.Leave `cbor:"leaves,omitempty" json:"leaves,omitempty"`
	MoreLeaves uint64         `cbor:"more-leaves,omitempty" json:"more_leaves,omitempty"`

	// Of one that landed, where it is answered alone: the regions that changed,
	// as they stand now, and how many files have one that did not fit.
	Regions     []action.Region `cbor:"regions,omitempty" json:"regions,omitempty"`
	MoreRegions uint64          `cbor:"more-regions,omitempty" json:"more_regions,omitempty"`
}

// MaxPaths is how many paths of a transaction are told in a list, with as many
// of its outcome's; where it is answered alone, the outcome has all of them, as
// far as they fit.
const MaxPaths = 16

// Bounds on what one answer tells of an outcome and its regions, or of what an
// undo leaves, in bytes: of a transaction that is answered alone, and of one
// that is shown. What became of every path comes first, then what was kept
// aside, then what there is to say of each, then what stands there now, then
// the regions; what does not fit is said to be left out.
const (
	MaxAnswer = 256 << 10
	MaxShown  = 2 << 20
)

// ListResult is a list of transactions: what waits, oldest first, or the log,
// newest first. More says how many of them did not fit.
type ListResult struct {
	Transactions []Transaction `cbor:"transactions" json:"transactions"`
	More         uint64        `cbor:"more,omitempty" json:"more,omitempty"`
	Unseparated  bool          `cbor:"unseparated,omitempty" json:"unseparated,omitempty"`
}

// PendingParams asks for what waits, or with After for what was proposed after
// one transaction, whatever became of that: a list longer than an answer is
// asked for in pieces.
type PendingParams struct {
	After action.ID `cbor:"after,omitempty"`
}

// LogParams asks for the newest transactions, or with Before for those proposed
// before one; those that were refused are left out unless asked for, so that
// an agent's refusals do not bury what landed. Every other field narrows the
// list to what it names.
type LogParams struct {
	Limit   uint64    `cbor:"limit"`
	Before  action.ID `cbor:"before,omitempty"`
	Refused bool      `cbor:"refused,omitempty"`

	By         string            `cbor:"by,omitempty"`         // proposed by this agent, or person
	Path       action.Path       `cbor:"path,omitempty"`       // about this path, or one beneath it
	Capability action.Capability `cbor:"capability,omitempty"` // of this kind
	State      State             `cbor:"state,omitempty"`      // that stands so
	Since      Time              `cbor:"since,omitempty"`      // proposed then or later
	Until      Time              `cbor:"until,omitempty"`      // proposed before then
}

// WatchParams asks what has changed since an earlier answer: Seen is what that
// answer said, and 0 asks only how things stand.
type WatchParams struct {
	Seen uint64 `cbor:"seen,omitempty"`
}

// WatchResult has the transactions that have changed since, as they stand now,
// in the order of their last change; nothing for as long as a watch may take is
// an answer too. Lost says that the keeper no longer knows what changed: what
// waits is asked for anew then.
type WatchResult struct {
	Seen        uint64        `cbor:"seen" json:"seen"`
	Changed     []Transaction `cbor:"changed" json:"changed"`
	Lost        bool          `cbor:"lost,omitempty" json:"lost,omitempty"`
	Agents      []Agent       `cbor:"agents" json:"agents"` // of the policy
	Unseparated bool          `cbor:"unseparated,omitempty" json:"unseparated,omitempty"`
}

// Agent is an agent that policy names.
type Agent struct {
	Name string `cbor:"name" json:"name"`
	UID  uint32 `cbor:"uid" json:"uid"`
}

// MaxList bounds the transactions of one answer.
const MaxList = 200

// ShowResult is one transaction whole. Detail is there where it was made or
// can be made from what was captured. Cut says what did not fit the answer: the
// action first, and then, of one that does not wait, diffs from the end.
type ShowResult struct {
	Transaction Transaction    `cbor:"transaction" json:"transaction"`
	Action      *action.Action `cbor:"action,omitempty" json:"action,omitempty"`
	Detail      *action.Detail `cbor:"detail,omitempty" json:"detail,omitempty"`
	Cut         []string       `cbor:"cut,omitempty" json:"cut,omitempty"`
}

// DecideParams is an owner's decision on exactly what the prefix names.
type DecideParams struct {
	ID      action.ID `cbor:"id"`
	Prefix  string    `cbor:"prefix,omitempty"` // needed to approve
	Approve bool      `cbor:"approve"`
	Why     string    `cbor:"why,omitempty"`
}

// UndoParams asks for a transaction to be taken back. Without a prefix it is
// previewed and waits; with the prefix of that preview it is its own consent.
type UndoParams struct {
	ID     action.ID `cbor:"id"`
	Prefix string    `cbor:"prefix,omitempty"`
}

// VerifyResult is what a walk over the whole journal found.
type VerifyResult struct {
	Segments uint64      `cbor:"segments" json:"segments"`
	Records  uint64      `cbor:"records" json:"records"`
	Bodies   uint64      `cbor:"bodies" json:"bodies"`
	Bytes    uint64      `cbor:"bytes" json:"bytes"`
	Head     action.Hash `cbor:"head" json:"head"`

	Unseparated bool `cbor:"unseparated,omitempty" json:"unseparated,omitempty"`
}

// StatusResult is the keeper's account of itself.
type StatusResult struct {
	Policy      action.Hash    `cbor:"policy" json:"policy"`
	Unseparated bool           `cbor:"unseparated" json:"unseparated"`
	UID         uint32         `cbor:"uid" json:"uid"`
	PID         uint64         `cbor:"pid" json:"pid"`
	Walls       []string       `cbor:"walls" json:"walls"`
	Waiting     uint64         `cbor:"waiting" json:"waiting"`
	Records     uint64         `cbor:"records" json:"records"`
	Head        action.Hash    `cbor:"head" json:"head"`
	Cut         string         `cbor:"cut,omitempty" json:"cut,omitempty"` // what a torn tail lost at the last start
	Persons     []PersonStatus `cbor:"persons" json:"persons"`
}

// PersonStatus says whether a person's two processes answer, and behind which
// walls.
type PersonStatus struct {
	Name   string `cbor:"name" json:"name"`
	Home   string `cbor:"home" json:"home"`
	UID    uint32 `cbor:"uid" json:"uid"`
	Reader string `cbor:"reader" json:"reader"` // "answers", or why not
	Scribe string `cbor:"scribe" json:"scribe"`

	ReaderWalls []string `cbor:"reader-walls,omitempty" json:"reader_walls,omitempty"`
	ScribeWalls []string `cbor:"scribe-walls,omitempty" json:"scribe_walls,omitempty"`

	ReaderGit *GitRun `cbor:"reader-git,omitempty" json:"reader_git,omitempty"`
	ScribeGit *GitRun `cbor:"scribe-git,omitempty" json:"scribe_git,omitempty"`
}
