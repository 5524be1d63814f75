package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"countersign/internal/action"
	"countersign/internal/classify"
	"countersign/internal/policy"
	"countersign/internal/show"
	"countersign/internal/visible"
)

type policyExplainCmd struct {
	File   string `arg:"" help:"File with the proposal in JSON, as \"propose\" takes it, or - for standard input."`
	Policy string `help:"The policy." default:"/etc/countersign/policy.toml" placeholder:"FILE"`
	As     string `help:"Who proposes it; an agent that may, where none is named." placeholder:"NAME"`
	JSON   bool   `name:"json" help:"Print JSON."`

	Stands bool     `help:"Take it that a file stands at every path."`
	Mode   string   `help:"Mode of the files that stand." default:"0644" placeholder:"OCTAL"`
	Lost   bool     `help:"Take it that what stands cannot be captured."`
	Lands  []string `help:"Where a path lands." placeholder:"PATH=PATH" sep:"none"`
	Alias  []string `help:"Name of the home from which a link leads to a path." placeholder:"PATH=NAME" sep:"none"`
}

// Run explains by the policy's file alone: no daemon is asked, and nothing of a
// home is looked at.
func (c *policyExplainCmd) Run(s *session) error {
	data, err := (&policyCheckCmd{File: c.Policy}).read()
	if err != nil {
		return err
	}
	p, err := policy.Parse(data)
	if err != nil {
		return fmt.Errorf("%s is no sound policy:\n%w", visible.Line(c.Policy), err)
	}
	raw, err := (&proposeCmd{File: c.File}).read()
	if err != nil {
		return err
	}
	in, err := action.ParseProposal(raw)
	if err != nil {
		return err
	}
	disk, err := c.disk()
	if err != nil {
		return err
	}
	e := p.Explain(in.Action, c.As, disk)
	if c.JSON {
		return printJSON(e)
	}
	explained(s, e)
	return nil
}

// disk reads the flags that stand in for a disk.
func (c *policyExplainCmd) disk() (policy.Disk, error) {
	mode, err := strconv.ParseUint(c.Mode, 8, 32)
	if err != nil || mode == 0 || mode > 0o777 {
		return policy.Disk{}, fmt.Errorf("--mode is three octal digits, such as 0755")
	}
	d := policy.Disk{Stands: c.Stands, Mode: uint32(mode), Lost: c.Lost}
	if d.Lands, err = pairs("--lands", c.Lands); err == nil {
		d.Aliases, err = pairs("--alias", c.Alias)
	}
	return d, err
}

func pairs(flag string, list []string) (map[action.Path]action.Path, error) {
	out := map[action.Path]action.Path{}
	for _, s := range list {
		from, to, ok := strings.Cut(s, "=")
		a, b := action.Path(from), action.Path(to)
		if !ok || a.Validate() != nil || b.Validate() != nil {
			return nil, fmt.Errorf("%s takes two absolute and clean paths, PATH=PATH", flag)
		}
		out[a] = b
	}
	return out, nil
}

// explained prints an explanation. What an agent chose, the paths, is made
// harmless, and comes last on its line.
func explained(s *session, e policy.Explanation) {
	line := func(format string, args ...any) { s.out.Text(string(visible.Line(fmt.Sprintf(format, args...)))) }
	if e.Person != "" {
		line("%s in the home of %s, %d bytes of new text", e.Capability, e.Person, e.NewText)
	}
	for _, p := range e.Paths {
		line("path      %s", p.Path)
		if p.Lands != p.Path {
			line("  lands   %s", p.Lands)
		}
		line("  read    %s", p.Read)
		line("  write   %s", p.Write)
		if p.Refused != nil {
			line("  refused %s", show.Refusal(p.Refused))
		}
		for _, r := range e.Class.Reasons {
			if r.Path == p.Path {
				line("  reason  %s", reason(r, slices.Contains(e.Decision.Reasons, r)))
			}
		}
	}
	if e.Refused != nil {
		line("refused   %s", show.Refusal(e.Refused))
	} else {
		line("verdict   %s, by %s", e.Decision.Verdict, e.Decision.Rule)
		if !e.Class.Reversible {
			line("          it could not be undone")
		}
	}
	line("What depends on disk, at which nobody looked:")
	for _, d := range e.Disk {
		line("- %s", d)
	}
}

// reason says why an owner might want to be asked, and whether the policy has
// them asked for it.
func reason(r classify.Reason, asks bool) string {
	s := string(r.Name)
	if r.Entry != "" {
		s += ", entry " + r.Entry
	}
	if s += ": " + r.Why; asks {
		return s + "; it asks"
	}
	return s + "; the policy does not ask for it"
}
