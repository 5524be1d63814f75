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
	if err := daemon.Flags("keeper", args, c.define); err != nil {
		return err
	}
	p, err := policy.Load(c.policyFile)
	if err != nil {
		return err
	}
	sockets, err := c.listen()
	if err != nil {
		return err
	}
	walls, err := confine.Enclose(confine.Walls{State: []string{c.state}})
	if err != nil {
		return fmt.Errorf("enclosing the keeper: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b, err := broker.Open(ctx, broker.Config{Policy: p, State: c.state, Run: c.run, Walls: walls, Log: log})
	if err != nil {
		return err
	}
	log.Info("serving", "walls", walls)
	err = serve(ctx, stop, c, b, p, sockets, log)
	return errors.Join(err, b.Close())
}
