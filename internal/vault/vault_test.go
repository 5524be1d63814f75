package vault

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"countersign/internal/action"
	"countersign/internal/journal"
	"countersign/internal/refusal"
)

var errFault = errors.New("fault")

// keeper is a vault on a journal, as the keeper has them.
type keeper struct {
	*Vault
	j   *journal.Journal
	cfg Config
}

func open(t *testing.T, dir string, change func(*Config)) *keeper {
	t.Helper()
	k := &keeper{cfg: Config{Dir: filepath.Join(dir, "vault"), Quota: 64 << 20}}
	for _, d := range []string{"vault", "journal"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if change != nil {
		change(&k.cfg)
	}
	type noted struct {
		person string
		ref    journal.Ref
	}
	var refs []noted
	var err error
	k.j, _, err = journal.Open(journal.Config{Dir: filepath.Join(dir, "journal")}, func(r journal.Record) error {
		for _, b := range r.Bodies {
			refs = append(refs, noted{r.ID, b})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.j.Close() })
	k.cfg.Bodies = k.j
	if k.Vault, err = Open(k.cfg); err != nil {
		t.Fatal(err)
	}
	for _, n := range refs {
		k.Note(n.person, n.ref)
	}
	return k
}

// keep captures as the broker does: prepare, intent, note. It says whether the
// content came with the intent.
func (k *keeper) keep(t *testing.T, person string, content []byte) bool {
	t.Helper()
	h, err := k.Prepare(person, content)
	if err != nil {
		t.Fatal(err)
	}
	if h.Hash != action.HashOf(content) || h.Size != int64(len(content)) {
		t.Fatalf("held as %+v", h)
	}
	if h.Body == nil {
		return false
	}
	recs, err := k.j.Commit(journal.Entry{Kind: "intent", ID: person, Bodies: []journal.Body{*h.Body}})
	if err != nil {
		t.Fatal(err)
	}
	k.Note(person, recs[0].Bodies[0])
	return true
}

func (k *keeper) has(t *testing.T, person string, content []byte) {
	t.Helper()
	got, err := k.Get(person, action.HashOf(content))
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%s's %d bytes: %d, %v", person, len(content), len(got), err)
	}
}

func fill(size int, with byte) []byte { return bytes.Repeat([]byte{with}, size) }

// T11: a capture comes back as it was, small or large, before and after a
// restart, and is kept once.
func TestCapturesComeBack(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir, nil)
	var used int64
	for _, size := range []int{0, 1, Inline, Inline + 1, MaxContent} {
		content := fill(size, 7)
		if inline := k.keep(t, "alice", content); inline != (size <= Inline) {
			t.Fatalf("%d bytes in the record: %v", size, inline)
		}
		k.has(t, "alice", content)
		if k.keep(t, "alice", content) {
			t.Fatalf("%d bytes are kept twice", size)
		}
		used += int64(size)
	}
	if k.Used("alice") != used {
		t.Fatalf("%d bytes used, want %d", k.Used("alice"), used)
	}
	k.j.Close()
	k = open(t, dir, nil)
	for _, size := range []int{0, 1, Inline, Inline + 1, MaxContent} {
		k.has(t, "alice", fill(size, 7))
	}
	if k.Used("alice") != used {
		t.Fatalf("%d bytes used after a restart, want %d", k.Used("alice"), used)
	}
}

// T11: the vault is per person: one's hash finds nothing of another's, and
// another's copy is no reason not to keep one's own.
func TestPersonsAreApart(t *testing.T) {
	k := open(t, t.TempDir(), nil)
	for _, size := range []int{10, Inline + 10} {
		content := fill(size, 9)
		k.keep(t, "alice", content)
		if _, err := k.Get("bob", action.HashOf(content)); !errors.Is(err, ErrNotHeld) {
			t.Fatalf("bob gets alice's %d bytes: %v", size, err)
		}
		k.keep(t, "bob", content)
		k.has(t, "bob", content)
	}
	if k.Used("bob") != Inline+20 {
		t.Fatalf("bob uses %d", k.Used("bob"))
	}
}

// T13: a capture over a person's size is refused as not captured, leaves
// nothing, and takes nothing from another person.
func TestQuotaRefuses(t *testing.T) {
	k := open(t, t.TempDir(), func(c *Config) { c.Quota = 3 << 20 })
	k.keep(t, "alice", fill(2<<20, 1))
	for _, content := range [][]byte{fill(2<<20, 2), fill(MaxContent+1, 3)} {
		if _, err := k.Prepare("alice", content); !refusal.Is(err, refusal.NotCaptured) {
			t.Fatalf("%d bytes: %v", len(content), err)
		}
	}
	k.keep(t, "alice", fill(1<<20, 4))
	if _, err := k.Prepare("alice", []byte{1}); !refusal.Is(err, refusal.NotCaptured) {
		t.Fatalf("a byte over: %v", err)
	}
	if k.keep(t, "alice", fill(2<<20, 1)) || k.Used("alice") != 3<<20 {
		t.Fatalf("what is held needs no room: %d used", k.Used("alice"))
	}
	k.keep(t, "bob", fill(2<<20, 2))
	files, err := os.ReadDir(filepath.Join(k.cfg.Dir, "alice"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files: %v, %v", files, err)
	}
}

// T18: whichever sync of a large capture fails, and whether or not it was
// carried out, it is refused as not captured, nothing counts on it, its room
// is given back, and the next try keeps it.
func TestEverySyncOfACaptureFails(t *testing.T) {
	for _, apply := range []bool{false, true} {
		for nth := 1; ; nth++ {
			seen, armed := 0, false
			fail := func(f *os.File) error {
				if !armed {
					return f.Sync()
				}
				if seen++; seen != nth {
					return f.Sync()
				}
				if apply {
					if err := f.Sync(); err != nil {
						return err
					}
				}
				return errFault
			}
			k := open(t, t.TempDir(), func(c *Config) { c.Sync, c.SyncDir = fail, fail })
			armed = true
			content := fill(Inline+1, 5)
			_, err := k.Prepare("alice", content)
			if seen < nth {
				if err != nil || nth != 4 { // the vault's names, the file, the person's names
					t.Fatalf("%d syncs, %v", seen, err)
				}
				break
			}
			if !refusal.Is(err, refusal.NotCaptured) || strings.Contains(err.Error(), k.cfg.Dir) {
				t.Fatalf("sync %d: %v", nth, err)
			}
			if _, err := k.Get("alice", action.HashOf(content)); !errors.Is(err, ErrNotHeld) || k.Used("alice") != 0 {
				t.Fatalf("sync %d failed, and it is held: %v, %d", nth, err, k.Used("alice"))
			}
			k.keep(t, "alice", content)
			k.has(t, "alice", content)
		}
	}
}

// T11: what the vault gives is what was asked for, or is said to be damaged
// and then no longer counted on.
func TestDamageIsSaid(t *testing.T) {
	for name, spoil := range map[string]func(string) error{
		"other bytes": func(p string) error { return os.WriteFile(p, fill(Inline+1, 6), 0o600) },
		"short":       func(p string) error { return os.Truncate(p, 10) },
		"grown":       func(p string) error { return os.WriteFile(p, fill(2*MaxContent, 5), 0o600) },
		"gone":        os.Remove,
	} {
		k := open(t, t.TempDir(), nil)
		content := fill(Inline+1, 5)
		hash := action.HashOf(content)
		k.keep(t, "alice", content)
		if err := spoil(filepath.Join(k.cfg.Dir, "alice", hash.String())); err != nil {
			t.Fatal(err)
		}
		if got, err := k.Get("alice", hash); !errors.Is(err, ErrDamaged) || got != nil {
			t.Fatalf("%s: %d bytes, %v", name, len(got), err)
		}
		k.keep(t, "alice", content)
		k.has(t, "alice", content)
	}
}

// T11: a body of the journal that rotted is said to be damaged too, and the
// capture that follows it stands in its place, after a restart as well.
func TestDamagedBodyIsReplaced(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir, nil)
	content := []byte("what was there before")
	k.keep(t, "alice", content)
	name := filepath.Join(dir, "journal", "0000000000000001.seg")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[bytes.Index(b, content)] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Get("alice", action.HashOf(content)); !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	if !k.keep(t, "alice", content) {
		t.Fatal("what is damaged counts as held")
	}
	k.has(t, "alice", content)
	k.j.Close()
	open(t, dir, nil).has(t, "alice", content)
}

// T11: a path in the vault is built from a person's name as policy allows it,
// and from a hash; anything else is no person.
func TestNamesOfPersons(t *testing.T) {
	k := open(t, t.TempDir(), nil)
	for _, bad := range []string{"", ".", "..", "../bob", "a/b", "A", "-a", "1a", "a\x00", "ä", strings.Repeat("a", 33)} {
		if _, err := k.Prepare(bad, fill(Inline+1, 1)); err == nil {
			t.Errorf("%q prepares", bad)
		}
		if _, err := k.Get(bad, action.Hash{}); err == nil || errors.Is(err, ErrNotHeld) {
			t.Errorf("%q gets: %v", bad, err)
		}
	}
	k.keep(t, "_svc-1", fill(Inline+1, 1))
}

// T11: a start removes what an interrupted write left, and takes in no name
// that is no capture, nor a link.
func TestLeftoversAreNoCaptures(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir, nil)
	content := fill(Inline+1, 5)
	k.keep(t, "alice", content)
	place := filepath.Join(k.cfg.Dir, "alice")
	link := action.HashOf([]byte("link")).String()
	for _, err := range []error{
		os.WriteFile(filepath.Join(place, tempPrefix+"x"), content, 0o600),
		os.WriteFile(filepath.Join(place, strings.ToUpper(link)), content, 0o600),
		os.WriteFile(filepath.Join(k.cfg.Dir, "stray"), content, 0o600),
		os.Symlink("/etc/passwd", filepath.Join(place, link)),
		os.Symlink("/etc", filepath.Join(k.cfg.Dir, "bob")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	k.j.Close()
	k = open(t, dir, nil)
	k.has(t, "alice", content)
	if k.Used("alice") != Inline+1 || k.Used("bob") != 0 {
		t.Fatalf("%d and %d used", k.Used("alice"), k.Used("bob"))
	}
	if _, err := os.Lstat(filepath.Join(place, tempPrefix+"x")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the leftover: %v", err)
	}
}

// T11: captures of one moment, alike and not, are all kept and counted once.
func TestCapturesAtOnce(t *testing.T) {
	k := open(t, t.TempDir(), nil)
	var group sync.WaitGroup
	for n := range 16 {
		group.Go(func() {
			content := fill(Inline+1+n%4, byte(n%4))
			if _, err := k.Prepare("alice", content); err != nil {
				t.Error(err)
			}
			if _, err := k.Get("alice", action.HashOf(content)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if want := int64(4*(Inline+1) + 6); k.Used("alice") != want {
		t.Fatalf("%d used, want %d", k.Used("alice"), want)
	}
}
