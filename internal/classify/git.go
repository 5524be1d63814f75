package classify

import (
	"countersign/internal/action"
)

// Git is what a git action amounts to, beside what it asks for.
type Git struct {
	Repository     action.Path
	Capability     action.Capability
	Kept           bool          // what it replaces is kept: by git, or in the vault
	InSnapshotRoot bool          // the repository is under a snapshot root of the policy
	Others         []action.Path // that it would commit, and that its proposer did not land as they are
	Foreign        bool          // the repository's own configuration says whom the commit is by
}

// ClassifyGit says what a git action amounts to.
func ClassifyGit(g Git) Class {
	c := Class{Capability: g.Capability, Reversible: g.Kept, Reasons: []Reason{}}
	add := func(n Name, path action.Path, why string) {
		c.Reasons = append(c.Reasons, Reason{Name: n, Path: path, Why: why})
	}
	if !g.InSnapshotRoot {
		add(OutsideSnapshot, g.Repository, "it lies under no snapshot root")
	}
	if g.Capability == action.CapGitDiscard {
		add(DataDeletion, g.Repository, "uncommitted work is destroyed")
	}
	for _, p := range g.Others {
		add(OthersWork, p, "its proposer did not make this change")
	}
	if g.Foreign {
		add(ForeignIdentity, g.Repository, "the repository's own configuration says whom the commit is by")
	}
	c.Reasons = sorted(c.Reasons)
	if c.Reversible {
		c.By = ByGit
	}
	return c
}
