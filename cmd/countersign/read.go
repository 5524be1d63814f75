package main

import (
	"fmt"
	"os"
	"path/filepath"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/wire/client"
)

type readCmd struct {
	Path   string `arg:"" help:"Absolute path of the file."`
	Person string `required:"" help:"Whose home it is in." placeholder:"NAME"`
	From   uint64 `help:"First line, from 1." default:"1"`
	Lines  uint64 `help:"How many lines; 0 is as many as fit."`
	JSON   bool   `name:"json" help:"Print JSON, with the version of the whole file."`
}

// Run asks the person's reader. In a pipe the text is exact; on a terminal it
// is made harmless.
func (c *readCmd) Run(s *session) error {
	path, err := action.ParsePath(c.Path)
	if err != nil {
		return err
	}
	if c.Person != filepath.Base(c.Person) {
		return fmt.Errorf("--person %q is no person's name", c.Person)
	}
	conn, err := client.Dial(s.ctx, client.Config{Path: filepath.Join(s.run, "readers", c.Person+".sock")})
	if err != nil {
		return err
	}
	defer conn.Close()
	var r protocol.ReadResult
	if err := conn.Call(s.ctx, protocol.Read, protocol.ReadParams{Path: path, From: c.From, Lines: c.Lines}, &r); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(r)
	}
	if s.out.Screen {
		s.out.Text(r.Text)
	} else if _, err := os.Stdout.WriteString(r.Text); err != nil {
		return err
	}
	if last := r.From + r.Lines; r.Lines > 0 && last <= r.Total {
		fmt.Fprintf(os.Stderr, "countersign: %d more lines: --from %d\n", r.Total-last+1, last)
	}
	return nil
}
