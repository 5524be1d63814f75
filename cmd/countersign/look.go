package main

import (
	"fmt"
	"os"
	"time"

	"countersign/internal/protocol"
	"countersign/internal/show"
)

type none struct{}

type pendingCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *pendingCmd) Run(s *session) error {
	var list protocol.ListResult
	if err := s.ask(protocol.Pending, protocol.PendingParams{}, &list); err != nil {
		return err
	}
	return s.list(list, c.JSON, "nothing waits", s.out.Rows)
}

type logCmd struct {
	Limit   uint64 `short:"n" default:"50" help:"How many, at most 200."`
	Before  shown  `help:"Only what was proposed before this one." placeholder:"ID"`
	Refused bool   `help:"Also what was refused before anybody was asked."`
	Agent   string `help:"Only what this agent proposed, or this person." placeholder:"NAME"`
	Path    string `help:"Only what is about this path, or one beneath it." placeholder:"PATH"`
	Kind    string `help:"Only this kind: file-write, file-delete, git-commit, git-discard, git-push or undo." placeholder:"KIND"`
	State   string `help:"Only what stands so: waiting, landed, denied, withdrawn, expired, refused, not-landed or unknown." placeholder:"STATE"`
	Since   string `help:"Only what was proposed then or later: 2h or 7d ago, or 2026-01-31." placeholder:"TIME"`
	Until   string `help:"Only what was proposed before then." placeholder:"TIME"`
	JSON    bool   `name:"json" help:"Print JSON."`
}

func (c *logCmd) Run(s *session) error {
	in := protocol.LogParams{Limit: c.Limit, Before: c.Before.id, Refused: c.Refused}
	for _, by := range [][2]string{
		{"agent", c.Agent}, {"path", c.Path}, {"kind", c.Kind}, {"state", c.State}, {"since", c.Since}, {"until", c.Until},
	} {
		if by[1] == "" {
			continue
		}
		if err := show.Narrow(&in, by[0], by[1], time.Now()); err != nil {
			fmt.Fprintf(os.Stderr, "countersign: --%s: %v\n", by[0], err)
			return ended(exitUsage)
		}
	}
	var list protocol.ListResult
	if err := s.ask(protocol.Log, in, &list); err != nil {
		return err
	}
	if err := s.list(list, c.JSON, "nothing of that kind happened yet", s.out.Stories); err != nil {
		return err
	}
	if n := len(list.Transactions); !c.JSON && n > 0 && (uint64(n) == c.Limit || c.Path != "") {
		fmt.Fprintf(s.out.Out, "older: the same with --before %s\n", list.Transactions[n-1].ID)
	}
	return nil
}

func (s *session) list(list protocol.ListResult, asJSON bool, empty string, write func([]protocol.Transaction)) error {
	if asJSON {
		if list.Transactions == nil {
			list.Transactions = []protocol.Transaction{}
		}
		return printJSON(list)
	}
	s.out.Banner(list.Unseparated)
	if len(list.Transactions) == 0 {
		fmt.Fprintln(s.out.Out, empty)
		return nil
	}
	write(list.Transactions)
	if list.More > 0 {
		fmt.Fprintf(s.out.Out, "and %d more\n", list.More)
	}
	return nil
}

type showCmd struct {
	ID   shown `arg:"" help:"ID of the action."`
	JSON bool  `name:"json" help:"Print JSON."`
}

func (c *showCmd) Run(s *session) error {
	var whole protocol.ShowResult
	if err := s.ask(protocol.Show, protocol.IDParams{ID: c.ID.id}, &whole); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(whole)
	}
	s.out.Banner(whole.Transaction.Unseparated)
	s.out.Transaction(whole)
	return nil
}

type verifyCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *verifyCmd) Run(s *session) error {
	var r protocol.VerifyResult
	if err := s.call(owner, protocol.Verify, none{}, &r); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(r)
	}
	s.out.Banner(r.Unseparated)
	fmt.Fprintf(s.out.Out, "the journal holds: %d records, %d bodies, %d bytes in %d segments\nhead %s\n", r.Records, r.Bodies, r.Bytes, r.Segments, r.Head)
	return nil
}

type statusCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *statusCmd) Run(s *session) error {
	var r protocol.StatusResult
	if err := s.call(owner, protocol.Status, none{}, &r); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(r)
	}
	s.out.Banner(r.Unseparated)
	s.out.Status(r)
	return nil
}
