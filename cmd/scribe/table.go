package main

import (
	"context"
	"log/slog"
	"os"

	"countersign/internal/daemon"
	"countersign/internal/facts"
	"countersign/internal/gitplan"
	"countersign/internal/gitrun"
	"countersign/internal/gitwrite"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/repo"
	"countersign/internal/stage"
	"countersign/internal/wire"
)

// writable gives the roots of the person's write grants. Landlock holds the
// directories that are there now; a root that is not is left out, and one that
// comes to be makes the scribe start anew.
func writable(person *policy.Person, log *slog.Logger) []string {
	var roots []string
	for _, g := range person.Grants.Writes {
		if _, err := os.Stat(g.Root); err != nil {
			log.Warn("a write grant's root is not there, and unavailable until it is", "root", g.Root, "error", err)
			continue
		}
		roots = append(roots, g.Root)
	}
	return roots
}

// table is everything the scribe does, for the keeper alone.
func table(p *policy.Policy, person *policy.Person, keeper uint32, finder facts.Finder, git *gitrun.Git, log *slog.Logger) map[string]wire.Method {
	hands := stage.New(stage.Config{
		Finder: finder, Umask: person.Umask,
		AskedText: int(p.Limits.AskedText), AutoBytes: int(p.Limits.AutoBytes),
	})
	repositories := gitwrite.New(gitwrite.Config{Planner: gitplan.Planner{
		Finder: repo.Finder{UID: person.UID, Home: string(person.Home), Grants: person.Grants, Patience: finder.Patience}, Run: git,
	}, Log: log})
	settle := func(in protocol.Intent) (protocol.Outcome, []*os.File, error) {
		if !in.Action.Git() {
			return hands.Settle(in)
		}
		out, err := repositories.Settle(context.Background(), in)
		return out, nil, err
	}
	method := func(name string, do func(protocol.Intent) (protocol.Outcome, []*os.File, error)) wire.Method {
		return wire.Method{
			May: daemon.Only(keeper, name),
			Handle: wire.TypedHandles(func(_ context.Context, _ wire.Caller, in protocol.IntentParams) (protocol.Outcome, []*os.File, error) {
				if err := p.Same(in.Policy); err != nil {
					return protocol.Outcome{}, nil, err
				}
				return do(in.Intent)
			}),
		}
	}
	return map[string]wire.Method{
		protocol.FileWrite: method(protocol.FileWrite, hands.Carry),
		protocol.GitWrite: method(protocol.GitWrite, func(in protocol.Intent) (protocol.Outcome, []*os.File, error) {
			out, err := repositories.Carry(context.Background(), in)
			return out, nil, err
		}),
		protocol.Settle: method(protocol.Settle, settle),
	}
}
