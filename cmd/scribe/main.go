// Command scribe changes files in one person's home: it runs as the person, is
// the only process of Countersign that can, and answers the keeper alone.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/confine"
	"countersign/internal/daemon"
	"countersign/internal/gitrun"
)

func main() { daemon.Run("scribe", run) }

// config is what the scribe is started with.
type config struct {
	daemon.Executor
	idle time.Duration
}

func (c *config) Define(f *flag.FlagSet) {
	c.Executor.Define(f)
	f.DurationVar(&c.idle, "idle", 0, "end after this long without a request, to be started again for the next one; 0 is never")
}

func run(ctx context.Context, log *slog.Logger, args []string) error {
	if gitrun.IsRunner(args) {
		return gitrun.Serve()
	}
	var c config
	if err := daemon.Flags("scribe", args, c.Define, append(daemon.ExecutorOptional(), "idle")...); err != nil {
		return err
	}
	passed, err := c.Take(log.With("person", c.Person))
	if err != nil {
		return err
	}
	name := "the scribe of " + c.Person
	watch := daemon.NewWatch(name, c.PolicyFile)
	return passed.Serve(ctx, name, watch, func() (*daemon.Work, error) { return prepare(&c, passed, watch) })
}

// prepare reads the policy and raises the walls.
func prepare(c *config, passed *daemon.Passed, watch *daemon.Watch) (*daemon.Work, error) {
	p, person, err := c.Load()
	if err != nil {
		return nil, err
	}
	watch.Directories("the home", string(person.Home))
	watch.Directories("a write grant's root", daemon.Roots(person.Grants.Writes)...)
	finder, err := daemon.Finder(p, person)
	if err != nil {
		return nil, err
	}
	roots := writable(person, passed.Log)
	unix.Umask(int(person.Umask)) // what git makes takes the person's, not the unit's; what runs git inherits it
	git, err := gitrun.Start(gitrun.Config{Program: c.Git, Trees: roots, Closed: daemon.Homes(p, person)})
	if err != nil {
		return nil, err
	}
	watch.Ended("what runs git", git.Gone())
	walls, err := confine.Enclose(confine.Walls{
		Change: roots, Closed: daemon.Homes(p, person), Calls: confine.Scribe, Notify: passed.Notify(),
	})
	if err != nil {
		return nil, fmt.Errorf("enclosing the scribe: %w", err)
	}
	admit := daemon.Only(c.KeeperUID, "the scribe of "+person.Name)
	return c.Work(passed, p, watch, daemon.NewIdle(c.idle), walls, git.About(), admit, table(p, person, c.KeeperUID, finder, git, passed.Log))
}
