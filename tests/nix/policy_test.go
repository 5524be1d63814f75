package nix

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"countersign/internal/accounts"
	"countersign/internal/action"
	"countersign/internal/classify"
	"countersign/internal/policy"
)

// tomlOf gives the policy file that the settings stand for.
func tomlOf(t *testing.T, settings map[string]any) []byte {
	t.Helper()
	b, err := toml.Marshal(whole(settings))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// whole turns JSON's numbers into whole ones, as a policy has no others.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = whole(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = whole(e)
		}
		return out
	case float64:
		return int64(v)
	}
	return v
}

func parsed(t *testing.T, name string) *policy.Policy {
	t.Helper()
	text := tomlOf(t, machineOf(t, name).Policy.Settings)
	p, err := policy.Parse(text)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return p
}

// P6: what is set in Nix is the policy that the daemons read.
func TestSettingsAreThePolicy(t *testing.T) {
	p := parsed(t, "unusual")
	for name, home := range people["unusual"] {
		person := p.Persons[name]
		if person == nil || person.Home != action.Path(home) {
			t.Errorf("%s is %+v", name, person)
		}
	}
	anna := p.Persons["anna-maria"]
	if anna.UID != 1500 || !slices.Equal(anna.Owners, []string{"anna-maria", "_b-2"}) {
		t.Errorf("anna-maria is %+v", anna)
	}
	if w := anna.Grants.Writes; len(w) != 1 || w[0].Root != "/srv/people/anna maria/a b" {
		t.Errorf("what may be written there is %+v", w)
	}
	if a := p.Agents["claude"]; a.UID != 970 || len(a.Persons) != 3 {
		t.Errorf("the agent is %+v", a)
	}

	everything := parsed(t, "everything")
	if len(everything.Asks) != len(classify.Names())-1 { // nothing is ever published
		t.Errorf("of %v, a configuration can name %v", classify.Names(), slices.Collect(maps.Keys(everything.Asks)))
	}
	if got := everything.Persons["alice"].Umask; got != 0o027 {
		t.Errorf("the umask is %04o", got)
	}
}

// P6: what a configuration leaves out is left out of the file, where it has the
// default that docs/policy.md says.
func TestDefaultsAreThePolicys(t *testing.T) {
	settings := machineOf(t, "default").Policy.Settings
	for _, key := range keysOf("", settings) {
		switch front, _, _ := strings.Cut(key, "."); front {
		case "version", "persons", "agents":
		default:
			t.Errorf("%s is in the file, and nobody set it", key)
		}
	}
}

// keysOf lists the keys that have a value, each name of a person's or an
// agent's as NAME.
func keysOf(at string, v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if at == "persons." || at == "agents." {
				k = "NAME"
			}
			out = append(out, keysOf(at+k+".", e)...)
		}
		return out
	case []any:
		for _, e := range v {
			if _, table := e.(map[string]any); table {
				out = append(out, keysOf(at, e)...)
			}
		}
	}
	if len(out) == 0 {
		out = []string{strings.TrimSuffix(at, ".")}
	}
	return out
}

// P6: every key of docs/policy.md is an option, and every option a key of it.
func TestEveryKeyIsAnOption(t *testing.T) {
	section := regexp.MustCompile(`(?s)\n## Keys\n.*?\n## `).FindString(read(t, filepath.Join(root, "docs/policy.md")))
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(section, -1) {
		for _, key := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if rest, short := strings.CutPrefix(key[1], "…."); short && !strings.HasPrefix(rest, "read.") && !strings.HasPrefix(rest, "write.") {
				documented["persons.NAME.read."+rest], documented["persons.NAME.write."+rest] = true, true
			} else {
				documented[strings.Replace(key[1], "….", "persons.NAME.", 1)] = true
			}
		}
	}
	// The lists themselves are there by their grants.
	delete(documented, "persons.NAME.read")
	delete(documented, "persons.NAME.write")

	set := map[string]bool{}
	for _, key := range keysOf("", machineOf(t, "everything").Policy.Settings) {
		set[key] = true
		// One type stands for a grant of either list.
		set[strings.Replace(key, "NAME.write.", "NAME.read.", 1)] = true
		set[strings.Replace(key, "NAME.read.", "NAME.write.", 1)] = true
	}
	got, want := slices.Sorted(maps.Keys(set)), slices.Sorted(maps.Keys(documented))
	if len(want) < 30 || !slices.Equal(got, want) {
		t.Errorf("options are\n%s\nand docs/policy.md has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What each bad machine is refused with.
func refusals() map[string]string {
	const own = "services.countersign: "
	const kind = "A definition for option `services.countersign."
	return map[string]string{
		"bad-option":                "The option `services.countersign.policy.keeps' does not exist",
		"bad-grant":                 "The option `services.countersign.persons.alice.write.*.rot' does not exist",
		"bad-verdict":               kind + `policy.decide.file-write' is not of type ` + "`null or (one of \"auto\", \"ask\", \"deny\")': \"yes\"",
		"bad-reason":                kind + "policy.decide.ask.*' is not of type `one of \"data-deletion\"",
		"bad-size":                  kind + "policy.limits.large' is not of type `null or (a size, such as \"8MiB\")': \"lots\"",
		"bad-age":                   kind + "policy.keep.captures' is not of type `null or (a time, such as \"30d\")': \"1 week\"",
		"bad-number":                kind + "policy.consent.pending_per_agent' is not of type `null or (positive integer)': 0",
		"bad-umask":                 kind + "persons.alice.umask' is not of type `null or (a umask of three octal digits",
		"bad-root":                  kind + "persons.alice.write.*.root' is not of type `an absolute path, or ~",
		"bad-owner":                 own + "persons.alice.owners: there is no person carol",
		"bad-owner-agent":           own + "persons.alice.owners: claude is an agent, and an agent never decides",
		"bad-owners":                own + "persons.alice.owners: it names nobody",
		"bad-homes":                 own + "persons.alice.home: /home/alice does not lie beneath policy.homes",
		"bad-home":                  own + `persons.alice.home: "/home/alice/../bob" is no path of a home`,
		"bad-home-colon":            own + `persons.alice.home: "/home/a:b" is no path of a home`,
		"bad-uid":                   own + "persons.alice.uid: it is 1001, and users.users.alice has 1000",
		"bad-no-uid":                own + "persons.bob.uid: users.users.bob has no uid of its own",
		"bad-nested":                own + "persons.bob.home: it is, or lies in, the home of alice",
		"bad-write-alone":           own + "persons.bob.write: no read grant covers any of it",
		"bad-name":                  own + "persons.Bob: a name begins with a small letter",
		"bad-keeper":                own + "agents.countersign-keeper: this is the keeper's user",
		"bad-nobody":                own + "persons: a policy names at least one person",
		"bad-agent-person":          own + "agents.other.persons: there is no person carol",
		"bad-agent-idle":            own + "agents.other.persons: it names no person",
		"bad-agent-root":            own + "agents.other.uid: root is neither a person nor an agent",
		"bad-agent-overflow":        own + "agents.other.uid: 65534 stands for users that have no uid",
		"bad-agent-shares":          own + "agents.other.uid: 970 is another's too",
		"bad-agent-is-person":       own + "agents.other.uid: 1000 is another's too",
		"bad-agent-absent":          own + "agents.other.createUser: it is false, and users.users has no other",
		"bad-agent-both":            own + "persons.alice: an agent has this name",
		"bad-agent-wheel":           own + "agents.claude: it is in the group wheel",
		"bad-agent-member":          own + "agents.claude: it is in the group docker",
		"bad-agent-trusted":         own + "agents.claude: nix.settings.trusted-users has @countersign-agents",
		"bad-agent-enters":          own + "agents.claude: it could enter the home of alice",
		"bad-agent-enters-by-group": own + "agents.claude: it could enter the home of alice",
	}
}

// P6: a bad policy stops the evaluation with the option's name and a sentence.
func TestBadIsRefused(t *testing.T) {
	var names []string
	evaluate(t, &names, "-E", "builtins.attrNames (import "+here(t)+"/machines.nix)")
	want := refusals()
	for _, name := range names {
		if !strings.HasPrefix(name, "bad-") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			said, known := want[name]
			delete(want, name)
			out, say, err := nix(t, "--eval", "--strict", "--json", "--argstr", "machine", name, "machine.nix")
			if err == nil {
				t.Fatalf("it was taken: %s", out)
			}
			if !known || !strings.Contains(say, said) {
				t.Errorf("it was refused with\n%s\nand not with %q", say, said)
			}
		})
	}
	if len(want) > 0 {
		t.Errorf("no machine is there for %q", slices.Sorted(maps.Keys(want)))
	}
}

// P7: an agent in a group that `agent add` refuses is refused here.
func TestStrongGroups(t *testing.T) {
	for _, strong := range accounts.StrongGroups() {
		module := fmt.Sprintf("{ imports = [ (import %s/machines.nix).default ]; users.groups.%s.members = [ \"claude\" ]; }", here(t), strong.Name)
		_, say, err := nix(t, "--eval", "--strict", "--json", "--arg", "module", module, "machine.nix")
		if err == nil || !strings.Contains(say, "agents.claude: it is in the group "+strong.Name) {
			t.Errorf("in the group %s: %v\n%s", strong.Name, err, say)
		}
	}
}

func here(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
