package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"countersign/internal/action"
	"countersign/internal/protocol"
)

type proposeCmd struct {
	File  string `arg:"" help:"File with the proposal in JSON, or - for standard input."`
	Nonce string `help:"32 hex digits that make repeating this call harmless." placeholder:"HEX"`
	JSON  bool   `name:"json" help:"Print JSON."`
}

// maxProposal bounds the JSON of one proposal, in bytes: a frame's worth in
// base64, and some room.
const maxProposal = 16 << 20

func (c *proposeCmd) Run(s *session) error {
	raw, err := c.read()
	if err != nil {
		return err
	}
	p, err := action.ParseProposal(raw)
	if err != nil {
		return err
	}
	in := protocol.ActParams{Action: p.Action, Sentence: p.Sentence}
	if c.Nonce == "" {
		rand.Read(in.Nonce[:]) // never fails: crypto/rand ends the program instead
	} else if n, err := hex.Decode(in.Nonce[:], []byte(c.Nonce[:min(len(c.Nonce), 32)])); err != nil || n != len(in.Nonce) || len(c.Nonce) != 32 {
		return fmt.Errorf("--nonce has 32 hex digits")
	}
	var t protocol.Transaction
	if err := s.call(act, protocol.Act, in, &t); err != nil {
		return err
	}
	return s.report(t, c.JSON)
}

func (c *proposeCmd) read() ([]byte, error) {
	from := os.Stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	b, err := io.ReadAll(io.LimitReader(from, maxProposal+1))
	if err == nil && len(b) > maxProposal {
		err = fmt.Errorf("the proposal is over %d bytes", maxProposal)
	}
	return b, err
}

// ownCmd is about an action that the caller proposed.
type ownCmd struct {
	ID   shown `arg:"" help:"ID of the action."`
	JSON bool  `name:"json" help:"Print JSON."`
}

func (c *ownCmd) ask(s *session, method string) error {
	var t protocol.Transaction
	if err := s.call(act, method, protocol.IDParams{ID: c.ID.id}, &t); err != nil {
		return err
	}
	return s.report(t, c.JSON)
}

type awaitCmd struct{ ownCmd }

func (c *awaitCmd) Run(s *session) error { return c.ask(s, protocol.Await) }

type withdrawCmd struct{ ownCmd }

func (c *withdrawCmd) Run(s *session) error { return c.ask(s, protocol.Withdraw) }
