package accounts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"countersign/internal/policy"
)

// Person is one to be added.
type Person struct {
	Name   string   // of a user of this machine
	Home   string   // absolute; empty: the one the machine lists for the user
	Agents []string // users of this machine that may propose for the person
}

// AddPerson adds a person, and agents that are to work for them. Nothing is
// changed where the error is a *Refused, and nothing is left where it is
// another, unless the error says so.
func (c *Config) AddPerson(ctx context.Context, p Person) error {
	h, ch, err := c.begin(ctx, append([]string{p.Name}, p.Agents...)...)
	if err != nil {
		return err
	}
	defer h.release()
	user, home, err := c.home(ctx, p)
	if err != nil {
		return err
	}
	if ch.has(persons, p.Name) {
		return &Refused{What: "person " + p.Name, Why: "the policy has them already", Fix: "change it in " + h.path}
	}
	if err := ch.putPerson(p.Name, user.uid, home); err != nil {
		return err
	}
	people, err := c.group(ctx, PeopleGroup)
	if err != nil {
		return err
	}
	steps := c.join(user, people)
	for _, agent := range slices.Compact(slices.Sorted(slices.Values(p.Agents))) {
		more, err := c.hire(ctx, ch, agent, []string{p.Name})
		if err != nil {
			return err
		}
		steps = append(steps, more...)
	}
	write, err := c.checked(ctx, h, ch, "write "+p.Name+" into "+h.path)
	if err != nil {
		return err
	}
	return c.add(ctx, append(steps, c.openHome(p.Name, home), write, c.listen(p.Name)))
}

// hire prepares an agent to work for more persons: its table or its list, and
// its group.
func (c *Config) hire(ctx context.Context, ch *change, agent string, forPersons []string) ([]step, error) {
	user, err := c.account(ctx, agent)
	if err != nil {
		return nil, err
	}
	if ch.has(agents, agent) {
		err = ch.serve(agent, forPersons)
	} else {
		err = ch.putAgent(agent, user.uid, forPersons)
	}
	if err != nil {
		return nil, err
	}
	g, err := c.group(ctx, AgentsGroup)
	if err != nil {
		return nil, err
	}
	return c.join(user, g), nil
}

// checked is the step that writes the changed policy, once the policy is found
// sound and each of its agents outside every one of its homes.
func (c *Config) checked(ctx context.Context, h *held, ch *change, say string) (step, error) {
	fresh, err := ch.fresh()
	if err != nil {
		return step{}, err
	}
	p, err := sound(h.path, fresh)
	if err != nil {
		return step{}, err
	}
	return h.put(fresh, say), c.separate(ctx, p)
}

// separate refuses a policy with an agent that could do without Countersign.
func (c *Config) separate(ctx context.Context, p *policy.Policy) error {
	group, err := c.group(ctx, AgentsGroup)
	if err != nil {
		return err
	}
	for _, agent := range p.Agents {
		user, err := c.find(ctx, agent.Name)
		if err != nil {
			return err
		}
		if user == nil { // a number without an account, as a container's
			user = &account{name: agent.Name, uid: agent.UID}
		}
		if user.uid != agent.UID {
			return &Refused{What: "agent " + agent.Name, Why: fmt.Sprintf("the policy gives it uid %d, and this machine %d", agent.UID, user.uid), Fix: "remove it and add it again"}
		}
		if err := c.harmless(ctx, *user); err != nil {
			return err
		}
		for _, person := range p.Persons {
			if err := c.outside(*user, []uint32{group.gid}, string(person.Home)); err != nil {
				return err
			}
		}
	}
	return nil
}

// home resolves a person's user and home.
func (c *Config) home(ctx context.Context, p Person) (user account, home string, err error) {
	if user, err = c.account(ctx, p.Name); err != nil {
		return user, "", err
	}
	if home = p.Home; home == "" {
		home = user.home
	}
	refuse := func(why, fix string) error {
		return &Refused{What: fmt.Sprintf("home %q of %s", home, p.Name), Why: why, Fix: fix}
	}
	if !strings.HasPrefix(home, "/") {
		return user, "", refuse("it does not start at /", "give the home with --home")
	}
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		return user, "", refuse(err.Error(), "make the home first, or give another with --home")
	}
	info, err := os.Stat(real)
	if err != nil {
		return user, "", fmt.Errorf("looking at the home: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return user, "", refuse("it is not a directory", "")
	case !ok || st.Uid != user.uid:
		return user, "", refuse(fmt.Sprintf("it does not belong to uid %d", user.uid), "give the person's own home with --home")
	}
	return user, real, unitSafe(real)
}

// RemovePerson removes a person, and each agent that worked for nobody else.
// What is left of a removal that failed half way is removed too.
func (c *Config) RemovePerson(ctx context.Context, name string) error {
	h, ch, err := c.begin(ctx, name)
	if err != nil {
		return err
	}
	defer h.release()
	gone, steps, err := c.dismiss(h, ch, name)
	if err != nil {
		return err
	}
	steps = append(steps,
		step{say: "close the sockets of " + name, do: func(ctx context.Context) error { return c.silence(ctx, name) }},
		step{say: "remove what opened their home to the units", do: func(ctx context.Context) error { return c.closeHome(ctx, name) }})
	for _, agent := range gone {
		c.say("%s works for %s alone, and is removed too", agent, name)
	}
	for _, user := range append([]string{name}, gone...) {
		more, err := c.parts(ctx, user)
		if err != nil {
			return err
		}
		steps = append(steps, more...)
	}
	return c.sweep(ctx, steps)
}

// dismiss prepares the policy without a person. One that is not in it any more
// must have left something else behind.
func (c *Config) dismiss(h *held, ch *change, name string) (gone []string, steps []step, err error) {
	if !ch.has(persons, name) {
		if !c.traces(name) {
			err = &Refused{What: "person " + name, Why: "the policy has nobody of this name"}
		}
		return nil, nil, err
	}
	if gone, err = ch.cutPerson(name); err != nil {
		return nil, nil, err
	}
	write, err := c.without(h, ch, "take "+name+" out of "+h.path)
	return gone, []step{write}, err
}

// without is the step that writes a policy which somebody was taken out of. One
// that names nobody any more is written too: it stops every daemon, as it
// should.
func (c *Config) without(h *held, ch *change, say string) (step, error) {
	fresh, err := ch.fresh()
	if err != nil {
		return step{}, err
	}
	left, err := parseDocument(fresh)
	if err != nil {
		return step{}, err
	}
	if len(left.section(persons)) == 0 {
		return h.put(fresh, say+", which names nobody now: nothing is served until a person is added"), nil
	}
	_, err = sound(h.path, fresh)
	return h.put(fresh, say), err
}
