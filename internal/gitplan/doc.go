// Package gitplan works out what a git action would do: which paths a commit
// would stage, the tree that it would make, by whom it would be, and what an
// owner is shown of that.
//
// It runs in the reader, for the keeper, and in the scribe again, for itself;
// the two are compared. It writes nothing: what is to be stored is hashed by git
// without storing it, and the tree is put together here from the index's entries
// and those hashes, so that the process which reads has no way to write even for
// this. The scribe has git make the tree, and holds it against this one: where
// they differ, nothing is committed.
//
// It does NOT decide anything, and nothing that a repository configures is run.
package gitplan
