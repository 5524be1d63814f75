package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net"

	"countersign/internal/broker"
	"countersign/internal/daemon"
	"countersign/internal/policy"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// config is what the keeper is started with.
type config struct {
	policyFile, state, run string
	act, consent, ready    int // handles
}

func (c *config) define(f *flag.FlagSet) {
	f.StringVar(&c.policyFile, "policy", "", "policy file")
	f.StringVar(&c.state, "state", "", "the keeper's own directory, for journal and vault")
	f.StringVar(&c.run, "run", "", "directory of the readers' and scribes' sockets")
	f.IntVar(&c.act, "act", -1, "handle of the listening socket for proposers")
	f.IntVar(&c.consent, "consent", -1, "handle of the listening socket for owners")
	f.IntVar(&c.ready, "ready", -1, "handle of the pipe that is told when it serves")
}

// sockets are the keeper's two: agents' and owners'.
type sockets struct{ act, consent *net.UnixListener }

func (c *config) listen() (s sockets, err error) {
	if s.act, err = daemon.Listener(c.act); err != nil {
		return s, err
	}
	s.consent, err = daemon.Listener(c.consent)
	return s, err
}

// serve answers on both sockets until ctx ends, or the journal fails: a keeper
// that cannot write down what it does, does nothing.
func serve(ctx context.Context, stop func(), c config, b *broker.Broker, p *policy.Policy, s sockets, log *slog.Logger) error {
	act, err := wire.New(wire.Config{
		Name: "the keeper", Log: log, Methods: actTable(b, p), Admit: proposers(p), Refused: refused(b, log, "act"),
	})
	if err != nil {
		return err
	}
	consent, err := wire.New(wire.Config{
		Name: "the keeper", Log: log, Methods: consentTable(b, p), Admit: owners(p), Refused: refused(b, log, "consent"),
	})
	if err != nil {
		return err
	}
	if err := daemon.Ready(c.ready); err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() { ended <- act.Serve(ctx, s.act) }()
	go func() { ended <- consent.Serve(ctx, s.consent) }()
	running := 2
	var result error
	select {
	case result = <-b.Failed():
	case result = <-ended:
		running--
	case <-ctx.Done():
	}
	stop()
	for ; running > 0; running-- {
		result = errors.Join(result, <-ended)
	}
	return result
}

func refused(b *broker.Broker, log *slog.Logger, socket string) func(wire.Caller, *refusal.Refusal, int) {
	tell := daemon.LogRefused(log)
	return func(c wire.Caller, why *refusal.Refusal, n int) {
		tell(c, why, n)
		b.RefusedPeer(socket, c.UID, why, n)
	}
}
