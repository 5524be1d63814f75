// Command scribe changes files in one person's home: it runs as the person, is
// the only process of Countersign that can, and answers the keeper alone.
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

func main() { daemon.Run("scribe", run) }

func run(ctx context.Context, log *slog.Logger, args []string) error {
	var e daemon.Executor
	if err := daemon.Flags("scribe", args, func(f *flag.FlagSet) { e.Define(f) }); err != nil {
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
	walls, err := confine.Enclose(confine.Walls{Change: writable(person, log)})
	if err != nil {
		return fmt.Errorf("enclosing the scribe: %w", err)
	}
	log.Info("serving", "person", person.Name, "walls", walls)
	server, err := wire.New(wire.Config{
		Name: "the scribe of " + person.Name, Log: log,
		Methods: table(p, person, e.KeeperUID), Admit: daemon.Only(e.KeeperUID, "the scribe of "+person.Name), Refused: daemon.LogRefused(log),
	})
	if err != nil {
		return err
	}
	return e.Serve(ctx, server, listener)
}
