// Command reader answers what agents read in one person's home, and passes the
// keeper read-only handles of what is to be changed. It runs as the person,
// walled so that it can change nothing.
package main

import (
	"context"
	"fmt"
	"log/slog"

	"countersign/internal/confine"
	"countersign/internal/daemon"
	"countersign/internal/gitrun"
)

func main() { daemon.Run("reader", run) }

func run(ctx context.Context, log *slog.Logger, args []string) error {
	if gitrun.IsRunner(args) {
		return gitrun.Serve()
	}
	var e daemon.Executor
	if err := daemon.Flags("reader", args, e.Define, daemon.ExecutorOptional()...); err != nil {
		return err
	}
	passed, err := e.Take(log.With("person", e.Person))
	if err != nil {
		return err
	}
	name := "the reader of " + e.Person
	watch := daemon.NewWatch(name, e.PolicyFile)
	return passed.Serve(ctx, name, watch, func() (*daemon.Work, error) { return prepare(&e, passed, watch) })
}

// prepare reads the policy and raises the walls.
func prepare(e *daemon.Executor, passed *daemon.Passed, watch *daemon.Watch) (*daemon.Work, error) {
	p, person, err := e.Load()
	if err != nil {
		return nil, err
	}
	home := string(person.Home)
	watch.Directories("the home", home)
	watch.Directories("a read grant's root", daemon.Roots(person.Grants.Reads)...)
	finder, err := daemon.Finder(p, person)
	if err != nil {
		return nil, err
	}
	git, err := gitrun.Start(gitrun.Config{Program: e.Git, Read: []string{home}, Closed: daemon.Homes(p, person)})
	if err != nil {
		return nil, err
	}
	watch.Ended("what runs git", git.Gone())
	walls, err := confine.Enclose(confine.Walls{
		Read: []string{home}, Closed: daemon.Homes(p, person), Calls: confine.Reader, Notify: passed.Notify(),
	})
	if err != nil {
		return nil, fmt.Errorf("enclosing the reader: %w", err)
	}
	return e.Work(passed, p, watch, daemon.NewIdle(0), walls, git.About(), admit(p, person, e.KeeperUID), table(p, person, e.KeeperUID, finder, git))
}
