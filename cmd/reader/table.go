package main

import (
	"context"
	"os"

	"countersign/internal/daemon"
	"countersign/internal/facts"
	"countersign/internal/fileread"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// admit lets in the keeper, the person, and the agents that policy names for
// the person.
func admit(p *policy.Policy, person *policy.Person, keeper uint32) func(wire.Caller) error {
	return func(c wire.Caller) error {
		agent := p.AgentByUID(c.UID)
		if c.UID == keeper || c.UID == person.UID || agent != nil && p.AgentMay(agent.Name, person.Name) {
			return nil
		}
		return refusal.New(refusal.NotPermitted, "the reader of "+person.Name, "uid %d", c.UID)
	}
}

// table is everything the reader does, and for whom. It has no method that
// changes anything, and no code that one could call.
func table(p *policy.Policy, person *policy.Person, keeper uint32, finder facts.Finder) map[string]wire.Method {
	files := fileread.Files{Finder: finder, Policy: p.Digest}
	return map[string]wire.Method{
		protocol.Read: {
			May: admit(p, person, keeper), Limit: 64 << 10, Cancel: true, Large: true,
			Handle: wire.Typed(func(_ context.Context, _ wire.Caller, in protocol.ReadParams) (protocol.ReadResult, error) {
				return files.Read(in)
			}),
		},
		protocol.Capture: {
			May: daemon.Only(keeper, protocol.Capture), Cancel: true,
			Handle: wire.TypedHandles(func(_ context.Context, _ wire.Caller, in protocol.CaptureParams) (protocol.CaptureResult, []*os.File, error) {
				if err := p.Same(in.Policy); err != nil {
					return protocol.CaptureResult{}, nil, err
				}
				return files.Capture(in.Targets)
			}),
		},
	}
}
