package fileread

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"countersign/internal/beneath"
	"countersign/internal/pattern"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/search"
)

const (
	grepReaders = 16 // files that one call reads at once
	unitSize    = 16 // files that are searched by one goroutine in a row
	maxGlobs    = 32 // of each kind in one call
)

// Grep searches files and gives one part of the answer, in path order. It reads
// the files of a call side by side, and gives up at the next system call once
// ctx ends; the error is then ctx's, and otherwise a refusal. It is safe for
// concurrent use: calls share nothing but room.
func (f Files) Grep(ctx context.Context, in protocol.GrepParams) (protocol.GrepResult, error) {
	if err := checkGrep(in); err != nil {
		return protocol.GrepResult{}, err
	}
	query, err := search.Compile(search.Query{Pattern: in.Pattern, Literal: in.Literal, IgnoreCase: in.IgnoreCase, Word: in.Word})
	if err != nil {
		return protocol.GrepResult{}, err
	}
	wanted, err := choiceOf(in)
	if err != nil {
		return protocol.GrepResult{}, err
	}
	g, p := &grepper{files: f, query: query, in: in}, newPage(in)
	w, err := f.openWalk(walking{path: in.Path, after: in.After, all: in.All, enter: wanted.enter})
	if err != nil {
		return protocol.GrepResult{}, err
	}
	defer w.Close()
	w.bounds.ahead = 2 * grepReaders * unitSize // what is read ahead is lost where a part ends
	if kind := w.start.info.Mode & unix.S_IFMT; kind != unix.S_IFREG && !w.start.isDir {
		return protocol.GrepResult{}, refusal.New(refusal.NotRegular, in.Path.String(), "it is %s", beneath.Kind(kind))
	}
	if in.AfterLine > 0 {
		if err := g.rest(ctx, p); err != nil || p.full {
			return p.result(f.Policy, protocol.Walked{}), err
		}
	}
	said, err := g.search(ctx, p, w, wanted)
	if err != nil {
		return protocol.GrepResult{}, err
	}
	return p.result(f.Policy, said), nil
}

// checkGrep refuses what no search can mean.
func checkGrep(in protocol.GrepParams) error {
	switch {
	case in.Mode != protocol.GrepLines && in.Mode != protocol.GrepCount && in.Mode != protocol.GrepFiles:
		return refusal.New(refusal.BadRequest, "the search", "there is no mode %q", string(in.Mode))
	case in.Context > protocol.MaxGrepContext:
		return refusal.New(refusal.TooLarge, "the search", "%d lines of context, and %d are allowed", in.Context, protocol.MaxGrepContext)
	case in.AfterLine > 0 && in.After == "":
		return refusal.New(refusal.BadRequest, "the search", "it goes on behind a line of no file")
	}
	return nil
}

// rest tells the rest of the file that the part before ended in, if it is there
// still.
func (g *grepper) rest(ctx context.Context, p *page) error {
	w, err := g.files.openWalk(walking{path: g.in.After})
	if err != nil || w.start.isDir {
		return nil
	}
	defer w.Close()
	_, err = g.search(ctx, p, w, &choice{})
	return err
}

// unit is some files of a walk, one behind the other, and what became of them.
type unit struct {
	files []seen
	out   []grepped // fewer than files where the call ended, or the page is full by then
	done  chan struct{}
}

// search searches files as a walk meets them and puts what is found into a
// page, in the order of the walk, whatever order the reads finish in. It ends
// the walk once the page is full. The error is the walk's, or ctx's.
func (g *grepper) search(ctx context.Context, p *page, w *walk, wanted *choice) (protocol.Walked, error) {
	working, stop := context.WithCancel(ctx)
	defer stop()
	readers, end := g.files.room.begin()
	defer end()
	ordered, work := make(chan *unit, readers), make(chan *unit)
	var running sync.WaitGroup
	for range readers {
		running.Go(func() { g.work(working, w, work) })
	}
	var said protocol.Walked
	var err error
	running.Go(func() {
		defer close(ordered)
		defer close(work)
		said, err = g.feed(ctx, working, w, wanted, ordered, work)
	})
	for u := range ordered {
		<-u.done
		for i, s := range u.files {
			if i < len(u.out) {
				p.add(&u.out[i])
			}
			if p.full {
				p.pass(s)
			}
		}
		if p.full {
			stop()
		}
	}
	running.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return said, err
}

// feed walks, and hands out the files it meets in units until working ends.
func (g *grepper) feed(ctx, working context.Context, w *walk, wanted *choice, ordered, work chan<- *unit) (protocol.Walked, error) {
	fresh := func() *unit { return &unit{files: make([]seen, 0, unitSize), done: make(chan struct{})} }
	u := fresh()
	hand := func() bool {
		whole := u
		u = fresh()
		select {
		case work <- whole:
		case <-working.Done():
			close(whole.done)
		}
		ordered <- whole
		return working.Err() == nil
	}
	said, err := w.each(ctx, func(s seen) bool {
		if working.Err() != nil {
			return false
		}
		if s.kind == unix.S_IFREG && wanted.file(s) {
			u.files = append(u.files, s)
		}
		return len(u.files) < unitSize || hand()
	})
	if len(u.files) > 0 {
		hand()
	}
	return said, err
}

// work searches units until there are no more. A unit ends early once what was
// found in it fills a page: nothing behind that would be in it.
func (g *grepper) work(ctx context.Context, w *walk, units <-chan *unit) {
	for u := range units {
		cost := 0
		u.out = make([]grepped, 0, len(u.files))
		for i := 0; i < len(u.files) && cost <= maxGrepPage && ctx.Err() == nil; i++ {
			found, err := g.file(ctx, w, u.files[i])
			if err != nil || ctx.Err() != nil {
				break
			}
			u.out, cost = append(u.out, found), cost+found.cost()
			runtime.Gosched() // to whoever came meanwhile and only reads a file
		}
		close(u.done)
	}
}

// choice is which files a call wants, by their names.
type choice struct{ include, exclude []glob }

// glob matches a file's name or, where it has a slash, its path beneath the
// place that is searched.
type glob struct {
	*pattern.Pattern
	path bool
}

func choiceOf(in protocol.GrepParams) (*choice, error) {
	var c choice
	for to, texts := range map[*[]glob][]string{&c.include: in.Include, &c.exclude: in.Exclude} {
		if len(texts) > maxGlobs {
			return nil, refusal.New(refusal.TooLarge, "the globs", "%d, and %d are allowed", len(texts), maxGlobs)
		}
		for _, text := range texts {
			if !pattern.Valid(text) || strings.HasPrefix(text, "/") || strings.HasSuffix(text, "/") {
				return nil, refusal.New(refusal.BadPattern, "the glob", "%q", text)
			}
			*to = append(*to, glob{pattern.Compile(text), strings.Contains(text, "/")})
		}
	}
	return &c, nil
}

func (g glob) matches(name, relative string) bool {
	if g.path {
		return g.MatchesName(name) && g.Match(relative)
	}
	return g.Match(name)
}

// file says whether a file is wanted. One that is named by itself always is.
func (c *choice) file(s seen) bool {
	if len(c.include) == 0 && len(c.exclude) == 0 || s.name == "" {
		return true
	}
	relative := s.relative()
	some := func(globs []glob) bool {
		return slices.ContainsFunc(globs, func(g glob) bool { return g.matches(s.name, relative) })
	}
	return (len(c.include) == 0 || some(c.include)) && !some(c.exclude)
}

// enter says whether a directory may hold wanted files.
func (c *choice) enter(relative string) bool {
	name := relative[strings.LastIndexByte(relative, '/')+1:]
	if slices.ContainsFunc(c.exclude, func(g glob) bool { return g.matches(name, relative) }) {
		return false
	}
	return len(c.include) == 0 || slices.ContainsFunc(c.include, func(g glob) bool { return !g.path || g.Within(relative) })
}
