package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"countersign/internal/action"
	"countersign/internal/consent"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/show"
	"countersign/internal/wire/client"
)

// session is one command's context: where the sockets are, and how to speak.
type session struct {
	ctx  context.Context
	root string // as "up" was given it; empty for the installed service
	run  string // directory of the sockets
	out  show.Writer
	err  show.Writer // what is said beside the answer
}

func newSession(ctx context.Context, root string) *session {
	run := "/run/countersign"
	if root != "" {
		if abs, err := filepath.Abs(root); err == nil {
			root = abs
		}
		run = filepath.Join(root, "run")
	}
	width, screen := 0, term.IsTerminal(int(os.Stdout.Fd()))
	if screen {
		width, _, _ = term.GetSize(int(os.Stdout.Fd()))
	}
	colour := screen && os.Getenv("NO_COLOR") == ""
	return &session{ctx: ctx, root: root, run: run, out: show.Writer{Out: os.Stdout, Colour: colour, Width: width, Screen: screen}, err: show.Writer{Out: os.Stderr}}
}

// call asks one of the keeper's sockets.
func (s *session) call(socket, method string, params, result any) error {
	c, err := client.Dial(s.ctx, client.Config{Path: filepath.Join(s.run, "keeper", socket+".sock")})
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Call(s.ctx, method, params, result)
}

// The keeper's two sockets.
const (
	act   = "act"
	owner = "consent"
)

// ask asks what both sockets answer: an owner about the home, anybody else
// about what they proposed.
func (s *session) ask(method string, params, result any) error {
	err := s.call(owner, method, params, result)
	if refusal.Is(err, refusal.NotPermitted) {
		return s.call(act, method, params, result)
	}
	return err
}

// printJSON prints JSON that says exactly what v holds and is harmless to look
// at: what takes no ink is spelled as JSON's own escapes.
func printJSON(v any) error {
	return encodeJSON(v, "  ")
}

// printJSONLine is printJSON for a reader that takes a line at a time.
func printJSONLine(v any) error { return encodeJSON(v, "") }

func encodeJSON(v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", indent)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := os.Stdout.WriteString(show.JSON(b.String()))
	return err
}

// end turns a transaction's state into how the command ends.
func end(t protocol.Transaction) error {
	code := map[protocol.State]ended{
		protocol.StateWaiting: exitWaiting, protocol.StateApproved: exitWaiting, protocol.StateIntent: exitUnknown,
		protocol.StateNotLanded: exitNot, protocol.StateWithdrawn: exitNot, protocol.StateUnknown: exitUnknown,
		protocol.StateRefused: exitRefused, protocol.StateDenied: exitDenied, protocol.StateExpired: exitDenied,
	}[t.State]
	if code == 0 {
		return nil
	}
	return code
}

// report prints a transaction, and ends as it did.
func (s *session) report(t protocol.Transaction, asJSON bool) error {
	if asJSON {
		if err := printJSON(t); err != nil {
			return err
		}
		return end(t)
	}
	s.out.Banner(t.Unseparated)
	s.out.Answer(t)
	return end(t)
}

// shown is an ID, and the prefix of the preview that was looked at.
type shown struct {
	id     action.ID
	prefix string
}

// UnmarshalText reads ID@PREFIX, or ID alone.
func (r *shown) UnmarshalText(b []byte) error {
	id, prefix, given := strings.Cut(string(b), "@")
	r.id, r.prefix = action.ID(id), prefix
	if !r.id.Valid() {
		return fmt.Errorf("%q is no ID: 13 letters and digits, as `countersign pending` lists", id)
	}
	if given && len(prefix) < consent.PrefixShown {
		return fmt.Errorf("the prefix behind the @ has %d hex digits, as `countersign show` gives it", consent.PrefixShown)
	}
	return nil
}
