package gitread

import (
	"context"
	"io"
	"strings"

	"countersign/internal/gitrun"
	"countersign/internal/protocol"
)

// Log gives commits, newest first as git orders them.
func (g *Git) Log(ctx context.Context, p protocol.GitLogParams) (protocol.GitLogResult, error) {
	r, err := g.open(ctx, p.Repository, p.Rev, p.Not)
	if err != nil {
		return protocol.GitLogResult{}, err
	}
	defer r.Close()
	paths, err := r.named(p.Paths)
	if err != nil {
		return protocol.GitLogResult{}, err
	}
	const usual = 50
	if p.Limit == 0 {
		p.Limit = usual
	}
	limit := min(p.Limit, protocol.MaxGitCommits)
	res := protocol.GitLogResult{GitAbout: r.about}
	values := gitrun.Values{Rev: head(p.Rev), Not: p.Not, Paths: paths, Skip: p.Skip, Count: limit + 1}
	res.Commits, err = r.commits(values, limit)
	if n := uint64(len(res.Commits)); n > limit {
		res.Commits, res.More = res.Commits[:limit], true
	} else {
		res.More = n > 0 && n < limit && r.cut
	}
	return res, err
}

func head(rev string) string {
	if rev == "" {
		return "HEAD"
	}
	return rev
}

// commits reads commits from a log, until their text is as much as fits.
func (r *reading) commits(values gitrun.Values, limit uint64) (list []protocol.GitCommit, err error) {
	size := 0
	err = r.git(gitrun.Log, values, nil, func(out io.Reader) error {
		var fields []string
		return records(out, 0, func(rec []byte) error {
			if size += len(rec); size > protocol.MaxGitText && len(list) > 0 {
				r.cut = true
				return gitrun.ErrEnough
			}
			if fields = append(fields, string(rec)); len(fields) == gitrun.LogFields {
				list = append(list, commit(fields))
				fields = nil
			}
			return nil
		})
	})
	return list, err
}

func commit(f []string) protocol.GitCommit {
	who := func(f []string) protocol.GitWho {
		return protocol.GitWho{Name: valid(f[0]), Mail: valid(f[1]), Time: valid(f[2])}
	}
	return protocol.GitCommit{Hash: f[0], Tree: f[1], Parents: strings.Fields(f[2]), Author: who(f[3:]), Committer: who(f[6:]), Message: valid(f[9])}
}
