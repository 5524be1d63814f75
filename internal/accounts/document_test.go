package accounts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/internal/policy"
)

// owned is a file as an owner would have it after a while.
const owned = `# The policy of this machine.
version = 1   # the first
homes = "/home"

# alice came first
[persons.alice]
uid = 1000
home = "/home/alice"   # on the fast disk
owners = ["alice", "bob"]

# what she lets be read
[[persons.alice.read]]
root = "~"
[[persons.alice.write]]
root = "~/projects"
ignore = [
  "dist/**", # built
]

# bob is new
[persons.bob]
uid = 1001
home = "/home/bob"
[[persons.bob.read]]
root = '''~'''

[agents]
[agents.claude]
uid = 970
persons = [ "alice" , "bob", ]
[agents.codex]
uid = 971
persons = ["alice"] # hers alone

[keep] # end
captures = "30d"
`

func changed(t *testing.T, text string, f func(*change) error) string {
	t.Helper()
	ch, err := newChange([]byte(text))
	if err == nil {
		err = f(ch)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := ch.fresh()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// P7: a person who is removed takes along their tables, whatever the owner
// made of them, their name in the lists of others, and the agents that worked
// for them alone; every other byte stays, comments too.
func TestCutPerson(t *testing.T) {
	var gone []string
	got := changed(t, owned, func(c *change) (err error) {
		gone, err = c.cutPerson("alice")
		return err
	})
	from, to := strings.Index(owned, "[persons.alice]"), strings.Index(owned, "\n# bob is new")
	want := owned[:from] + owned[to:]
	want = strings.Replace(want, `[ "alice" , "bob", ]`, `[ "bob", ]`, 1)
	want = strings.Replace(want, "[agents.codex]\nuid = 971\npersons = [\"alice\"] # hers alone\n", "", 1)
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if !slices.Equal(gone, []string{"codex"}) {
		t.Errorf("the agents that went: %v", gone)
	}
	if _, err := policy.Parse([]byte(got)); err != nil {
		t.Errorf("what is left: %v", err)
	}
	got = changed(t, owned, func(c *change) error { _, err := c.cutPerson("bob"); return err })
	if strings.Contains(got, "bob\"") || !strings.Contains(got, "owners = [\"alice\"]\n") || !strings.Contains(got, "# bob is new\n") {
		t.Errorf("without bob:\n%s", got)
	}
}

// P7: adding and removing again leaves the file as it was, byte for byte.
func TestThereAndBack(t *testing.T) {
	for _, text := range []string{owned, strings.ReplaceAll(owned, "\n", "\r\n"), "version = 1\n", "\n"} {
		with := changed(t, text, func(c *change) error {
			return errors.Join(c.putPerson("carol", 1002, `/home/"c" é\`), c.putAgent("gemini", 972, []string{"carol"}))
		})
		if !strings.HasPrefix(with, text) {
			t.Fatalf("the owner's bytes moved:\n%s", with)
		}
		back := changed(t, with, func(c *change) error { _, err := c.cutPerson("carol"); return err })
		if back != text {
			t.Errorf("got:\n%q\nwant:\n%q", back, text)
		}
	}
	with := changed(t, owned, func(c *change) error {
		return errors.Join(c.putPerson("carol", 1002, "/home/carol"), c.serve("codex", []string{"bob", "carol"}))
	})
	if !strings.Contains(with, `persons = ["alice", "bob", "carol"] # hers alone`) {
		t.Errorf("codex works for:\n%s", with)
	}
	if p, err := policy.Parse([]byte(with)); err != nil || !p.AgentMay("codex", "carol") || p.Persons["carol"].UID != 1002 {
		t.Errorf("what it says: %v", err)
	}
}

// P7: a table that is written so that it cannot be cut out exactly is refused
// by name, and so is a list with a comment between its names.
func TestInexact(t *testing.T) {
	const rest = "[persons.bob]\nuid = 1001\nhome = \"/home/bob\"\n"
	for name, text := range map[string]string{
		"dotted keys":          "persons.alice.uid = 1000\npersons.alice.home = \"/home/alice\"\n",
		"an inline table":      "persons = {alice = {uid = 1000}}\n",
		"keys of the section":  "[persons]\nalice.uid = 1000\n",
		"half of it elsewhere": "[persons]\nalice.uid = 1000\n[[persons.alice.read]]\nroot = \"~\"\n",
		"a commented list":     "[persons.alice]\nuid = 1\n[agents.a]\nuid = 2\npersons = [\"alice\", # her\n\"bob\"]\n" + rest,
		"an inline agent":      "agents = {a = {uid = 2, persons = [\"alice\"]}}\n[persons.alice]\nuid = 1\n",
		"a list within":        "agents.a = {uid = 2, persons = [\"alice\", \"bob\"]}\n[persons.alice]\nuid = 1\n" + rest,
		"the last owner":       "[persons.alice]\nuid = 1\n[persons.carol]\nowners = [\"alice\"]\n",
	} {
		ch, err := newChange([]byte("version = 1\n" + text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var r *Refused
		if _, err := ch.cutPerson("alice"); !errors.As(err, &r) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{"a comment that looks like a header": "# [persons.alice]\n", "a string that does": "x = \"\"\"\n[persons.alice]\n\"\"\"\n"} {
		ch, err := newChange([]byte(text))
		if err != nil || ch.has(persons, "alice") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// P7: what a removal leaves says exactly what the file said before, but for
// the one who is gone, however the tables lie.
func TestCutAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := []string{"[persons.bob]\nuid = 1001\nhome = \"/home/bob\"\n", "[agents.claude]\nuid = 970\npersons = [\"bob\"]\n", "[limits]\nlarge = \"1KiB\"\n",
			"[persons.alice]\nuid = 1000\nhome = '''\n# [persons.bob]\n/home'''\n", "[[persons.alice.read]]\nroot = \"~\"\n", "[ persons . \"alice\" . write ]\n"}
		blocks = rapid.Permutation(blocks).Draw(t, "order")
		text := "version = 1\n"
		for i, b := range blocks {
			text += rapid.SampledFrom([]string{"", "\n", "# alice\n", "\n\n# [persons.alice]\n", "\t\n"}).Draw(t, fmt.Sprint("gap ", i)) + b
		}
		if rapid.Bool().Draw(t, "no last line end") {
			text = strings.TrimSuffix(text, "\n")
		}
		ch, err := newChange([]byte(text))
		if err != nil {
			t.Skip("not TOML in this order")
		}
		if err := ch.cut(persons, "alice"); err != nil {
			t.Fatal(err)
		}
		out, err := ch.fresh()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if n := strings.Count(string(out), "# alice"); n > strings.Count(text, "# alice") || strings.Contains(string(out), "uid = 1000") {
			t.Fatalf("left:\n%s", out)
		}
	})
}

// P7: an edit that would say anything else than was meant is an error.
func TestExact(t *testing.T) {
	ch, err := newChange([]byte(owned))
	if err != nil {
		t.Fatal(err)
	}
	ch.then([]edit{{start: strings.Index(owned, "1001"), end: strings.Index(owned, "1001") + 1, text: "2"}}, func(map[string]any) {})
	if _, err := ch.fresh(); err == nil {
		t.Error("bob's uid changed unseen")
	}
}

// P7: a policy that is not there yet begins with what it needs, wherever the
// homes lie.
func TestFirst(t *testing.T) {
	ch, err := newChange(nil)
	if err == nil {
		err = errors.Join(ch.putPerson("alice", 1000, "/home/alice"), ch.putPerson("bob", 1001, "/srv/people/bob"))
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := ch.fresh()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := policy.Parse(out); err != nil || p.Persons["bob"].Home != "/srv/people/bob" {
		t.Errorf("%v\n%s", err, out)
	}
}
