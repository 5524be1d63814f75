package gitread

import (
	"context"
	"io"
	"strconv"
	"strings"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/gitrun"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Show shows a commit and what it changed, or what stood at a path in it.
func (g *Git) Show(ctx context.Context, p protocol.GitShowParams) (protocol.GitShowResult, error) {
	p.Rev = head(p.Rev)
	r, err := g.open(ctx, p.Repository, p.Rev)
	if err != nil {
		return protocol.GitShowResult{}, err
	}
	defer r.Close()
	if p.Path != "" {
		return r.showPath(p)
	}
	list, err := r.commits(gitrun.Values{Rev: p.Rev, Count: 1}, 1)
	if err != nil {
		return protocol.GitShowResult{}, err
	}
	if len(list) != 1 {
		return protocol.GitShowResult{}, refusal.New(refusal.GitRevision, action.Path(p.Rev).String(), "")
	}
	res := protocol.GitShowResult{GitAbout: r.about, Commit: &list[0]}
	c := compared{names: gitrun.ChangedCommit, patch: gitrun.PatchCommit, values: gitrun.Values{Rev: list[0].Hash}, combined: len(list[0].Parents) > 1}
	res.Files, res.More, err = r.compare(c, newPage(p.Skip, p.Limit, protocol.MaxGitFiles), !p.Names)
	return res, err
}

// showPath shows what stood at a path: a file's content, or a directory's
// entries.
func (r *reading) showPath(p protocol.GitShowParams) (protocol.GitShowResult, error) {
	what := p.Path.String()
	if _, err := r.named([]action.Path{p.Path}); err != nil {
		return protocol.GitShowResult{}, err
	}
	res := protocol.GitShowResult{GitAbout: r.about}
	one := newPage(0, 1, 1)
	found, err := r.entries(p.Rev, string(p.Path), one)
	if err != nil {
		return res, err
	}
	for _, e := range found {
		if e.Path == p.Path {
			res.Entry = &e
		}
	}
	if res.Entry == nil {
		if _, err := r.file(p.Path); err != nil {
			return res, err
		}
		return res, refusal.New(refusal.NotFound, what, "in %s", action.Path(p.Rev))
	}
	if res.Entry.Type == "tree" {
		page := newPage(p.Skip, p.Limit, protocol.MaxGitEntries)
		res.Entries, err = r.entries(p.Rev, string(p.Path)+"/", page)
		res.More = page.more
		return res, err
	}
	if _, err := r.file(p.Path); err != nil {
		return res, err
	}
	if res.Entry.Type != "blob" {
		return res, nil // a submodule's commit says it all
	}
	content, err := r.blob(res.Entry.Hash)
	switch {
	case err != nil:
		return res, err
	case content == nil:
		return res, refusal.New(refusal.FileTooBig, what, "%d bytes, over %d", res.Entry.Size, protocol.MaxGitPatch)
	}
	if err := r.Content(string(p.Path), content); err != nil {
		return res, refusal.About(what, err)
	}
	res.Text, res.Raw = split(content)
	return res, nil
}

// entries lists entries of a commit's tree: the one at a path, or those in a
// directory whose path ends with a slash. Those that the agent may not see are
// left out.
func (r *reading) entries(rev, path string, page *page) (list []protocol.GitEntry, err error) {
	err = r.git(gitrun.Entry, gitrun.Values{Rev: rev, Paths: []string{path}}, nil, func(out io.Reader) error {
		return records(out, 0, func(rec []byte) error {
			e, ok := treeEntry(string(rec))
			if !ok {
				return errForm(rec)
			}
			seen := r.sees(string(e.Path))
			if e.Type == "tree" {
				seen = gitrun.CheckPath(string(e.Path)) == "" && r.Covers(grant.Read, string(e.Path)) == nil
			}
			if (seen || string(e.Path) == path) && page.takes() {
				list = append(list, e)
			}
			return nil
		})
	})
	return list, err
}

// treeEntry reads an entry of a tree: mode, type, hash, size, a tab, the path.
func treeEntry(rec string) (e protocol.GitEntry, ok bool) {
	head, path, ok := strings.Cut(rec, "\t")
	f := strings.Fields(head)
	if !ok || len(f) != 4 {
		return e, false
	}
	e = protocol.GitEntry{Path: action.Path(path), Mode: f[0], Type: f[1], Hash: f[2]}
	if f[3] != "-" {
		n, err := strconv.ParseUint(f[3], 10, 64)
		if err != nil {
			return e, false
		}
		e.Size = n
	}
	return e, true
}

// workContent reads a file of the work tree whole; nil where it is over what is
// shown of one.
func (r *reading) workContent(relative string) ([]byte, error) {
	root, err := beneath.OpenRoot(r.Root)
	if err != nil {
		return nil, beneath.Refuse(r.Path.String(), err)
	}
	defer root.Close()
	what := action.Path(relative).String()
	at, err := root.Find(what, relative, beneath.Options{})
	if err != nil {
		return nil, err
	}
	defer at.Close()
	f, err := at.Open(what)
	if refusal.Is(err, refusal.Link) || refusal.Is(err, refusal.NotRegular) || err == nil && f == nil {
		return []byte{}, nil // a link's target is no key, and what is gone holds none
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, protocol.MaxGitPatch+1))
	if err != nil || len(b) > protocol.MaxGitPatch {
		return nil, err
	}
	return append([]byte{}, b...), nil
}
