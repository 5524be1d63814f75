package torture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"golang.org/x/sys/unix"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/stage"
	"countersign/tests/hands"
)

// way is how an agent's edit comes to disk.
type way struct {
	name string
	edit func(path string) (edited, error)
}

// edited is what came of one edit.
type edited struct {
	landed   bool
	base     []byte   // what it landed on
	reported [][]byte // what the answer hands over of others' work
}

// ways are the product's, and beside it for comparison the exchange without a
// lease, and what careful programs do.
func ways(dir string) []way {
	staging := func(lease func(*os.File) error) func(string) (edited, error) {
		h := hands.New(dir, func(c *stage.Config) {
			c.Lease = lease
			c.Sync = func(*os.File) error { return nil } // other writers see no difference, and there are more edits
		})
		return func(path string) (edited, error) { return carry(h, path) }
	}
	return []way{
		{"check, rename over", plainly},
		{"exchange, no lease", staging(func(*os.File) error { return unix.EINVAL })},
		{"as it is", staging(nil)},
	}
}

// carry plans an edit as a keeper does, and carries it out.
func carry(h *hands.Hands, path string) (e edited, err error) {
	now, err := os.ReadFile(path)
	if err != nil {
		return e, err
	}
	was, becomes, ok := line(now)
	if !ok {
		return e, errors.New("nothing to edit")
	}
	in, befores, err := h.Intent(hands.Changes(hands.Edit(path, string(was), string(becomes))))
	if err != nil {
		return e, err
	}
	out, kept, err := h.Carry(in)
	if err != nil && refusal.As(err) == nil {
		return e, fmt.Errorf("[unexpected] no refusal: %w", err)
	}
	e.landed, e.base = err == nil && out.Result == protocol.Landed, befores[0].Content
	for i, f := range kept {
		b, readErr := io.ReadAll(f)
		e.reported = append(e.reported, b)
		err = errors.Join(err, readErr, f.Close(), os.Remove(string(out.Kept[i].Path)))
	}
	return e, err
}

var agents = regexp.MustCompile(`(?m)^agent (\d+)\n`)

// line finds the agent's line, and gives what it is to become.
func line(text []byte) (was, becomes []byte, ok bool) {
	m := agents.FindSubmatch(text)
	if m == nil {
		return nil, nil, false
	}
	var n int
	fmt.Sscan(string(m[1]), &n)
	return m[0], fmt.Appendf(nil, "agent %d\n", n+1), true
}

// plainly reads, writes a new file, looks whether the old one is still what was
// read, and renames over it.
func plainly(path string) (e edited, err error) {
	base, err := os.ReadFile(path)
	if err != nil {
		return e, err
	}
	was, becomes, ok := line(base)
	if !ok {
		return e, errors.New("nothing to edit")
	}
	own := path + ".agent"
	if err := os.WriteFile(own, bytes.Replace(base, was, becomes, 1), 0o644); err != nil {
		return e, err
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, base) {
		return e, errors.Join(err, os.Remove(own))
	}
	return edited{landed: true, base: base}, os.Rename(own, path)
}
