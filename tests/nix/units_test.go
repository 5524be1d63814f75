package nix

import (
	"bufio"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/unit"

	"countersign/internal/accounts"
)

const inPackage, userUnits = "lib/systemd/system/", "lib/systemd/user/"

// ofUser are the units that are no part of the system's service manager.
func ofUser() []string { return []string{"countersign-notify.service"} }

// sources gives the system's unit files of units/, by name.
func sources(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, suffix := range []string{"service", "socket", "target", "timer", "path"} {
		files, err := filepath.Glob(filepath.Join(root, "units", "*."+suffix))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			out[filepath.Base(file)] = read(t, file)
		}
	}
	for _, name := range ofUser() {
		delete(out, name)
	}
	if len(out) < 8 {
		t.Fatalf("units/ has %d units", len(out))
	}
	return out
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// directives gives what a unit says, in its order, without comments.
func directives(t *testing.T, text string) []string {
	t.Helper()
	options, err := unit.DeserializeOptions(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	var out []string
	for _, o := range options {
		out = append(out, o.Section+": "+o.Name+"="+o.Value)
	}
	return out
}

// moved gives a directive of units/ as it has to be where the programs lie in
// a store.
func moved(directives []string, store string) []string {
	r := strings.NewReplacer("/usr/bin/git", "/usr/bin/git", "/usr/libexec/", store+"/libexec/", "/usr/bin/", store+"/bin/", "/usr/share/doc/", store+"/share/doc/")
	out := make([]string, len(directives))
	for i, d := range directives {
		out[i] = r.Replace(d)
	}
	return out
}

// compare holds what Nix made of a unit to its source.
func compare(t *testing.T, m *machine, path, source string) {
	t.Helper()
	text, ok := m.Files[path]
	if !ok {
		t.Errorf("there is no %s", path)
		return
	}
	got, want := directives(t, text), moved(directives(t, source), m.Package.Path)
	if !slices.Equal(got, want) {
		t.Errorf("%s says\n%s\nand not\n%s", path, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	delete(m.Files, path)
}

var people = map[string]map[string]string{
	"default": {"alice": "/home/alice"},
	"unusual": {"anna-maria": "/srv/people/anna maria", "_b-2": `/var/lib/100%/"b\2"`, "elsewhere": "/export/people/elsewhere"},
}

// P6: the units of a NixOS machine are those of units/, directive by directive
// but for where the programs lie, and each person has instances of their own.
func TestUnitsAreTheSame(t *testing.T) {
	for name, persons := range people {
		t.Run(name, func(t *testing.T) {
			m, all := machineOf(t, name), sources(t)
			for unit, source := range all {
				compare(t, m, inPackage+unit, source)
			}
			for _, unit := range ofUser() {
				compare(t, m, userUnits+unit, read(t, filepath.Join(root, "units", unit)))
			}
			for person, home := range persons {
				for _, role := range []string{"reader", "scribe"} {
					for _, suffix := range []string{"socket", "service"} {
						compare(t, m, inPackage+accounts.Unit(role, person, suffix), all["countersign-"+role+"@."+suffix])
					}
					// P4: the drop-in is the one that `person add` writes elsewhere.
					compare(t, m, inPackage+accounts.Unit(role, person, "service")+".d/home.conf", accounts.DropIn(role, home))
				}
			}
			gitIsBound(t, m, len(persons))
			onlyRestarts(t, m)
		})
	}
}

// gitIsBound holds what Nix adds for git: the git of the store stands where a
// daemon looks for it, with what its loader opens, and only these may be run.
func gitIsBound(t *testing.T, m *machine, persons int) {
	t.Helper()
	const store = "/nix/store/00000000000000000000000000000000-"
	libraries := []string{store + "glibc/lib", store + "zlib/lib", store + "pcre2/lib"}
	want := []string{"Service: BindReadOnlyPaths=" + store + "git-minimal/bin/git:/usr/bin/git", "Service: BindReadOnlyPaths=" + strings.Join(libraries, " "),
		"Service: ExecPaths=+/usr/bin/git +" + strings.Join(libraries, " +")}
	found := 0
	for path, text := range m.Files {
		if strings.HasSuffix(path, ".service.d/git.conf") {
			if got := directives(t, text); !slices.Equal(got, want) {
				t.Errorf("%s says %q", path, got)
			}
			found++
			delete(m.Files, path)
		}
	}
	if found != 2*persons {
		t.Errorf("git is bound in %d places, for %d persons", found, persons)
	}
}

// onlyRestarts holds what Nix adds besides to how a switch restarts a service.
func onlyRestarts(t *testing.T, m *machine) {
	t.Helper()
	for path, text := range m.Files {
		switch {
		case strings.HasSuffix(path, ".service.d/nixos.conf"):
			if got := directives(t, text); !slices.Equal(got, []string{"Service: X-StopIfChanged=false"}) {
				t.Errorf("%s says %q", path, got)
			}
		case path == "lib/tmpfiles.d/countersign.conf":
			if source := read(t, filepath.Join(root, "units/tmpfiles.conf")); text != source {
				t.Errorf("%s is another than units/tmpfiles.conf", path)
			}
		default:
			t.Errorf("%s is in units/ under no name", path)
		}
	}
	if len(m.Tmpfiles) != 1 {
		t.Errorf("tmpfiles are from %v", m.Tmpfiles)
	}
}

// P5: what the units' [Install] sections ask for is what a NixOS machine
// starts.
func TestWanted(t *testing.T) {
	m := machineOf(t, "unusual")
	var want []string
	for name, source := range sources(t) {
		wanted := slices.Contains(directives(t, source), "Install: WantedBy=countersign.target")
		front, back, template := strings.Cut(name, "@.")
		switch {
		case !wanted:
		case template:
			for person := range people["unusual"] {
				want = append(want, accounts.Unit(strings.TrimPrefix(front, "countersign-"), person, back))
			}
		default:
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(m.Target.Wants)); !slices.Equal(got, want) {
		t.Errorf("the target wants %q and not %q", got, want)
	}
	if !slices.Equal(m.Target.WantedBy, []string{"multi-user.target"}) {
		t.Errorf("the target is wanted by %q", m.Target.WantedBy)
	}
}

// O5, P5: an owner's own service manager starts with their desktop what its
// [Install] section says.
func TestUserUnitIsWanted(t *testing.T) {
	m := machineOf(t, "default")
	for _, name := range ofUser() {
		var want []string
		for _, d := range directives(t, read(t, filepath.Join(root, "units", name))) {
			if by, ok := strings.CutPrefix(d, "Install: WantedBy="); ok {
				want = append(want, by)
			}
		}
		got := m.UserServices[strings.TrimSuffix(name, ".service")].WantedBy
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s is wanted by %q and not %q", name, got, want)
		}
	}
}

// P1: the users and groups are those of units/sysusers.conf, and agents and
// persons are in theirs.
func TestUsers(t *testing.T) {
	m := machineOf(t, "default")
	lines := bufio.NewScanner(strings.NewReader(read(t, filepath.Join(root, "units/sysusers.conf"))))
	seen := map[string]int{}
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		seen[f[0]]++
		u, isUser := m.Users[f[1]]
		_, isGroup := m.Groups[f[1]]
		switch {
		case f[0] == "u" && (!isUser || !isGroup || !u.IsSystemUser || u.Group != f[1] || !strings.Contains(lines.Text(), `"`+u.Description+`" `+u.Home)):
			t.Errorf("%q: the user is %+v", lines.Text(), u)
		case f[0] == "g" && !isGroup:
			t.Errorf("%q: there is no such group", lines.Text())
		case f[0] == "m" && !slices.Contains(u.ExtraGroups, f[2]):
			t.Errorf("%q: the user is %+v", lines.Text(), u)
		}
	}
	if !maps.Equal(seen, map[string]int{"u": 1, "g": 2, "m": 1}) {
		t.Errorf("sysusers.conf has other lines than this test knows: %v", seen)
	}
	if got := m.Groups[accounts.AgentsGroup].Members; !slices.Equal(got, []string{"claude"}) {
		t.Errorf("agents are %q", got)
	}
	if got := m.Groups[accounts.PeopleGroup].Members; !slices.Equal(got, []string{"alice"}) {
		t.Errorf("people are %q", got)
	}
	if u := m.Users["claude"]; u.UID == nil || *u.UID != 970 || !u.IsSystemUser || u.Group != accounts.AgentsGroup {
		t.Errorf("the agent's user is %+v", u)
	}
	if given := machineOf(t, "given-agent"); given.Users["robot"].IsSystemUser || !slices.Contains(given.Groups[accounts.AgentsGroup].Members, "robot") {
		t.Errorf("an agent of the system's own is %+v", given.Users["robot"])
	}
}
