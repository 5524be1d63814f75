// Package units holds what the files of units/ promise without being started.
// What they keep out on a running machine is tests/boot's to show.
package units

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/testas"
)

const dir = "../../units"

// services are the units that run a program, by the program.
func services() map[string]string {
	return map[string]string{
		"keeper": "countersign-keeper.service", "reader": "countersign-reader@.service", "scribe": "countersign-scribe@.service",
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// directives gives what a unit's file sets, in order, without its comments.
func directives(text string) (list []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "[") {
			list = append(list, line)
		}
	}
	return list
}

// base gives the part of a service that all of them share.
func base(t *testing.T, text string) string {
	t.Helper()
	const begins = "# The base: "
	_, after, ok := strings.Cut(text, begins)
	if !ok {
		t.Fatal("the service has no base")
	}
	before, _, _ := strings.Cut(after, "\n[Install]")
	return strings.TrimSpace(before)
}

// P4: the three services stand behind the same walls, line by line, comments
// among them; what a service adds never loosens a line of the base.
func TestOneBase(t *testing.T) {
	want := base(t, read(t, services()["keeper"]))
	var keys []string
	for _, d := range directives(want) {
		key, _, _ := strings.Cut(d, "=")
		keys = append(keys, key)
	}
	adds := []string{"BindReadOnlyPaths", "NoExecPaths"} // lists: a further line adds to them
	for program, name := range services() {
		text := read(t, name)
		if got := base(t, text); got != want {
			t.Errorf("the base of the %s differs:\n%s", program, got)
		}
		before, _, _ := strings.Cut(text, "# The base: ")
		for _, d := range directives(before) {
			key, _, _ := strings.Cut(d, "=")
			if slices.Contains(keys, key) && !slices.Contains(adds, key) {
				t.Errorf("the %s sets %s outside the base", program, key)
			}
		}
	}
}

// P5: systemd starts all of it: readiness and a watchdog, a restart without
// end, sockets that one bad start does not take away, and each passed socket
// under the name its daemon looks for.
func TestHowTheyStart(t *testing.T) {
	restart := map[string]string{"keeper": "always", "reader": "always", "scribe": "on-failure"}
	for program, name := range services() {
		list := directives(read(t, name))
		for _, want := range []string{"Type=notify", "NotifyAccess=main", "WatchdogSec=30s", "StartLimitIntervalSec=0",
			"Restart=" + restart[program], "ExecPaths=+/usr/libexec/countersign/" + program,
			"BindReadOnlyPaths=/usr/libexec/countersign/" + program} {
			if !slices.Contains(list, want) {
				t.Errorf("the %s has no %s", program, want)
			}
		}
		if program != "keeper" && slices.ContainsFunc(list, func(d string) bool { return strings.HasPrefix(d, "RemoveIPC") }) {
			t.Errorf("the %s would remove what the person's programs share", program)
		}
	}
	for name, sets := range map[string][]string{
		"countersign-act.socket": {"ListenStream=/run/countersign/keeper/act.sock", "FileDescriptorName=act",
			"SocketUser=countersign-keeper", "SocketGroup=countersign-agents", "Service=countersign-keeper.service"},
		"countersign-consent.socket": {"ListenStream=/run/countersign/keeper/consent.sock", "FileDescriptorName=consent",
			"SocketUser=countersign-keeper", "SocketGroup=countersign-people", "Service=countersign-keeper.service"},
		"countersign-reader@.socket": {"ListenStream=/run/countersign/readers/%I.sock", "SocketUser=%I", "SocketGroup=countersign-agents"},
		"countersign-scribe@.socket": {"ListenStream=/run/countersign/scribes/%I.sock", "SocketUser=root", "SocketGroup=countersign-keeper"},
	} {
		list := directives(read(t, name))
		for _, want := range append(sets, "SocketMode=0660", "TriggerLimitIntervalSec=0", "StartLimitIntervalSec=0") {
			if !slices.Contains(list, want) {
				t.Errorf("%s has no %s", name, want)
			}
		}
	}
}

// P5: systemd finds nothing to complain of in the units, and rates each
// service's exposure at 0.4 (keeper), 0.5 (reader, scribe) or lower.
func TestExposure(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv(testas.NeedsRoot) == "fail" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for program, most := range map[string]string{"keeper": "4", "reader": "5", "scribe": "5"} {
		name := services()[program]
		out, err := exec.Command("systemd-analyze", "security", "--no-pager", "--offline=yes", "--threshold="+most,
			filepath.Join(dir, strings.Replace(name, "@", "@alice", 1))).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// O5: the desktop's unit starts with its owner's session and ends with it, for
// persons alone, behind what walls a service manager without privileges can
// raise, and none that would hide from the client whose directories it trusts.
func TestDesktop(t *testing.T) {
	list := directives(read(t, desktop))
	for _, want := range []string{"WantedBy=graphical-session.target", "PartOf=graphical-session.target", "ConditionGroup=countersign-people",
		"ExecStart=/usr/bin/countersign notify", "NoNewPrivileges=yes", "RestrictAddressFamilies=AF_UNIX", "MemoryDenyWriteExecute=yes",
		"RestrictNamespaces=yes", "SystemCallFilter=@system-service", "SystemCallFilter=~@privileged @resources @keyring @memlock @setuid @timer @aio"} {
		if !slices.Contains(list, want) {
			t.Errorf("it has no %s", want)
		}
	}
	for _, d := range list {
		for _, never := range []string{"Private", "Protect", "RootDirectory", "BindPaths", "BindReadOnlyPaths", "ReadOnlyPaths", "InaccessiblePaths",
			"NoExecPaths", "TemporaryFileSystem", "User=", "CapabilityBoundingSet"} {
			if strings.HasPrefix(d, never) {
				t.Errorf("a user's service manager cannot give it %s", d)
			}
		}
	}
}

const desktop = "countersign-notify.service"

// O5, P5: a user's service manager finds nothing to complain of in the
// desktop's unit.
func TestDesktopVerifies(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv(testas.NeedsRoot) == "fail" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	// The program is not installed where the tests run.
	here := strings.Replace(read(t, desktop), "/usr/bin/countersign", "/bin/sh", 1)
	here = strings.Replace(here, "file:/usr/share/doc/countersign/", "file:/", 1)
	if err := os.WriteFile(filepath.Join(dir, desktop), []byte(here), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("systemd-analyze", "verify", "--user", "--man=no", filepath.Join(dir, desktop))
	c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
