package stage

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/facts"
	"countersign/internal/grant"
	"countersign/internal/protocol"
)

// scenario is a change of a home that is made ready for it.
type scenario struct {
	ready func(*home)
	does  func(*home) action.Action
}

func (s scenario) home(t *testing.T) *home {
	t.Helper()
	h := newHome(t).follow()
	s.ready(h)
	return h
}

// scenarios are changes of one and of several files, of every kind, in one
// directory and in several, with and without parents that are missing.
func scenarios() map[string]scenario {
	three := func(h *home) {
		for _, name := range []string{"a", "b", "c"} {
			h.put(name, "old "+name, 0o640)
		}
	}
	spread := func(h *home) {
		for _, d := range []string{"one", "two", "three"} {
			must(h.T, os.Mkdir(h.path(d), 0o755))
		}
		h.put("one/a", "old a", 0o600)
		h.put("two/b", "old b", 0o644)
		h.put("three/c", "old c", 0o755)
	}
	nothing := func(*home) {}
	return map[string]scenario{
		"replace one": {three, func(h *home) action.Action { return h.write("b", "new") }},
		"create one":  {nothing, func(h *home) action.Action { return h.write("f", "new") }},
		"delete one":  {three, func(h *home) action.Action { return h.delete("b") }},
		"deep":        {nothing, func(h *home) action.Action { return h.write("x/y/z/f", "new") }},
		"replace three": {three, func(h *home) action.Action {
			return all(h.write("a", "1"), h.edit("b", "old", "new"), h.write("c", "3"))
		}},
		"create three": {nothing, func(h *home) action.Action { return all(h.write("a", "1"), h.write("b", "2"), h.write("c", "3")) }},
		"delete three": {three, func(h *home) action.Action { return all(h.delete("a"), h.delete("b"), h.delete("c")) }},
		"one of each":  {three, func(h *home) action.Action { return all(h.delete("a"), h.write("n", "new"), h.edit("c", "old", "new")) }},
		"three in three": {spread, func(h *home) action.Action {
			return all(h.write("one/a", "1"), h.write("two/b", "2"), h.write("three/c", "3"))
		}},
		"one of each in three": {spread, func(h *home) action.Action {
			return all(h.write("one/n", "new"), h.delete("two/b"), h.edit("three/c", "old", "new"))
		}},
		"shared parents": {three, func(h *home) action.Action {
			return all(h.write("new/p/f", "1"), h.write("b", "2"), h.write("new/q/f", "3"), h.write("new/p/g", "4"))
		}},
		"links": {func(h *home) {
			spread(h)
			must(h.T, os.Symlink("one/a", h.path("link")), os.Symlink("two", h.path("way")))
		}, func(h *home) action.Action { return all(h.write("link", "1"), h.write("way/b", "2"), h.delete("way")) }},
		"undo of parents": {nothing, func(h *home) action.Action {
			return h.undoOf(all(h.write("new/p/f", "1"), h.write("new/q/f", "2"), h.write("g", "3")))
		}},
		"undo of deletes": {func(h *home) {
			three(h)
			must(h.T, os.Symlink("gone", h.path("link")), unix.Setxattr(h.path("a"), "user.note", []byte("mine"), 0))
		}, func(h *home) action.Action { return h.undoOf(all(h.delete("a"), h.delete("link"), h.write("c", "3"))) }},
	}
}

// undoOf lands an action, and composes what puts it back as a keeper does.
func (h *home) undoOf(a action.Action) action.Action {
	h.Helper()
	befores, err := h.look(a)
	must(h.T, err)
	in := h.intent(a)
	out, _, err := h.Carry(in)
	must(h.T, err)
	undo := &action.Undo{Transaction: in.ID}
	for i, before := range befores {
		undo.Restores = append(undo.Restores, restore(before, in.Results[i], out.Changes[i]))
	}
	return action.Action{Undo: undo}
}

func restore(before action.Before, left action.Image, landed protocol.PathOutcome) action.Restore {
	r := action.Restore{Path: before.Fact.Resolved(), Left: left, Back: before.Fact.Image(), AnyGroup: before.Fact.AnyGroup}
	if landed.Version != nil {
		r.Left.GID, r.Left.Attributes = landed.Version.GID, landed.Attributes
	}
	if r.Back.Absent {
		r.Made = uint64(len(before.Fact.Base.Landing.Missing()))
		return r
	}
	r.Content, r.Attributes = before.Content, before.Fact.Attributes
	return r
}

// tree tells everything of a home that a person would: each name with its kind,
// mode, group, content and attributes.
func (h *home) tree() string {
	h.Helper()
	var lines []string
	must(h.T, filepath.WalkDir(h.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == h.dir {
			return err
		}
		name, err := filepath.Rel(h.dir, path)
		st := h.stat(name)
		lines = append(lines, fmt.Sprintf("%s %o %d %s", name, st.Mode, st.Gid, h.tells(path, e)))
		return err
	}))
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// tells gives what an entry holds.
func (h *home) tells(path string, e fs.DirEntry) string {
	h.Helper()
	if e.Type()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(path)
		must(h.T, err)
		return "-> " + to
	}
	if !e.Type().IsRegular() && !e.IsDir() {
		return ""
	}
	f, err := os.Open(path)
	must(h.T, err)
	defer f.Close()
	list, lost, err := facts.Attributes(f)
	must(h.T, err)
	var content []byte
	if !e.IsDir() {
		content, err = os.ReadFile(path)
		must(h.T, err)
	}
	return fmt.Sprintf("%q %q %q", content, list, lost)
}

// leftover gives the staged names in a home.
func (h *home) leftover() (names []string) {
	must(h.T, filepath.WalkDir(h.dir, func(path string, _ fs.DirEntry, err error) error {
		if grant.IsStagedName(filepath.Base(path)) {
			name, _ := filepath.Rel(h.dir, path)
			names = append(names, name)
		}
		return err
	}))
	return names
}

// both gives what a home of a scenario holds before and after it.
func (s scenario) both(t *testing.T) (before, after string) {
	t.Helper()
	h := s.home(t)
	a := s.does(h)
	before = h.tree()
	h.landAll(a)
	return before, h.tree()
}

// handles counts those that the process holds.
func handles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}
