package protocol

import "countersign/internal/action"

// The reader's method for the keeper, and the scribe's, of git actions.
const (
	GitPreview = "executor.git-preview"
	GitWrite   = "executor.git-write"
)

// MaxGitStaged bounds the paths of one git action.
const MaxGitStaged = 2048

// GitPreviewParams asks what a git action would do: a git-write, or the undo of
// a commit.
type GitPreviewParams struct {
	Policy action.Hash   `cbor:"policy"`
	Action action.Action `cbor:"action"`
}

// GitPreviewResult is what it would do, and the account of that.
type GitPreviewResult struct {
	Plan   GitPlan       `cbor:"plan"`
	Detail action.Detail `cbor:"detail"`
}

// GitPlan is everything that a git action rests on and leads to: found by the
// reader for the keeper, and by the scribe again for itself. The two are
// compared whole.
type GitPlan struct {
	Repository action.Path   `cbor:"repository"`       // the root of the work tree, as it was asked for
	Common     action.Path   `cbor:"common"`           // the common directory's, spelled from the home as the policy lists it
	Branch     action.Path   `cbor:"branch,omitempty"` // the whole name of what HEAD names; none where it is detached
	Head       string        `cbor:"head,omitempty"`   // the commit that HEAD leads to; none of an unborn branch
	Tree       string        `cbor:"tree,omitempty"`   // of a commit: the tree that it has
	Files      []GitStaged   `cbor:"files"`            // what changes, in path order
	Stage      []action.Path `cbor:"stage"`            // relative paths at which the work tree differs from the index, in order

	// Of a commit.
	Author    GitIdent `cbor:"author"`
	Committer GitIdent `cbor:"committer"`
	Foreign   bool     `cbor:"foreign,omitempty"`  // the repository's configuration sets who it is by, and the person's does not
	Unsigned  bool     `cbor:"unsigned,omitempty"` // a configuration asks for a signature
	Hooks     []string `cbor:"hooks,omitempty"`    // that are there, and are not run
}

// GitIdent is who a commit is by.
type GitIdent struct {
	Name  string `cbor:"name,omitempty"`
	Email string `cbor:"email,omitempty"`
}

// GitStaged is one path of a git action: what stood in the last commit, and what
// is to stand there. Modes are git's; a mode and a hash are empty where nothing
// stands.
type GitStaged struct {
	Path    action.Path  `cbor:"path"` // relative to the root
	OldMode string       `cbor:"old-mode,omitempty"`
	Old     string       `cbor:"old,omitempty"`
	NewMode string       `cbor:"new-mode,omitempty"`
	New     string       `cbor:"new,omitempty"`
	Content *action.Hash `cbor:"content,omitempty"` // of what stands in the work tree, where a file does
}

// GitIntent is what an intent says of a git action beside the action itself.
type GitIntent struct {
	Plan   GitPlan `cbor:"plan"`
	When   int64   `cbor:"when"`   // of the commit, in seconds since 1970
	Staged string  `cbor:"staged"` // a name of the scribe's own in the git directory
}

// GitOutcome is what a git action left.
type GitOutcome struct {
	Branch action.Path `cbor:"branch,omitempty" json:"branch,omitempty"`
	Commit string      `cbor:"commit,omitempty" json:"commit,omitempty"` // that the branch points to now; none where it is unborn
	Was    string      `cbor:"was,omitempty" json:"was,omitempty"`
	Notes  []string    `cbor:"notes,omitempty" json:"notes,omitempty"`
}
