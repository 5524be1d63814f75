package gitread

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"countersign/internal/action"
	"countersign/internal/gitrun"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Blame says which commit each line of a file is from.
func (g *Git) Blame(ctx context.Context, p protocol.GitBlameParams) (protocol.GitBlameResult, error) {
	r, err := g.open(ctx, p.Repository, p.Rev)
	if err != nil {
		return protocol.GitBlameResult{}, err
	}
	defer r.Close()
	name, err := r.file(p.Path)
	if err != nil {
		return protocol.GitBlameResult{}, err
	}
	if err := r.blamable(name, p.Rev); err != nil {
		return protocol.GitBlameResult{}, err
	}
	b := blaming{reading: r, limit: p.Lines, commits: make(map[string]*protocol.GitBlameCommit)}
	b.res.GitAbout = r.about
	if b.limit == 0 || b.limit > protocol.MaxGitLines {
		b.limit = protocol.MaxGitLines
	}
	from := max(p.From, 1)
	values := gitrun.Values{Rev: p.Rev, Paths: []string{name}}
	if from > 1 {
		values.First, values.Last = from, from+b.limit // one more tells whether there are more
	}
	err = r.git(gitrun.Blame, values, nil, b.read)
	for _, hash := range b.order {
		c := b.commits[hash]
		if c.Path != "" && !r.sees(string(c.Path)) {
			c.Path = ""
		}
		b.res.Commits = append(b.res.Commits, *c)
	}
	return b.res, err
}

// blamable refuses a file that holds a private key, and in the work tree one
// that a filter made.
func (r *reading) blamable(name, rev string) error {
	if rev == "" {
		if err := r.unfiltered([]string{name}); err != nil {
			return err
		}
	}
	if !r.MayHoldKey(name) {
		return nil
	}
	var content []byte
	var err error
	if rev == "" {
		content, err = r.workContent(name)
	} else if found, e := r.entries(rev, name, newPage(0, 1, 1)); e != nil || len(found) != 1 || found[0].Type != "blob" {
		return e // git says itself what is not there
	} else {
		content, err = r.blob(found[0].Hash)
	}
	if err == nil && content == nil {
		return refusal.New(refusal.FileTooBig, action.Path(name).String(), "over %d bytes", protocol.MaxGitPatch)
	}
	if err == nil {
		err = r.Content(name, content)
	}
	return refusal.About(action.Path(name).String(), err)
}

// blaming reads git's porcelain form: a header for each line, what is known of
// its commit where that comes for the first time, and the line behind a tab.
type blaming struct {
	*reading
	res     protocol.GitBlameResult
	limit   uint64
	size    int
	order   []string
	commits map[string]*protocol.GitBlameCommit
}

func (b *blaming) read(out io.Reader) error {
	var line protocol.GitBlameLine
	var at *protocol.GitBlameCommit
	var seconds int64
	return records(out, '\n', func(rec []byte) error {
		if at == nil {
			f := strings.Fields(string(rec))
			if len(f) < 3 {
				return errForm(rec)
			}
			line = protocol.GitBlameLine{Commit: f[0]}
			line.Then, _ = strconv.ParseUint(f[1], 10, 64)
			line.Now, _ = strconv.ParseUint(f[2], 10, 64)
			if at = b.commits[f[0]]; at == nil {
				at = &protocol.GitBlameCommit{Hash: f[0]}
				b.commits[f[0]], b.order = at, append(b.order, f[0])
			}
			return nil
		}
		if text, ok := strings.CutPrefix(string(rec), "\t"); ok {
			line.Text, line.Raw = split([]byte(text))
			at = nil
			if b.size += len(text); uint64(len(b.res.Lines)) == b.limit || b.size > protocol.MaxGitText {
				b.res.More = true
				return gitrun.ErrEnough
			}
			b.res.Lines = append(b.res.Lines, line)
			return nil
		}
		key, value, _ := strings.Cut(string(rec), " ")
		switch key {
		case "author":
			at.Author.Name = valid(value)
		case "author-mail":
			at.Author.Mail = valid(strings.TrimSuffix(strings.TrimPrefix(value, "<"), ">"))
		case "author-time":
			seconds, _ = strconv.ParseInt(value, 10, 64)
		case "author-tz":
			at.Author.Time = stamp(seconds, value)
		case "summary":
			at.Subject = valid(value)
		case "filename":
			if strings.HasPrefix(value, `"`) {
				value, _ = unquote(value)
			}
			at.Path = action.Path(value)
		}
		return nil
	})
}

// stamp spells a time with the zone that a commit has.
func stamp(seconds int64, zone string) string {
	n, err := strconv.Atoi(zone)
	if err != nil || n <= -2400 || n >= 2400 {
		n = 0
	}
	offset := n/100*3600 + n%100*60
	return time.Unix(seconds, 0).In(time.FixedZone("", offset)).Format(time.RFC3339)
}
