// Command reader answers what agents read in one person's home, and passes the
// keeper read-only handles of what is to be changed. It runs as the person,
// walled so that it can change nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"

	"countersign/internal/confine"
	"countersign/internal/daemon"
	"countersign/internal/wire"
)

func main() { daemon.Run("reader", run) }

func run(ctx context.Context, log *slog.Logger, args []string) error {
	var e daemon.Executor
	if err := daemon.Flags("reader", args, func(f *flag.FlagSet) { e.Define(f) }); err != nil {
		return err
	}
	p, person, err := e.Load()
	if err != nil {
		return err
	}
	listener, err := daemon.Listener(e.Socket)
	if err != nil {
		return err
	}
	walls, err := confine.Enclose(confine.Walls{Read: []string{string(person.Home)}})
	if err != nil {
		return fmt.Errorf("enclosing the reader: %w", err)
	}
	log.Info("serving", "person", person.Name, "walls", walls)
	server, err := wire.New(wire.Config{
		Name: "the reader of " + person.Name, Log: log,
		Methods: table(p, person, e.KeeperUID), Admit: admit(p, person, e.KeeperUID), Refused: daemon.LogRefused(log),
	})
	if err != nil {
		return err
	}
	return e.Serve(ctx, server, listener)
}
