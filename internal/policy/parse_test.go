package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"countersign/internal/action"
	"countersign/internal/classify"
	"countersign/internal/grant"
	"countersign/internal/refusal"
)

// minimal is the least policy that lets an agent do anything.
const minimal = `version = 1
[persons.alice]
uid = 1000
home = "/home/alice"
[[persons.alice.read]]
root = "~"
[[persons.alice.write]]
root = "~/projects"
[agents.claude]
uid = 970
persons = ["alice"]
`

func sound(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return p
}

// T5: every key is read as its type.
func TestParse(t *testing.T) {
	p := sound(t, `version = 1
homes = "/srv/home"
[persons.alice]
uid = 1000
home = "/srv/home/alice"
owners = ["bob", "alice"]
umask = "0027"
read = [{ root = "~" }, { root = '"/srv/home/alice/caf\351"', include = ["*.md"] }]
[[persons.alice.write]]
root = "/srv/home/alice/p"
include = ["**/*.go"]
ignore = ["dist/**"]
follow_links = true
cross_mounts = true
max_file_size = "3B"
[persons.bob]
uid = 1001
home = "/srv/home/bob"
[agents.claude]
uid = 970
persons = ["alice"]
[filesystem]
snapshot_roots = ["~/p", "/srv/home/bob"]
deny_except = ["env"]
[[persons.bob.read]]
root = "~"
[[persons.bob.write]]
root = "~"
[decide]
file-write = "ask"
git-commit = "deny"
ask = ["data-deletion", "large", "runs-later"]
[classify]
also = ["build-files"]
except = ["ci"]
[[classify.entry]]
name = "deploy"
reason = "runs-later"
patterns = ["~/p/deploy/**"]
[consent]
expire = "90m"
pending_per_agent = 7
[limits]
asked_text = "1KiB"
large = "4MiB"
[keep]
captures = "1d"
`)
	alice := p.Persons["alice"]
	for name, pair := range map[string][2]any{
		"digest is of bytes": {sound(t, minimal).Digest, action.HashOf([]byte(minimal))},
		"owners":             {alice.Owners, []string{"bob", "alice"}},
		"umask":              {alice.Umask, 0o27},
		"reads":              {alice.Grants.Reads[1].Root, "/srv/home/alice/caf\xe9"},
		"write":              {alice.Grants.Writes, []grant.Grant{{Root: "/srv/home/alice/p", Include: []string{"**/*.go"}, Ignore: []string{"dist/**"}, FollowLinks: true, CrossMounts: true, MaxFileSize: 3}}},
		"home of grants":     {alice.Grants.Home, "/srv/home/alice"},
		"snapshot of alice":  {alice.SnapshotRoots, []action.Path{"/srv/home/alice/p"}},
		"snapshot of bob":    {p.Persons["bob"].SnapshotRoots, []action.Path{"/srv/home/bob/p", "/srv/home/bob"}},
		"file-write":         {p.Verdicts[action.CapFileWrite], Ask},
		"file-delete":        {p.Verdicts[action.CapFileDelete], Auto},
		"git-commit":         {p.Verdicts[action.CapGitCommit], Deny},
		"ask":                {p.Asks, map[classify.Name]bool{"data-deletion": true, "large": true, "runs-later": true}},
		"classify":           {entriesAt(p, "/p/Makefile", "/p/.travis.yml", "/p/Deploy/x"), "build-files  deploy"},
		"consent":            {p.Consent, Consent{Expire: 90 * time.Minute, PendingPerAgent: 7}},
		"limits":             {p.Limits, Limits{AskedText: 1024, AutoBytes: 8 << 20, Large: 4 << 20}},
		"keep":               {p.Keep, Keep{Captures: 24 * time.Hour, Size: 5 << 30}},
	} {
		if fmt.Sprint(pair[0]) != fmt.Sprint(pair[1]) {
			t.Errorf("%s: %v, want %v", name, pair[0], pair[1])
		}
	}
	if _, err := alice.Grants.Judge(grant.Read, "/srv/home/alice/p/.env"); err != nil {
		t.Errorf("an entry taken off the deny list still holds: %v", err)
	}
	if _, err := alice.Grants.Judge(grant.Read, "/srv/home/alice/.ssh/config"); !refusal.Is(err, refusal.Denied) {
		t.Errorf("an entry left on the deny list: %v", err)
	}
	none := sound(t, "version = 1\n[persons.eve]\nuid = 1\nhome = \"/home/eve\"\n").Persons["eve"]
	if _, err := none.Grants.Judge(grant.Read, "/home/eve/a"); !refusal.Is(err, refusal.NotGranted) {
		t.Errorf("a person without grants: %v", err)
	}
}

// entriesAt gives the entry that each path of alice's has a reason by.
func entriesAt(p *Policy, paths ...action.Path) string {
	var out []string
	for _, path := range paths {
		home := p.Persons["alice"].Home
		c := classify.Classify([]classify.Change{{Path: home + path, Home: string(home), InSnapshotRoot: true, New: &action.Image{Mode: 0o644}}}, p.Classes())
		entry := ""
		for _, r := range c.Reasons {
			entry += r.Entry
		}
		out = append(out, entry)
	}
	return strings.Join(out, " ")
}

// T5: an unknown key, a wrong type or a setting that could never act is an
// error with its key and its line.
func TestParseRefuses(t *testing.T) {
	add := func(s string) string { return minimal + s }
	swap := func(old, new string) string { return strings.Replace(minimal, old, new, 1) }
	entry := func(name, reason, pattern string) string {
		if name != "" {
			name = fmt.Sprintf("name = %q\n", name)
		}
		return add("[[classify.entry]]\n" + name + fmt.Sprintf("reason = %q\npatterns = [\"%s\"]\n", reason, pattern))
	}
	for _, c := range []struct {
		name, text string
		line       int
		key        string
	}{
		{"not TOML", "version = 1\n[persons", 2, ""},
		{"a key twice", "version = 1\nversion = 1\n", 2, "version"},
		{"no version", "", 0, "version"},
		{"another version", "# mine\nversion = 2\nwhat = 1\n", 2, "version"},
		{"unknown section", add("[reload]\nauto = true\n"), 12, "reload"},
		{"unknown key", swap("uid = 1000", "uid = 1000\nshell = \"sh\""), 4, "persons.alice.shell"},
		{"unknown key of a grant", swap("root = \"~\"\n", "root = \"~\"\nmode = 1\n"), 7, "persons.alice.read.mode"},
		{"a key in capital letters", swap("uid = 1000", "UID = 1000"), 3, "persons.alice.UID"},
		{"a section in capital letters", add("[Keep]\nsize = \"1GiB\"\n"), 12, "Keep"},
		{"a string for a number", swap("1000", `"1000"`), 3, "persons.alice.uid"},
		{"a number for a string", swap(`"/home/alice"`, "7"), 4, "persons.alice.home"},
		{"a fraction", swap("1000", "1000.0"), 3, "persons.alice.uid"},
		{"a negative uid", swap("1000", "-1"), 3, "persons.alice.uid"},
		{"a uid past 32 bits", swap("1000", "4294967296"), 3, "persons.alice.uid"},
		{"a date for a string", add("[keep]\nsize = 2020-01-01\n"), 13, "keep.size"},
		{"a string for a list", add("[decide]\nask = \"large\"\n"), 13, "decide.ask"},
		{"a string for a boolean", add("[consent]\nunseparated = \"yes\"\n"), 13, "consent.unseparated"},

		{"no persons", "version = 1\n", 0, "persons"},
		{"a person's name", swap("persons.alice]\nuid", "persons.\"Alice B\"]\nuid"), 2, "persons.Alice B"},
		{"a name of 33", add("[persons." + strings.Repeat("a", 33) + "]\n"), 12, "persons." + strings.Repeat("a", 33)},
		{"an agent's name", swap("agents.claude", "agents.9to5"), 9, "agents.9to5"},
		{"no uid", swap("uid = 1000\n", ""), 2, "persons.alice.uid"},
		{"no home", swap("home = \"/home/alice\"\n", ""), 2, "persons.alice.home"},
		{"a relative home", swap("/home/alice", "home/alice"), 4, "persons.alice.home"},
		{"a home that is not clean", swap("/home/alice", "/home/alice/"), 4, "persons.alice.home"},
		{"a home elsewhere", swap("/home/alice", "/root"), 4, "persons.alice.home"},
		{"a home that is homes", swap("/home/alice", "/home"), 4, "persons.alice.home"},
		{"root as a person", swap("1000", "0"), 3, "persons.alice.uid"},
		{"root as an agent", swap("970", "0"), 10, "agents.claude.uid"},
		{"nobody as an agent", swap("970", "65534"), 10, "agents.claude.uid"},
		{"the uid that is none", swap("970", "4294967295"), 10, "agents.claude.uid"},
		{"an agent with a person's uid", swap("970", "1000"), 10, "agents.claude.uid"},
		{"two agents with one uid", add("[agents.codex]\nuid = 970\npersons = [\"alice\"]\n"), 13, "agents.codex.uid"},
		{"two persons with one uid", add("[persons.bob]\nuid = 1000\nhome = \"/home/bob\"\n"), 13, "persons.bob.uid"},
		{"a home inside another", add("[persons.bob]\nuid = 1001\nhome = \"/home/alice/bob\"\n"), 14, "persons.bob.home"},
		{"one home for two", add("[persons.bob]\nuid = 1001\nhome = \"/home/alice\"\n"), 14, "persons.bob.home"},
		{"an agent with a person's name", swap("agents.claude", "agents.alice"), 9, "agents.alice"},
		{"an agent as owner", swap("uid = 1000", "uid = 1000\nowners = [\"alice\",\n  \"claude\"]"), 5, "persons.alice.owners[1]"},
		{"an owner nobody knows", swap("uid = 1000", "uid = 1000\nowners = [\"carol\"]"), 4, "persons.alice.owners[0]"},
		{"no owner", swap("uid = 1000", "uid = 1000\nowners = []"), 4, "persons.alice.owners"},
		{"an agent of nobody", swap(`["alice"]`, "[]"), 11, "agents.claude.persons"},
		{"an agent of a person nobody knows", swap(`["alice"]`, `["alice", "bob"]`), 11, "agents.claude.persons[1]"},
		{"a umask that is no octal", swap("uid = 1000", "uid = 1000\numask = \"089\""), 4, "persons.alice.umask"},
		{"a umask as a number", swap("uid = 1000", "uid = 1000\numask = 22"), 4, "persons.alice.umask"},
		{"a umask against the person", swap("uid = 1000", "uid = 1000\numask = \"777\""), 4, "persons.alice.umask"},

		{"a grant in nobody's home", swap(`"~/projects"`, `"/srv/projects"`), 8, "persons.alice.write[0].root"},
		{"a grant in another's name", swap(`"~/projects"`, `"~bob/projects"`), 8, "persons.alice.write[0].root"},
		{"a grant that climbs", swap(`"~/projects"`, `"~/../bob"`), 8, "persons.alice.write[0].root"},
		{"a grant of a home with a longer name", swap(`"~/projects"`, `"/home/alice2/projects"`), 8, "persons.alice.write[0].root"},
		{"a grant without root", swap("root = \"~/projects\"\n", "follow_links = true\n"), 7, "persons.alice.write[0]"},
		{"a second grant without root", add("[[persons.alice.write]]\nfollow_links = true\n"), 12, "persons.alice.write[1]"},
		{"an empty root", swap(`"~/projects"`, `""`), 8, "persons.alice.write[0].root"},
		{"a write grant nobody may read", swap("root = \"~\"", "root = \"~/notes\""), 7, "persons.alice.write[0]"},
		{"one root twice", swap("[[persons.alice.write]]", "[[persons.alice.read]]\nroot = \"/home/alice\"\n[[persons.alice.write]]"), 8, "persons.alice.read[1].root"},
		{"a denied root", swap(`"~/projects"`, `"~/.ssh"`), 8, "persons.alice.write[0].root"},
		{"a write grant under .git", swap(`"~/projects"`, `"~/p/.git"`), 8, "persons.alice.write[0].root"},
		{"a malformed pattern", swap("root = \"~/projects\"", "root = \"~/projects\"\ninclude = [\"*.go\",\n\"[a\"]"), 10, "persons.alice.write[0].include[1]"},
		{"an empty include", swap("root = \"~/projects\"", "root = \"~/projects\"\ninclude = []"), 9, "persons.alice.write[0].include"},
		{"a pattern that climbs", swap("root = \"~/projects\"", "root = \"~/projects\"\nignore = [\"../x\"]"), 9, "persons.alice.write[0].ignore[0]"},
		{"a size without unit", swap("root = \"~/projects\"", "root = \"~/projects\"\nmax_file_size = \"8\""), 9, "persons.alice.write[0].max_file_size"},
		{"a snapshot root outside every write grant", add("[filesystem]\nsnapshot_roots = [\"~\", \"~/notes\"]\n"), 13, "filesystem.snapshot_roots[1]"},
		{"a relative snapshot root", add("[filesystem]\nsnapshot_roots = [\"projects\"]\n"), 13, "filesystem.snapshot_roots[0]"},
		{"an unknown deny entry", add("[filesystem]\ndeny_except = [\"ssh\", \"sssh\"]\n"), 13, "filesystem.deny_except[1]"},
		{"homes that is no path", swap("version = 1", "version = 1\nhomes = \"home\""), 2, "homes"},

		{"an unknown verdict", add("[decide]\nfile-write = \"yes\"\n"), 13, "decide.file-write"},
		{"an unknown capability", add("[decide]\nfile-read = \"auto\"\n"), 13, "decide.file-read"},
		{"a verdict for push", add("[decide]\ngit-push = \"ask\"\n"), 13, "decide.git-push"},
		{"a verdict for undo", add("[decide]\nundo = \"auto\"\n"), 13, "decide.undo"},
		{"an unknown reason", add("[decide]\nask = [\"large\", \"huge\"]\n"), 13, "decide.ask[1]"},
		{"no time to decide", add("[consent]\nexpire = \"0h\"\n"), 13, "consent.expire"},
		{"a negative time", add("[consent]\nexpire = \"-1h\"\n"), 13, "consent.expire"},
		{"a time in weeks", add("[consent]\nexpire = \"1w\"\n"), 13, "consent.expire"},
		{"none may wait", add("[consent]\npending_per_agent = 0\n"), 13, "consent.pending_per_agent"},
		{"a negative number", add("[consent]\npending_per_agent = -3\n"), 13, "consent.pending_per_agent"},
		{"a size of zero", add("[limits]\nlarge = \"0KiB\"\n"), 13, "limits.large"},
		{"a negative size", add("[keep]\nsize = \"-5GiB\"\n"), 13, "keep.size"},
		{"a size past 63 bits", add("[keep]\nsize = \"99999999TiB\"\n"), 13, "keep.size"},
		{"more text than can be answered for", add("[limits]\nasked_text = \"65KiB\"\n"), 13, "limits.asked_text"},
		{"more than a frame carries", add("[limits]\nauto_bytes = \"9MiB\"\n"), 13, "limits.auto_bytes"},
		{"a person's reads that grant nothing", swap("[[persons.alice.read]]\nroot = \"~\"\n[[persons.alice.write]]\nroot = \"~/projects\"\n", ""), 7, "agents.claude.persons"},
		{"a person twice", swap(`["alice"]`, `["alice", "alice"]`), 11, "agents.claude.persons[1]"},
		{"an owner twice", swap("uid = 1000", "uid = 1000\nowners = [\"alice\", \"alice\"]"), 4, "persons.alice.owners[1]"},
		{"a pattern twice", swap("root = \"~/projects\"", "root = \"~/projects\"\nignore = [\"a\", \"a\"]"), 9, "persons.alice.write[0].ignore[1]"},
		{"an include of what is denied", swap("root = \"~\"\n", "root = \"~\"\ninclude = [\"**\", \".ssh/**\"]\n"), 7, "persons.alice.read[0].include[1]"},
		{"an include of one denied file", swap("root = \"~\"\n", "root = \"~\"\ninclude = [\"**\", \"a/.env\"]\n"), 7, "persons.alice.read[0].include[1]"},
		{"an include of one denied name", swap("root = \"~\"\n", "root = \"~\"\ninclude = [\"a/id_work/**\", \"a/id_work\"]\n"), 7, "persons.alice.read[0].include[1]"},
		{"an include under .git, for writing", swap("root = \"~/projects\"", "root = \"~/projects\"\ninclude = [\"a/.git/*\", \"*\"]"), 9, "persons.alice.write[0].include[0]"},
		{"an include that a nested grant speaks for", swap("[[persons.alice.write]]", "include = [\"*\", \"notes/x/*\"]\n[[persons.alice.read]]\nroot = \"~/notes\"\n[[persons.alice.write]]"), 7, "persons.alice.read[0].include[1]"},
		{"a snapshot root twice", add("[filesystem]\nsnapshot_roots = [\"~\", \"~\"]\n"), 13, "filesystem.snapshot_roots[1]"},
		{"a snapshot root beneath another", add("[filesystem]\nsnapshot_roots = [\"~\", \"~/projects/a\"]\n"), 13, "filesystem.snapshot_roots[1]"},
		{"an exception twice", add("[filesystem]\ndeny_except = [\"ssh\", \"ssh\"]\n"), 13, "filesystem.deny_except[1]"},
		{"an exception that nothing reaches", swap("root = \"~\"", "root = \"~/projects\"") + "[filesystem]\ndeny_except = [\"env\", \"ssh\"]\n", 13, "filesystem.deny_except[1]"},
		{"a reason twice", add("[decide]\nask = [\"large\", \"large\"]\n"), 13, "decide.ask[1]"},
		{"a reason that never stands", add("[decide]\nask = [\"large\", \"publication\"]\n"), 13, "decide.ask[1]"},
		{"a bound whose reason does not ask", add("[decide]\nask = [\"runs-later\"]\n[limits]\nlarge = \"1KiB\"\n"), 15, "limits.large"},
		{"a bound over every file", add("[limits]\nlarge = \"17MiB\"\n"), 13, "limits.large"},
		{"an entry that counts already", add("[classify]\nalso = [\"build-files\", \"ci\"]\n"), 13, "classify.also[1]"},
		{"an entry that does not count", add("[classify]\nexcept = [\"ci\", \"build-files\"]\n"), 13, "classify.except[1]"},
		{"an entry that is not there", add("[classify]\nexcept = [\"ic\"]\n"), 13, "classify.except[0]"},
		{"another that is not there", add("[classify]\nalso = [\"\"]\n"), 13, "classify.also[0]"},
		{"an entry twice", add("[classify]\nexcept = [\"ci\", \"ci\"]\n"), 13, "classify.except[1]"},
		{"an entry whose reason does not ask", add("[decide]\nask = [\"credentials\"]\n[classify]\nexcept = [\"npm-token\", \"ci\"]\n"), 15, "classify.except[1]"},
		{"an own entry without a name", entry("", "runs-later", "**/a"), 12, "classify.entry[0]"},
		{"an own entry that is no name", entry("a b", "runs-later", "**/a"), 13, "classify.entry[0].name"},
		{"an own entry of a name that is taken", entry("ci", "runs-later", "**/a"), 13, "classify.entry[0].name"},
		{"two own entries of one name", entry("a", "runs-later", "**/a") + "[[classify.entry]]\nname = \"a\"\nreason = \"runs-later\"\npatterns = [\"**/a\"]\n", 17, "classify.entry[1].name"},
		{"an own entry of another reason", entry("a", "large", "**/a"), 14, "classify.entry[0].reason"},
		{"an own entry whose reason does not ask", add("[decide]\nask = [\"credentials\"]\n") + strings.TrimPrefix(entry("a", "runs-later", "**/a"), minimal), 16, "classify.entry[0].reason"},
		{"entries of too many places", minimal + places(), 12, "classify"},
		{"an own entry without patterns", add("[[classify.entry]]\nname = \"a\"\nreason = \"runs-later\"\npatterns = []\n"), 15, "classify.entry[0].patterns"},
		{"a pattern without a beginning", entry("a", "runs-later", "deploy/**"), 15, "classify.entry[0].patterns[0]"},
		{"a pattern twice in an entry", entry("a", "runs-later", "**/a\", \"**/a"), 15, "classify.entry[0].patterns[1]"},
		{"too many entries", add(strings.Repeat("[[classify.entry]]\n", classify.MaxOwn+1)), 12, "classify.entry"},
		{"a time too long", add("[keep]\ncaptures = \"999999999999d\"\n"), 13, "keep.captures"},
	} {
		p, err := Parse([]byte(c.text))
		var bad *Invalid
		if p != nil || !errors.As(err, &bad) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := bad.Problems[0]; got.Line != c.line || got.Key != c.key || got.Why == "" {
			t.Errorf("%s: %+v; want line %d, key %s", c.name, bad.Problems, c.line, c.key)
		}
		if strings.Contains(bad.Error(), "policy.file") {
			t.Errorf("%s: the error shows the program's insides: %v", c.name, bad)
		}
	}
}

// places gives entries of an owner's own that name hundreds of places.
func places() string {
	s := ""
	for i := range classify.MaxOwn {
		s += fmt.Sprintf("[[classify.entry]]\nname = \"own%d\"\nreason = \"runs-later\"\npatterns = [\"~/projects/a%d/b/c/d/*\"]\n", i, i)
	}
	return s
}

// T5: everything that is wrong is named at once, in the order of the lines.
func TestParseNamesEverything(t *testing.T) {
	_, err := Parse([]byte(minimal + "[limits]\nlarge = \"big\"\nauto_bytes = \"1\"\n[decide]\nask = [\"huge\"]\n"))
	var bad *Invalid
	if !errors.As(err, &bad) || len(bad.Problems) != 3 {
		t.Fatalf("%v", err)
	}
	for i, want := range []string{"line 13: limits.large: ", "line 14: limits.auto_bytes: ", "line 16: decide.ask[0]: "} {
		if got := bad.Problems[i].String(); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s…", got, want)
		}
	}
}

// T8: what is separated is given up only by consent.unseparated, by name.
func TestUnseparated(t *testing.T) {
	text := strings.Replace(minimal, "uid = 970", "uid = 1000", 1) + "[agents.root]\nuid = 0\npersons = [\"alice\"]\n"
	if _, err := Parse([]byte(text)); err == nil {
		t.Error("an agent shares a person's uid, and another is root")
	}
	p := sound(t, text+"[consent]\nunseparated = true\n")
	if !p.OwnerOf(1000, "alice") {
		t.Error("unseparated, and the person may not decide for their home")
	}
	if got := p.Decide(classify.Class{Capability: action.CapFileWrite, Reversible: true}, Proposer{Self: true}); got.Verdict != Auto {
		t.Errorf("unseparated, self-proposed: %+v", got)
	}
}

// T5: no input makes the parser fail in another way than by an error that
// names what is wrong, and what it accepts it reads the same again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte(example(f)))
	f.Add([]byte("\"\\u001b\" = 1\n\"\\u001b\" = 1\n"))
	f.Add([]byte("version = 1\npersons = { a = { uid = 1, home = \"/home/a\", read = [{root='~'}] } }"))
	f.Add([]byte("version = 1\n[[persons.a.read]]\nroot = '\"\\351\"'\n[persons.a.read.x]\ny = [[{z = 1}]]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		var bad *Invalid
		switch {
		case err != nil && (!errors.As(err, &bad) || len(bad.Problems) == 0 || p != nil):
			t.Fatalf("not an account of problems: %v", err)
		case err != nil && strings.ContainsFunc(strings.NewReplacer("\n", "", "\t", "").Replace(err.Error()), unicode.IsControl):
			t.Fatalf("a control character: %q", err)
		case err == nil:
			if len(p.Persons) == 0 || p.Digest != action.HashOf(data) {
				t.Fatalf("accepted: %+v", p)
			}
			for _, person := range p.Persons {
				if who, err := p.HomeOf(person.Home); err != nil || who != person {
					t.Fatalf("the home of %s: %v, %v", person.Name, who, err)
				}
			}
		}
	})
}

// T5: a key of many parts costs no more than a sound one: only as many are
// followed as a policy could have.
func TestLinesAreBounded(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a.", 100) + "b = 1",
		"[" + strings.Repeat("a.", 100) + "b]",
		"a = " + strings.Repeat("[", 100) + strings.Repeat("]", 100),
		"a = " + strings.Repeat("{a = ", 100) + "1" + strings.Repeat("}", 100),
	} {
		if got, err := linesOf([]byte(text)); err != nil || len(got) > 2*maxDepth {
			t.Errorf("%.20s…: %d keys, %v", text, len(got), err)
		}
	}
}
