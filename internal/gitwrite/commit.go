package gitwrite

import (
	"bytes"
	"strings"

	"countersign/internal/action"
	"countersign/internal/gitplan"
	"countersign/internal/gitrun"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// commit makes the planned commit. Until the branch moves, whatever fails leaves
// the repository as it was.
func (w *work) commit() (out protocol.Outcome, err error) {
	moved := false
	defer func() {
		if !moved {
			w.tidy()
		}
		if err != nil {
			err = gitplan.Refuse(w.Path, err)
		}
	}()
	was, err := w.stage()
	if err != nil {
		return out, err
	}
	if err := w.lock(was); err != nil {
		return out, err
	}
	made, err := w.makeCommit()
	if err != nil {
		return out, err
	}
	if moved, err = w.move(made); err != nil {
		return out, err
	}
	return w.committed(made, w.finish()), nil
}

// stage makes the index of the commit beside the repository's own, whose content
// is given, and has git make its tree: the planned one.
func (w *work) stage() (was []byte, err error) {
	if err := w.cfg.At(Copy); err != nil {
		return nil, err
	}
	if was, err = w.dir.copyIndex(w.in.Git.Staged); err != nil {
		return nil, err
	}
	if err := w.cfg.At(Stage); err != nil {
		return nil, err
	}
	var paths bytes.Buffer
	for _, p := range w.Plan.Stage {
		paths.WriteString(string(p) + "\x00")
	}
	values := gitrun.Values{Index: w.staged()}
	if _, err := w.git(gitrun.Stage, values, paths.Bytes()); err != nil {
		return nil, err
	}
	tree, err := hash(w.git(gitrun.WriteTree, values, nil))
	if err == nil && tree != w.Plan.Tree {
		err = refusal.New(refusal.Changed, w.Path.String(), "git makes another tree of it")
	}
	return was, err
}

// staged is the path of the index that is worked on.
func (w *work) staged() string { return w.GitDir + "/" + w.in.Git.Staged }

// lock takes git's own lock of the index, and makes sure that nobody changed
// index or branch before.
func (w *work) lock(was []byte) error {
	if err := w.cfg.At(Lock); err != nil {
		return err
	}
	if err := w.patiently(func() error { return w.dir.lock(w.in.Git.Staged) }); err != nil {
		return err
	}
	now, err := w.dir.read(indexName)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, was) || (now == nil) != (was == nil) {
		return refusal.New(refusal.Changed, w.Path.String(), "its index")
	}
	branch, err := w.Head()
	if err == nil && action.Path(branch) != w.Plan.Branch {
		err = refusal.New(refusal.Changed, w.Path.String(), "its branch")
	}
	return err
}

// makeCommit has git make the commit. It is the same one whenever it is made.
func (w *work) makeCommit() (string, error) {
	if err := w.cfg.At(Commit); err != nil {
		return "", err
	}
	p := w.in.Git.Plan
	who := func(i protocol.GitIdent) gitrun.Ident {
		return gitrun.Ident{Name: i.Name, Email: i.Email, When: w.in.Git.When}
	}
	return hash(w.git(gitrun.CommitTree, gitrun.Values{
		Tree: p.Tree, Parent: p.Head, Author: who(p.Author), Committer: who(p.Committer),
	}, []byte(w.in.Action.GitWrite.Commit.Message)))
}

// ref is what moves: the branch, or a HEAD that names none.
func ref(branch action.Path) string {
	if branch == "" {
		return "HEAD"
	}
	return string(branch)
}

// nothing is the hash that says that there is none, as long as another.
func nothing(like string) string { return strings.Repeat("0", len(like)) }

// move moves the branch to the commit, from what was planned alone. An error that
// says nothing of it is looked into.
func (w *work) move(to string) (moved bool, err error) {
	if err := w.cfg.At(Move); err != nil {
		return false, err
	}
	old := w.Plan.Head
	if old == "" {
		old = nothing(to)
	}
	who := w.in.Git.Plan.Committer
	values := gitrun.Values{Ref: ref(w.Plan.Branch), New: to, Old: old, Committer: gitrun.Ident{Name: who.Name, Email: who.Email, When: w.in.Git.When}}
	err = w.patiently(func() error {
		_, err := w.git(gitrun.MoveRef, values, nil)
		return err
	})
	now, lookErr := w.Resolve(ref(w.Plan.Branch))
	switch {
	case lookErr == nil && now == to:
		return true, nil
	case err == nil: // and at once moved on by somebody else
		return true, lookErr
	case lookErr == nil && now != w.Plan.Head:
		err = refusal.New(refusal.Changed, w.Path.String(), "its branch")
	}
	return false, err
}

// finish puts the staged index in the place of the repository's, and lets go of
// the lock. The commit is made by then: what fails is only told.
func (w *work) finish() (after []string) {
	for _, step := range []struct {
		at Step
		do func() error
	}{
		{Swap, func() error { return w.dir.swap(w.in.Git.Staged) }},
		{Unlock, func() error { return w.dir.unlock(w.in.Git.Staged) }},
	} {
		err := w.cfg.At(step.at)
		if err == nil {
			err = step.do()
		}
		if err != nil {
			w.cfg.Log.Error("after a commit", "id", w.in.ID, "step", string(step.at), "error", err)
			after = append(after, "after the commit was made: "+action.Path(err.Error()).String())
		}
	}
	return after
}

// tidy removes what was made for a commit that does not come to be.
func (w *work) tidy() {
	for _, err := range []error{
		w.dir.unlock(w.in.Git.Staged), w.dir.remove(w.in.Git.Staged), w.dir.remove(w.in.Git.Staged + ".lock"),
	} {
		if err != nil {
			w.cfg.Log.Error("tidying a git directory", "id", w.in.ID, "error", err)
		}
	}
}

// committed is the outcome of a commit that was made.
func (w *work) committed(made string, after []string) protocol.Outcome {
	g := &protocol.GitOutcome{Branch: w.in.Git.Plan.Branch, Commit: made, Was: w.in.Git.Plan.Head, Notes: after}
	if w.in.Git.Plan.Unsigned {
		g.Notes = append(g.Notes, "it is not signed, though the configuration asks for that")
	}
	if hooks := w.in.Git.Plan.Hooks; len(hooks) > 0 {
		g.Notes = append(g.Notes, "hooks that were not run: "+strings.Join(hooks, ", "))
	}
	return protocol.Outcome{Result: protocol.Landed, Changes: []protocol.PathOutcome{}, Git: g}
}

// uncommit moves the branch back, if it still points to the commit.
func (w *work) uncommit(u action.Uncommit) (protocol.Outcome, error) {
	if err := w.cfg.At(Move); err != nil {
		return protocol.Outcome{}, err
	}
	values, v := gitrun.Values{Ref: ref(u.Branch), New: u.To, Old: u.From, Committer: gitrun.Ident{Name: "Countersign", Email: "countersign@localhost", When: w.in.Git.When}}, gitrun.MoveRef
	if u.To == "" {
		v = gitrun.DropRef
	}
	err := w.patiently(func() error {
		_, err := w.git(v, values, nil)
		return err
	})
	now, lookErr := w.Resolve(ref(u.Branch))
	switch {
	case err == nil || lookErr == nil && now == u.To:
		return wentBack(u), nil
	case lookErr == nil && now != u.From:
		err = refusal.New(refusal.Changed, w.Path.String(), "its branch")
	}
	return protocol.Outcome{}, gitplan.Refuse(w.Path, err)
}

func wentBack(u action.Uncommit) protocol.Outcome {
	return protocol.Outcome{Result: protocol.Landed, Changes: []protocol.PathOutcome{}, Git: &protocol.GitOutcome{Branch: u.Branch, Commit: u.To, Was: u.From}}
}
