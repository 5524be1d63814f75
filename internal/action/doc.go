// Package action is Countersign's closed vocabulary: what an agent can
// propose, how it is encoded and digested, what carrying it out would leave on
// disk, and the account an owner is shown of that.
//
// Everything in it is pure. Keeper and scribe run the same planner over the
// same action and the same bytes, each on its own side of a socket, and the
// scribe compares: that is how what the owner approved and what lands are the
// same thing.
//
// The canonical encoding is core deterministic CBOR with text keys; the digest
// is its SHA-256. docs/wire.md has the bytes.
//
// It does NOT judge places (package grant), consequences (classify) or
// permission (policy), and nothing in it has touched a disk.
package action
