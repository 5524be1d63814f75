package main

import (
	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// paged is what commands share whose answers come in pages: as text all of
// them are printed, as JSON one.
type paged struct {
	All   bool   `help:"Pass over nothing: show .git, dependencies, builds and what .gitignore covers too."`
	After string `help:"Go on behind this path: \"next\" of the JSON before." placeholder:"PATH"`
	Limit uint64 `short:"n" help:"At most so many; 0 is all."`
	JSON  bool   `name:"json" help:"Print JSON, one page."`
}

// pages asks for page after page, until there is none, or as many as were
// wanted. ask gives how many things a page had, and what it says of its walk.
func (p *paged) pages(after action.Path, ask func(after action.Path, limit uint64) (int, protocol.Walked, error)) (protocol.Walked, error) {
	var all protocol.Walked
	for left := p.Limit; ; {
		n, walked, err := ask(after, left)
		if err != nil {
			return all, err
		}
		all.Passed += walked.Passed
		all.Missed, all.MissedMore = append(all.Missed, walked.Missed...), all.MissedMore+walked.MissedMore
		all.Next, all.Left, all.LeftMore = walked.Next, walked.Left, walked.LeftMore
		if left > 0 {
			if left -= min(left, uint64(n)); left == 0 {
				return all, nil
			}
		}
		if after = walked.Next; after == "" || p.JSON {
			return all, nil
		}
	}
}

type lsCmd struct {
	Path string `arg:"" optional:"" help:"Absolute path of a directory; without one, what is granted."`
	reader
	Recursive bool `short:"R" help:"With all that is beneath it."`
	paged
}

func (c *lsCmd) Run(s *session) error {
	paths, err := parsePaths([]string{c.Path, c.After})
	if err != nil {
		return err
	}
	in := protocol.ListParams{Path: paths[0], Recursive: c.Recursive, All: c.All}
	walked, err := c.pages(paths[1], func(after action.Path, limit uint64) (int, protocol.Walked, error) {
		in.After, in.Limit = after, limit
		var r protocol.Listing
		if err := c.ask(s, protocol.List, in, &r); err != nil {
			return 0, r.Walked, err
		}
		if c.JSON {
			return len(r.Entries), r.Walked, printJSON(r)
		}
		s.out.Listing(r)
		return len(r.Entries), r.Walked, nil
	})
	if err == nil && !c.JSON {
		s.err.Walked(walked)
	}
	return err
}

type globCmd struct {
	Pattern string `arg:"" help:"Pattern such as \"**/*_test.go\", absolute or relative."`
	reader
	Path string `help:"Directory that the pattern is relative to; without one, every read grant's root." placeholder:"DIR"`
	Kind string `help:"Only files, directories, links, pipes, sockets or devices." enum:",file,directory,link,pipe,socket,device" default:""`
	paged
}

func (c *globCmd) Run(s *session) error {
	paths, err := parsePaths([]string{c.Pattern, c.Path, c.After})
	if err != nil {
		return err
	}
	in := protocol.GlobParams{Pattern: paths[0], Path: paths[1], Kind: protocol.Kind(c.Kind), All: c.All}
	walked, err := c.pages(paths[2], func(after action.Path, limit uint64) (int, protocol.Walked, error) {
		in.After, in.Limit = after, limit
		var r protocol.GlobResult
		if err := c.ask(s, protocol.Glob, in, &r); err != nil {
			return 0, r.Walked, err
		}
		if c.JSON {
			return len(r.Matches), r.Walked, printJSON(r)
		}
		s.out.Matches(r.Matches)
		return len(r.Matches), r.Walked, nil
	})
	if err == nil && !c.JSON {
		s.err.Walked(walked)
	}
	return err
}

type statCmd struct {
	Paths []string `arg:"" name:"path" help:"Absolute paths, at most 64."`
	reader
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *statCmd) Run(s *session) error {
	paths, err := parsePaths(c.Paths)
	if err != nil {
		return err
	}
	var r protocol.StatResult
	if err := c.ask(s, protocol.Stat, protocol.StatParams{Paths: paths}, &r); err != nil {
		return err
	}
	refused := func(f protocol.StatFile) *refusal.Refusal { return f.Refusal }
	if len(r.Files) == 1 && r.Files[0].Refusal != nil {
		return r.Files[0].Refusal
	}
	if c.JSON {
		return endOfFiles(printJSON(r), r.Files, refused)
	}
	for _, f := range r.Files {
		if f.About != nil {
			s.out.Stat(f)
		}
	}
	return endOfFiles(nil, r.Files, refused)
}
