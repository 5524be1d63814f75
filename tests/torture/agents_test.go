package torture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/facts"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/stage"
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
		s, finder := stager(dir, lease)
		return func(path string) (edited, error) { return carry(s, finder, path) }
	}
	return []way{
		{"check, rename over", plainly},
		{"exchange, no lease", staging(func(*os.File) error { return unix.EINVAL })},
		{"as it is", staging(nil)},
	}
}

// stager is one of whoever runs the test. Its syncs do nothing: other writers
// see no difference, and there are many more edits.
func stager(dir string, lease func(*os.File) error) (*stage.Stager, facts.Finder) {
	grants := []grant.Grant{{Root: dir, MaxFileSize: 1 << 20}}
	finder := facts.Finder{
		UID: uint32(os.Geteuid()), Groups: []uint32{uint32(os.Getegid())}, Home: dir, Keep: 1 << 20,
		Grants: grant.Set{Home: dir, Reads: grants, Writes: grants},
	}
	return stage.New(stage.Config{
		Finder: finder, Umask: 0o022, AskedText: 64 << 10, AutoBytes: 1 << 20, Lease: lease,
		Sync: func(*os.File) error { return nil },
	}), finder
}

// carry plans an edit as a keeper does, and carries it out.
func carry(s *stage.Stager, finder facts.Finder, path string) (e edited, err error) {
	target := action.Target{Path: action.Path(path)}
	found, err := finder.Find(grant.Write, target)
	if err != nil {
		return e, err
	}
	defer found.Close()
	before, file, err := finder.Look(found)
	if err != nil {
		return e, err
	}
	file.Close() // nil is fine
	was, becomes, ok := line(before.Content)
	if !ok {
		return e, errors.New("nothing to edit")
	}
	a := action.Action{FileWrite: &action.FileWrite{Changes: []action.Change{{
		Path: target.Path, Edit: &action.Edit{Edits: []action.Replacement{{Old: was, New: becomes}}},
	}}}}
	plans, err := a.Plan([]action.Before{before}, 0o022)
	if err != nil {
		return e, err
	}
	id := action.NewID()
	out, kept, err := s.Carry(protocol.Intent{
		ID: id, Action: a, Facts: []action.Fact{before.Fact}, Results: []action.Image{plans[0].Result},
		Staged: []string{fmt.Sprintf(".countersign-%.8x", action.HashOf([]byte(id)))},
	})
	if err != nil && refusal.As(err) == nil {
		return e, fmt.Errorf("[unexpected] no refusal: %w", err)
	}
	e.landed, e.base = err == nil && out.Result == protocol.Landed, before.Content
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
