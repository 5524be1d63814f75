package gitplan

import (
	"context"
	"errors"
	"io"
	"strings"

	"countersign/internal/action"
	"countersign/internal/gitrun"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/repo"
)

// Planner plans actions in one person's repositories. It is safe for concurrent
// use.
type Planner struct {
	Finder repo.Finder
	Run    *gitrun.Git
}

// Work is one plan under way, on a repository that is held open.
type Work struct {
	*repo.Repository
	Plan   protocol.GitPlan
	Detail action.Detail

	ctx    context.Context
	run    *gitrun.Git
	action action.Action
	inside *inside
}

// Open opens the repository of a git action and works out what the action would
// do. The caller closes it.
//
// The refusals are those of the repository, git-in-progress, git-identity,
// git-filter, git-kind, no-change where there is nothing to do, too-large, and
// those of a path that may not be written.
func (p Planner) Open(ctx context.Context, a action.Action) (w *Work, err error) {
	if w, err = p.Look(ctx, a); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.Close()
			w = nil
		}
	}()
	if err := w.undisturbed(); err != nil {
		return w, err
	}
	switch {
	case a.Undo != nil:
		return w, w.uncommit(*a.Undo.Commit)
	case a.GitWrite.Commit != nil:
		return w, w.commit()
	}
	return w, refusal.New(refusal.NotYet, w.Path.String(), "discards")
}

// Preview gives the plan of an action and its account, for who has not the
// repository.
func (p Planner) Preview(ctx context.Context, a action.Action) (protocol.GitPreviewResult, error) {
	if err := a.Validate(); err != nil {
		return protocol.GitPreviewResult{}, err
	}
	if !a.Git() {
		return protocol.GitPreviewResult{}, refusal.New(refusal.BadRequest, "the action", "git does not carry it out")
	}
	w, err := p.Open(ctx, a)
	if err != nil {
		return protocol.GitPreviewResult{}, err
	}
	defer w.Close()
	return protocol.GitPreviewResult{Plan: w.Plan, Detail: w.Detail}, nil
}

// Look opens the repository of a git action, and plans nothing.
func (p Planner) Look(ctx context.Context, a action.Action) (*Work, error) {
	r, err := p.Finder.Open(grant.Write, a.Paths()[0])
	if err != nil {
		return nil, err
	}
	w := &Work{Repository: r, ctx: ctx, run: p.Run, action: a}
	w.Plan = protocol.GitPlan{Repository: r.Path, Common: action.Path(r.Common()), Files: []protocol.GitStaged{}, Stage: []action.Path{}}
	return w, nil
}

// Close lets go of the repository.
func (w *Work) Close() {
	w.inside.close()
	w.Repository.Close()
}

// undisturbed refuses to write into what is in the middle of something, and
// repositories whose parts git would not write as plain git does.
func (w *Work) undisturbed() error {
	what := w.Path.String()
	if len(w.Doing) > 0 {
		return refusal.New(refusal.GitDoing, what, "%s", strings.Join(w.Doing, ", "))
	}
	refuse := func(why string) error { return refusal.New(refusal.GitKind, what, "%s", why) }
	if v, ok := w.Config("core", "", "sharedrepository"); ok && v != "0" && v != "umask" && !strings.EqualFold(v, "false") {
		return refuse("its files are shared with a group")
	}
	if folds, _ := w.Flag("core", "ignorecase"); folds {
		return refuse("it takes names that differ in case for one")
	}
	if w.Partial() {
		return refuse("it is a partial clone, and lacks objects")
	}
	for _, kind := range w.Kinds {
		if kind == "grafts" {
			return refuse("it has grafts")
		}
	}
	head, err := w.Head()
	if err != nil {
		return err
	}
	w.Plan.Branch = action.Path(head)
	w.inside, err = openInside(w.Root)
	return err
}

// git runs a vector on the repository.
func (w *Work) git(v gitrun.Vector, values gitrun.Values, input []byte, read func(io.Reader) error) error {
	err := w.run.Run(w.ctx, gitrun.Call{Vector: v, Values: values, Place: w.Place(), Input: input}, read)
	return Refuse(w.Path, err)
}

// Refuse puts what git failed with into a refusal, in its own words.
func Refuse(path action.Path, err error) error {
	var failed *gitrun.Failed
	if !errors.As(err, &failed) {
		return err
	}
	said, _, _ := strings.Cut(strings.TrimSpace(failed.Stderr), "\n")
	return refusal.New(refusal.GitFailed, path.String(), "it ended with %d and said %s", failed.Code, action.Path(strings.ToValidUTF8(said, "\ufffd")).Quoted())
}

// uncommit plans the way back from a commit: only where the branch still points
// at it.
func (w *Work) uncommit(u action.Uncommit) error {
	head, err := w.Resolve("HEAD")
	if err != nil {
		return err
	}
	what := w.Path.String()
	if head != u.From || w.Plan.Branch != u.Branch {
		return refusal.New(refusal.Conflict, what, "its branch points to another commit by now, and is not moved")
	}
	w.Plan.Head = head
	w.Detail = action.Detail{Changes: []action.ChangeDetail{}, Git: &action.GitDetail{
		Does: "undo", Repository: w.Path, Branch: w.Plan.Branch, Head: head, To: u.To,
		Notes: []string{"the branch alone goes back; the work tree stays as it is"},
	}}
	return nil
}

// Resolve gives the commit that a revision names; none is empty.
func (w *Work) Resolve(rev string) (string, error) {
	var out []byte
	err := w.run.Run(w.ctx, gitrun.Call{Vector: gitrun.Resolve, Values: gitrun.Values{Rev: rev}, Place: w.Place()}, func(r io.Reader) (err error) {
		out, err = io.ReadAll(io.LimitReader(r, 1<<10))
		return err
	})
	var failed *gitrun.Failed
	if errors.As(err, &failed) {
		return "", nil
	}
	hash := strings.TrimSpace(string(out))
	if err == nil && !gitrun.IsHash(hash) {
		err = refusal.New(refusal.GitFailed, w.Path.String(), "it names no commit")
	}
	return hash, err
}
