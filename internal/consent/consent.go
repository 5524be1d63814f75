// Package consent says what an approval names.
//
// An owner approves a text on a screen, by the prefix that stands beside it.
// The prefix is the beginning of a SHA-256 over everything that text was made
// of, so a proposal that was replaced, or previewed again on another disk, has
// another one, and cannot be approved by a person who has not seen it.
//
// It does NOT know who may approve (policy) or what waits (broker).
package consent

import (
	"strings"

	"countersign/internal/action"
	"countersign/internal/canon"
)

// Lengths of a prefix, in hex digits: what is shown, and what is needed at
// least.
const (
	PrefixShown = 16
	prefixWhole = 64
)

// Shown is everything that an approval binds.
type Shown struct {
	ID         action.ID
	Digest     action.Hash
	Facts      []action.Fact
	Detail     action.Hash
	Git        *action.Hash // of everything that a git action rests on
	Reversible bool
}

// seen is what of a fact a person was shown: a touch or a backup of the file
// leaves it as it is.
type seen struct {
	Path    action.Path    `cbor:"path"`
	Real    action.Path    `cbor:"real"`
	Landing action.Landing `cbor:"landing"`
	Image   action.Image   `cbor:"image"`
	UID     uint32         `cbor:"uid"`
}

// Prefix gives the whole digest, of which PrefixShown digits are shown.
func (s Shown) Prefix() (string, error) {
	bound := struct {
		ID         action.ID    `cbor:"id"`
		Digest     action.Hash  `cbor:"digest"`
		Bases      []seen       `cbor:"bases"`
		Detail     action.Hash  `cbor:"detail"`
		Git        *action.Hash `cbor:"git,omitempty"`
		Reversible bool         `cbor:"reversible"`
	}{ID: s.ID, Digest: s.Digest, Detail: s.Detail, Git: s.Git, Reversible: s.Reversible}
	for _, f := range s.Facts {
		one := seen{Path: f.Path, Real: f.Real, Landing: f.Base.Landing, Image: f.Image()}
		if f.Base.Version != nil {
			one.UID = f.Base.Version.UID
		}
		bound.Bases = append(bound.Bases, one)
	}
	b, err := canon.Encode(bound)
	if err != nil {
		return "", err
	}
	return action.HashOf(b).String(), nil
}

// Names says whether what an owner gave is a beginning of the whole prefix,
// long enough to name nothing else.
func Names(given, whole string) bool {
	return len(given) >= PrefixShown && len(whole) == prefixWhole && strings.HasPrefix(whole, strings.ToLower(given))
}
