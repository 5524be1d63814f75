package fileread

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// bounds of one walk.
type bounds struct {
	met   int // places it meets before it stops and says where to go on
	names int // of one directory, beyond which it is missed
	held  int // places in memory at once, beyond which a directory is missed
	ahead int // places read ahead of where the walk is, before no more are
}

func usualBounds() bounds {
	return bounds{met: 200_000, names: 1 << 18, held: 1 << 20, ahead: 1 << 14}
}

const (
	maxReaders = 4  // directories read at once, each with two handles at most
	maxTold    = 50 // directories told in each of the lists of what was not reached
)

// walking says what a walk is to meet.
type walking struct {
	path  action.Path // where it starts: a directory, or one file
	after action.Path // the place that it goes on behind; empty from the start
	all   bool        // pass over nothing
	own   bool        // meet nothing of nested grants, their roots included
	look  bool        // give each place's Info

	// enter says whether to go into a directory, by its path relative to the
	// start; nil goes into all. It is called by several goroutines at once.
	enter func(relative string) bool
}

// met is one place that a walk meets.
type met struct {
	name   string
	kind   uint32       // a mode's type bits
	grant  *grant.Grant // that shows it
	nested bool         // it is another grant's root
	info   *beneath.Info
	child  *node // of a directory that the walk goes into
	passed bool  // it comes before where the walk goes on
}

// seen is a place as a walk's visitor gets it, for the length of the call.
type seen struct {
	*met
	start, dir string // the walk's start as it was asked for, and the directory relative to it
	rel        string // the directory beneath the root
}

// path gives the place as it would be asked for.
func (s seen) path() action.Path { return action.Path(join(s.start, s.relative())) }

// relative gives the place relative to the walk's start; "" is the start.
func (s seen) relative() string { return join(s.dir, s.name) }

func join(dir, name string) string {
	switch {
	case dir == "":
		return name
	case name == "":
		return dir
	case dir == "/":
		return "/" + name
	}
	return dir + "/" + name
}

// walk goes through what is beneath one place, in path order: names are
// compared byte by byte, and a directory's content comes right behind it.
//
// Directories are read ahead by goroutines of its own, each opened from the
// grant's root by a path without links and closed before the next one, and
// visited by the caller's alone. Memory is bounded by what is held at once, not
// by the tree. A place that is gone when it is looked at is passed over; so is
// a directory that became a link. What no grant shows is not met at all. A
// directory that somebody moves out of the grant while its names are read, and
// back before they are judged, may give names that it had only then; a file in
// it is opened anew, where it is then.
type walk struct {
	f     Files
	start *start
	walking
	bounds bounds

	mu      sync.Mutex
	wake    sync.Cond // a directory was read, or there is one to read, or room
	waiting []*node   // to be read, the next in path order last
	ahead   int       // places read and not yet entered
	held    int       // places in memory
	ended   bool

	count int    // places visited
	last  string // the last one, relative to the start
	said  protocol.Walked

	secretsMu sync.Mutex
	secrets   *secrets // once a file with several names was met
}

// openWalk finds a walk's start. The caller closes the walk.
func (f Files) openWalk(w walking) (*walk, error) {
	s, err := f.find(w.path, false)
	if err != nil {
		return nil, err
	}
	walk := &walk{f: f, start: s, walking: w, bounds: usualBounds()}
	walk.wake.L = &walk.mu
	if w.after != "" && w.after != w.path && !strings.HasPrefix(string(w.after), strings.TrimSuffix(s.path, "/")+"/") {
		s.Close()
		return nil, refusal.New(refusal.BadRequest, w.after.String(), "a walk of %s does not go on there", w.path)
	}
	return walk, nil
}

// Close lets go of the walk's root.
func (w *walk) Close() { w.start.Close() }

// each visits the places beneath the start, or the start where it is no
// directory, until visit returns false, which leaves that place for the next
// walk. It gives what the answer says of the walk; an error is ctx's, or says
// why the start itself could not be walked.
func (w *walk) each(ctx context.Context, visit func(seen) bool) (protocol.Walked, error) {
	if !w.start.isDir {
		return w.single(visit), nil
	}
	top, err := w.top(ctx)
	if err != nil {
		return protocol.Walked{}, err
	}
	var reading sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxReaders) - 1 {
		reading.Go(func() { w.readAhead(ctx) })
	}
	buf := make([]byte, readBuffer)
	_, err = w.enterNode(ctx, top, buf, visit)
	w.mu.Lock()
	w.ended = true
	w.wake.Broadcast()
	w.mu.Unlock()
	reading.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return w.said, err
}

// single visits a start that is no directory.
func (w *walk) single(visit func(seen) bool) protocol.Walked {
	if w.after == "" {
		m := &met{kind: w.start.info.Mode & unix.S_IFMT, grant: w.start.grant, info: &w.start.info}
		dir := ""
		if i := strings.LastIndexByte(w.start.rel, '/'); i >= 0 {
			dir = w.start.rel[:i]
		}
		visit(seen{met: m, start: w.start.path, rel: dir})
	}
	return protocol.Walked{}
}

// enterNode visits what is in a directory and beneath; false where the walk is
// to end.
func (w *walk) enterNode(ctx context.Context, n *node, buf []byte, visit func(seen) bool) (bool, error) {
	w.need(ctx, n, buf)
	if n.err != nil {
		if n.rel == w.start.rel || ctx.Err() != nil {
			return false, w.refuse(n)
		}
		w.miss(n)
		return true, nil
	}
	defer w.drop(n)
	w.said.Passed += n.over
	dir := w.relative(n)
	for i := range n.found {
		m := &n.found[i]
		if !m.passed {
			if w.count == w.bounds.met || !visit(seen{met: m, start: w.start.path, dir: dir, rel: n.rel}) {
				w.stop(dir, n.found[i:])
				return false, nil
			}
			w.count++
			w.last = join(dir, m.name)
		}
		if m.child == nil {
			continue
		}
		if on, err := w.enterNode(ctx, m.child, buf, visit); !on || err != nil {
			w.leave(dir, n.found[i+1:])
			return false, err
		}
	}
	return true, ctx.Err()
}

// relative gives a directory's path relative to the start.
func (w *walk) relative(n *node) string {
	return strings.TrimPrefix(strings.TrimPrefix(n.rel, w.start.rel), "/")
}

// stop notes where the walk ended, and what of that directory was left.
func (w *walk) stop(dir string, rest []met) {
	switch {
	case w.count > 0:
		w.said.Next = action.Path(join(w.start.path, w.last))
	case w.after != "":
		w.said.Next = w.after
	default:
		w.said.Next = action.Path(w.start.path)
	}
	w.leave(dir, rest)
}

// leave notes the directories that were not entered, and the one that they are
// in where it holds anything else that was not met.
func (w *walk) leave(dir string, rest []met) {
	if slices.ContainsFunc(rest, func(m met) bool { return m.child == nil }) {
		w.left(dir)
	}
	for i := range rest {
		if rest[i].child != nil {
			w.left(join(dir, rest[i].name))
		}
	}
}

func (w *walk) left(relative string) {
	if len(w.said.Left) == maxTold {
		w.said.LeftMore++
		return
	}
	w.said.Left = append(w.said.Left, action.Path(join(w.start.path, relative)))
}

// miss notes a directory that could not be read. One that is gone, or is no
// directory any more, is nothing.
func (w *walk) miss(n *node) {
	r := w.refuse(n)
	if refusal.Is(r, refusal.NotFound) || refusal.Is(r, refusal.Link) || refusal.Is(r, refusal.MissingParent) {
		return
	}
	if len(w.said.Missed) == maxTold {
		w.said.MissedMore++
		return
	}
	why := refusal.As(r)
	w.said.Missed = append(w.said.Missed, protocol.Missed{Path: action.Path(join(w.start.path, w.relative(n))), Code: why.Code, Why: why.Why})
}

// refuse puts into words why a directory could not be read; ctx's error stays
// as it is.
func (w *walk) refuse(n *node) error {
	what := join(w.start.path, w.relative(n))
	return directoryRefused(what, n.err)
}
