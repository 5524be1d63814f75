package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"

	"countersign/internal/broker"
	"countersign/internal/daemon"
	"countersign/internal/policy"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// config is what the keeper is started with.
type config struct {
	policyFile, state, run string
	act, consent, ready    int // handles, from `up`; else -1
}

// The keeper's two sockets: agents' and owners'.
const (
	actSocket     = "act"
	consentSocket = "consent"
)

func (c *config) define(f *flag.FlagSet) {
	f.StringVar(&c.policyFile, "policy", "", "policy file")
	f.StringVar(&c.state, "state", "", "the keeper's own directory, for journal and vault")
	f.StringVar(&c.run, "run", "", "directory of the readers' and scribes' sockets")
	f.IntVar(&c.act, actSocket, -1, "under `countersign up`: handle of the listening socket for proposers")
	f.IntVar(&c.consent, consentSocket, -1, "under `countersign up`: handle of the listening socket for owners")
	f.IntVar(&c.ready, "ready", -1, "under `countersign up`: handle of the pipe that is told when it serves")
}

func (c *config) handles() daemon.Handles {
	return daemon.Handles{Sockets: map[string]int{actSocket: c.act, consentSocket: c.consent}, Ready: c.ready}
}

// serve answers on both sockets until ctx ends, or the journal fails: a keeper
// that cannot write down what it does, does nothing. Once both have ended it
// calls stop, which ends the work in the background.
func serve(ctx context.Context, stop func(), b *broker.Broker, p *policy.Policy, watch *daemon.Watch, passed *daemon.Passed) error {
	ctx, end := context.WithCancel(ctx)
	defer stop()
	defer end()
	act, err := wire.New(wire.Config{
		Name: "the keeper", Log: passed.Log, Methods: watch.Guard(actTable(b, p)), Admit: proposers(p), Refused: refused(b, passed.Log, actSocket),
	})
	if err != nil {
		return err
	}
	consent, err := wire.New(wire.Config{
		Name: "the keeper", Log: passed.Log, Methods: watch.Guard(consentTable(b, p)), Admit: owners(p), Refused: refused(b, passed.Log, consentSocket),
	})
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() { ended <- act.Serve(ctx, passed.Sockets[actSocket]) }()
	go func() { ended <- consent.Serve(ctx, passed.Sockets[consentSocket]) }()
	running := 2
	var result error
	select {
	case result = <-b.Failed():
	case result = <-ended:
		running--
	case <-ctx.Done():
	}
	end()
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
