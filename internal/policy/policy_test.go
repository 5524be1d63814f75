package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/action"
	"countersign/internal/classify"
	"countersign/internal/refusal"
)

const two = minimal + `[persons.bob]
uid = 1001
home = "/home/bob"
owners = ["bob", "alice"]
read = [{ root = "~" }]
[agents.codex]
uid = 971
persons = ["bob"]
`

// T6: whose home it is comes from the path, by whole names, and a path in
// nobody's home is refused by name.
func TestHomeOf(t *testing.T) {
	p := sound(t, two)
	for path, want := range map[action.Path]string{
		"/home/alice": "alice", "/home/alice/p/a": "alice", "/home/bob/a": "bob",
		"/home/alice2/a": "", "/home": "", "/": "", "/home/ALICE/a": "", "/etc/passwd": "", "": "",
	} {
		got, err := p.HomeOf(path)
		if want == "" && !refusal.Is(err, refusal.NobodysHome) || want != "" && (err != nil || got.Name != want) {
			t.Errorf("%q: %v, %v; want %q", path, got, err, want)
		}
	}
}

// T8: who may decide is looked up by uid, in the list of that home, and an
// agent's uid never may, even where a person with that uid is listed. P1: an
// agent is answered for the persons it names.
func TestWhoMay(t *testing.T) {
	p := sound(t, two)
	for _, c := range []struct {
		uid    uint32
		person string
		want   bool
	}{
		{1000, "alice", true}, {1001, "alice", false}, {1001, "bob", true}, {1000, "bob", true},
		{970, "alice", false}, {0, "alice", false}, {1000, "carol", false},
	} {
		if got := p.OwnerOf(c.uid, c.person); got != c.want {
			t.Errorf("uid %d for %s: %v", c.uid, c.person, got)
		}
	}
	p.Agents["codex"].UID = 1000 // as no sound policy has it
	if p.OwnerOf(1000, "alice") {
		t.Error("an agent's uid may decide")
	}
	for pair, want := range map[[2]string]bool{{"claude", "alice"}: true, {"claude", "bob"}: false,
		{"codex", "bob"}: true, {"gemini", "alice"}: false, {"", ""}: false} {
		if got := p.AgentMay(pair[0], pair[1]); got != want {
			t.Errorf("%v: %v", pair, got)
		}
	}
	if p.PersonByUID(1001).Name != "bob" || p.PersonByUID(970) != nil || p.AgentByUID(970).Name != "claude" || p.AgentByUID(1001) != nil {
		t.Error("a uid names the wrong one")
	}
}

// T5: a snapshot root holds what is beneath it, by whole names.
func TestInSnapshotRoot(t *testing.T) {
	alice := sound(t, minimal+"[filesystem]\nsnapshot_roots = [\"~/projects\"]\n").Persons["alice"]
	for path, want := range map[action.Path]bool{"/home/alice/projects/a": true, "/home/alice/projects": true,
		"/home/alice/projects2/a": false, "/home/alice/a": false} {
		if alice.InSnapshotRoot(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

// T5, T8, T13: the decision, and the line that made it. Deny comes first, then
// reasons on the list, then what cannot be undone, then who proposed it, then
// the capability's own verdict.
func TestDecide(t *testing.T) {
	p := sound(t, minimal+"[decide]\nfile-delete = \"ask\"\ngit-commit = \"deny\"\nask = [\"runs-later\", \"large\"]\n")
	because := func(names ...classify.Name) (rs []classify.Reason) {
		for _, n := range names {
			rs = append(rs, classify.Reason{Name: n, Path: "/home/alice/projects/a"})
		}
		return rs
	}
	for _, c := range []struct {
		name    string
		cap     action.Capability
		forever bool // not reversible
		reasons []classify.Reason
		self    bool
		want    Verdict
		rule    string
		asking  int
	}{
		{"a plain write", "file-write", false, nil, false, Auto, `decide.file-write = "auto" (default)`, 0},
		{"a delete", "file-delete", false, nil, false, Ask, `decide.file-delete = "ask" (line 13)`, 0},
		{"a reason on the list", "file-write", false, because("runs-later"), false, Ask, `decide.ask has "runs-later" (line 15)`, 1},
		{"a reason that is not", "file-write", false, because("credentials"), false, Auto, `decide.file-write = "auto" (default)`, 0},
		{"several reasons", "file-delete", false, because("data-deletion", "runs-later", "large"), false, Ask, `decide.ask has "runs-later" (line 15)`, 2},
		{"what cannot be undone", "file-write", true, nil, false, Ask, "what cannot be undone is asked", 0},
		{"self-proposed", "file-write", false, nil, true, Ask, "whoever could approve it proposed it", 0},
		{"denied, whatever else", "git-commit", true, because("runs-later"), true, Deny, `decide.git-commit = "deny" (line 14)`, 0},
		{"a discard", "git-discard", false, because("data-deletion"), false, Ask, `decide.git-discard = "ask" (default)`, 0},
		{"a push", "git-push", false, nil, false, Deny, `no policy decides the capability "git-push"`, 0},
		{"nothing known", "", false, nil, false, Deny, `no policy decides the capability ""`, 0},
		{"an undo", "undo", false, nil, false, Ask, "an undo is the owner's own", 0},
	} {
		got := p.Decide(classify.Class{Capability: c.cap, Reversible: !c.forever, Reasons: c.reasons}, Proposer{Agent: "claude", Self: c.self})
		if got.Verdict != c.want || got.Rule != c.rule || len(got.Reasons) != c.asking {
			t.Errorf("%s: %+v; want %s by %s, %d reasons", c.name, got, c.want, c.rule, c.asking)
		}
	}
}

// P9: a caller that holds another policy is refused by name.
func TestSame(t *testing.T) {
	p := sound(t, two)
	if err := p.Same(action.HashOf([]byte(two))); err != nil {
		t.Errorf("its own digest: %v", err)
	}
	if err := p.Same(sound(t, minimal).Digest); !refusal.Is(err, refusal.PolicyDiffers) {
		t.Errorf("another policy's: %v", err)
	}
}

// P9: each process reads the policy itself, from a file that was opened once
// and that nobody but root or the reader could have written.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", 0o644, minimal)
	p, err := Load(good)
	if err != nil || p.Digest != action.HashOf([]byte(minimal)) {
		t.Fatalf("a sound file: %v", err)
	}
	if err := os.Symlink(good, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	pad := strings.Repeat("#", MaxFile-len(minimal)-1)
	if _, err := Load(write("full", 0o600, minimal+pad+"\n")); err != nil {
		t.Errorf("a file of exactly the limit: %v", err)
	}
	bad := map[string]string{
		"a link":                   filepath.Join(dir, "link"),
		"a pipe":                   filepath.Join(dir, "pipe"),
		"a directory":              dir,
		"no file":                  filepath.Join(dir, "none"),
		"one that a group writes":  write("group", 0o664, minimal),
		"one that everyone writes": write("others", 0o602, minimal),
		"one over the limit":       write("over", 0o600, minimal+pad+"#\n"),
		"a broken one":             write("broken", 0o600, "version = 2\n"),
	}
	if os.Geteuid() == 0 {
		bad["another user's"] = write("strange", 0o644, minimal)
		if err := os.Chown(bad["another user's"], 12345, 0); err != nil {
			t.Fatal(err)
		}
	}
	for name, path := range bad {
		p, err := Load(path)
		var read *Invalid // what must not be trusted is not even parsed
		if err == nil || p != nil || errors.As(err, &read) != (name == "a broken one") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
