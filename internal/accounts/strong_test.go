package accounts

import (
	"regexp"
	"testing"
)

// P7: the table of groups as good as root has those that the rule names, each
// once and with a reason.
func TestStrongGroups(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range StrongGroups() {
		if seen[g.Name] || !regexp.MustCompile(`^its members |^root's`).MatchString(g.Why) {
			t.Errorf("%s: %q", g.Name, g.Why)
		}
		seen[g.Name] = true
	}
	for _, name := range []string{"sudo", "wheel", "docker", "lxd", "libvirt", "disk", PeopleGroup, "countersign-keeper"} {
		if !seen[name] {
			t.Errorf("%s is not on it", name)
		}
	}
	if seen["adm"] || seen[AgentsGroup] {
		t.Error("a group that changes nothing is on it")
	}
}
