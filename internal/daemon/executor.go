package daemon

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"

	"countersign/internal/facts"
	"countersign/internal/policy"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// Executor is what reader and scribe are started with: each is one person's.
type Executor struct {
	Person     string
	PolicyFile string
	KeeperUID  uint32
	Socket     int // handle of the listening socket
	ReadyPipe  int // handle of the pipe that hears of readiness
}

// Define adds the flags to a set.
func (e *Executor) Define(f *flag.FlagSet) {
	f.StringVar(&e.Person, "person", "", "name of the person, as in the policy")
	f.StringVar(&e.PolicyFile, "policy", "", "policy file")
	f.Func("keeper-uid", "uid of the keeper", func(s string) error { return parseUID(s, &e.KeeperUID) })
	f.IntVar(&e.Socket, "socket", -1, "handle of the listening socket")
	f.IntVar(&e.ReadyPipe, "ready", -1, "handle of the pipe that is told when it serves")
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

// Serve says ready and serves until ctx ends.
func (e *Executor) Serve(ctx context.Context, s *wire.Server, l *net.UnixListener) error {
	if err := Ready(e.ReadyPipe); err != nil {
		return err
	}
	return s.Serve(ctx, l)
}

// Finder finds facts in a person's home, with the bounds that the policy
// gives keeper, reader and scribe alike.
func Finder(p *policy.Policy, person *policy.Person) facts.Finder {
	return facts.Finder{UID: person.UID, Home: string(person.Home), Grants: person.Grants, Keep: p.Limits.AutoBytes}
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
