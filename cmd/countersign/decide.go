package main

import (
	"fmt"
	"os"

	"countersign/internal/prompt"
	"countersign/internal/protocol"
)

type approveCmd struct {
	Which shown `arg:"" name:"id@prefix" help:"ID and the prefix that \"show\" gave for it."`
	JSON  bool  `name:"json" help:"Print JSON."`
}

func (c *approveCmd) Run(s *session) error {
	if c.Which.prefix == "" {
		fmt.Fprintf(os.Stderr, "countersign: an approval names what was seen: look at it with `countersign show %s`, then give ID@PREFIX\n", c.Which.id)
		return ended(exitUsage)
	}
	return s.decide(protocol.DecideParams{ID: c.Which.id, Prefix: c.Which.prefix, Approve: true}, c.JSON)
}

type denyCmd struct {
	Which shown  `arg:"" name:"id" help:"ID of the action."`
	Why   string `help:"A word to the agent." placeholder:"TEXT"`
	JSON  bool   `name:"json" help:"Print JSON."`
}

func (c *denyCmd) Run(s *session) error {
	err := s.decide(protocol.DecideParams{ID: c.Which.id, Why: c.Why}, c.JSON)
	if err == ended(exitDenied) {
		return nil // that is what was asked for
	}
	return err
}

func (s *session) decide(in protocol.DecideParams, asJSON bool) error {
	var t protocol.Transaction
	if err := s.call(owner, protocol.Decide, in, &t); err != nil {
		return err
	}
	return s.report(t, asJSON)
}

type undoCmd struct {
	Which shown `arg:"" name:"id" help:"ID of the landed action; with @PREFIX of the undo's preview it is carried out at once."`
	Yes   bool  `help:"Carry out whatever the preview is, without a look at it."`
	JSON  bool  `name:"json" help:"Print JSON."`
}

// Run previews an undo, and carries it out on a word that names the preview: a
// prefix given with the command, --yes, or an answer at the terminal.
func (c *undoCmd) Run(s *session) error {
	in := protocol.UndoParams{ID: c.Which.id, Prefix: c.Which.prefix}
	var t protocol.Transaction
	if err := s.call(owner, protocol.Undo, in, &t); err != nil {
		return err
	}
	if t.State != protocol.StateWaiting {
		return s.report(t, c.JSON)
	}
	if !c.Yes {
		agreed, err := c.look(s, t)
		if err != nil || !agreed {
			return err
		}
	}
	in.Prefix = t.Prefix
	if err := s.call(owner, protocol.Undo, in, &t); err != nil {
		return err
	}
	return s.report(t, c.JSON)
}

// look shows the preview. At a terminal it asks; elsewhere it says what to
// call, and ends as waiting.
func (c *undoCmd) look(s *session, t protocol.Transaction) (agreed bool, err error) {
	var whole protocol.ShowResult
	if err := s.call(owner, protocol.Show, protocol.IDParams{ID: t.ID}, &whole); err != nil {
		return false, err
	}
	if c.JSON {
		if err := printJSON(whole); err != nil {
			return false, err
		}
		return false, ended(exitWaiting)
	}
	s.out.Banner(t.Unseparated)
	s.out.Transaction(whole)
	if !prompt.Terminal(os.Stdin, os.Stdout) {
		fmt.Fprintf(s.out.Out, "carry it out:  countersign undo %s@%s\n", c.Which.id, t.Prefix)
		return false, ended(exitWaiting)
	}
	answer, err := prompt.Ask(s.ctx, os.Stdin, os.Stdout, "Put this back?", []string{"undo", "leave"})
	if err == nil && answer != "undo" {
		fmt.Fprintf(s.out.Out, "it waits; end it with:  countersign deny %s\n", t.ID)
		err = ended(exitWaiting)
	}
	return answer == "undo", err
}
