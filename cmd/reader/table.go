package main

import (
	"context"
	"os"

	"countersign/internal/daemon"
	"countersign/internal/facts"
	"countersign/internal/fileread"
	"countersign/internal/gitplan"
	"countersign/internal/gitread"
	"countersign/internal/gitrun"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/repo"
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
func table(p *policy.Policy, person *policy.Person, keeper uint32, finder facts.Finder, run *gitrun.Git) map[string]wire.Method {
	files := fileread.New(finder, p.Digest)
	git := &gitread.Git{Finder: repo.Finder{UID: person.UID, Home: string(person.Home), Grants: person.Grants, Patience: finder.Patience}, Run: run, Policy: p.Digest}
	plans := gitplan.Planner{Finder: git.Finder, Run: run}
	may := admit(p, person, keeper)
	return map[string]wire.Method{
		protocol.Read:      reads(may, files.Read),
		protocol.ReadImage: reads(may, files.ReadImage),
		protocol.List:      reads(may, files.List),
		protocol.Grep:      searches(may, files.Grep),
		protocol.Glob:      reads(may, files.Glob),
		protocol.Stat:      reads(may, files.Stat),

		protocol.GitStatus:   reads(may, git.Status),
		protocol.GitLog:      reads(may, git.Log),
		protocol.GitDiff:     reads(may, git.Diff),
		protocol.GitShow:     reads(may, git.Show),
		protocol.GitBlame:    reads(may, git.Blame),
		protocol.GitBranches: reads(may, git.Branches),

		protocol.GitPreview: {
			May: daemon.Only(keeper, protocol.GitPreview), Cancel: true, Large: true,
			Handle: wire.Typed(func(ctx context.Context, _ wire.Caller, in protocol.GitPreviewParams) (protocol.GitPreviewResult, error) {
				if err := p.Same(in.Policy); err != nil {
					return protocol.GitPreviewResult{}, err
				}
				return plans.Preview(ctx, in.Action)
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

// reads makes a row of a method that looks at disk. Its answers may be large:
// the server's places for large frames bound how many are under way at once.
func reads[P, R any](may func(wire.Caller) error, answer func(context.Context, P) (R, error)) wire.Method {
	return wire.Method{
		May: may, Limit: maxParams, Cancel: true, Large: true,
		Handle: wire.Typed(func(ctx context.Context, _ wire.Caller, in P) (R, error) { return answer(ctx, in) }),
	}
}

// searches makes a row of a search: its answers are small, and nobody waits for
// a place to send one.
func searches(may func(wire.Caller) error, answer func(context.Context, protocol.GrepParams) (protocol.GrepResult, error)) wire.Method {
	row := reads(may, answer)
	row.Large = false
	return row
}

// maxParams bounds what a read is asked with, in bytes: as many paths as one
// call may name, each as long as paths are.
const maxParams = 300 << 10
