package boot

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const byMake = "make -C " + sources + " install BIN=" + sources + "/bin"

// road walks the whole road in a person's home: what policy lands by itself,
// what waits for the owner, and the undo of both.
func (m *Machine) road(t *testing.T, person, nonce string) {
	t.Helper()
	note, program := homeOf(person)+"/note.txt", homeOf(person)+"/greet.sh"
	plain, err := m.propose(nonce, proposal(note, "write", "hello\n"))
	must(t, err, plain.expect("landed"), m.holds(person, note, "hello\n", "644"))
	asked, err := m.propose(nonce+" program", proposal(program, "program", "#!/bin/sh\necho hello\n"))
	must(t, err, asked.expect("waiting"), m.holds(person, program, "", ""))
	for _, other := range []string{alice, anna, claude} {
		const refused = 3
		if other == person {
			continue
		}
		if r := m.As(other, "", "countersign", "approve", asked.ID+"@"+asked.Prefix); r.Code != refused {
			t.Errorf("%s approves for %s: exit code %d\n%s%s", other, person, r.Code, r.Out, r.Err)
		}
	}
	landed, err := m.countersign(person, "", "approve", asked.ID+"@"+asked.Prefix, "--json")
	must(t, err, landed.expect("landed"), m.holds(person, program, "#!/bin/sh\necho hello\n", "755"))
	for _, id := range []string{plain.ID, asked.ID} {
		back, err := m.countersign(person, "", "undo", id, "--yes", "--json")
		must(t, err, back.expect("landed"))
	}
	must(t, m.holds(person, note, "", ""), m.holds(person, program, "", ""))
	if r := m.As(person, "", "countersign", "verify"); r.Code != 0 {
		t.Errorf("verify: %s%s", r.Out, r.Err)
	}
}

// holds checks that a file is a person's, with a content and a mode; with
// neither, that it is not there.
func (m *Machine) holds(person, path, content, mode string) error {
	r := m.Run("sh", "-c", `[ -e "$1" ] || exit 0; cat "$1"; stat -c %U:%G:%a "$1"`, "sh", path)
	want := ""
	if mode != "" {
		want = fmt.Sprintf("%s%s:%s:%s\n", content, person, person, mode)
	}
	if r.Out != want {
		return fmt.Errorf("%s has %q, not %q", path, r.Out, want)
	}
	return nil
}

// P5, P7, G4: installed by make on a booted machine, with two persons and an agent
// added by one command each, the whole road is walked by real users, for a
// home that is not beneath /home and a name that unit names escape as well.
func TestRoad(t *testing.T) { booted(t, wholeRoad) }

func wholeRoad(t *testing.T, m *Machine) {
	must(t, m.must(byMake), m.populate())
	m.road(t, alice, "first")
	m.road(t, anna, "second")
	m.exposure(t)
	t.Run("doors", m.doors)
	t.Run("walls", m.walls)
	t.Run("alone", m.alone)
	t.Run("idle", m.idle)
	t.Run("removed", m.removed)
	t.Run("uninstalled", m.uninstalled)
}

// idle: P5: a scribe with nothing to do ends, well, and is there again for the
// next action.
func (m *Machine) idle(t *testing.T) {
	const unit = "countersign-scribe@alice.service"
	must(t, m.must(
		"sed 's/-idle 5m/-idle 1s/' /usr/local/lib/systemd/system/countersign-scribe@.service > /run/systemd/system/countersign-scribe@.service",
		"systemctl daemon-reload", "systemctl restart "+unit))
	before := m.Run("systemctl", "show", "-P", "NRestarts", unit).Out
	end := time.Now().Add(20 * time.Second)
	for r := m.Run("systemctl", "is-active", unit); strings.TrimSpace(r.Out) != "inactive"; r = m.Run("systemctl", "is-active", unit) {
		if time.Now().After(end) {
			t.Fatalf("the scribe is %s", r.Out)
		}
		time.Sleep(100 * time.Millisecond)
	}
	got, err := m.countersign(claude, proposal("/home/alice/idle.txt", "write", "hello\n"), "propose", "-", "--json")
	must(t, err, got.expect("landed"))
	if after := m.Run("systemctl", "show", "-P", "NRestarts", unit).Out; after != before {
		t.Errorf("it was restarted %s times, and before that %s", after, before)
	}
	must(t, m.must("rm /run/systemd/system/countersign-scribe@.service", "systemctl daemon-reload"))
}

// uninstalled: P7: what was installed is gone, and what was decided and
// written down is not.
func (m *Machine) uninstalled(t *testing.T) {
	must(t, m.must("make -C "+sources+" uninstall", "test -s /etc/countersign/policy.toml", "test -n \"$(ls /var/lib/countersign)\""))
	if r := m.Run("sh", "-c", "find /usr/local /run/countersign -name '*countersign*'; pgrep -u "+keeper); r.Out != "" {
		t.Errorf("left: %s", r.Out)
	}
}

// exposure holds the figures that systemd gives the services as they run.
func (m *Machine) exposure(t *testing.T) {
	t.Helper()
	for unit, most := range map[string]string{
		"countersign-keeper.service": "4", "countersign-reader@alice.service": "5", "countersign-scribe@alice.service": "5",
	} {
		if _, err := m.PID(unit); err != nil {
			t.Error(err)
		}
		if r := m.Run("systemd-analyze", "security", "--no-pager", "--threshold="+most, unit); r.Code != 0 {
			t.Errorf("%s: %s", unit, r.Out)
		}
	}
}

// removed takes one person away again: nothing of them is left but in the
// journal, and the other person's road is open.
func (m *Machine) removed(t *testing.T) {
	must(t, m.must("countersign person remove anna-maria"))
	r := m.Run("sh", "-c", `grep -rl anna /etc/countersign /etc/systemd/system /run/countersign; systemctl list-units --all --plain --no-legend 'countersign-*' | grep anna`)
	if r.Out != "" {
		t.Errorf("left: %s", r.Out)
	}
	m.road(t, alice, "third")
}

// P5: a kill of each daemon, a restart of all of them, an ordinary reboot and
// a cut of the power, in the middle of traffic: every proposal lands once, and
// what waited still waits.
func TestInterrupted(t *testing.T) { booted(t, interrupted) }

func interrupted(t *testing.T, m *Machine) {
	must(t, m.must("dpkg -i "+sources+"/0.1.deb"), m.populate())
	waits, err := m.propose("waits", proposal("/home/alice/waits.sh", "program", "#!/bin/sh\n"))
	must(t, err, waits.expect("waiting"))
	kill := func(unit string) func() error {
		return func() error { return m.must("systemctl kill -s KILL " + unit) }
	}
	for i, interrupt := range []func() error{
		kill("countersign-keeper.service"), kill("countersign-reader@alice.service"), kill("countersign-scribe@alice.service"),
		func() error { return m.must("systemctl restart 'countersign-*.service'") },
		func() error { return errors.Join(m.Stop(), m.Start()) },
		func() error { return errors.Join(m.Cut(), m.Start()) },
	} {
		m.traffic(t, fmt.Sprintf("/home/alice/traffic-%d", i), interrupt)
	}
	landed, err := m.countersign(alice, "", "approve", waits.ID+"@"+waits.Prefix, "--json")
	must(t, err, landed.expect("landed"))
}

// traffic proposes one line after another to one file while something
// interrupts, and holds that each landed, and landed once.
func (m *Machine) traffic(t *testing.T, path string, interrupt func() error) {
	t.Helper()
	const lines, at = 8, 3
	interrupted := make(chan error, 1)
	var want strings.Builder
	for i := range lines {
		fmt.Fprintf(&want, "line %d\n", i)
		if i == at {
			go func() { interrupted <- interrupt() }()
		}
		got, err := m.propose(path+want.String(), proposal(path, "write", want.String()))
		must(t, err, got.expect("landed"))
	}
	must(t, <-interrupted, m.holds(alice, path, want.String(), "644"))
	var log struct {
		Transactions []struct {
			State string   `json:"state"`
			Paths []string `json:"paths"`
		} `json:"transactions"`
	}
	r := m.As(alice, "", "countersign", "log", "--json", "-n", "1000")
	must(t, json.Unmarshal([]byte(r.Out), &log))
	landed := 0
	for _, one := range log.Transactions {
		if one.State == "landed" && slices.Contains(one.Paths, path) {
			landed++
		}
	}
	if landed != lines {
		t.Errorf("%d actions landed on %s, not %d", landed, path, lines)
	}
}

// P8: journal and vault come back from a backup by the commands that
// docs/operations.md gives, down to an undo of what was captured.
func TestBackup(t *testing.T) { booted(t, backup) }

func backup(t *testing.T, m *Machine) {
	must(t, m.must("dpkg -i "+sources+"/0.1.deb"), m.populate())
	const path = "/home/alice/note.txt"
	first, err := m.propose("first", proposal(path, "write", "one\n"))
	must(t, err, first.expect("landed"))
	second, err := m.propose("second", proposal(path, "write", "two\n"))
	must(t, err, second.expect("landed"))
	must(t, m.must(documented(t, "backup")), m.must("systemctl stop countersign.target", "rm -rf /var/lib/countersign /etc/countersign"),
		m.must(documented(t, "restore")))
	back, err := m.countersign(alice, "", "undo", second.ID, "--yes", "--json")
	must(t, err, back.expect("landed"), m.holds(alice, path, "one\n", "644"))
	if r := m.As(alice, "", "countersign", "verify"); r.Code != 0 {
		t.Errorf("verify: %s%s", r.Out, r.Err)
	}
}

// documented gives the commands that stand in docs/operations.md behind a mark.
func documented(t *testing.T, mark string) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/operations.md")
	must(t, err)
	_, after, _ := strings.Cut(string(b), "<!-- "+mark+" -->\n```\n")
	commands, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatalf("docs/operations.md has no commands marked %q", mark)
	}
	return "set -e\n" + commands
}

// P8: a package upgraded keeps journal, vault and what waits; one removed
// keeps them too, and runs nothing; one installed again goes on from them.
func TestPackage(t *testing.T) { booted(t, packaged) }

func packaged(t *testing.T, m *Machine) {
	must(t, m.must("dpkg -i "+sources+"/0.1.deb"), m.populate())
	plain, err := m.propose("plain", proposal("/home/alice/note.txt", "write", "hello\n"))
	must(t, err, plain.expect("landed"))
	waits, err := m.propose("waits", proposal("/home/alice/greet.sh", "program", "#!/bin/sh\n"))
	must(t, err, waits.expect("waiting"))
	before, err := m.PID("countersign-keeper.service")
	must(t, err, m.must("dpkg -i "+sources+"/0.2.deb"))
	if after, err := m.PID("countersign-keeper.service"); err != nil || after == before {
		t.Errorf("the keeper runs on as process %d: %v", after, err)
	}
	landed, err := m.countersign(alice, "", "approve", waits.ID+"@"+waits.Prefix, "--json")
	must(t, err, landed.expect("landed"))
	must(t, m.must("dpkg -r countersign", "test -s /etc/countersign/policy.toml", "test -n \"$(ls /var/lib/countersign)\""))
	if r := m.Run("sh", "-c", "ls /run/countersign; systemctl list-units --plain --no-legend 'countersign*'; pgrep -u countersign-keeper"); r.Out != "" {
		t.Errorf("still there: %s", r.Out)
	}
	must(t, m.must("dpkg -i "+sources+"/0.2.deb"))
	back, err := m.countersign(alice, "", "undo", plain.ID, "--yes", "--json")
	must(t, err, back.expect("landed"), m.holds(alice, "/home/alice/note.txt", "", ""))
	must(t, m.must("dpkg -P countersign", "test ! -e /etc/countersign", "test -n \"$(ls /var/lib/countersign)\""))
	if r := m.Run("sh", "-c", "find /etc/systemd /run/countersign /usr/lib/systemd -name '*countersign*'"); r.Out != "" {
		t.Errorf("left by a purge: %s", r.Out)
	}
}
