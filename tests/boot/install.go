package boot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Where a machine finds what tests load into it.
const (
	sources = "/sources" // the programs, and what installs them
	helper  = "/tester"
)

// Users of a machine: two persons, one with a home elsewhere and a name that
// unit names escape, an agent of both, and somebody whom no policy names.
const (
	alice    = "alice"
	anna     = "anna-maria"
	claude   = "claude"
	stranger = "stranger"
	keeper   = "countersign-keeper"
)

func homeOf(person string) string {
	return map[string]string{alice: "/home/alice", anna: "/srv/people/anna-maria"}[person]
}

// collect puts what `make install` needs beneath a directory, and builds the
// programs and a package of each version.
func collect(dir string, versions ...string) error {
	for _, v := range versions {
		deb := filepath.Join(dir, v+".deb")
		if err := makeTarget("deb", "BIN="+filepath.Join(dir, "bin"), "VERSION="+v, "DEB="+deb); err != nil {
			return err
		}
	}
	for _, name := range []string{"Makefile", "README.md", "ARCHITECTURE.md", "SECURITY.md", "units", "packaging", "docs"} {
		if out, err := exec.Command("cp", "-r", "../../"+name, dir).CombinedOutput(); err != nil {
			return fmt.Errorf("copying %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

func makeTarget(args ...string) error {
	c := exec.Command("make", append([]string{"-C", "../.."}, args...)...)
	c.Env = append(os.Environ(), "MAKEFLAGS=")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("make %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// must runs commands in the machine as root, each a line for its shell.
func (m *Machine) must(lines ...string) error {
	for _, line := range lines {
		if r := m.Run("sh", "-c", line); r.Code != 0 {
			return fmt.Errorf("%s: exit code %d\n%s%s", line, r.Code, r.Out, r.Err)
		}
	}
	return nil
}

// populate makes the users, and adds persons and agent as an administrator
// does.
func (m *Machine) populate() error {
	return m.must(
		"useradd -m -s /bin/sh "+alice, "useradd -m -s /bin/sh -b /srv/people "+anna,
		"useradd --system "+claude, "useradd -m "+stranger, "chmod 700 /home/* /srv/people/*",
		`printf 'version = 1\nhomes = "/"\n' > /etc/countersign/policy.toml`,
		"countersign person add alice --agent claude",
		"countersign person add anna-maria --agent claude",
	)
}

// proposal is the JSON of an action that edits or writes one file.
func proposal(path, change, value string) string {
	body := map[string]any{"path": path}
	switch change {
	case "program":
		body["write"] = map[string]any{"text": value, "mode": "0755"}
	default:
		body["write"] = map[string]any{"text": value}
	}
	b, _ := json.Marshal(map[string]any{
		"sentence": "A try.", "action": map[string]any{"file-write": map[string]any{"changes": []any{body}}},
	})
	return string(b)
}

// transaction is what the commands print of one.
type transaction struct {
	ID     string `json:"id"`
	State  string `json:"state"`
	Prefix string `json:"prefix"`
}

// countersign runs the command as a user, and reads the transaction it prints.
// Exit codes that tell of a state are no errors.
func (m *Machine) countersign(user, input string, args ...string) (t transaction, err error) {
	r := m.As(user, input, append([]string{"countersign"}, args...)...)
	if err := json.Unmarshal([]byte(r.Out), &t); err != nil {
		return t, fmt.Errorf("countersign %s: exit code %d\n%s%s", strings.Join(args, " "), r.Code, r.Out, r.Err)
	}
	return t, nil
}

// propose proposes until the proposal was taken and has ended, or waits. The
// nonce makes that harmless while a daemon is only just starting. What did not
// land, since a daemon went away at that moment, is proposed as new.
func (m *Machine) propose(nonce string, proposal string) (t transaction, err error) {
	const tries = 60
	var args []string
	for i := range tries {
		if t.State == "not-landed" || i == 0 {
			hash := sha256.Sum256(fmt.Append(nil, nonce, i))
			nonceNow := hex.EncodeToString(hash[:16])
			args = []string{"propose", "-", "--json", "--nonce", nonceNow}
		}
		t, err = m.countersign(claude, proposal, args...)
		if err == nil && (t.State == "landed" || t.State == "waiting") {
			return t, nil
		}
		time.Sleep(250 * time.Millisecond)
	}
	return t, err
}

// expect says what a transaction should have come to.
func (t transaction) expect(state string) error {
	if t.State != state {
		return fmt.Errorf("%s is %s, not %s", t.ID, t.State, state)
	}
	return nil
}

// try asks the helper, as a user or, for root, with the hands of a process.
func (m *Machine) try(user string, pid int, list []attempt) ([]string, error) {
	q, err := json.Marshal(question{PID: pid, Attempts: list})
	if err != nil {
		return nil, err
	}
	r := m.As(user, string(q), helper)
	var results []string
	if err := json.Unmarshal([]byte(r.Out), &results); err != nil || len(results) != len(list) {
		return nil, fmt.Errorf("trying as %s: exit code %d\n%s%s", user, r.Code, r.Out, r.Err)
	}
	return results, nil
}

// PID gives the main process of a unit, as the machine numbers it.
func (m *Machine) PID(unit string) (int, error) {
	r := m.Run("systemctl", "show", "-P", "MainPID", unit)
	pid, err := strconv.Atoi(strings.TrimSpace(r.Out))
	if err == nil && pid == 0 {
		err = errors.New("it does not run")
	}
	if err != nil {
		return 0, fmt.Errorf("the process of %s: %w\n%s", unit, err, r.Err)
	}
	return pid, nil
}
