package broker

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/classify"
	"countersign/internal/consent"
	"countersign/internal/grant"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// previewGit has the reader work out what a git action would do, classifies and
// decides. What a reader says is held to its form and to the grants here; that it
// is so the scribe finds out for itself.
func (b *Broker) previewGit(ctx context.Context, id action.ID, person *policy.Person, a action.Action, of proposed) (*preview, error) {
	var res protocol.GitPreviewResult
	err := b.hands[person.Name].reader.Call(ctx, protocol.GitPreview, protocol.GitPreviewParams{Policy: b.cfg.Policy.Digest, Action: a}, &res)
	if err != nil {
		return nil, b.ofReader(person, err)
	}
	if !soundPlan(res.Plan, a) || !soundAccount(res, a) {
		return nil, refusal.New(refusal.Differs, a.Paths()[0].String(), "what the reader says of the repository is malformed")
	}
	if err := b.judgeGit(person, res.Plan); err != nil {
		return nil, err
	}
	v := &preview{person: person, git: &res.Plan, account: res.Detail}
	class := classify.ClassifyGit(classify.Git{
		Repository: res.Plan.Repository, Capability: of.Capability, Kept: true,
		InSnapshotRoot: person.InSnapshotRoot(res.Plan.Repository), Others: b.others(of.By, person.Name, res.Plan), Foreign: res.Plan.Foreign,
	})
	v.judged = b.judge(class, of)
	if v.detail, err = res.Detail.Encode(); err != nil {
		return nil, err
	}
	if size := len(v.detail); size > maxDetail {
		return nil, refusal.New(refusal.TooLarge, whatOf(a), "its account takes %d bytes, of at most %d", size, maxDetail)
	}
	return v, v.finishGit(id, a, of)
}

// finishGit makes what an approval binds, where the action asks.
func (v *preview) finishGit(id action.ID, a action.Action, of proposed) error {
	if policy.Verdict(v.judged.Verdict) != policy.Ask {
		return nil
	}
	if v.account.Unshown() {
		return refusal.New(refusal.TooLongToAsk, whatOf(a), "the lines it changes are too long to show")
	}
	plan, err := canon.Encode(*v.git)
	if err != nil {
		return err
	}
	bound := action.HashOf(plan)
	return v.bind(consent.Shown{ID: id, Digest: of.Digest, Git: &bound})
}

// judgeGit judges the roots of a repository and every path that an action
// touches.
func (b *Broker) judgeGit(person *policy.Person, plan protocol.GitPlan) error {
	what := plan.Repository.String()
	for _, root := range []action.Path{plan.Repository, plan.Common} {
		if _, err := person.Grants.Covers(grant.Write, string(root)); err != nil {
			return refusal.About(what, err)
		}
	}
	paths := slices.Clone(plan.Stage)
	for _, f := range plan.Files {
		paths = append(paths, f.Path)
	}
	for _, p := range paths {
		if _, err := person.Grants.Judge(grant.Write, string(plan.Repository+"/"+p)); err != nil {
			return err
		}
	}
	return nil
}

// soundPlan holds what a reader says of a repository to the forms it can have.
func soundPlan(p protocol.GitPlan, a action.Action) bool {
	sound := p.Repository == a.Paths()[0] && p.Common.Validate() == nil && len(p.Files) <= protocol.MaxGitStaged && len(p.Stage) <= protocol.MaxGitStaged &&
		(p.Branch == "" || strings.HasPrefix(string(p.Branch), "refs/heads/")) && (p.Head == "" || action.IsCommit(p.Head))
	if u := a.Undo; u != nil {
		return sound && len(p.Files)+len(p.Stage) == 0 && p.Tree == "" && p.Head == u.Commit.From && p.Branch == u.Commit.Branch
	}
	sound = sound && action.IsCommit(p.Tree) && len(p.Files) > 0 && soundIdent(p.Author) && soundIdent(p.Committer) && soundWords(p.Hooks)
	for _, s := range p.Stage {
		sound = sound && action.Path("/"+s).Validate() == nil
	}
	last := action.Path("")
	for _, f := range p.Files {
		sound = sound && f.Path > last && action.Path("/"+f.Path).Validate() == nil && soundEntry(f.OldMode, f.Old) && soundEntry(f.NewMode, f.New) &&
			(f.OldMode != f.NewMode || f.Old != f.New)
		last = f.Path
	}
	return sound
}

func soundEntry(mode, hash string) bool {
	return mode == "" && hash == "" || slices.Contains([]string{"100644", "100755", "120000", "160000"}, mode) && action.IsCommit(hash)
}

func soundIdent(i protocol.GitIdent) bool {
	const most = 1 << 10
	return i.Name != "" && i.Email != "" && len(i.Name) <= most && len(i.Email) <= most && utf8.ValidString(i.Name+i.Email) && !strings.ContainsAny(i.Name+i.Email, "\x00\n\r")
}

// soundAccount holds the account to the plan that it is of: what it says of a
// path is the scribe's to compare.
func soundAccount(res protocol.GitPreviewResult, a action.Action) bool {
	g := res.Detail.Git
	if g == nil || g.Repository != res.Plan.Repository || g.Branch != res.Plan.Branch || g.Head != res.Plan.Head || g.Tree != res.Plan.Tree || len(res.Detail.Changes) != len(res.Plan.Files) {
		return false
	}
	if c := a.GitWrite; c != nil && (c.Commit == nil || g.Message != c.Commit.Message) {
		return false
	}
	for i, c := range res.Detail.Changes {
		if c.Path != res.Plan.Repository+"/"+res.Plan.Files[i].Path {
			return false
		}
	}
	return true
}

// others gives the paths of a commit that its proposer did not land as they
// stand: what it landed last at a path must be what is there.
func (b *Broker) others(by, person string, plan protocol.GitPlan) (paths []action.Path) {
	if plan.Tree == "" {
		return nil
	}
	open := make(map[action.Path]protocol.GitStaged)
	for _, f := range plan.Files {
		open[plan.Repository+"/"+f.Path] = f
	}
	const most = 2000 // of its newest actions that are looked at
	landed := b.ledger.list(true, most, func(t protocol.Transaction) bool {
		return t.Person == person && t.State == protocol.StateLanded && t.Outcome != nil && len(t.Outcome.Changes) > 0
	})
	for _, view := range landed {
		if len(open) == 0 {
			break
		}
		t, _ := b.ledger.get(view.ID)
		in, err := b.intentOf(t)
		if err != nil {
			b.cfg.Log.Error("an intent cannot be read", "id", view.ID, "error", err)
			continue
		}
		for i, f := range in.Facts {
			staged, ok := open[f.Resolved()]
			if !ok || i >= len(in.Results) {
				continue
			}
			delete(open, f.Resolved())
			if view.By != by || !sameWork(in.Results[i], staged) {
				paths = append(paths, f.Resolved())
			}
		}
	}
	for p := range open {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}

// sameWork says whether what an action left is what is to be committed.
func sameWork(left action.Image, f protocol.GitStaged) bool {
	if left.Absent {
		return f.NewMode == ""
	}
	return f.Content != nil && left.Hash != nil && *f.Content == *left.Hash
}

// gitIntent is what an intent of this preview says of its repository.
func (v *preview) gitIntent(now time.Time) *protocol.GitIntent {
	if v.git == nil {
		return nil
	}
	return &protocol.GitIntent{Plan: *v.git, When: now.Unix(), Staged: stagedName()}
}

// composeGit makes the undo of a commit.
func (b *Broker) composeGit(t *transaction, in protocol.Intent) (action.Action, error) {
	out, err := b.outcomeOf(t)
	if err != nil {
		return action.Action{}, err
	}
	if out.Git == nil || in.Action.GitWrite == nil || in.Action.GitWrite.Commit == nil {
		return action.Action{}, refusal.New(refusal.WrongState, "undo of "+string(in.ID), "the undo of a commit is taken back by committing again")
	}
	undo := &action.Undo{Transaction: in.ID, Restores: []action.Restore{}, Commit: &action.Uncommit{
		Root: in.Git.Plan.Repository, Branch: in.Git.Plan.Branch, From: out.Git.Commit, To: in.Git.Plan.Head,
	}}
	return action.Action{Undo: undo}, nil
}

// soundGit holds what a scribe says of a git action to the forms it can have,
// and to what was asked of it.
func soundGit(out protocol.Outcome, in protocol.Intent) bool {
	g := out.Git
	if in.Git == nil || g == nil {
		return g == nil && (in.Git == nil || out.Result != protocol.Landed)
	}
	if out.Result != protocol.Landed || g.Branch != in.Git.Plan.Branch || g.Was != in.Git.Plan.Head || !soundNotes(g.Notes) {
		return false
	}
	if u := in.Action.Undo; u != nil {
		return g.Commit == u.Commit.To
	}
	return action.IsCommit(g.Commit)
}

func soundNotes(list []string) bool {
	return len(list) <= maxAfter && !slices.ContainsFunc(list, func(s string) bool { return !soundSentence(s) })
}
