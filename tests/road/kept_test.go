package road

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/classify"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
	"countersign/tests/lab"
)

// following is a world whose grants follow links.
func following(t testing.TB) *world {
	t.Helper()
	testas.Root(t)
	w := build(t, lab.Config{})
	w.must(w.UpWithPolicy(strings.ReplaceAll(w.Policy(""), "root = \"~\"\n", "root = \"~\"\nfollow_links = true\n")))
	return w
}

// link makes a symbolic link of alice's.
func (w *world) link(target, name string) string {
	w.t.Helper()
	path := w.alice(name)
	w.must(os.Symlink(target, path))
	w.must(os.Lchown(path, lab.Alice, lab.Alice))
	return path
}

func (w *world) leadsTo(path, want string) {
	w.t.Helper()
	if got, err := os.Readlink(path); err != nil || got != want {
		w.t.Fatalf("%s leads to %q, want %q: %v", path, got, want, err)
	}
}

// S4, S21, T12: where the grant follows links, a write goes to the file that a
// link leads to and the link stays; a deletion takes the link and leaves that
// file; each is taken back as it was.
func TestLinksAreFollowed(t *testing.T) {
	w := following(t)
	file := w.put("dir/real.txt", "one\n", 0o644)
	link, way := w.link("dir/real.txt", "link.txt"), w.link(w.alice("dir"), "way")
	tx := w.propose(lab.Claude, swap(link, "one", "two"), protocol.StateLanded)
	w.holds(file, "two\n")
	w.leadsTo(link, "dir/real.txt")
	w.undo(tx.ID)
	w.holds(file, "one\n")
	w.leadsTo(link, "dir/real.txt")
	tx = w.propose(lab.Claude, changes(swap(way+"/real.txt", "one", "two").FileWrite.Changes[0], writes(way+"/new.txt", "new\n")), protocol.StateLanded)
	w.holds(file, "two\n")
	w.holds(w.alice("dir/new.txt"), "new\n")
	w.undo(tx.ID)
	w.holds(file, "one\n")
	w.gone(w.alice("dir/new.txt"))

	tx = w.propose(lab.Claude, changes(deletes(link), deletes(way)), protocol.StateLanded)
	w.did(tx, protocol.Deleted, protocol.Deleted)
	w.gone(link, way)
	w.holds(file, "one\n")
	back := w.preview(tx.ID)
	w.did(w.carry(tx.ID, back), protocol.Created, protocol.Created)
	w.leadsTo(link, "dir/real.txt")
	w.leadsTo(way, w.alice("dir"))
	w.undo(back.ID)
	w.gone(link, way)
	w.undo(tx.ID)
	w.leadsTo(link, "dir/real.txt")
	w.clean()
}

// S4, T7: a link that leads out is refused, and one that is made to lead
// elsewhere while an action waits makes it stale: nothing is written through it.
func TestSwappedLink(t *testing.T) {
	w := following(t)
	one, two := w.put("one.sh", "old\n", 0o755), w.put("two.sh", "old\n", 0o755)
	link := w.link("one.sh", "link.sh")
	w.link(w.Home("bob"), "out")
	tx, err := w.act(lab.Claude, write(w.alice("out/x"), "x\n"))
	if err != nil || tx.State != protocol.StateRefused {
		t.Errorf("a way out of the home: %s, %v", tx.State, err)
	}
	tx = w.propose(lab.Claude, swap(link, "old", "new"), protocol.StateWaiting)
	w.must(os.Remove(link))
	w.link("two.sh", "link.sh")
	if _, err := w.decide(lab.Alice, tx); !refusal.Is(err, refusal.Stale) {
		t.Errorf("approving: %v", err)
	}
	w.holds(one, "old\n")
	w.holds(two, "old\n")
	again := w.show(lab.Alice, "keeper/consent", tx.ID)
	if again.State != protocol.StateWaiting || again.Prefix == tx.Prefix {
		t.Errorf("it is %s under %s", again.State, again.Prefix)
	}
	w.approve(again)
	w.holds(one, "old\n")
	w.holds(two, "new\n")
	// A file that becomes a link while the action waits is refused where links
	// are not followed.
	w = start(t)
	run, other := w.put("run.sh", "old\n", 0o755), w.put("other.sh", "old\n", 0o755)
	tx = w.propose(lab.Claude, swap(run, "old", "new"), protocol.StateWaiting)
	w.must(os.Remove(run))
	w.link("other.sh", "run.sh")
	if now, err := w.decide(lab.Alice, tx); err != nil || now.State != protocol.StateRefused || now.Refusal.Code != refusal.Link {
		t.Errorf("it is %s: %v, %v", now.State, now.Refusal, err)
	}
	w.holds(other, "old\n")
}

// acl spells an access control list that gives one more user rights.
func acl(uid uint32, perm uint16) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	entry := func(tag, perm uint16, id uint32) {
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, perm)
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	const nobody = 0xffffffff
	entry(0x01, 6, nobody) // the owner
	entry(0x02, perm, uid) // a user
	entry(0x04, 4, nobody) // the group
	entry(0x10, 6, nobody) // the mask
	entry(0x20, 0, nobody) // others
	return b
}

// attributes gives a file's own extended attributes.
func attributes(t *testing.T, path string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	buf := make([]byte, 64<<10)
	n, err := unix.Listxattr(path, buf)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		value := make([]byte, 64<<10)
		if n, err := unix.Getxattr(path, name, value); name != "" && err == nil && !strings.HasPrefix(name, "security.") {
			found[name] = string(value[:n])
		}
	}
	return found
}

// S9, T12: what a file has beside its bytes stays with the file that takes its
// place, asks nobody, and comes back with an undo, of a deletion too.
func TestAttributesAreKept(t *testing.T) {
	w := start(t)
	a := w.put("a.txt", "one\n", 0o640)
	w.must(unix.Setxattr(a, "system.posix_acl_access", acl(lab.Bob, 6), 0))
	w.must(unix.Setxattr(a, "user.note", []byte("mine\x00\xff"), 0))
	want := attributes(t, a)
	if len(want) != 2 {
		t.Fatalf("this filesystem kept %q", want)
	}
	same := func(when string) {
		t.Helper()
		if got := attributes(t, a); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s it has %q, want %q", when, got, want)
		}
	}
	tx := w.propose(lab.Claude, swap(a, "one", "two"), protocol.StateLanded)
	same("edited")
	w.undo(tx.ID)
	same("put back")
	w.holds(a, "one\n")
	tx = w.propose(lab.Claude, changes(deletes(a)), protocol.StateLanded)
	w.gone(a)
	back := w.carry(tx.ID, w.preview(tx.ID))
	same("after its deletion was undone")
	w.undo(back.ID)
	w.gone(a)
	w.undo(tx.ID)
	same("after all that")
	// Somebody who changes the list since makes it a conflict.
	tx = w.propose(lab.Claude, swap(a, "one", "two"), protocol.StateLanded)
	w.must(unix.Setxattr(a, "system.posix_acl_access", acl(lab.Bob, 4), 0))
	var out protocol.Transaction
	w.must(w.call(lab.Alice, "keeper/consent", protocol.Undo, protocol.UndoParams{ID: tx.ID}, &out))
	if out.State != protocol.StateRefused || out.Refusal.Code != refusal.Conflict {
		t.Errorf("the undo is %s: %v", out.State, out.Refusal)
	}
	w.holds(a, "two\n")
}

// S9, T4: a group that the person cannot give is no silent loss: it asks, is
// shown before consent, gives no other group its rights, and is in the answer.
func TestWhatIsNotKeptAsks(t *testing.T) {
	w := start(t)
	a := w.put("a.txt", "one\n", 0o660)
	w.must(os.Chown(a, lab.Alice, 61299))
	tx := w.propose(lab.Claude, swap(a, "one", "two"), protocol.StateWaiting)
	if !slices.ContainsFunc(tx.Reasons, func(r classify.Reason) bool { return r.Name == classify.AttributesLost }) {
		t.Errorf("it asks for %+v", tx.Reasons)
	}
	shown := w.Run(lab.Alice, "", "show", string(tx.ID)).Stdout
	for _, want := range []string{"asks: attributes-lost", "not kept: group 61299", "mode 0660 becomes 0600"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in:\n%s", want, shown)
		}
	}
	done, err := w.decide(lab.Alice, tx)
	w.must(err)
	if c := done.Outcome.Changes[0]; c.Did != protocol.Replaced || !slices.Equal(c.NotKept, []string{"group 61299"}) {
		t.Errorf("the answer: %+v", c)
	}
	info, err := os.Stat(a)
	w.must(err)
	if st := info.Sys().(*syscall.Stat_t); info.Mode().Perm() != 0o600 || st.Gid != lab.Alice {
		t.Errorf("it is %v of group %d", info.Mode(), st.Gid)
	}
	if said := w.Run(lab.Claude, "", "await", string(tx.ID)).Stdout; !strings.Contains(said, "  not kept: group 61299\n") {
		t.Errorf("the agent is told:\n%s", said)
	}
}

// S9, T12: a new file takes what the directory gives, a list too, and its undo
// knows it for its own.
func TestInheritedListIsItsOwn(t *testing.T) {
	w := start(t)
	dir := w.alice("shared")
	w.must(w.MkdirAll(lab.Alice, dir))
	w.must(unix.Setxattr(dir, "system.posix_acl_default", acl(lab.Bob, 6), 0))
	path := dir + "/new.txt"
	tx := w.propose(lab.Claude, change(action.Change{Path: action.Path(path), Write: &action.Write{Content: []byte("new\n")}}), protocol.StateLanded)
	if got := attributes(t, path); got["system.posix_acl_access"] == "" {
		t.Errorf("it has %q", got)
	}
	w.undo(tx.ID)
	w.gone(path)
	w.clean()
}
