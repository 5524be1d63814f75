package fileread

import (
	"context"
	"errors"
	"path"
	"sync"

	"golang.org/x/sys/unix"

	"countersign/internal/beneath"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/search"
)

const (
	maxSearched = 8 << 20   // bytes of a file that is searched, whatever its grant's limit
	smallFile   = 128 << 10 // bytes of a file that is no large one

	grepHandles = 256 // files held open by all searches of a daemon together
	grepLarge   = 4   // of those, files over smallFile

	keepLarge = 1 << 20 // bytes of room that is kept for the next large file
)

// grepRoom is the room that all searches of one daemon share. It bounds the files
// they hold open, and the memory that those are read into, to 32 MiB for small
// files and as much for large ones. No search holds any of it for longer than
// one file takes. It is safe for concurrent use.
type grepRoom struct {
	handles chan struct{}
	large   chan []byte

	mu    sync.Mutex
	calls int      // under way
	small [][]byte // what is free, the last used on top: it is in the processor's cache still
}

// newGrepRoom makes a daemon's room.
func newGrepRoom() *grepRoom {
	r := &grepRoom{handles: make(chan struct{}, grepHandles), large: make(chan []byte, grepLarge)}
	for range grepLarge {
		r.large <- nil
	}
	return r
}

// begin takes up a call, and says how many files it may read at once: fewer where
// many calls are under way, since they share the processors with those who only
// read a file. end lets it go.
func (r *grepRoom) begin() (readers int, end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	return min(max(2*grepReaders/r.calls, 2), grepReaders), func() {
		r.mu.Lock()
		r.calls--
		r.mu.Unlock()
	}
}

// enter waits for a handle's place and gives room for a small file.
func (r *grepRoom) enter(ctx context.Context) ([]byte, error) {
	select {
	case r.handles <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.small); n > 0 {
		buf := r.small[n-1]
		r.small = r.small[:n-1]
		return buf, nil
	}
	return make([]byte, smallFile), nil
}

// leave gives both back. Some room is kept for the next.
func (r *grepRoom) leave(buf []byte) {
	r.mu.Lock()
	if len(r.small) < grepReaders {
		r.small = append(r.small, buf)
	}
	r.mu.Unlock()
	<-r.handles
}

// enterLarge waits for a large file's place and gives room for its size.
func (r *grepRoom) enterLarge(ctx context.Context, size int64) ([]byte, error) {
	select {
	case buf := <-r.large:
		if int64(cap(buf)) < size {
			buf = make([]byte, max(size, keepLarge))
		}
		return buf[:size], nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// leaveLarge gives it back. Room over keepLarge is let go.
func (r *grepRoom) leaveLarge(buf []byte) {
	if cap(buf) > keepLarge {
		buf = nil
	}
	r.large <- buf
}

// grepper searches files for one call.
type grepper struct {
	files Files
	query *search.Matcher
	in    protocol.GrepParams
}

// file searches one file. The error is ctx's.
func (g *grepper) file(ctx context.Context, w *walk, s seen) (grepped, error) {
	out := grepped{seen: s}
	small, err := g.files.room.enter(ctx)
	if err != nil {
		return out, err
	}
	defer g.files.room.leave(small)
	f, name, err := w.content(s)
	if err != nil {
		out.skipped = skipped(err)
		return out, nil
	}
	defer f.Close()
	if links := uint64(f.Stat.Nlink); links > 1 {
		out.links = links
		if out.skipped = w.linked(ctx, f.Stat); out.skipped != "" {
			return out, ctx.Err()
		}
	}
	err = g.opened(ctx, f, name, small, &out)
	return out, err
}

// linked says why a file of several names is not searched, if so.
func (w *walk) linked(ctx context.Context, st beneath.Stat) refusal.Code {
	denied, err := w.denies(ctx, st)
	switch {
	case err != nil:
		return refusal.As(beneath.Refuse("", err)).Code
	case denied:
		return refusal.Denied
	}
	return ""
}

// opened searches an open file. small is room for most.
func (g *grepper) opened(ctx context.Context, f beneath.Content, name string, small []byte, out *grepped) error {
	limit := int64(maxSearched)
	if most := out.seen.grant.MaxFileSize; most > 0 {
		limit = min(limit, most)
	}
	size, buf := f.Stat.Size, small
	if size > min(limit, int64(len(small))) {
		// A large file is binary as often as not, which its beginning tells.
		if out.skipped = g.head(f, small[:search.HeadSize], size > limit); out.skipped != "" {
			return nil
		}
		large, err := g.files.room.enterLarge(ctx, size)
		if err != nil {
			return err
		}
		defer g.files.room.leaveLarge(large)
		buf = large
	}
	g.content(ctx, f, name, buf[:size], out)
	return nil
}

// head says from a file's beginning why it is not searched, if so.
func (g *grepper) head(f beneath.Content, buf []byte, over bool) refusal.Code {
	text, err := f.Read(buf)
	switch {
	case err != nil:
		return skipped(err)
	case search.Binary(text):
		return refusal.NotText
	case over:
		return refusal.FileTooBig
	}
	return ""
}

// content searches a file as it is up to the length of buf, which is the size
// it had when it was opened: what grows meanwhile is read as it was.
func (g *grepper) content(ctx context.Context, f beneath.Content, name string, buf []byte, out *grepped) {
	text, err := f.Read(buf)
	switch {
	case err != nil:
		out.skipped = skipped(err)
	case search.Binary(text):
		out.skipped = refusal.NotText
	case g.files.Finder.Grants.DeniedByContent(grant.Read, name, text) != nil:
		out.skipped = refusal.Denied
	default:
		out.searched = true
		g.text(ctx, text, out)
	}
}

// text tells what was asked for of a file's content.
func (g *grepper) text(ctx context.Context, text []byte, out *grepped) {
	switch g.in.Mode {
	case protocol.GrepFiles:
		if g.query.Any(ctx, text) {
			out.count = 1
		}
		return
	case protocol.GrepCount:
		out.count = g.query.Count(ctx, text)
		return
	}
	behind, cost := uint64(0), 0
	if out.seen.name == "" && g.in.AfterLine > 0 && g.in.After == out.seen.path() {
		behind = g.in.AfterLine
	}
	for l := range g.query.Lines(ctx, text, int(g.in.Context)) {
		if l.Number <= behind {
			continue
		}
		line := lineOf(l)
		if cost += lineCost(&line); cost > maxGrepPage {
			out.cut = true
			return
		}
		out.lines = append(out.lines, line)
	}
}

// skipped gives the reason for which a file was not searched; none where it is
// not there any more, or is another kind of thing now.
func skipped(err error) refusal.Code {
	for _, gone := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV, unix.ENXIO, beneath.ErrNotRegular} {
		if errors.Is(err, gone) {
			return ""
		}
	}
	return refusal.As(beneath.Refuse("", err)).Code
}

// content opens a regular file that a walk met, to be read through, and gives
// the name that disk has for it. An error of beneath.OpenContent's kinds says
// that it is gone or changed. The caller closes the content.
func (w *walk) content(s seen) (beneath.Content, string, error) {
	name := s.name
	if name == "" { // the start itself
		name = path.Base(w.start.rel)
	}
	f, err := w.start.root.OpenContent(join(s.rel, name), beneath.Options{CrossMounts: s.grant.CrossMounts})
	return f, name, err
}
