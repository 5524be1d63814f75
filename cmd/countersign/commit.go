package main

import (
	"crypto/rand"

	"countersign/internal/action"
	"countersign/internal/protocol"
)

type commitCmd struct {
	Repository string `arg:"" help:"Absolute path of the root of a work tree."`
	Message    string `short:"m" required:"" help:"The message, as it is to be."`
	Say        string `help:"One sentence to the owner." placeholder:"TEXT"`
	JSON       bool   `name:"json" help:"Print JSON."`
}

// Run proposes a commit of everything, as an agent does.
func (c *commitCmd) Run(s *session) error {
	root, err := action.ParsePath(c.Repository)
	if err != nil {
		return err
	}
	in := protocol.ActParams{Action: action.Action{GitWrite: &action.GitWrite{Commit: &action.Commit{Root: root, Message: c.Message}}}, Sentence: c.Say}
	rand.Read(in.Nonce[:]) // never fails: crypto/rand ends the program instead
	var t protocol.Transaction
	if err := s.call(act, protocol.Act, in, &t); err != nil {
		return err
	}
	return s.report(t, c.JSON)
}
