package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"countersign/internal/accounts"
	"countersign/internal/up"
)

type upCmd struct {
	Policy    string   `help:"Policy file; without it one is written from the other flags." placeholder:"FILE"`
	Person    []string `help:"A person whose home agents may work in." placeholder:"NAME=UID:HOME" sep:"none"`
	Agent     []string `help:"An agent that may propose." placeholder:"NAME=UID" sep:"none"`
	KeeperUID uint32   `help:"The keeper's uid, when started as root." default:"60970" placeholder:"UID"`
	JSON      bool     `name:"json" help:"Say ready in JSON."`
}

func (c *upCmd) Run(s *session) error {
	if s.root == "" {
		return errors.New("--root DIR is needed: the directory for sockets, journal and vault")
	}
	cfg := up.Config{
		Root: s.root, PolicyFile: c.Policy, KeeperUID: c.KeeperUID,
		Stderr: os.Stderr, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)).With("process", "up"),
	}
	var err error
	if cfg.Programs, err = programs(); err != nil {
		return err
	}
	for _, given := range c.Person {
		p, err := parsePerson(given)
		if err != nil {
			return err
		}
		cfg.Persons = append(cfg.Persons, p)
	}
	for _, given := range c.Agent {
		name, uid, err := nameAndUID(given)
		if err != nil {
			return fmt.Errorf("--agent %s: %w", given, err)
		}
		cfg.Agents = append(cfg.Agents, up.Agent{Name: name, UID: uid})
	}
	if err := c.alone(&cfg); err != nil {
		return err
	}
	cfg.Ready, cfg.Reach = func(r up.Running) { c.ready(s, r) }, accounts.Reach
	return up.Run(s.ctx, cfg)
}

// alone fills in, for a caller who is not root, the person they are and one
// agent: there is nobody else they could run anything as.
func (c *upCmd) alone(cfg *up.Config) error {
	if os.Geteuid() == 0 || c.Policy != "" {
		return nil
	}
	if len(cfg.Persons) == 0 {
		u, err := user.Current()
		if err != nil {
			return fmt.Errorf("finding out who this is: %w; give --person NAME=UID:HOME", err)
		}
		cfg.Persons = []up.Person{{Name: u.Username, UID: uint32(os.Geteuid()), Home: u.HomeDir}}
	}
	if len(cfg.Agents) == 0 {
		cfg.Agents = []up.Agent{{Name: "agent", UID: uint32(os.Geteuid())}}
	}
	return nil
}

func (c *upCmd) ready(s *session, r up.Running) {
	if c.JSON {
		printJSONLine(r)
		return
	}
	s.out.Banner(r.Unseparated)
	for _, o := range r.Open {
		s.out.Warn(o + "; chmod 700 the home")
	}
	fmt.Fprintf(s.out.Out, "ready: %d processes serve beneath %s; elsewhere: export COUNTERSIGN_ROOT=%s\n", len(r.Processes), r.Root, r.Root)
}

// programs gives the directory of the daemons: that of this program, or the
// one it is installed beside.
func programs() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program's directory: %w", err)
	}
	beside := filepath.Dir(self)
	for _, dir := range []string{beside, filepath.Join(beside, "../libexec/countersign")} {
		if _, err := os.Stat(filepath.Join(dir, "keeper")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("keeper, reader and scribe are not beside %s: build them with `make`", self)
}

func parsePerson(given string) (up.Person, error) {
	front, home, ok := strings.Cut(given, ":")
	if !ok {
		return up.Person{}, fmt.Errorf("--person %s: it has the form NAME=UID:HOME", given)
	}
	name, uid, err := nameAndUID(front)
	if err != nil {
		return up.Person{}, fmt.Errorf("--person %s: %w", given, err)
	}
	return up.Person{Name: name, UID: uid, Home: home}, nil
}

func nameAndUID(given string) (string, uint32, error) {
	name, number, ok := strings.Cut(given, "=")
	if !ok || name == "" {
		return "", 0, errors.New("a name and a uid stand on either side of a =")
	}
	uid, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return "", 0, fmt.Errorf("%q is no uid", number)
	}
	return name, uint32(uid), nil
}
