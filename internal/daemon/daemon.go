// Package daemon is what the three daemons share around their work: how they
// take their sockets, say that they serve, log, notice that they are out of
// date, and stop.
//
// The order in each is: flags, passed sockets, policy, walls, the check of the
// walls, ready, serve. A service manager starts a daemon, with sockets passed
// as systemd passes them, or `countersign up` does, with the numbers of its
// handles as flags. What a daemon needs from outside its walls it opens before
// they stand.
//
// A daemon that may not serve says why: under a service manager it stays and
// answers every caller with the reason, under `up` it ends with it.
package daemon

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"os/user"
	"strconv"
	"syscall"

	"countersign/internal/protocol"
)

// ErrAgain is in the chain of the error of a daemon that ends to be started
// again.
var ErrAgain = errors.New("to be started again")

// Run runs a daemon's work until it ends or a signal asks it to, and exits:
// with 0 where it was asked to end or had nothing to do, with protocol.ExitAgain, or
// with 1 where it failed. Nothing else exits.
func Run(name string, work func(ctx context.Context, log *slog.Logger, args []string) error) {
	log := NewLog(os.Stderr, name)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	err := work(ctx, log, os.Args[1:])
	switch {
	case err == nil || errors.Is(err, context.Canceled):
	case errors.Is(err, ErrAgain):
		log.Info("stopped", "because", err)
		os.Exit(protocol.ExitAgain)
	default:
		log.Error("stopped", "error", err)
		os.Exit(1)
	}
}

// Flags parses a daemon's flags, of which all but the optional are needed.
func Flags(name string, args []string, define func(*flag.FlagSet), optional ...string) error {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	define(set)
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	given := make(map[string]bool)
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, name := range optional {
		given[name] = true
	}
	var missing error
	set.VisitAll(func(f *flag.Flag) {
		if !given[f.Name] {
			missing = errors.Join(missing, fmt.Errorf("-%s is needed: %s", f.Name, f.Usage))
		}
	})
	return missing
}

// parseUser takes a uid, or the name of a user that the system lists.
func parseUser(s string, uid *uint32) error {
	if n, err := strconv.ParseUint(s, 10, 32); err == nil {
		*uid = uint32(n)
		return nil
	}
	u, err := user.Lookup(s)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(u.Uid, 10, 32)
	*uid = uint32(n)
	return err
}
