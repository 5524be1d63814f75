package accounts

import (
	"context"
	"slices"
)

// AddAgent lets an agent propose for persons of the policy; one that the
// policy has works for more of them. It is as careful as AddPerson.
func (c *Config) AddAgent(ctx context.Context, name string, forPersons []string) error {
	h, ch, err := c.begin(ctx, append([]string{name}, forPersons...)...)
	if err != nil {
		return err
	}
	defer h.release()
	has := ch.listed(agents, name, persons)
	more := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(forPersons))), func(p string) bool { return slices.Contains(has, p) })
	if len(more) == 0 {
		return &Refused{What: "agent " + name, Why: "the policy has it already, for all of these persons"}
	}
	for _, p := range more {
		if !ch.has(persons, p) {
			return &Refused{What: "person " + p, Why: "the policy has nobody of this name", Fix: "call `countersign person add` first"}
		}
	}
	steps, err := c.hire(ctx, ch, name, more)
	if err != nil {
		return err
	}
	write, err := c.checked(ctx, h, ch, "write "+name+" into "+h.path)
	if err != nil {
		return err
	}
	return c.add(ctx, append(steps, write))
}

// RemoveAgent removes an agent. Its user stays, and may do nothing here.
func (c *Config) RemoveAgent(ctx context.Context, name string) error {
	h, ch, err := c.begin(ctx, name)
	if err != nil {
		return err
	}
	defer h.release()
	steps, err := c.parts(ctx, name)
	if err != nil {
		return err
	}
	if ch.has(agents, name) {
		if err := ch.cut(agents, name); err != nil {
			return err
		}
		write, err := c.without(h, ch, "take "+name+" out of "+h.path)
		if err != nil {
			return err
		}
		steps = append([]step{write}, steps...)
	} else if ch.has(persons, name) || name == KeeperUser || len(steps) == 0 {
		return &Refused{What: "agent " + name, Why: "the policy has none of this name"}
	}
	return c.sweep(ctx, steps)
}
