// Package daemon is what the three daemons share around their work: how they
// take their sockets, say that they serve, log, and stop.
//
// The order in each is: configuration, passed sockets, walls, ready, serve.
package daemon

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// Run runs a daemon's work until it ends or a signal asks it to, and exits
// with 1 where it failed. Nothing else exits.
func Run(name string, work func(ctx context.Context, log *slog.Logger, args []string) error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("process", name)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := work(ctx, log, os.Args[1:]); err != nil && !errors.Is(err, context.Canceled) {
		log.Error("stopped", "error", err)
		os.Exit(1)
	}
}

// Flags parses a daemon's flags, of which all are needed.
func Flags(name string, args []string, define func(*flag.FlagSet)) error {
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
	var missing error
	set.VisitAll(func(f *flag.Flag) {
		if !given[f.Name] {
			missing = errors.Join(missing, fmt.Errorf("-%s is needed: %s", f.Name, f.Usage))
		}
	})
	return missing
}

// Listener takes the listening socket that was passed as a handle.
func Listener(fd int) (*net.UnixListener, error) {
	f := os.NewFile(uintptr(fd), "listener")
	if f == nil {
		return nil, fmt.Errorf("handle %d is not open", fd)
	}
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("taking the socket of handle %d: %w", fd, err)
	}
	ul, ok := l.(*net.UnixListener)
	if !ok {
		return nil, fmt.Errorf("handle %d is no Unix socket", fd)
	}
	ul.SetUnlinkOnClose(false)
	return ul, nil
}

// Ready tells whoever started the daemon, through the pipe passed as a handle,
// that it serves from now on.
func Ready(fd int) error {
	f := os.NewFile(uintptr(fd), "ready")
	if f == nil {
		return fmt.Errorf("handle %d is not open", fd)
	}
	defer f.Close()
	if _, err := f.WriteString("ready\n"); err != nil {
		return fmt.Errorf("saying ready: %w", err)
	}
	return nil
}

func parseUID(s string, uid *uint32) error {
	n, err := strconv.ParseUint(s, 10, 32)
	*uid = uint32(n)
	return err
}
