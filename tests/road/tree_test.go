package road

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/tests/lab"
)

// seen is what is compared of a file: first whatever happened to it, then only
// where nothing did.
type seen struct {
	hash     action.Hash
	mode     fs.FileMode
	uid, gid uint32

	ino, mtime int64
}

// survey looks at every file and directory of a tree.
func survey(t *testing.T, root string) map[string]seen {
	t.Helper()
	found := make(map[string]seen)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		s := seen{mode: info.Mode(), uid: st.Uid, gid: st.Gid}
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s.hash, s.ino, s.mtime = action.HashOf(b), int64(st.Ino), info.ModTime().UnixNano()
		}
		found[path] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// chosen picks the files to edit: spread over the tree, with programs and test
// data among them.
func chosen(all map[string]seen, n int) []string {
	const most = 60 << 10 // an owner can be asked about that much
	var programs, data, others []string
	for path, s := range all {
		if !s.mode.IsRegular() {
			continue
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 || info.Size() > most {
			continue
		}
		switch {
		case s.mode&0o111 != 0:
			programs = append(programs, path)
		case strings.Contains(path, "/testdata/"):
			data = append(data, path)
		default:
			others = append(others, path)
		}
	}
	pick := func(from []string, n int) (out []string) {
		slices.Sort(from)
		n = min(n, len(from))
		for i := range n {
			out = append(out, from[i*len(from)/n])
		}
		return out
	}
	out := append(pick(programs, n/10), pick(data, n/4)...)
	return append(out, pick(others, n-len(out))...)
}

// edit proposes something for the i-th file: most are edited, some deleted.
func edit(t *testing.T, i int, path string) action.Action {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := action.Change{Path: action.Path(path)}
	switch {
	case i%10 == 9:
		c.Delete = &action.Delete{}
	case utf8.Valid(b):
		c.Write = &action.Write{Content: append(slices.Clone(b), "\n// an agent was here\n"...)}
	default:
		c.Write = &action.Write{Content: append(slices.Clone(b), 0xff), Type: "application/octet-stream"}
	}
	return expecting(change(c), string(b))
}

// T12: a hundred files of a real source tree are edited by an agent, with its
// owner's word where that is asked for; taken back in reverse order, the tree
// is what it was, byte for byte and mode for mode, and whatever nobody touched
// has not even a new time.
func TestRealTree(t *testing.T) {
	w := start(t)
	tree := w.alice("src")
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	w.must(err)
	src := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	for _, c := range [][]string{
		{"cp", "-a", src, tree}, {"chmod", "-R", "u+w", tree}, {"chown", "-R", "61201:61201", tree},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", c, err, out)
		}
	}
	before := survey(t, tree)
	var ids []action.ID
	touched, asked := make(map[string]bool), 0
	for i, path := range chosen(before, 100) {
		tr, err := w.act(lab.Claude, edit(t, i, path))
		w.must(err)
		if tr.State == protocol.StateWaiting {
			w.approve(tr)
			asked++
		} else if tr.State != protocol.StateLanded {
			t.Fatalf("%s: %s %v", path, tr.State, tr.Refusal)
		}
		ids, touched[path] = append(ids, tr.ID), true
	}
	if len(ids) != 100 || asked == 0 || asked == len(ids) {
		t.Fatalf("%d files edited, %d of them on the owner's word", len(ids), asked)
	}
	changed := 0
	for path, s := range survey(t, tree) {
		if s.hash != before[path].hash {
			changed++
		}
	}
	if changed != 90 {
		t.Fatalf("%d files differ and 10 should be gone", changed)
	}
	for _, id := range slices.Backward(ids) {
		w.undo(id)
	}
	compare(t, before, survey(t, tree), touched)
	w.clean()
}

// undo takes a transaction back, on the preview it is given.
func (w *world) undo(id action.ID) {
	w.t.Helper()
	var t protocol.Transaction
	w.must(w.call(lab.Alice, "keeper/consent", protocol.Undo, protocol.UndoParams{ID: id}, &t))
	if t.State == protocol.StateWaiting {
		w.must(w.call(lab.Alice, "keeper/consent", protocol.Undo, protocol.UndoParams{ID: id, Prefix: t.Prefix}, &t))
	}
	if t.State != protocol.StateLanded {
		w.t.Fatalf("the undo of %s is %s: %v", id, t.State, t.Refusal)
	}
}

func compare(t *testing.T, before, after map[string]seen, touched map[string]bool) {
	t.Helper()
	if len(before) != len(after) {
		t.Errorf("%d names before, %d after", len(before), len(after))
	}
	for path, b := range before {
		a := after[path]
		if touched[path] {
			a.ino, a.mtime, b.ino, b.mtime = 0, 0, 0, 0
		}
		if a != b {
			t.Errorf("%s: %+v before, %+v after", path, b, a)
		}
	}
}
