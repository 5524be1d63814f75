package fileread

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/grant"
	"countersign/internal/pattern"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

const maxPattern = 1024 // bytes

// Glob gives the paths that a pattern matches. A walk starts where the
// pattern's beginning leads that holds no wild card, and enters no directory
// in which nothing could match.
func (f Files) Glob(ctx context.Context, p protocol.GlobParams) (protocol.GlobResult, error) {
	text, err := relativePattern(p)
	if err != nil {
		return protocol.GlobResult{}, err
	}
	g := globbing{f: f, all: p.All, kind: p.Kind, bound: bound{count: limit(p.Limit, protocol.MaxMatches), bytes: maxListed}}
	g.res = protocol.GlobResult{Policy: f.Policy}
	switch {
	case p.Pattern[0] == '/':
		err = g.beneath(ctx, "/", text, p.After, false)
	case p.Path != "":
		err = g.beneath(ctx, string(p.Path), text, p.After, false)
	default:
		err = g.everywhere(ctx, text, p.After)
	}
	return g.res, err
}

// relativePattern gives a pattern without the slash that it begins with, or
// says why it is none.
func relativePattern(p protocol.GlobParams) (string, error) {
	text := strings.TrimPrefix(string(p.Pattern), "/")
	bad := func(why string) (string, error) {
		return "", refusal.New(refusal.BadRequest, "the pattern "+p.Pattern.Quoted(), "%s", why)
	}
	if len(text) > maxPattern {
		return "", refusal.New(refusal.BadRequest, "the pattern", "it is over %d bytes", maxPattern)
	}
	if !pattern.Valid(text) {
		return bad("it is empty or malformed")
	}
	for name := range strings.SplitSeq(text, "/") {
		if name == "" || name == "." || name == ".." {
			return bad("it has an empty, `.` or `..` name, and matches by whole names")
		}
	}
	if p.Path != "" && p.Pattern[0] == '/' {
		return bad("it is absolute, and a directory is given beside it")
	}
	switch p.Kind {
	case "", protocol.KindFile, protocol.KindDirectory, protocol.KindLink, protocol.KindPipe, protocol.KindSocket, protocol.KindDevice:
		return text, nil
	}
	return bad("the kind asked for is none")
}

// globbing is one glob under way.
type globbing struct {
	f     Files
	all   bool
	kind  protocol.Kind
	bound bound
	res   protocol.GlobResult
}

// beneath matches a pattern relative to a directory; own keeps it to what is
// the directory's own grant's.
func (g *globbing) beneath(ctx context.Context, dir, text string, after action.Path, own bool) error {
	fixed, rest := pattern.Fixed(text)
	w, err := g.f.openWalk(walking{
		path: action.Path(join(dir, fixed)), after: after, all: g.all, own: own, enter: pattern.Compile(rest).Within,
	})
	if err != nil {
		return err
	}
	defer w.Close()
	if own && w.start.grant.Root != dir || !w.start.isDir {
		return nil
	}
	p := pattern.Compile(rest)
	said, err := w.each(ctx, func(s seen) bool {
		if !p.MatchesName(s.name) || g.kind != "" && kindOf(s.kind) != g.kind || !p.Match(s.relative()) {
			return true
		}
		path := s.path()
		if !g.bound.take(len(path)) {
			return false
		}
		g.res.Matches = append(g.res.Matches, protocol.Match{Path: path, Kind: kindOf(s.kind)})
		return true
	})
	g.add(said)
	return err
}

// everywhere matches a pattern relative to the root of every read grant, each
// path by the grant that speaks for it.
func (g *globbing) everywhere(ctx context.Context, text string, after action.Path) error {
	grants := slices.Clone(g.f.Finder.Grants.Reads)
	slices.SortFunc(grants, func(a, b grant.Grant) int { return cmp.Compare(a.Root, b.Root) })
	from := ""
	for _, at := range grants { // the longest root that holds the place comes last
		if after == action.Path(at.Root) || strings.HasPrefix(string(after), strings.TrimSuffix(at.Root, "/")+"/") {
			from = at.Root
		}
	}
	if after != "" && from == "" {
		return refusal.New(refusal.BadRequest, after.String(), "no walk goes on there")
	}
	for _, at := range grants {
		if at.Root < from || g.res.Next != "" {
			continue
		}
		here := after
		if at.Root != from {
			here = ""
		}
		if _, err := g.f.patience.Where(at.Root); err != nil { // named by nobody: it holds up and refuses nothing else
			if !errors.Is(err, unix.ENOENT) {
				g.miss(at.Root, err)
			}
			continue
		}
		if err := g.beneath(ctx, at.Root, text, here, true); err != nil && !nothingThere(err) {
			return err
		}
	}
	return nil
}

// miss notes a grant whose root cannot be walked.
func (g *globbing) miss(root string, err error) {
	if len(g.res.Missed) == maxTold {
		g.res.MissedMore++
		return
	}
	r := refusal.As(directoryRefused(root, err))
	g.res.Missed = append(g.res.Missed, protocol.Missed{Path: action.Path(root), Code: r.Code, Why: r.Why})
}

// nothingThere says that a grant has no place where a pattern's beginning
// leads, or none to be shown.
func nothingThere(err error) bool {
	r := refusal.As(err)
	return r != nil && slices.Contains([]refusal.Code{
		refusal.NotFound, refusal.MissingParent, refusal.Link, refusal.NotGranted, refusal.Denied, refusal.MountCrossing, refusal.NotRegular,
	}, r.Code)
}

// add puts what several walks say of themselves together.
func (g *globbing) add(said protocol.Walked) {
	w := &g.res.Walked
	w.Next = said.Next
	w.Left, w.LeftMore = append(w.Left, said.Left...), w.LeftMore+said.LeftMore
	w.Missed, w.MissedMore = append(w.Missed, said.Missed...), w.MissedMore+said.MissedMore
	w.Passed += said.Passed
}
