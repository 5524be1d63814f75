package fileread

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/grant"
	"countersign/internal/ignore"
	"countersign/internal/protocol"
)

// maxListed bounds the names of one answer, in bytes.
const maxListed = 1 << 20

// List gives what is in a directory, on request with all that is beneath it;
// without a path what is granted.
func (f Files) List(ctx context.Context, p protocol.ListParams) (protocol.Listing, error) {
	if p.Path == "" {
		return f.granted(), nil
	}
	w, err := f.openWalk(walking{
		path: p.Path, after: p.After, all: p.All || !p.Recursive, look: true,
		enter: func(string) bool { return p.Recursive },
	})
	if err != nil {
		return protocol.Listing{}, err
	}
	defer w.Close()
	res := protocol.Listing{Policy: f.Policy, Path: p.Path}
	bound := bound{count: limit(p.Limit, protocol.MaxEntries), bytes: maxListed}
	res.Walked, err = w.each(ctx, func(s seen) bool {
		name := action.Path(s.relative())
		if !bound.take(len(name)) {
			return false
		}
		about := f.about(s.info, s.grant, s.path())
		about.Grant = s.nested
		res.Entries = append(res.Entries, protocol.Entry{Name: name, About: about})
		return true
	})
	return res, err
}

// limit gives how many of something a caller gets who asked for so many.
func limit(asked uint64, most int) int {
	if asked == 0 || asked > uint64(most) {
		return most
	}
	return int(asked)
}

// bound is what is left of an answer's room. The first thing always fits.
type bound struct{ count, bytes, taken int }

func (b *bound) take(bytes int) bool {
	if b.taken == b.count || b.taken > 0 && bytes > b.bytes {
		return false
	}
	b.taken++
	b.bytes -= bytes
	return true
}

// granted lists what is granted, and what walks pass over by name.
func (f Files) granted() protocol.Listing {
	res := protocol.Listing{Policy: f.Policy}
	for _, op := range []grant.Op{grant.Read, grant.Write} {
		list := f.Finder.Grants.Reads
		if op == grant.Write {
			list = f.Finder.Grants.Writes
		}
		for _, g := range list {
			res.Grants = append(res.Grants, protocol.Granted{
				Root: action.Path(g.Root), Write: op == grant.Write, Include: g.Include, Ignore: g.Ignore,
				MaxFileSize: uint64(g.MaxFileSize), FollowLinks: g.FollowLinks, CrossMounts: g.CrossMounts, Why: f.unavailable(g.Root),
			})
		}
	}
	for _, k := range ignore.Directories() {
		res.PassedOver = append(res.PassedOver, k.Name)
	}
	for _, k := range ignore.InHome() {
		res.PassedOver = append(res.PassedOver, "~/"+k.Name)
	}
	return res
}

// unavailable says why a grant's root cannot be read beneath now.
func (f Files) unavailable(root string) string {
	_, err := f.patience.Where(root)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, unix.ENOENT):
		return "its root is not there"
	}
	return "its root cannot be opened: " + beneath.Reason(err)
}
