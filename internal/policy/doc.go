// Package policy is the owner's word: who is who, what may be reached, and
// what is done with an action of which class.
//
// It is one TOML file of the administrator's, which reader, scribe and keeper
// each read for themselves; its digest travels with every request. Parse and
// Decide are pure. Load is the only part that touches a disk, and it refuses a
// file that anybody but root or the calling user could have written.
//
// The file is held to its meaning, not only to its form: an unknown key, a
// wrong type, and a setting that could never act are errors, each with its key
// and its line, all of them at once. docs/policy.md is the reference, and its
// example is parsed by this package's tests.
//
// It does NOT check that the persons, uids and directories exist (the daemons
// never ask a directory service), nor who may write to the directories above
// the file.
package policy
