package stage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/facts"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

const beside = ".countersign-0123456789abcdef"

// besides is the staged name of an intent's i-th path; the first is beside.
func besides(i int) string {
	if i == 0 {
		return beside
	}
	return fmt.Sprintf(".countersign-%016x", i)
}

// home is a person's, granted whole to whoever runs the test.
type home struct {
	*testing.T
	*Stager
	dir  string
	at   map[Step]func()
	step func(Step, action.Path) error // told the path too, and may fail the step
	sync func(*os.File) error
	late sync.WaitGroup // writers that wait until a lease is let go of
}

func newHome(t *testing.T) *home {
	t.Helper()
	return homeAt(t, t.TempDir())
}

func homeAt(t *testing.T, dir string) *home {
	t.Helper()
	grants := []grant.Grant{{Root: dir, MaxFileSize: 1 << 20}}
	h := &home{T: t, dir: dir, at: make(map[Step]func())}
	h.Stager = New(Config{
		Finder: facts.Finder{
			UID: uint32(os.Geteuid()), Groups: groups(), Home: dir, Keep: 1 << 20,
			Grants: grant.Set{Home: dir, Reads: grants, Writes: grants},
		},
		Umask: 0o022, AskedText: 64, AutoBytes: 1 << 20,
		At: func(s Step, p action.Path) error {
			if do := h.at[s]; do != nil {
				do()
			}
			if h.step != nil {
				return h.step(s, p)
			}
			return nil
		},
		Sync: func(f *os.File) error {
			if h.sync != nil {
				return h.sync(f)
			}
			return f.Sync()
		},
	})
	return h
}

// groups are those of the process, the one it makes files with first.
func groups() []uint32 {
	list := []uint32{uint32(os.Getegid())}
	more, _ := os.Getgroups()
	for _, g := range more {
		list = append(list, uint32(g))
	}
	return list
}

// follow lets every grant of the home follow links.
func (h *home) follow() *home {
	for i := range h.cfg.Finder.Grants.Writes {
		h.cfg.Finder.Grants.Writes[i].FollowLinks = true
	}
	return h
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func (h *home) path(name string) string { return filepath.Join(h.dir, name) }

// put writes a file with exactly this mode.
func (h *home) put(name, content string, mode os.FileMode) {
	h.Helper()
	must(h.T, os.WriteFile(h.path(name), []byte(content), 0o600), os.Chmod(h.path(name), mode))
}

// actions on paths of the home.

func (h *home) change(name string, c action.Change) action.Action {
	c.Path = action.Path(h.path(name))
	return action.Action{FileWrite: &action.FileWrite{Changes: []action.Change{c}}}
}

func (h *home) write(name, content string) action.Action {
	return h.change(name, action.Change{Write: &action.Write{Content: []byte(content)}})
}

func (h *home) edit(name, old, now string) action.Action {
	return h.change(name, action.Change{Edit: &action.Edit{Edits: []action.Replacement{{Old: []byte(old), New: []byte(now)}}}})
}

func (h *home) delete(name string) action.Action {
	return h.change(name, action.Change{Delete: &action.Delete{}})
}

// all makes one action of several.
func all(actions ...action.Action) action.Action {
	f := &action.FileWrite{}
	for _, a := range actions {
		f.Changes = append(f.Changes, a.FileWrite.Changes...)
	}
	return action.Action{FileWrite: f}
}

// look finds the facts of an action, as a reader does.
func (h *home) look(a action.Action) (befores []action.Before, err error) {
	for _, target := range a.Targets() {
		before, err := h.before(target)
		if err != nil {
			return nil, err
		}
		befores = append(befores, before)
	}
	return befores, nil
}

func (h *home) before(target action.Target) (action.Before, error) {
	found, err := h.cfg.Finder.Find(grant.Write, target)
	if err != nil {
		return action.Before{}, err
	}
	defer found.Close()
	before, file, err := h.cfg.Finder.Look(found)
	file.Close() // nil is fine
	return before, err
}

// plan makes the intent of an action on disk as it is now, as a keeper does.
func (h *home) plan(a action.Action) (protocol.Intent, error) {
	befores, err := h.look(a)
	if err != nil {
		return protocol.Intent{}, err
	}
	plans, err := a.Plan(befores, h.cfg.Umask)
	if err != nil {
		return protocol.Intent{}, err
	}
	in := protocol.Intent{ID: action.NewID(), Action: a}
	for i, p := range plans {
		in.Staged = append(in.Staged, besides(i))
		in.Facts = append(in.Facts, befores[i].Fact)
		in.Results = append(in.Results, p.Result)
	}
	return in, nil
}

func (h *home) intent(a action.Action) protocol.Intent {
	h.Helper()
	in, err := h.plan(a)
	must(h.T, err)
	return in
}

// landAll carries an action out, which must land without a word.
func (h *home) landAll(a action.Action) []protocol.PathOutcome {
	h.Helper()
	in := h.intent(a)
	out, kept, err := h.Carry(in)
	must(h.T, err)
	if out.Result != protocol.Landed || len(kept) > 0 || len(out.Kept) > 0 || len(out.Changes) != len(in.Facts) {
		h.Fatalf("%+v, %d handles", out, len(kept))
	}
	for i, c := range out.Changes {
		if c.Path != in.Facts[i].Path || !c.Did.Changed() || len(c.After) > 0 {
			h.Fatalf("%+v", c)
		}
	}
	return out.Changes
}

// land does the same for one path.
func (h *home) land(a action.Action) protocol.PathOutcome {
	h.Helper()
	return h.landAll(a)[0]
}

// refused carries an intent out, which must be refused with one of the codes.
func (h *home) refused(in protocol.Intent, codes ...refusal.Code) {
	h.Helper()
	out, kept, err := h.Carry(in)
	if r := refusal.As(err); r == nil || !slices.Contains(codes, r.Code) {
		h.Errorf("%+v, %v: wanted %v", out, err, codes)
	}
	if len(kept) > 0 {
		h.Errorf("a refusal came with %d handles", len(kept))
	}
}

// holds checks that the home has exactly these files, with these contents.
func (h *home) holds(files map[string]string) {
	h.Helper()
	h.hasOnly(files)
	for name, want := range files {
		if got, err := os.ReadFile(h.path(name)); err != nil || string(got) != want {
			h.Errorf("%s holds %q, %v: wanted %q", name, got, err, want)
		}
	}
}

// hasOnly checks the names, and follows none. One that names a directory's
// entry says that the directory is there too.
func (h *home) hasOnly(names map[string]string) {
	h.Helper()
	wanted := make(map[string]bool)
	for name := range names {
		wanted[strings.Split(name, "/")[0]] = true
		if _, err := os.Lstat(h.path(name)); err != nil {
			h.Error(err)
		}
	}
	entries, err := os.ReadDir(h.dir)
	must(h.T, err)
	for _, e := range entries {
		if !wanted[e.Name()] {
			h.Errorf("%s was left there", e.Name())
		}
	}
}

func (h *home) stat(name string) (st unix.Stat_t) {
	h.Helper()
	must(h.T, unix.Lstat(h.path(name), &st))
	st.Atim = unix.Timespec{} // reading may stamp it
	return st
}

// keptAside checks an outcome that hands a displaced file over.
func (h *home) keptAside(out protocol.Outcome, files []*os.File, content string) {
	h.Helper()
	if len(out.Kept) != 1 || len(files) != 1 {
		h.Fatalf("%+v, %d handles", out, len(files))
	}
	defer files[0].Close()
	got, err := io.ReadAll(files[0])
	if err != nil || string(got) != content || action.HashOf(got) != out.Kept[0].Version.Hash {
		h.Errorf("the handle holds %q, %v; %+v", got, err, out.Kept[0])
	}
	if out.Kept[0].Path != action.Path(h.path(beside)) {
		h.Errorf("kept at %s", out.Kept[0].Path)
	}
	if onDisk, err := os.ReadFile(h.path(beside)); err != nil || string(onDisk) != content {
		h.Errorf("the staged name holds %q, %v", onDisk, err)
	}
}
