// Package fileread is what the reader answers about files: windows of text for
// agents, and read-only handles for the keeper's captures.
//
// It reads disk as it is when asked and keeps no copy. It cannot change
// anything, having no code for it; the process it runs in is walled besides.
//
// It does NOT decide who may ask: the reader's table does.
package fileread

import (
	"bytes"
	"os"
	"unicode/utf8"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/facts"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// MaxText bounds the text of one answer, in bytes.
const MaxText = 1 << 20

// Files answers for one person's home.
type Files struct {
	Finder facts.Finder
	Policy action.Hash // named in every answer
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
	for _, t := range targets {
		found, err := f.Finder.Find(grant.Write, t)
		if err != nil {
			return res, handles, err
		}
		before, file, err := f.Finder.Look(found)
		found.Close()
		if err != nil {
			return res, handles, err
		}
		if file != nil {
			handles = append(handles, file)
		}
		res.Facts = append(res.Facts, before.Fact)
	}
	return res, handles, nil
}

// Read gives lines of a text file, and the version of the whole.
func (f Files) Read(p protocol.ReadParams) (protocol.ReadResult, error) {
	what := p.Path.String()
	if err := p.Path.Validate(); err != nil {
		return protocol.ReadResult{}, err
	}
	found, err := f.Finder.Find(grant.Read, action.Target{Path: p.Path})
	if err != nil {
		return protocol.ReadResult{}, err
	}
	defer found.Close()
	file, err := found.Place.Open(what)
	if err != nil {
		return protocol.ReadResult{}, err
	}
	if file == nil {
		return protocol.ReadResult{}, refusal.New(refusal.NotFound, what, "")
	}
	defer file.Close()
	st, err := beneath.Fstat(file)
	if err != nil {
		return protocol.ReadResult{}, beneath.Refuse(what, err)
	}
	limit := min(found.Grant.MaxFileSize, f.Finder.Keep)
	if st.Size > limit {
		return protocol.ReadResult{}, refusal.New(refusal.FileTooBig, what, "%d bytes, over %d", st.Size, limit)
	}
	snap, err := beneath.Take(what, file, limit)
	if err != nil {
		return protocol.ReadResult{}, err
	}
	if !snap.Whole {
		return protocol.ReadResult{}, refusal.New(refusal.FileTooBig, what, "it grew over %d bytes", limit)
	}
	if err := f.Finder.Grants.DeniedByContent(grant.Read, string(found.Real), snap.Content); err != nil {
		return protocol.ReadResult{}, refusal.About(what, err)
	}
	if !utf8.Valid(snap.Content) || bytes.IndexByte(snap.Content, 0) >= 0 {
		return protocol.ReadResult{}, refusal.New(refusal.NotText, what, "")
	}
	res := window(snap.Content, p.From, p.Lines)
	res.Policy, res.Path, res.Version = f.Policy, p.Path, snap.Version
	return res, nil
}

// window cuts lines out of a text: from the line asked for, as many as were
// asked for and fit.
func window(text []byte, from, lines uint64) protocol.ReadResult {
	from = max(from, 1)
	res := protocol.ReadResult{From: from}
	var out []byte
	for line := range bytes.Lines(text) {
		res.Total++
		wanted := res.Total >= from && (lines == 0 || res.Lines < lines)
		if wanted && res.Lines == res.Total-from && len(out)+len(line) <= MaxText {
			out = append(out, line...)
			res.Lines++
		}
	}
	res.Text = string(out)
	return res
}
