// Package lab runs Countersign's four programs for tests, as real processes
// under real uids: homes, an `up`, its commands as any user, and connections
// that the kernel attributes to any user.
//
// It is a package for tests alone. It promises that what it started has ended,
// and what it made is gone, once Close returns. It does NOT judge anything:
// every method gives what happened, and the tests say what should have.
package lab

// The users of a lab. None has an entry in any directory of users.
const (
	Alice    = 61201 // a person
	Bob      = 61202 // a person
	Claude   = 61211 // an agent of both
	Other    = 61212 // an agent of both
	Keeper   = 61221
	Stranger = 61231 // nobody that a policy names
)
