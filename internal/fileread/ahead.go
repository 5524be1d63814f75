package fileread

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/ignore"
	"countersign/internal/refusal"
)

// readBuffer is the room that names are read into, in bytes.
const readBuffer = 32 << 10

// node is one directory of a walk. What is in it is written by whoever reads
// it, and read by the walk once its state says so.
type node struct {
	rel    string // beneath the grant's root
	judge  judge  // of what is in it
	rules  *ignore.Rules
	inRepo bool
	after  []string // names that lead to where the walk goes on; none: all of it is met
	cross  bool     // whether the way here may cross mounts
	mount  bool     // another filesystem is mounted here

	state state
	found []met
	over  uint64 // how much was passed over
	err   error
}

type state uint8

const (
	unread state = iota
	beingRead
	read
)

// errTooMany says that a directory holds more than a walk takes.
var errTooMany = errors.New("more names than a walk takes")

func directoryRefused(what string, err error) error {
	name := action.Path(what).String()
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, errTooMany):
		return refusal.New(refusal.TooLarge, name, "%v", err)
	case errors.Is(err, unix.EXDEV):
		return refusal.New(refusal.MountCrossing, name, "")
	case errors.Is(err, unix.ENOTDIR):
		return refusal.New(refusal.MissingParent, name, "it is no directory any more")
	}
	return beneath.Refuse(name, err)
}

// need makes sure that a directory was read: by the caller itself, unless
// somebody does already.
func (w *walk) need(ctx context.Context, n *node, buf []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n.state == beingRead {
		w.wake.Wait()
	}
	if n.state == unread {
		n.state = beingRead
		w.mu.Unlock()
		w.read(ctx, n, buf)
		w.mu.Lock()
		w.done(n)
	}
	w.ahead -= len(n.found)
	w.wake.Broadcast()
}

// done puts a directory that was read at the walk's disposal, and those in it
// before all that wait to be read. The lock is held.
func (w *walk) done(n *node) {
	n.state = read
	w.ahead += len(n.found)
	w.held += len(n.found)
	for len(w.waiting) > 0 && w.waiting[len(w.waiting)-1].state != unread {
		w.waiting = w.waiting[:len(w.waiting)-1]
	}
	for i := range slices.Backward(n.found) {
		if c := n.found[i].child; c != nil {
			w.waiting = append(w.waiting, c)
		}
	}
}

// drop lets go of what a directory held.
func (w *walk) drop(n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held -= len(n.found)
	n.found = nil
}

// readAhead reads directories, the next in path order first, until the walk
// ends.
func (w *walk) readAhead(ctx context.Context) {
	buf := make([]byte, readBuffer)
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.ended {
		n := w.next()
		if n == nil {
			w.wake.Wait()
			continue
		}
		n.state = beingRead
		w.mu.Unlock()
		w.read(ctx, n, buf)
		w.mu.Lock()
		w.done(n)
		w.wake.Broadcast()
	}
}

// next takes the next directory to read ahead, if there is one and room for it.
// The lock is held.
func (w *walk) next() *node {
	if w.ahead > w.bounds.ahead {
		return nil
	}
	for len(w.waiting) > 0 {
		n := w.waiting[len(w.waiting)-1]
		w.waiting = w.waiting[:len(w.waiting)-1]
		if n.state == unread {
			return n
		}
	}
	return nil
}

// read reads one directory and judges what is in it.
func (w *walk) read(ctx context.Context, n *node, buf []byte) {
	if n.err = ctx.Err(); n.err != nil {
		return
	}
	d, err := w.openDirectory(n)
	if err != nil {
		n.err = err
		return
	}
	defer d.Close()
	names, more, err := d.Names(ctx, buf, w.bounds.names)
	switch {
	case err != nil:
		n.err = err
		return
	case !d.StandsAt(w.start.root, n.rel):
		n.err = unix.ENOENT
		return
	case more || w.full(len(names)):
		n.err = errTooMany
		return
	}
	slices.SortFunc(names, func(a, b beneath.Name) int { return strings.Compare(a.Name, b.Name) })
	if !w.all {
		w.takeRules(n, d, names)
	}
	w.judgeNames(ctx, n, d, names)
}

// openDirectory opens a directory of the walk. What is mounted there may be on
// FUSE, and its server silent.
func (w *walk) openDirectory(n *node) (*beneath.Directory, error) {
	o := beneath.Options{CrossMounts: n.cross}
	if !n.mount {
		return w.start.root.OpenDirectory(n.rel, o)
	}
	root, err := w.start.root.Again() // the walk may be over before this is
	if err != nil {
		return nil, err
	}
	var d *beneath.Directory
	place := join(w.start.path, w.relative(n))
	answered := w.f.patience.Try(place, func() {
		if d, err = root.OpenDirectory(n.rel, o); err == nil && d.OnFUSE() {
			d.Close()
			d, err = nil, onFUSE(place)
		}
	}, func() {
		root.Close()
		if d != nil {
			d.Close()
		}
	})
	if !answered {
		return nil, unix.ETIMEDOUT
	}
	root.Close()
	return d, err
}

// full says whether so many places more are too many at once.
func (w *walk) full(more int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held+more > w.bounds.held
}

func has(names []beneath.Name, name string) bool {
	_, found := slices.BinarySearchFunc(names, name, func(n beneath.Name, name string) int { return strings.Compare(n.Name, name) })
	return found
}

// takeRules takes up the ignore files of a directory. They count in a
// repository alone; one inside another has rules of its own.
func (w *walk) takeRules(n *node, d *beneath.Directory, names []beneath.Name) {
	if has(names, ".git") {
		n.inRepo, n.rules = true, excluded(d, n.rel)
	}
	if n.inRepo && has(names, ".gitignore") {
		n.rules = withList(n.rules, d, ".gitignore", n.rel)
	}
}

// excluded gives the rules that a repository's own exclude file holds.
func excluded(d *beneath.Directory, dir string) *ignore.Rules {
	return withList(nil, d, ".git/info/exclude", dir)
}

// withList puts an ignore file in front of rules; one that cannot be read is
// none, as for git.
func withList(rules *ignore.Rules, d *beneath.Directory, name, dir string) *ignore.Rules {
	content, err := d.ReadSmall(name, ignore.MaxSize)
	if err != nil || len(content) == 0 {
		return rules
	}
	return rules.With(ignore.Parse(content), dir)
}

// judgeNames keeps of a directory's names what the walk meets.
func (w *walk) judgeNames(ctx context.Context, n *node, d *beneath.Directory, names []beneath.Name) {
	n.found = make([]met, 0, len(names))
	speaks := n.judge.asked.Grant()
	inHome := w.inHome(n)
	for i, name := range names {
		if i%256 == 0 && ctx.Err() != nil {
			n.err = ctx.Err()
			return
		}
		m := met{name: name.Name, kind: name.Kind}
		here := 1 // how the name lies to where the walk goes on
		if len(n.after) > 0 {
			if here = strings.Compare(m.name, n.after[0]); here < 0 {
				continue
			}
		}
		if m.kind == 0 && !look(d, &m) {
			continue
		}
		isDir := m.kind == unix.S_IFDIR
		if m.grant = n.judge.child(m.name, isDir); m.grant == nil {
			continue
		}
		if m.nested = m.grant != speaks; m.nested && w.own {
			continue
		}
		if !w.all && w.passesOver(n, names, &m, inHome) {
			n.over++
			continue
		}
		if m.info == nil && (w.look || isDir && m.grant.CrossMounts) && !look(d, &m) {
			continue
		}
		m.passed = here == 0
		if isDir {
			m.child = w.childOf(n, &m)
		}
		if !m.passed || m.child != nil {
			n.found = append(n.found, m)
		}
	}
}

// look stats a place; false where it is gone.
func look(d *beneath.Directory, m *met) bool {
	info, err := d.Look(m.name)
	if err != nil {
		return false
	}
	m.info, m.kind = &info, info.Mode&unix.S_IFMT
	return true
}

// childOf gives the node of a directory that is to be entered, or nil.
func (w *walk) childOf(n *node, m *met) *node {
	rel := join(n.rel, m.name)
	if w.enter != nil && !w.enter(join(w.relative(n), m.name)) {
		return nil
	}
	c := &node{rel: rel, judge: n.judge.enter(m.name), rules: n.rules, inRepo: n.inRepo, cross: m.grant.CrossMounts, mount: m.info != nil && m.info.Mounted}
	if m.passed {
		c.after = n.after[1:]
	}
	return c
}

// inHome gives a directory's path relative to the home with a slash at its
// end; false where it is not in it.
func (w *walk) inHome(n *node) *string {
	dir := join(w.start.path, w.relative(n))
	rel, ok := strings.CutPrefix(dir+"/", strings.TrimSuffix(w.f.Finder.Home, "/")+"/")
	if !ok {
		return nil
	}
	return &rel
}

// passesOver says whether a whole walk passes over a name.
func (w *walk) passesOver(n *node, names []beneath.Name, m *met, inHome *string) bool {
	isDir := m.kind == unix.S_IFDIR
	if isDir && ignore.PassedOver(m.name, func(name string) bool { return has(names, name) }) {
		return true
	}
	if isDir && inHome != nil && ignore.PassedOverInHome(*inHome+m.name) {
		return true
	}
	return n.judge.asked.Ignores(m.grant, m.name) || n.rules.Ignores(n.rel, m.name, isDir)
}

// top makes the node of the start, with the rules of the directories above it
// up to the grant's root, as they stand for somebody who named the start.
func (w *walk) top(ctx context.Context) (*node, error) {
	n := &node{rel: w.start.rel, judge: w.f.in(w.start), cross: w.start.options.CrossMounts}
	if rest := strings.TrimPrefix(string(w.after), w.start.path); w.after != "" && rest != "" {
		n.after = strings.Split(strings.Trim(rest, "/"), "/")
	}
	if w.all || n.rel == "" {
		return n, nil
	}
	above := "" // each directory above the start
	for name := range strings.SplitSeq(n.rel, "/") {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if d, err := w.start.root.OpenDirectory(above, w.start.options); err == nil {
			if _, err := d.Look(".git"); err == nil {
				n.inRepo, n.rules = true, excluded(d, above)
			}
			if n.inRepo {
				n.rules = withList(n.rules, d, ".gitignore", above)
			}
			d.Close()
		}
		above = join(above, name)
	}
	n.rules = n.rules.Naming(n.rel)
	return n, nil
}
