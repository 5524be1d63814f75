package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"countersign/internal/policy"
	"countersign/internal/visible"
)

type policyCmd struct {
	Check   policyCheckCmd   `cmd:"" help:"Say whether a policy file is sound, and everything that is wrong with it."`
	Explain policyExplainCmd `cmd:"" help:"Say what a policy makes of an action, path by path, without a daemon."`
}

type policyCheckCmd struct {
	File string `arg:"" optional:"" default:"/etc/countersign/policy.toml" help:"The file; the installed policy where none is given."`
}

// Run reads a draft as anybody has it. That a daemon would refuse the file for
// its owner or its mode is said beside the result.
func (c *policyCheckCmd) Run(s *session) error {
	data, err := c.read()
	if err != nil {
		return err
	}
	p, err := policy.Parse(data)
	if err != nil {
		return fmt.Errorf("%s is no sound policy:\n%w", visible.Line(c.File), err)
	}
	fmt.Fprintf(s.out.Out, "%s is sound: %s; %s\n", visible.Line(c.File),
		counted("person", "persons", slices.Sorted(maps.Keys(p.Persons))), counted("agent", "agents", slices.Sorted(maps.Keys(p.Agents))))
	fmt.Fprintf(s.out.Out, "digest %s\n", p.Digest)
	if p.Consent.Unseparated {
		fmt.Fprintln(s.out.Out, "note: consent.unseparated = true, so agents may approve what they propose")
	}
	if _, err := policy.Read(c.File); err != nil {
		fmt.Fprintf(s.out.Out, "note: as the file lies here no daemon would read it: %s\n", visible.Line(err.Error()))
	}
	return nil
}

// read takes no more than a policy may have and a byte, which Parse refuses.
func (c *policyCheckCmd) read() ([]byte, error) {
	f, err := os.Open(c.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, policy.MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	return data, nil
}

func counted(one, many string, names []string) string {
	switch len(names) {
	case 0:
		return "no " + many
	case 1:
		return "1 " + one + " (" + names[0] + ")"
	}
	return fmt.Sprintf("%d %s (%s)", len(names), many, strings.Join(names, ", "))
}
