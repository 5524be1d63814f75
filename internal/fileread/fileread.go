// Package fileread is what the reader answers about files: windows of text,
// images, listings and searches by name for agents, and read-only handles for
// the keeper's captures.
//
// It reads disk as it is when asked and keeps no copy of any content. It cannot
// change anything, having no code for it; the process it runs in is walled
// besides.
//
// Whatever goes through many directories is a walk (walk.go): over one grant
// and those nested in it, by handles opened beneath the grant's root, in path
// order, in bounded memory, and judged name by name as each path by itself is.
//
// It does NOT decide who may ask: the reader's table does. It does not notice
// that a file is a second name of one that the deny list holds for a name at any
// depth, such as `.env`: it knows the files of the list's places in the home.
package fileread

import (
	"cmp"
	"context"
	"os"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/facts"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Files answers for one person's home. It is made by New, and safe for use by
// several goroutines.
type Files struct {
	Finder facts.Finder
	Policy action.Hash // named in every answer

	secrets  *secretPlaces     // what is known of the deny list's places
	patience *beneath.Patience // with filesystems that do not answer
	room     *grepRoom         // of all searches together
}

// New answers by facts of one person's home. Policy is named in every answer.
func New(finder facts.Finder, policy action.Hash) Files {
	finder.Patience = cmp.Or(finder.Patience, new(beneath.Patience))
	return Files{Finder: finder, Policy: policy, secrets: new(secretPlaces), patience: finder.Patience, room: newGrepRoom()}
}

// Capture says what stands at targets that are to be changed, and opens those
// that are files. Handles are read-only, of regular files, in the order of the
// facts that have one; the caller closes them.
func (f Files) Capture(targets []action.Target) (res protocol.CaptureResult, handles []*os.File, err error) {
	if len(targets) > protocol.MaxCapture {
		return res, nil, refusal.New(refusal.BadRequest, "the capture", "%d targets, of at most %d", len(targets), protocol.MaxCapture)
	}
	defer func() {
		if err != nil {
			for _, h := range handles {
				h.Close()
			}
			handles = nil
		}
	}()
	finder := f.Finder.Once()
	for _, t := range targets {
		found, err := finder.Find(grant.Write, t)
		if err != nil {
			return res, handles, err
		}
		before, file, err := finder.Look(found)
		found.Close()
		if err != nil {
			return res, handles, err
		}
		if file != nil {
			handles = append(handles, file)
			if err := f.denyLinked(context.Background(), t.Path.String(), *before.Fact.Base.Version); err != nil {
				return res, handles, err
			}
		}
		res.Facts = append(res.Facts, before.Fact)
	}
	return res, handles, nil
}
