package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// step is one change to the machine, ready to be made.
type step struct {
	say  string // what it does, for people
	do   func(context.Context) error
	undo func(context.Context) error // takes back what do did, all or part of it; nil where nothing needs to be
	must bool                        // of a removal: where it fails, nothing further is tried
}

// add makes the changes one after the other. Where one fails, or the caller
// gives up, those that were made are undone, the failed one first.
func (c *Config) add(ctx context.Context, steps []step) error {
	if c.DryRun {
		return c.tell(steps)
	}
	for i, s := range steps {
		err := ctx.Err()
		if err == nil {
			err = s.do(ctx)
		}
		if err == nil {
			c.say("%s", s.say)
			continue
		}
		err = fmt.Errorf("%s: %w", s.say, err)
		for _, made := range slices.Backward(steps[:i+1]) {
			if made.undo == nil {
				continue
			}
			if failed := made.undo(context.WithoutCancel(ctx)); failed != nil {
				err = errors.Join(err, fmt.Errorf("undoing it, %s: %w", made.say, failed))
			}
		}
		return err
	}
	return nil
}

// sweep makes the changes of a removal: each is tried, whatever became of those
// before it that need not have succeeded.
func (c *Config) sweep(ctx context.Context, steps []step) error {
	if c.DryRun {
		return c.tell(steps)
	}
	var all error
	for _, s := range steps {
		err := s.do(context.WithoutCancel(ctx))
		if err == nil {
			c.say("%s", s.say)
			continue
		}
		all = errors.Join(all, fmt.Errorf("%s: %w", s.say, err))
		if s.must {
			return all
		}
	}
	return all
}

func (c *Config) tell(steps []step) error {
	for _, s := range steps {
		c.say("would: %s", s.say)
	}
	return nil
}

// join puts a user into a group; nothing where it is in it already.
func (c *Config) join(a account, g group) []step {
	if a.in(g) {
		return nil
	}
	return []step{{
		say:  fmt.Sprintf("put %s into the group %s", a.name, g.name),
		do:   func(ctx context.Context) error { return c.call(ctx, c.Gpasswd, "-a", a.name, g.name) },
		undo: func(ctx context.Context) error { return c.leave(ctx, a.name, g.name) },
	}}
}

// parts takes a user out of the groups that open sockets, where it is listed.
func (c *Config) parts(ctx context.Context, name string) (steps []step, err error) {
	for _, from := range []string{PeopleGroup, AgentsGroup} {
		g, err := c.group(ctx, from)
		if err != nil {
			return nil, err
		}
		if slices.Contains(g.members, name) {
			steps = append(steps, step{
				say: fmt.Sprintf("take %s out of the group %s", name, from),
				do:  func(ctx context.Context) error { return c.leave(ctx, name, from) },
			})
		}
	}
	return steps, nil
}

// leave takes a user out of a group, if it is still listed there.
func (c *Config) leave(ctx context.Context, name, from string) error {
	g, err := c.group(ctx, from)
	if err != nil || !slices.Contains(g.members, name) {
		return err
	}
	return c.call(ctx, c.Gpasswd, "-d", name, from)
}
