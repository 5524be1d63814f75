// Package hands gives tests the scribe's hands without its process: a stager
// on a home that whoever runs the test has, and a keeper's part of an intent.
//
// It is a package for tests alone, and judges nothing.
package hands

import (
	"crypto/rand"
	"encoding/hex"
	"os"

	"countersign/internal/action"
	"countersign/internal/facts"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/stage"
)

// Hands are the stager of one home, granted whole.
type Hands struct {
	*stage.Stager
	Finder facts.Finder
	Umask  uint32
}

// New gives hands on a home. bend, where it is not nil, changes how they are
// set up.
func New(home string, bend func(*stage.Config)) *Hands {
	const most = 8 << 20
	groups := []uint32{uint32(os.Getegid())}
	if more, err := os.Getgroups(); err == nil {
		for _, g := range more {
			groups = append(groups, uint32(g))
		}
	}
	grants := []grant.Grant{{Root: home, MaxFileSize: most}}
	cfg := stage.Config{
		Finder: facts.Finder{
			UID: uint32(os.Geteuid()), Groups: groups, Home: home, Keep: most,
			Grants: grant.Set{Home: home, Reads: grants, Writes: grants},
		},
		Umask: 0o022, AskedText: 64 << 10, AutoBytes: most,
	}
	if bend != nil {
		bend(&cfg)
	}
	return &Hands{Stager: stage.New(cfg), Finder: cfg.Finder, Umask: cfg.Umask}
}

// Intent captures and plans an action on disk as it is now. Beside it stands
// what was captured.
func (h *Hands) Intent(a action.Action) (protocol.Intent, []action.Before, error) {
	in := protocol.Intent{ID: action.NewID(), Action: a}
	var befores []action.Before
	for _, target := range a.Targets() {
		before, err := h.capture(target)
		if err != nil {
			return in, nil, err
		}
		befores, in.Facts = append(befores, before), append(in.Facts, before.Fact)
		in.Staged = append(in.Staged, stagedName())
	}
	plans, err := a.Plan(befores, h.Umask)
	for _, p := range plans {
		in.Results = append(in.Results, p.Result)
	}
	return in, befores, err
}

func (h *Hands) capture(target action.Target) (action.Before, error) {
	found, err := h.Finder.Find(grant.Write, target)
	if err != nil {
		return action.Before{}, err
	}
	defer found.Close()
	before, file, err := h.Finder.Look(found)
	if err != nil {
		return action.Before{}, err
	}
	file.Close() // nil is fine
	return before, nil
}

// Do captures, plans and carries out. Files that were displaced and not put
// back are closed, and stand in the outcome alone.
func (h *Hands) Do(a action.Action) (protocol.Outcome, error) {
	in, _, err := h.Intent(a)
	if err != nil {
		return protocol.Outcome{}, err
	}
	out, kept, err := h.Carry(in)
	for _, f := range kept {
		f.Close()
	}
	return out, err
}

func stagedName() string {
	var b [8]byte
	rand.Read(b[:])
	return ".countersign-" + hex.EncodeToString(b[:])
}

// Changes makes an action of changes.
func Changes(c ...action.Change) action.Action {
	return action.Action{FileWrite: &action.FileWrite{Changes: c}}
}

// Write changes a file to a content.
func Write(path, content string) action.Change {
	return action.Change{Path: action.Path(path), Write: &action.Write{Content: []byte(content)}}
}

// Edit replaces one text in a file.
func Edit(path, from, to string) action.Change {
	return action.Change{Path: action.Path(path), Edit: &action.Edit{Edits: []action.Replacement{{Old: []byte(from), New: []byte(to)}}}}
}

// Delete removes a file.
func Delete(path string) action.Change {
	return action.Change{Path: action.Path(path), Delete: &action.Delete{}}
}
