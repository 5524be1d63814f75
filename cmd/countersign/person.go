package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"countersign/internal/accounts"
	"countersign/internal/visible"
)

type personCmd struct {
	Add    personAddCmd    `cmd:"" help:"Add a user of this machine as a person whose home agents may work in."`
	Remove personRemoveCmd `cmd:"" help:"Remove a person, and the agents that worked for nobody else."`
}

type agentCmd struct {
	Add    agentAddCmd    `cmd:"" help:"Add a user of this machine as an agent, or let one work for more persons."`
	Remove agentRemoveCmd `cmd:"" help:"Remove an agent."`
}

// machine is what the commands have in common that change who there is.
type machine struct {
	Policy string `help:"Policy file." default:"/etc/countersign/policy.toml" placeholder:"FILE"`
	DryRun bool   `help:"Look everything up and check it, say what would be done, and do none of it."`
}

// config gives the machine that this runs on.
func (m *machine) config(s *session) (*accounts.Config, error) {
	if s.root != "" {
		return nil, &accounts.Refused{What: "--root", Why: "what `countersign up` runs is told of persons and agents by its flags or its policy",
			Fix: "start it anew with them; without --root and COUNTERSIGN_ROOT this is about the installed service"}
	}
	c := accounts.System(s.out.Out)
	c.Policy, c.DryRun = m.Policy, m.DryRun
	return &c, nil
}

type personAddCmd struct {
	machine
	Name  string   `arg:"" help:"A user of this machine."`
	Home  string   `help:"The person's home; without it the one that the machine lists." placeholder:"DIR"`
	Agent []string `help:"A user that may propose for this person; may be given several times." placeholder:"NAME" sep:"none"`
}

func (c *personAddCmd) Run(s *session) error {
	cfg, err := c.config(s)
	if err == nil {
		err = cfg.AddPerson(s.ctx, accounts.Person{Name: c.Name, Home: c.Home, Agents: c.Agent})
	}
	if err == nil && !c.DryRun {
		fmt.Fprintln(s.out.Out, strings.Join(append([]string{c.Name}, c.Agent...), ", ")+": groups count from the next login on")
	}
	return refused(err)
}

type personRemoveCmd struct {
	machine
	Name string `arg:"" help:"Name of the person."`
}

func (c *personRemoveCmd) Run(s *session) error {
	cfg, err := c.config(s)
	if err == nil {
		err = cfg.RemovePerson(s.ctx, c.Name)
	}
	if err == nil && !c.DryRun {
		fmt.Fprintln(s.out.Out, "the journal keeps its records; captures stay in the vault until keep.captures removes them")
	}
	return refused(err)
}

type agentAddCmd struct {
	machine
	Name   string   `arg:"" help:"A user of this machine."`
	Person []string `help:"A person for whom it may propose; may be given several times." required:"" placeholder:"NAME" sep:"none"`
}

func (c *agentAddCmd) Run(s *session) error {
	cfg, err := c.config(s)
	if err == nil {
		err = cfg.AddAgent(s.ctx, c.Name, c.Person)
	}
	if err == nil && !c.DryRun {
		fmt.Fprintln(s.out.Out, c.Name+": groups count from the next login on")
	}
	return refused(err)
}

type agentRemoveCmd struct {
	machine
	Name string `arg:"" help:"Name of the agent."`
}

func (c *agentRemoveCmd) Run(s *session) error {
	cfg, err := c.config(s)
	if err == nil {
		err = cfg.RemoveAgent(s.ctx, c.Name)
	}
	return refused(err)
}

// refused prints a no of these commands, which is one and no failure.
func refused(err error) error {
	var r *accounts.Refused
	if !errors.As(err, &r) {
		return err
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(os.Stderr, "countersign: refused:", visible.Line(line))
	}
	return ended(exitRefused)
}
