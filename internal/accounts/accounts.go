package accounts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/internal/policy"
)

// The users and groups that an installation brings.
const (
	KeeperUser   = "countersign-keeper"
	AgentsGroup  = "countersign-agents"
	PeopleGroup  = "countersign-people"
	keeperGroup  = "countersign-keeper"
	policyInEtc  = "countersign/policy.toml"
	unitsInEtc   = "systemd/system"
	socketsInRun = "countersign"
)

// Config says what machine this is. It is not changed.
type Config struct {
	Etc       string    // directory of the system's configuration: /etc
	Run       string    // directory of what runs: /run
	Policy    string    // policy file; empty: the installed one, beneath Etc
	Getent    string    // program that looks up users and groups, by path
	Gpasswd   string    // program that changes a group's members, by path
	Systemctl string    // program that steers units, by path
	DryRun    bool      // say what would be done, and do none of it
	Out       io.Writer // a line for each step
}

// System is the machine that this process runs on, with its programs as PATH
// finds them. A program that is missing is named when it is needed.
func System(out io.Writer) Config {
	return Config{Etc: "/etc", Run: "/run", Getent: "getent", Gpasswd: "gpasswd", Systemctl: "systemctl", Out: out}
}

// Refused is a no that the administrator is meant to read and act on: nothing
// was changed.
type Refused struct {
	What string // what was refused
	Why  string
	Fix  string // what to change first; may be empty
}

// Error gives it in one line.
func (r *Refused) Error() string {
	s := r.What + ": " + r.Why
	if r.Fix != "" {
		s += "; " + r.Fix
	}
	return s
}

func (c *Config) policyFile() string {
	if c.Policy != "" {
		return c.Policy
	}
	return filepath.Join(c.Etc, policyInEtc)
}

// begin refuses names and machines that these commands are not for, and holds
// the policy, to be changed until it is released.
func (c *Config) begin(ctx context.Context, names ...string) (*held, *change, error) {
	for _, n := range names {
		if err := policy.CheckName(n); err != nil {
			return nil, nil, &Refused{What: fmt.Sprintf("name %q", n), Why: err.Error()}
		}
	}
	if err := c.machine(ctx); err != nil {
		return nil, nil, err
	}
	h, err := c.hold()
	if err != nil {
		return nil, nil, err
	}
	ch, err := newChange(h.old)
	if err != nil {
		h.release()
		return nil, nil, err
	}
	return h, ch, nil
}

// machine refuses where these commands are not what adds and removes.
func (c *Config) machine(ctx context.Context) error {
	const what = "this machine"
	if os.Geteuid() != 0 {
		return &Refused{What: "this user", Why: "only root adds and removes persons and agents", Fix: "call it with sudo"}
	}
	if exists(filepath.Join(c.Etc, "NIXOS")) {
		return &Refused{What: what, Why: "it is NixOS, where services.countersign.persons and .agents say who there is",
			Fix: "change the configuration and switch to it"}
	}
	if !exists(filepath.Join(c.Run, "systemd/system")) {
		return &Refused{What: what, Why: "it is not run by systemd",
			Fix: "`countersign up` is told of persons and agents by its flags or its policy"}
	}
	for _, name := range []string{keeperGroup, AgentsGroup, PeopleGroup} {
		if _, err := c.group(ctx, name); err != nil {
			return installed(err)
		}
	}
	_, err := c.account(ctx, KeeperUser)
	return installed(err)
}

// installed says of a user or group of the installation's that is missing how
// to come by it.
func installed(err error) error {
	var r *Refused
	if errors.As(err, &r) {
		return &Refused{What: r.What, Why: r.Why, Fix: "install Countersign first, or call systemd-sysusers"}
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func (c *Config) say(format string, args ...any) { fmt.Fprintf(c.Out, format+"\n", args...) }
