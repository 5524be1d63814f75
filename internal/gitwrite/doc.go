// Package gitwrite is the scribe's hands on repositories. It carries out what the
// keeper has decided and journaled: a commit of everything, or the way back from
// one.
//
// It works out again what the action would do (package gitplan), and touches
// nothing where that is not the plan that was decided on. Then, of a commit:
//
//	the index is copied, with its time, under a name of its own beside it;
//	git update-index takes what was planned into the copy, and git write-tree
//	    makes its tree, which must be the planned one;
//	index.lock, which is git's own lock, is made as a symbolic link that names
//	    the copy; held by others it means busy, tried again Tries times;
//	the index must still be what was copied, and HEAD what was planned;
//	git commit-tree makes the commit, its times from the intent: it is the same
//	    commit however often it is made;
//	git update-ref moves the branch from what was planned to the commit, with an
//	    entry in its log, and refuses where it points elsewhere;
//	the copy is renamed over the index, and the lock is removed.
//
// Ended at any instant, the branch says whether the commit was made, and the
// lock's link and the copy's name whose they are: Settle finishes what was
// committed, removes what was not, and says unknown where the branch points to
// neither and the commit is no ancestor of it.
//
// Objects that were made for a commit that did not come to be stay, as git leaves
// them, until git collects them. It does NOT run anything that a repository
// configures, write outside its git directory, or sign.
package gitwrite
