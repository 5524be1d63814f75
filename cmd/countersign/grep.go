package main

import (
	"fmt"
	"os"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/show"
)

type grepCmd struct {
	Pattern string `arg:"" help:"Regular expression in Go's syntax (RE2)."`
	Path    string `arg:"" help:"Absolute path of a directory or a file."`
	reader
	IgnoreCase bool     `short:"i" help:"Letters match in either case."`
	Word       bool     `short:"w" help:"Matches are whole words."`
	Fixed      bool     `short:"F" help:"The pattern is text, found as it is."`
	Context    uint64   `short:"C" help:"Lines around each match, at most 50." placeholder:"N"`
	Files      bool     `short:"l" xor:"mode" help:"Only the names of files with a match."`
	Count      bool     `short:"c" xor:"mode" help:"Only how many lines of each file match."`
	Include    []string `short:"g" sep:"none" help:"Only files that a glob matches: by name or, where it has a slash, by path beneath PATH; repeatable." placeholder:"GLOB"`
	Exclude    []string `sep:"none" help:"No files or directories that a glob matches; repeatable." placeholder:"GLOB"`
	AfterLine  uint64   `help:"With --after: behind this line of it, \"next_line\" of the JSON before." placeholder:"N"`
	paged
}

// Run asks the person's reader, part by part. What was not searched is said on
// standard error.
func (c *grepCmd) Run(s *session) error {
	paths, err := parsePaths([]string{c.Path, c.After})
	if err != nil {
		return err
	}
	in := protocol.GrepParams{
		Path: paths[0], Pattern: c.Pattern, Literal: c.Fixed, IgnoreCase: c.IgnoreCase, Word: c.Word, Context: c.Context,
		Include: c.Include, Exclude: c.Exclude, All: c.All, Mode: c.mode(), AfterLine: c.AfterLine,
	}
	var last show.Place
	matches := 0
	walked, err := c.pages(paths[1], func(after action.Path, limit uint64) (int, protocol.Walked, error) {
		in.After, in.Limit = after, limit
		var r protocol.GrepResult
		if err := c.ask(s, protocol.Grep, in, &r); err != nil {
			return 0, r.Walked, err
		}
		in.AfterLine, matches = r.NextLine, matches+int(r.Matches)
		if c.JSON {
			return int(r.Matches), r.Walked, printJSON(r)
		}
		last = s.out.Grep(in, r, last)
		s.err.Skipped(r.Skipped)
		return int(r.Matches), r.Walked, nil
	})
	if err != nil || c.JSON {
		return err
	}
	s.err.Walked(walked)
	if matches == 0 {
		fmt.Fprintln(os.Stderr, "countersign: nothing matches")
	}
	return nil
}

func (c *grepCmd) mode() protocol.GrepMode {
	switch {
	case c.Files:
		return protocol.GrepFiles
	case c.Count:
		return protocol.GrepCount
	}
	return protocol.GrepLines
}
