// Package imports holds the direction of imports: who may know whom, and what
// no program is linked with. Run it with -count=1: the test cache does not see
// the tree change.
package imports

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "countersign/"

// row says what a package may import of ours, and why no more.
type row struct {
	pkg string
	may string // separated by spaces, without the module
	why string
}

// rows is the direction, from the leaves up. Paths are under internal/ where
// they do not begin with cmd/.
func rows() []row {
	return []row{
		{"refusal", "", "a leaf: everything may say no"},
		{"canon", "", "a leaf: one encoding for everything"},
		{"visible", "", "a leaf: whoever prints may use it"},
		{"trust", "", "a leaf: whoever relies on a directory asks it"},
		{"action", "canon refusal visible", "the vocabulary is pure, and everything rests on it"},
		{"pattern", "", "a leaf: patterns of paths, for whoever judges or searches by them"},
		{"ignore", "", "a leaf: what walks pass over, from content and names"},
		{"grant", "pattern refusal visible", "places are judged alike by reader, scribe and keeper, by names alone"},
		{"classify", "action canon refusal visible", "consequences are judged from the action and facts, by no policy"},
		{"policy", "action classify grant refusal visible", "a decision is pure: no disk, no socket, no clock"},
		{"protocol", "action classify refusal", "data only: what is said, not who says it"},
		{"consent", "action canon", "what an approval names, by no policy and no store"},

		{"search", "refusal", "a matcher of bytes is pure: it reads no file and knows no grant"},

		{"beneath", "action refusal", "an OS room: it resolves, and judges nothing"},
		{"wire", "canon refusal", "an OS room: it carries, and knows no message"},
		{"wire/client", "canon refusal trust wire", "an OS room: it calls, and knows no message"},
		{"confine", "", "an OS room: walls, as data"},

		{"gitrun", "canon confine protocol refusal", "git behind walls: it runs vectors, and knows no repository"},

		{"facts", "action beneath grant refusal", "disk facts, found alike by reader and scribe, with no policy"},
		{"fileread", "action beneath facts grant ignore pattern protocol refusal search", "the reader's answers: no way to write"},
		{"repo", "action beneath gitrun grant refusal", "what is known of a repository before git runs, by no policy"},
		{"gitread", "action beneath gitrun grant protocol refusal repo", "the reader's answers about repositories: no way to write"},
		{"gitplan", "action beneath gitrun grant protocol refusal repo", "what a git action would do, found alike by reader and scribe: no way to write"},
		{"gitwrite", "action beneath canon gitplan gitrun grant protocol refusal", "the scribe's hands on repositories: they obey an intent, and decide nothing"},
		{"stage", "action beneath facts grant protocol refusal", "the scribe's hands: they obey an intent, and decide nothing"},
		{"journal", "action canon refusal", "the keeper's record, which knows no state of an action"},
		{"vault", "action journal refusal", "a view of the same store"},
		{"broker", "action beneath canon classify consent grant journal policy protocol refusal vault visible wire wire/client",
			"the one road of an action, and the only place that sees all of it"},

		{"daemon", "beneath canon confine facts grant policy protocol refusal wire", "what the three daemons start with, whatever they serve"},
		{"accounts", "policy", "the users and units that a policy needs, for an administrator"},
		{"terminal", "visible", "an OS room: a terminal, and who has it; it knows no message"},
		{"prompt", "", "a question at a terminal, about nothing of ours"},
		{"show", "action classify protocol refusal visible", "words for a person, from what the keeper said"},
		{"screen", "action prompt protocol refusal show terminal visible wire/client", "the owner's screen: it asks the keeper by what it is given, and decides nothing itself"},
		{"manual", "", "what a table of commands says, for man and the shells"},
		{"notify", "action protocol refusal visible", "words for a desktop, from what the keeper said; whoever runs it asks the keeper"},
		{"up", "policy protocol trust", "the daemons as children, without a service manager"},
		{"demo", "action prompt protocol up", "a guided run over real processes"},
		{"testas", "", "for tests alone"},

		{"cmd/reader", "confine daemon facts fileread gitplan gitread gitrun policy protocol refusal repo wire", "one room for one process"},
		{"cmd/scribe", "confine daemon facts gitplan gitrun gitwrite policy protocol refusal repo stage wire", "one room for one process"},
		{"cmd/keeper", "broker confine daemon policy protocol refusal wire", "one room for one process"},
		{"cmd/countersign", "accounts action classify consent demo notify policy prompt protocol refusal screen show terminal up visible wire/client", "one room for one process"},
	}
}

// linked says what a package must not hold, through whatever imports it.
type linked struct {
	pkg   string
	never string
	why   string
}

// daemons hold no cgo, start no program, and speak over no network.
const daemons = "runtime/cgo os/exec net/http net/rpc plugin testing "

func links() []linked {
	const pure = "net os/exec golang.org/x/sys/unix log/slog beneath wire"
	return []linked{
		{"cmd/reader", daemons + "stage vault journal broker consent wire/client prompt screen show terminal up demo accounts notify manual", "read-only is a binary without the code"},
		{"cmd/scribe", daemons + "broker journal vault consent fileread gitread wire/client prompt screen show terminal up demo accounts notify manual",
			"the one who writes decides nothing, keeps nothing and calls nobody"},
		{"cmd/keeper", daemons + "stage fileread gitrun prompt screen show terminal up demo accounts notify manual", "the one who decides has no hands on a home"},
		{"cmd/countersign", "runtime/cgo net/http plugin testing stage broker journal vault fileread beneath facts confine gitrun",
			"the owner's command asks the keeper, and touches nothing itself"},
		{"terminal", "policy classify grant action broker wire", "OS rooms know nothing of policy"},
		{"screen", "os/exec policy consent broker", "it runs nothing, and judges nothing"},
		{"notify", "wire wire/client policy", "it says what it is given, and asks nobody"},
		{"beneath", "policy classify grant broker wire", "OS rooms know nothing of policy"},
		{"wire", "policy classify grant action broker", "OS rooms know nothing of policy"},
		{"wire/client", "policy classify grant action broker", "OS rooms know nothing of policy"},
		{"confine", "policy classify grant action broker", "OS rooms know nothing of policy"},
		{"action", pure, "pure: no socket, no program, no clock of a log"},
		{"classify", pure, "pure: judged alike wherever it is judged"},
		{"grant", pure, "pure: judged alike by reader, scribe and keeper"},
		{"ignore", pure + " os", "pure: hostile content is read by others"},
		{"pattern", pure, "pure: judged alike wherever it is judged"},
		{"search", pure, "pure: a matcher of bytes reads nothing"},
		{"consent", pure, "pure: what an approval names is no matter of a store"},
		{"protocol", pure + " policy grant", "data only"},
	}
}

// listed is a package as go list gives it.
type listed struct {
	ImportPath string
	GoFiles    []string
	CgoFiles   []string
	Imports    []string
	Deps       []string
}

func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,GoFiles,CgoFiles,Imports,Deps", "./...")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all []listed
	for dec := json.NewDecoder(out); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return all
}

// full gives a row's name as the import path it means.
func full(names []row, pkg string) string {
	switch {
	case strings.HasPrefix(pkg, "cmd/"):
		return module + pkg
	case slices.ContainsFunc(names, func(r row) bool { return r.pkg == pkg }):
		return module + "internal/" + pkg
	}
	return pkg // the standard library's, or another module's
}

// P3: a package imports only what stands beside it in the table, and one that
// is not in the table is a failure, so that each new dependence is decided on.
func TestDirection(t *testing.T) {
	table := rows()
	may := map[string][]string{}
	for _, r := range table {
		at := full(table, r.pkg)
		may[at] = []string{}
		for _, pkg := range strings.Fields(r.may) {
			to := full(table, pkg)
			if !strings.HasPrefix(to, module) {
				t.Errorf("%s may import %s, which has no row", r.pkg, pkg)
			}
			may[at] = append(may[at], to)
		}
	}
	seen := map[string]bool{}
	for _, p := range list(t) {
		allowed, known := may[p.ImportPath]
		if strings.HasPrefix(p.ImportPath, module+"tests/") || len(p.GoFiles) == 0 {
			continue // tests see what they test
		}
		if seen[p.ImportPath] = true; !known {
			t.Errorf("%s is not in the table: say what it may import, and why", p.ImportPath)
			continue
		}
		for _, to := range p.Imports {
			if strings.HasPrefix(to, module) && !slices.Contains(allowed, to) {
				i := slices.IndexFunc(table, func(r row) bool { return full(table, r.pkg) == p.ImportPath })
				t.Errorf("%s imports %s, and must not: %s", p.ImportPath, to, table[i].why)
			}
		}
	}
	for at := range may {
		if !seen[at] {
			t.Errorf("%s has a row and is no package", at)
		}
	}
}

// P3: what a program must not be able to do is not in it, by whatever way. A
// package for tests is in none.
func TestNotLinked(t *testing.T) {
	table, deps := rows(), map[string][]string{}
	for _, p := range list(t) {
		deps[p.ImportPath] = p.Deps
		if len(p.CgoFiles) > 0 {
			t.Errorf("%s has cgo files", p.ImportPath)
		}
	}
	for _, l := range links() {
		have, ok := deps[full(table, l.pkg)]
		if !ok {
			t.Errorf("%s is no package", l.pkg)
		}
		for _, never := range append(strings.Fields(l.never), "testas", "pgregory.net/rapid") {
			if slices.Contains(have, full(table, never)) {
				t.Errorf("%s is linked with %s: %s", l.pkg, never, l.why)
			}
		}
	}
}
