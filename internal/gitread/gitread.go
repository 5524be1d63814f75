// Package gitread is what the reader answers about repositories: status, log,
// diff, show, blame, branches.
//
// Real git answers, started by package gitrun on what package repo has judged;
// here its output is read, held to the grants, and cut into pages. A path that an
// include or the deny list leaves out is absent from every answer, in whatever
// commit it stands; named, it is refused. Revisions name commits: what stands in
// one is asked for by its path, which is judged.
//
// Answers equal plain git's, with these settings: no detection of renames, the
// names that commits have (no mailmap), submodules by their commits alone, and no
// filter, converter or other program that an attribute names. Where the work tree
// holds what a filter made, nothing but running it would be faithful, and such a
// path refuses the answer by name.
//
// It does NOT keep anything between two calls.
package gitread

import (
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"countersign/internal/action"
	"countersign/internal/gitrun"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/repo"
)

// Git answers for one person's repositories.
type Git struct {
	Finder repo.Finder
	Run    *gitrun.Git
	Policy action.Hash // named in every answer
}

// reading is one answer under way.
type reading struct {
	*Git
	ctx context.Context
	*repo.Repository
	about protocol.GitAbout
	cut   bool // text was more than fits
}

// open opens a repository, and refuses a revision that cannot be given to git
// before anything is opened.
func (g *Git) open(ctx context.Context, path action.Path, revs ...string) (*reading, error) {
	for _, rev := range revs {
		if why := gitrun.CheckRevision(rev); rev != "" && why != "" {
			return nil, refusal.New(refusal.GitRevision, action.Path(rev).String(), "%s", why)
		}
	}
	r, err := g.Finder.Open(grant.Read, path)
	if err != nil {
		return nil, err
	}
	return &reading{Git: g, ctx: ctx, Repository: r, about: protocol.GitAbout{Policy: g.Policy, Repository: path, Notes: r.Notes}}, nil
}

// git runs a vector on the repository. What git fails with is put into words by
// refuse.
func (r *reading) git(v gitrun.Vector, values gitrun.Values, input []byte, read func(io.Reader) error) error {
	err := r.Run.Run(r.ctx, gitrun.Call{Vector: v, Values: values, Place: r.Place(), Input: input}, read)
	var failed *gitrun.Failed
	if errors.As(err, &failed) {
		return r.refuse(values, failed)
	}
	return err
}

// refuse finds out what git failed for: a revision that names no commit, objects
// that are elsewhere, or something else in its own words.
func (r *reading) refuse(values gitrun.Values, failed *gitrun.Failed) error {
	for _, rev := range []string{values.Rev, values.From, values.Not} {
		if rev == "" {
			continue
		}
		err := r.Run.Run(r.ctx, gitrun.Call{Vector: gitrun.Resolve, Values: gitrun.Values{Rev: rev}, Place: r.Place()}, discard)
		var not *gitrun.Failed
		if errors.As(err, &not) {
			return refusal.New(refusal.GitRevision, action.Path(rev).String(), "")
		}
	}
	what := r.Path.String()
	if r.Partial() {
		return refusal.New(refusal.GitIncomplete, what, "it is a partial clone")
	}
	said, _, _ := strings.Cut(strings.TrimSpace(failed.Stderr), "\n")
	return refusal.New(refusal.GitFailed, what, "it ended with %d and said %s", failed.Code, action.Path(strings.ToValidUTF8(said, "\ufffd")).Quoted())
}

func discard(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }

// sees says whether the agent may see a path of the work tree.
func (r *reading) sees(relative string) bool {
	return gitrun.CheckPath(relative) == "" && r.Judge(grant.Read, relative) == nil
}

// named judges paths that were asked for: files by what may be read, and the
// directories that they may be by what is gone through.
func (r *reading) named(paths []action.Path) ([]string, error) {
	var names []string
	for _, p := range paths {
		name := string(p)
		if why := gitrun.CheckPath(name); why != "" {
			return nil, refusal.New(refusal.PathNotClean, p.String(), "a path in a repository is relative to its root: %s", why)
		}
		if err := r.Covers(grant.Read, name); err != nil {
			return nil, refusal.About(p.String(), err)
		}
		names = append(names, name)
	}
	return names, nil
}

// file judges one path that is to be read as a file.
func (r *reading) file(p action.Path) (string, error) {
	if why := gitrun.CheckPath(string(p)); why != "" {
		return "", refusal.New(refusal.PathNotClean, p.String(), "a path in a repository is relative to its root: %s", why)
	}
	return string(p), refusal.About(p.String(), r.Judge(grant.Read, string(p)))
}

// page counts what is left out of an answer.
type page struct {
	skip, limit uint64
	more        uint64
}

func newPage(skip, limit, most uint64) *page {
	if limit == 0 || limit > most {
		limit = most
	}
	return &page{skip: skip, limit: limit}
}

// takes says whether the next one is on the page.
func (p *page) takes() bool {
	switch {
	case p.skip > 0:
		p.skip--
		return false
	case p.limit > 0:
		p.limit--
		return true
	}
	p.more++
	return false
}

// valid gives text as UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// split puts bytes where they can be shown as they are, or else aside.
func split(b []byte) (text string, raw []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return "", b
}
