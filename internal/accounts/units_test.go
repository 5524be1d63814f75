package accounts

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"countersign/internal/policy"
	"countersign/internal/testas"
)

// P13: a person's units are named as systemd-escape names them.
func TestUnit(t *testing.T) {
	if got := Unit(reader, `jean-luc_2`, "socket"); got != `countersign-reader@jean\x2dluc_2.socket` {
		t.Errorf("got %s", got)
	}
	if _, err := exec.LookPath("systemd-escape"); err != nil {
		if os.Getenv(testas.NeedsRoot) == "fail" {
			t.Fatal("this test needs systemd-escape")
		}
		t.Skip("this test needs systemd-escape")
	}
	for _, name := range []string{"alice", "_x", "a-b--c", "a0_-", strings.Repeat("z-", 16)} {
		if err := policy.CheckName(name); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("systemd-escape", "--template=countersign-scribe@.service", "--", name).Output()
		if got := Unit(scribe, name, "service"); err != nil || got != strings.TrimSpace(string(out)) {
			t.Errorf("%s: %s, %v; systemd says %s", name, got, err, out)
		}
	}
}

// P4: a drop-in names the home by its real path, read-only to the reader, and
// lets nothing in it be run.
func TestDropIn(t *testing.T) {
	for _, c := range []struct{ role, home, want string }{
		{reader, "/home/alice", "BindReadOnlyPaths=\"/home/alice\"\nNoExecPaths=\"+/home/alice\"\n"},
		{scribe, "/srv/x/bob", "BindPaths=\"/srv/x/bob\"\nNoExecPaths=\"+/srv/x/bob\"\n"},
		{scribe, `/home/a b"%h\c`, "BindPaths=\"/home/a b\\\"%%h\\\\c\"\nNoExecPaths=\"+/home/a b\\\"%%h\\\\c\"\n"},
	} {
		_, got, ok := strings.Cut(DropIn(c.role, c.home), "[Service]\n")
		if !ok || got != c.want {
			t.Errorf("%s of %s:\n%s\nwant:\n%s", c.role, c.home, got, c.want)
		}
	}
	for _, home := range []string{"/home/a:b", "/home/a\nb", "/home/\xff", "/home/\x7f"} {
		if unitSafe(home) == nil {
			t.Errorf("%q is let through", home)
		}
	}
}

// P4: the page beside the units shows the drop-ins that are written.
func TestDropInsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../units/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{reader, scribe} {
		_, body, _ := strings.Cut(DropIn(role, "/home/HOME"), "[Service]\n")
		body = "```ini\n[Service]\n" + strings.ReplaceAll(body, "/home/HOME", "HOME") + "```"
		if !strings.Contains(string(page), body) {
			t.Errorf("units/README.md does not have the drop-in of the %s:\n%s", role, body)
		}
	}
}
