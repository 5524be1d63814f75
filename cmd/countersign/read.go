package main

import (
	"fmt"
	"os"
	"path/filepath"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/show"
	"countersign/internal/wire/client"
)

// reader is whose home is read.
type reader struct {
	Person string `required:"" help:"Whose home it is in." placeholder:"NAME"`
}

// ask asks the person's reader.
func (r reader) ask(s *session, method string, params, result any) error {
	if r.Person != filepath.Base(r.Person) {
		return fmt.Errorf("--person %q is no person's name", r.Person)
	}
	conn, err := client.Dial(s.ctx, client.Config{Path: filepath.Join(s.run, "readers", r.Person+".sock")})
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Call(s.ctx, method, params, result)
}

func parsePaths(given []string) ([]action.Path, error) {
	paths := make([]action.Path, len(given))
	for i, g := range given {
		var err error
		if paths[i], err = action.ParsePath(g); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

type readCmd struct {
	Paths []string `arg:"" name:"path" help:"Absolute paths of files, at most 64."`
	reader
	From  uint64 `help:"First line, from 1." default:"1"`
	Lines uint64 `help:"How many lines; 0 is as many as fit."`
	JSON  bool   `name:"json" help:"Print JSON, with the version of each whole file."`
}

// Run asks the person's reader. In a pipe the text is exact; on a terminal it
// is made harmless.
func (c *readCmd) Run(s *session) error {
	paths, err := parsePaths(c.Paths)
	if err != nil {
		return err
	}
	var in protocol.ReadParams
	for _, p := range paths {
		in.Files = append(in.Files, protocol.ReadWanted{Path: p, From: c.From, Lines: c.Lines})
	}
	var r protocol.ReadResult
	if err := c.ask(s, protocol.Read, in, &r); err != nil {
		return err
	}
	if len(r.Files) == 1 && r.Files[0].Refusal != nil {
		return r.Files[0].Refusal
	}
	if c.JSON {
		return endOfFiles(printJSON(r), r.Files, refusalOfRead)
	}
	for _, f := range r.Files {
		if len(r.Files) > 1 {
			s.out.Title(f.Path)
		}
		if err := c.print(s, f); err != nil {
			return err
		}
	}
	return endOfFiles(nil, r.Files, refusalOfRead)
}

func (c *readCmd) print(s *session, f protocol.ReadFile) error {
	if f.Refusal != nil {
		return nil // said behind the rest
	}
	if s.out.Screen {
		s.out.Text(f.Text)
	} else if _, err := os.Stdout.WriteString(f.Text); err != nil {
		return err
	}
	if v := f.Version; v != nil && v.Links > 1 {
		fmt.Fprintf(os.Stderr, "countersign: the file has %d names\n", v.Links)
	}
	if last := f.From + f.Lines; f.Total >= f.From && last <= f.Total {
		fmt.Fprintf(os.Stderr, "countersign: %d more lines: --from %d\n", f.Total-last+1, last)
	}
	return nil
}

func refusalOfRead(f protocol.ReadFile) *refusal.Refusal { return f.Refusal }

// endOfFiles says which files were refused, and ends as refused where one was.
func endOfFiles[F any](err error, files []F, refused func(F) *refusal.Refusal) error {
	for _, f := range files {
		if r := refused(f); r != nil && err == nil {
			err = ended(exitRefused)
		}
	}
	for _, f := range files {
		if r := refused(f); r != nil {
			fmt.Fprintln(os.Stderr, "countersign: refused:", show.Refusal(r))
		}
	}
	return err
}
