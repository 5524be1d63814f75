// Command keeper decides about proposed actions, by policy or by asking their
// owner, and remembers everything. It runs as a user of its own, sees nobody's
// home, and has no code that writes a file of anybody's.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"countersign/internal/broker"
	"countersign/internal/confine"
	"countersign/internal/daemon"
	"countersign/internal/policy"
)

func main() { daemon.Run("keeper", run) }

func run(ctx context.Context, log *slog.Logger, args []string) error {
	var c config
	if err := daemon.Flags("keeper", args, c.define, actSocket, consentSocket, "ready"); err != nil {
		return err
	}
	passed, err := daemon.Take(c.handles(), log)
	if err != nil {
		return err
	}
	watch := daemon.NewWatch("the keeper", c.policyFile)
	return passed.Serve(ctx, "the keeper", watch, func() (*daemon.Work, error) { return prepare(ctx, &c, passed, watch) })
}

// prepare reads the policy, raises the walls, and opens the journal behind
// them.
func prepare(ctx context.Context, c *config, passed *daemon.Passed, watch *daemon.Watch) (*daemon.Work, error) {
	p, err := policy.Load(c.policyFile)
	if err != nil {
		return nil, err
	}
	watch.Directories("the state", c.state)
	walls, err := confine.Enclose(confine.Walls{
		State: []string{c.state}, Closed: daemon.Homes(p, nil), Calls: confine.Keeper, Notify: passed.Notify(),
	})
	if err != nil {
		return nil, fmt.Errorf("enclosing the keeper: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	b, err := broker.Open(ctx, broker.Config{Policy: p, State: c.state, Run: c.run, Walls: walls, Log: passed.Log})
	if err != nil {
		stop()
		return nil, err
	}
	return &daemon.Work{Walls: walls, Serve: func(serving context.Context) error {
		defer stop()
		err := serve(serving, stop, b, p, watch, passed)
		return errors.Join(err, b.Close())
	}}, nil
}
