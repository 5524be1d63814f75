package gitread

import (
	"context"
	"io"
	"strings"

	"countersign/internal/gitrun"
	"countersign/internal/protocol"
)

// Branches lists branches, those of remotes among them.
func (g *Git) Branches(ctx context.Context, p protocol.GitBranchesParams) (protocol.GitBranchesResult, error) {
	r, err := g.open(ctx, p.Repository)
	if err != nil {
		return protocol.GitBranchesResult{}, err
	}
	defer r.Close()
	res := protocol.GitBranchesResult{GitAbout: r.about}
	page := newPage(p.Skip, p.Limit, protocol.MaxGitEntries)
	err = r.git(gitrun.Branches, gitrun.Values{}, nil, func(out io.Reader) error {
		return records(out, '\n', func(rec []byte) error {
			f := strings.Split(valid(string(rec)), "\x00")
			if len(f) != gitrun.BranchFields {
				return errForm(rec)
			}
			if page.takes() {
				res.Branches = append(res.Branches, protocol.GitBranch{
					Head: f[0] == "*", Name: f[1], Hash: f[2], Upstream: f[4], Symbolic: f[5], Time: f[6], Subject: f[7],
				})
			}
			return nil
		})
	})
	res.More = page.more
	return res, err
}
