package protocol

import "countersign/internal/refusal"

import "countersign/internal/action"

// Missed is a place that a walk met and could not look into.
type Missed struct {
	Path action.Path  `cbor:"path" json:"path"`
	Code refusal.Code `cbor:"code" json:"code"`
	Why  string       `cbor:"why" json:"why"`
}

// Walked is what every walk's answer says of the walk itself.
type Walked struct {
	// Next goes on behind it: the last place that was dealt with, to be sent
	// back as After. It is there where the walk stopped at one of its bounds.
	Next action.Path `cbor:"next,omitempty" json:"next,omitempty"`
	// Left is the directories that a walk which stopped did not enter, or did
	// not finish, in path order: the first of them, and how many more of those
	// that it knew of.
	Left     []action.Path `cbor:"left,omitempty" json:"left,omitempty"`
	LeftMore uint64        `cbor:"left-more,omitempty" json:"left_more,omitempty"`
	// Missed is what could not be looked into, the first of them, and how many
	// more.
	Missed     []Missed `cbor:"missed,omitempty" json:"missed,omitempty"`
	MissedMore uint64   `cbor:"missed-more,omitempty" json:"missed_more,omitempty"`
	// Passed counts what was passed over: repositories' own files,
	// dependencies, builds, and what ignore files cover.
	Passed uint64 `cbor:"passed,omitempty" json:"passed,omitempty"`
}
