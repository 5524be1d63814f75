package main

import (
	"context"

	"countersign/internal/broker"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// proposers lets in agents, and persons who propose for themselves.
func proposers(p *policy.Policy) func(wire.Caller) error {
	return func(c wire.Caller) error {
		if p.AgentByUID(c.UID) != nil || p.PersonByUID(c.UID) != nil {
			return nil
		}
		return refusal.New(refusal.NotPermitted, "proposing", "uid %d is no agent and no person of the policy", c.UID)
	}
}

// owners lets in persons who decide for some home. An agent's uid is none of
// them, wherever it is listed, unless the policy is unseparated.
func owners(p *policy.Policy) func(wire.Caller) error {
	return func(c wire.Caller) error {
		for name := range p.Persons {
			if p.OwnerOf(c.UID, name) {
				return nil
			}
		}
		return refusal.New(refusal.NotPermitted, "consent", "uid %d decides for nobody's home", c.UID)
	}
}

// small bounds params that hold an ID and a few words.
const small = 16 << 10

// actTable is what agents may ask of the keeper.
func actTable(b *broker.Broker, p *policy.Policy) map[string]wire.Method {
	own := func(c wire.Caller) func(protocol.Transaction) bool { return broker.Own(c.UID) }
	t := asking(b, proposers(p), own)
	t[protocol.Act] = method(proposers(p), 0, func(ctx context.Context, c wire.Caller, in protocol.ActParams) (protocol.Transaction, error) {
		return b.Act(ctx, c.UID, in)
	})
	t[protocol.Withdraw] = method(proposers(p), small, func(_ context.Context, c wire.Caller, in protocol.IDParams) (protocol.Transaction, error) {
		return b.Withdraw(c.UID, in.ID)
	})
	t[protocol.Await] = reading(proposers(p), func(ctx context.Context, c wire.Caller, in protocol.IDParams) (protocol.Transaction, error) {
		return b.Await(ctx, c.UID, in.ID)
	})
	return t
}

// consentTable is what owners may ask of the keeper.
func consentTable(b *broker.Broker, p *policy.Policy) map[string]wire.Method {
	decides := func(c wire.Caller) func(protocol.Transaction) bool { return b.Decides(c.UID) }
	t := asking(b, owners(p), decides)
	t[protocol.Decide] = method(owners(p), small, func(ctx context.Context, c wire.Caller, in protocol.DecideParams) (protocol.Transaction, error) {
		return b.Decide(ctx, c.UID, in)
	})
	t[protocol.Undo] = method(owners(p), small, func(ctx context.Context, c wire.Caller, in protocol.UndoParams) (protocol.Transaction, error) {
		return b.Undo(ctx, c.UID, in)
	})
	t[protocol.Watch] = large(reading(owners(p), func(ctx context.Context, c wire.Caller, in protocol.WatchParams) (protocol.WatchResult, error) {
		return b.Watch(ctx, in, decides(c))
	}))
	t[protocol.Verify] = reading(owners(p), func(ctx context.Context, _ wire.Caller, _ none) (protocol.VerifyResult, error) {
		return b.Verify(ctx)
	})
	t[protocol.Status] = reading(owners(p), func(ctx context.Context, c wire.Caller, _ none) (protocol.StatusResult, error) {
		return b.Status(ctx, c.UID), nil
	})
	for _, name := range []string{protocol.Allow, protocol.Revoke} {
		t[name] = method(owners(p), small, func(context.Context, wire.Caller, none) (none, error) {
			return none{}, refusal.New(refusal.NotYet, name, "standing consents; decide each action by itself")
		})
	}
	return t
}

// asking is what both sockets answer, each about what its caller may see.
func asking(b *broker.Broker, may func(wire.Caller) error, sees func(wire.Caller) func(protocol.Transaction) bool) map[string]wire.Method {
	return map[string]wire.Method{
		protocol.Pending: large(reading(may, func(_ context.Context, c wire.Caller, in protocol.PendingParams) (protocol.ListResult, error) {
			return b.Pending(in, sees(c)), nil
		})),
		protocol.Show: large(reading(may, func(ctx context.Context, c wire.Caller, in protocol.IDParams) (protocol.ShowResult, error) {
			return b.Show(ctx, in.ID, sees(c))
		})),
		protocol.Log: large(reading(may, func(ctx context.Context, c wire.Caller, in protocol.LogParams) (protocol.ListResult, error) {
			return b.Log(ctx, in, sees(c))
		})),
	}
}

// none is params without any.
type none struct{}

// method is a row that runs to its end whatever its caller does.
func method[P, R any](may func(wire.Caller) error, limit int, f func(context.Context, wire.Caller, P) (R, error)) wire.Method {
	return wire.Method{May: may, Limit: limit, Handle: wire.Typed(f)}
}

// large marks a row whose reply may hold an action's whole content, or a long
// list.
func large(m wire.Method) wire.Method {
	m.Large = true
	return m
}

// reading is a row that only reads or waits, and ends when its caller goes.
func reading[P, R any](may func(wire.Caller) error, f func(context.Context, wire.Caller, P) (R, error)) wire.Method {
	return wire.Method{May: may, Limit: small, Cancel: true, Handle: wire.Typed(f)}
}
