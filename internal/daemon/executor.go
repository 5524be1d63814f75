package daemon

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"

	"countersign/internal/beneath"
	"countersign/internal/facts"
	"countersign/internal/grant"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// Executor is what reader and scribe are started with: each is one person's.
type Executor struct {
	Person     string
	PolicyFile string
	KeeperUID  uint32
	Git        string // path of the git to run; empty looks in the usual places
	Socket     int    // handle of the listening socket, from `up`; else -1
	ReadyPipe  int    // handle of the pipe that hears of readiness, from `up`; else -1
}

// Define adds the flags to a set. Passed handles are optional.
func (e *Executor) Define(f *flag.FlagSet) {
	f.StringVar(&e.Person, "person", "", "name of the person, as in the policy")
	f.StringVar(&e.PolicyFile, "policy", "", "policy file")
	f.Func("keeper", "the keeper's user, by name or uid", func(s string) error { return parseUser(s, &e.KeeperUID) })
	f.StringVar(&e.Git, "git", "", "path of the git to run, where it is not in a usual place")
	f.IntVar(&e.Socket, "socket", -1, "under `countersign up`: handle of the listening socket")
	f.IntVar(&e.ReadyPipe, "ready", -1, "under `countersign up`: handle of the pipe that is told when it serves")
}

// ExecutorOptional names the flags that a service manager does without.
func ExecutorOptional() []string { return []string{"git", "socket", "ready"} }

const executorSocket = "executor"

// Take takes what was passed to an executor.
func (e *Executor) Take(log *slog.Logger) (*Passed, error) {
	return Take(Handles{Sockets: map[string]int{executorSocket: e.Socket}, Ready: e.ReadyPipe}, log)
}

// Load reads the policy, and refuses to be anybody but the person it is for.
func (e *Executor) Load() (*policy.Policy, *policy.Person, error) {
	p, err := policy.Load(e.PolicyFile)
	if err != nil {
		return nil, nil, err
	}
	person := p.Persons[e.Person]
	if person == nil {
		return nil, nil, fmt.Errorf("the policy has no person %q", e.Person)
	}
	if uid := uint32(os.Geteuid()); uid != person.UID {
		return nil, nil, fmt.Errorf("running as uid %d, and %s is uid %d", uid, person.Name, person.UID)
	}
	return p, person, nil
}

// Roots gives the directories of grants, as the policy names them.
func Roots(grants []grant.Grant) []string {
	roots := make([]string, len(grants))
	for i, g := range grants {
		roots[i] = g.Root
	}
	return roots
}

// Homes gives the homes of every person of the policy but one, which no wall may
// leave open. For the keeper there is no such one.
func Homes(p *policy.Policy, but *policy.Person) []string {
	var homes []string
	for _, name := range slices.Sorted(maps.Keys(p.Persons)) {
		if p.Persons[name] != but {
			homes = append(homes, string(p.Persons[name].Home))
		}
	}
	return homes
}

// Work makes the work of an executor: one table on its one socket, closed once
// what it stands on changed, and with the method by which the keeper asks for
// its walls.
func (e *Executor) Work(p *Passed, pol *policy.Policy, w *Watch, idle *Idle, walls []string, git protocol.GitRun, admit func(wire.Caller) error, methods map[string]wire.Method) (*Work, error) {
	methods[protocol.ExecutorStatus] = wire.Method{
		May: Only(e.KeeperUID, protocol.ExecutorStatus), Limit: 1 << 10, Cancel: true,
		Handle: wire.Typed(func(context.Context, wire.Caller, struct{}) (protocol.ExecutorStatusResult, error) {
			return protocol.ExecutorStatusResult{Policy: pol.Digest, UID: uint32(os.Geteuid()), PID: uint64(os.Getpid()), Walls: walls, Git: &git}, nil
		}),
	}
	server, err := wire.New(wire.Config{
		Name: w.name, Log: p.Log, Methods: idle.Count(w.Guard(methods)), Admit: admit, Refused: LogRefused(p.Log),
	})
	if err != nil {
		return nil, err
	}
	return &Work{Walls: walls, Idle: idle, Serve: func(ctx context.Context) error {
		return server.Serve(ctx, p.Sockets[executorSocket])
	}}, nil
}

// Finder finds facts in a person's home, with the bounds that the policy
// gives keeper, reader and scribe alike. It asks for the process's groups, which
// no list of calls lets it do later.
func Finder(p *policy.Policy, person *policy.Person) (facts.Finder, error) {
	more, err := os.Getgroups()
	if err != nil {
		return facts.Finder{}, fmt.Errorf("asking for the process's groups: %w", err)
	}
	groups := []uint32{uint32(os.Getegid())}
	for _, g := range more {
		groups = append(groups, uint32(g))
	}
	return facts.Finder{
		UID: person.UID, Groups: groups, Home: string(person.Home), Grants: person.Grants, Keep: p.Limits.AutoBytes,
		Patience: new(beneath.Patience), Linked: p.Linked(),
	}, nil
}

// Only lets one uid in, and refuses every other by name.
func Only(uid uint32, what string) func(wire.Caller) error {
	return func(c wire.Caller) error {
		if c.UID == uid {
			return nil
		}
		return refusal.New(refusal.NotPermitted, what, "it answers the keeper alone, and this is uid %d", c.UID)
	}
}

// LogRefused logs callers that were turned away.
func LogRefused(log *slog.Logger) func(wire.Caller, *refusal.Refusal, int) {
	return func(c wire.Caller, why *refusal.Refusal, n int) {
		log.Warn("refused a caller", "uid", c.UID, "pid", c.PID, "code", string(why.Code), "count", n)
	}
}
