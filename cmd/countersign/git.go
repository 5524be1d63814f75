package main

import (
	"fmt"
	"os"

	"countersign/internal/action"
	"countersign/internal/protocol"
)

type gitCmd struct {
	Status   gitStatusCmd   `cmd:"" help:"Say what is changed in a work tree."`
	Log      gitLogCmd      `cmd:"" help:"List commits, newest first."`
	Diff     gitDiffCmd     `cmd:"" help:"Show changes of the work tree, of the index, or between commits."`
	Show     gitShowCmd     `cmd:"" help:"Show a commit, or what stood at a path in it."`
	Blame    gitBlameCmd    `cmd:"" help:"Say which commit each line of a file is from."`
	Branches gitBranchesCmd `cmd:"" help:"List branches."`
}

// gitOn is what every git command is about.
type gitOn struct {
	Repository string `arg:"" help:"Absolute path of the root of a work tree."`
	reader
	JSON bool `name:"json" help:"Print JSON."`
}

// inParts asks for a part of a longer answer.
type inParts struct {
	Skip  uint64 `help:"How many to leave out."`
	Limit uint64 `short:"n" help:"How many; 0 is as many as fit."`
}

func (c *gitOn) path() (action.Path, error) { return action.ParsePath(c.Repository) }

// more says on stderr how to get what was left out.
func more(n, next uint64) {
	if n > 0 {
		fmt.Fprintf(os.Stderr, "countersign: %d more: --skip %d\n", n, next)
	}
}

type gitStatusCmd struct {
	gitOn
	inParts
}

func (c *gitStatusCmd) Run(s *session) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	var r protocol.GitStatusResult
	if err := c.ask(s, protocol.GitStatus, protocol.GitStatusParams{Repository: path, Skip: c.Skip, Limit: c.Limit}, &r); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(r)
	}
	s.out.GitStatus(r)
	more(r.More, c.Skip+uint64(len(r.Entries)))
	return nil
}

type gitLogCmd struct {
	gitOn
	Rev  string   `help:"Where to begin." default:"HEAD"`
	Not  string   `help:"Leave out what this commit already has." placeholder:"REV"`
	Path []string `help:"Only commits that changed this path, relative to the root." sep:"none"`
	inParts
}

func (c *gitLogCmd) Run(s *session) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	in := protocol.GitLogParams{Repository: path, Rev: c.Rev, Not: c.Not, Skip: c.Skip, Limit: c.Limit}
	if in.Paths, err = parsePaths(c.Path); err != nil {
		return err
	}
	var r protocol.GitLogResult
	if err := c.ask(s, protocol.GitLog, in, &r); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(r)
	}
	s.out.GitLog(r)
	if r.More {
		fmt.Fprintf(os.Stderr, "countersign: there are older ones: --skip %d\n", c.Skip+uint64(len(r.Commits)))
	}
	return nil
}

type gitDiffCmd struct {
	gitOn
	From  string   `help:"Compare with this commit." placeholder:"REV"`
	To    string   `help:"Compare this commit with --from." placeholder:"REV"`
	Index bool     `help:"Compare the index, not the work tree."`
	Path  []string `help:"Only this path, relative to the root." sep:"none"`
	Names bool     `help:"Names alone, without patches."`
	inParts
}

func (c *gitDiffCmd) Run(s *session) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	in := protocol.GitDiffParams{Repository: path, From: c.From, To: c.To, Index: c.Index, Names: c.Names, Skip: c.Skip, Limit: c.Limit}
	if in.Paths, err = parsePaths(c.Path); err != nil {
		return err
	}
	var r protocol.GitDiffResult
	if err := c.ask(s, protocol.GitDiff, in, &r); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(r)
	}
	s.out.GitFiles(r.Files, c.Names)
	more(r.More, c.Skip+uint64(len(r.Files)))
	return nil
}

type gitShowCmd struct {
	gitOn
	Rev   string `help:"The commit." default:"HEAD"`
	Path  string `help:"Show what stood at this path, relative to the root."`
	Names bool   `help:"Names alone, without patches."`
	inParts
}

func (c *gitShowCmd) Run(s *session) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	in := protocol.GitShowParams{Repository: path, Rev: c.Rev, Names: c.Names, Skip: c.Skip, Limit: c.Limit}
	if in.Path, err = action.ParsePath(c.Path); err != nil && c.Path != "" {
		return err
	}
	var r protocol.GitShowResult
	if err := c.ask(s, protocol.GitShow, in, &r); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(r)
	}
	s.out.GitShow(r, c.Names)
	more(r.More, c.Skip+uint64(len(r.Files)+len(r.Entries)))
	return nil
}

type gitBlameCmd struct {
	gitOn
	Path  string `arg:"" help:"The file, relative to the root."`
	Rev   string `help:"In this commit, and not in the work tree."`
	From  uint64 `help:"First line, from 1." default:"1"`
	Lines uint64 `help:"How many lines; 0 is as many as fit."`
}

func (c *gitBlameCmd) Run(s *session) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	in := protocol.GitBlameParams{Repository: path, Rev: c.Rev, From: c.From, Lines: c.Lines}
	if in.Path, err = action.ParsePath(c.Path); err != nil {
		return err
	}
	var r protocol.GitBlameResult
	if err := c.ask(s, protocol.GitBlame, in, &r); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(r)
	}
	s.out.GitBlame(r)
	if r.More {
		fmt.Fprintf(os.Stderr, "countersign: there are more lines: --from %d\n", c.From+uint64(len(r.Lines)))
	}
	return nil
}

type gitBranchesCmd struct {
	gitOn
	inParts
}

func (c *gitBranchesCmd) Run(s *session) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	var r protocol.GitBranchesResult
	if err := c.ask(s, protocol.GitBranches, protocol.GitBranchesParams{Repository: path, Skip: c.Skip, Limit: c.Limit}, &r); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(r)
	}
	s.out.GitBranches(r)
	more(r.More, c.Skip+uint64(len(r.Branches)))
	return nil
}
