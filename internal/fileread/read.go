package fileread

import (
	"bytes"
	"context"
	"unicode/utf8"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// MaxText bounds the text of one answer, in bytes, of all its files together.
const MaxText = 1 << 20

// Read gives lines of text files, and the version of each whole file. A file
// that is refused is so by itself; the error is the call's own.
func (f Files) Read(ctx context.Context, p protocol.ReadParams) (protocol.ReadResult, error) {
	res := protocol.ReadResult{Policy: f.Policy}
	if err := countFiles(len(p.Files)); err != nil {
		return res, err
	}
	room := MaxText
	for _, w := range p.Files {
		if err := ctx.Err(); err != nil {
			return res, err
		}
		file, err := f.readOne(ctx, w, room)
		if err != nil {
			if file.Refusal = refusal.As(err); file.Refusal == nil {
				return res, err
			}
		}
		file.Path = w.Path
		room -= len(file.Text)
		res.Files = append(res.Files, file)
	}
	return res, nil
}

// countFiles refuses a call that names no file or too many.
func countFiles(n int) error {
	switch {
	case n == 0:
		return refusal.New(refusal.BadRequest, "the call", "it names no file")
	case n > protocol.MaxFiles:
		return refusal.New(refusal.TooLarge, "the call", "it names %d files, and one call takes %d", n, protocol.MaxFiles)
	}
	return nil
}

// readOne gives a window of one file, of at most room bytes.
func (f Files) readOne(ctx context.Context, w protocol.ReadWanted, room int) (protocol.ReadFile, error) {
	what := w.Path.String()
	snap, err := f.whole(ctx, w.Path, f.Finder.Keep)
	if err != nil {
		return protocol.ReadFile{}, err
	}
	if !utf8.Valid(snap.Content) || bytes.IndexByte(snap.Content, 0) >= 0 {
		return protocol.ReadFile{}, refusal.New(refusal.NotText, what, "")
	}
	file := window(snap.Content, w.From, w.Lines, room)
	if file.Lines == 0 && file.Total >= file.From && room < MaxText {
		return protocol.ReadFile{}, refusal.New(refusal.TooLarge, what, "the files before it took the answer's room of %d bytes", MaxText)
	}
	file.Version = &snap.Version
	return file, nil
}

// whole reads a whole regular file of at most limit bytes, and of what its
// grant allows.
func (f Files) whole(ctx context.Context, path action.Path, limit int64) (beneath.Snapshot, error) {
	what := path.String()
	none := beneath.Snapshot{}
	if err := path.Validate(); err != nil {
		return none, err
	}
	found, err := f.Finder.Find(grant.Read, action.Target{Path: path})
	if err != nil {
		return none, err
	}
	defer found.Close()
	file, err := found.Place.Open(what)
	if err != nil {
		return none, err
	}
	if file == nil {
		return none, refusal.New(refusal.NotFound, what, "")
	}
	defer file.Close()
	if !found.Place.StandsAt(file) { // its directory was moved away meanwhile
		return none, refusal.New(refusal.NotFound, what, "")
	}
	st, err := beneath.Fstat(file)
	if err != nil {
		return none, beneath.Refuse(what, err)
	}
	limit = min(found.Grant.MaxFileSize, limit)
	if st.Size > limit {
		return none, refusal.New(refusal.FileTooBig, what, "%d bytes, over %d", st.Size, limit)
	}
	snap, err := beneath.Take(what, file, limit)
	if err != nil {
		return none, err
	}
	if !snap.Whole {
		return none, refusal.New(refusal.FileTooBig, what, "it grew over %d bytes", limit)
	}
	if err := f.denyLinked(ctx, what, snap.Version); err != nil {
		return none, err
	}
	if err := f.Finder.Grants.DeniedByContent(grant.Read, string(found.Real), snap.Content); err != nil {
		return none, refusal.About(what, err)
	}
	return snap, nil
}

// window cuts lines out of a text: from the line asked for, as many as were
// asked for and fit in room bytes.
func window(text []byte, from, lines uint64, room int) protocol.ReadFile {
	from = max(from, 1)
	res := protocol.ReadFile{From: from}
	var out []byte
	for line := range bytes.Lines(text) {
		res.Total++
		wanted := res.Total >= from && (lines == 0 || res.Lines < lines)
		if wanted && res.Lines == res.Total-from && len(out)+len(line) <= room {
			out = append(out, line...)
			res.Lines++
		}
	}
	res.Text = string(out)
	return res
}
