package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"countersign/internal/action"
	"countersign/internal/journal"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/vault"
	"countersign/internal/wire/client"
)

// Config says what a broker works with. Every field but Now is needed.
type Config struct {
	Policy *policy.Policy
	State  string           // the keeper's own directory; holds journal and vault
	Run    string           // where the readers' and scribes' sockets are
	Walls  []string         // what stands around this process, for its status
	Now    func() time.Time // for expiry and the journal; nil is time.Now
	Log    *slog.Logger
}

// Broker carries actions along the road. It is safe for concurrent use.
type Broker struct {
	cfg     Config
	journal *journal.Journal
	found   journal.Recovery
	vault   *vault.Vault
	ledger  *ledger
	hands   map[string]*hands // by person
	places  places
	failed  chan error // the one fault that ends the keeper
	floods  floods

	refusals, asked budget
	work            sync.WaitGroup
	queue           chan func(context.Context) // for the background
	looks           chan struct{}              // holds a token for each look back that is under way
}

// later hands work to the background, where it runs until it ends or the
// keeper stops; what is not done by then the next start finds.
func (b *Broker) later(f func(context.Context)) { b.queue <- f }

func (b *Broker) background(ctx context.Context) {
	for {
		select {
		case f := <-b.queue:
			b.work.Go(func() { f(ctx) })
		case <-ctx.Done():
			return
		}
	}
}

const (
	// atOnce is how many actions of one person are under way together.
	atOnce = 16
	// ownersOwn is how many of those places agents cannot take.
	ownersOwn = 4
	// looksAtOnce is how many landed actions are worked out again together, for
	// those who look at them.
	looksAtOnce = 4
	// queueFor is how long an action waits for a place, or for another action
	// on the same path, before it is refused as busy.
	queueFor = 30 * time.Second
	// attempts is how often an action that policy lands is planned on what
	// disk holds by then.
	attempts = 3
	// patience is how long a caller waits for an intent to be settled whose
	// scribe went away, before it is told that this goes on without it.
	patience = 10 * time.Second
	// readWithin and landWithin are how long a reader and a scribe may take to
	// answer. A scribe that took longer may still carry out what it was given:
	// the intent is then settled, behind that.
	readWithin = 30 * time.Second
	landWithin = 60 * time.Second
)

// hands are a person's two processes, as the keeper reaches them, and the
// places for what is under way with them: agents leave some to the owner.
type hands struct {
	reader, scribe *client.Pool
	all, forAgents chan struct{}
}

// Open replays the journal and starts settling what was interrupted. It
// refuses a state directory that is not the keeper's own.
func Open(ctx context.Context, cfg Config) (*Broker, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	b := &Broker{
		cfg: cfg, ledger: newLedger(), hands: make(map[string]*hands),
		failed: make(chan error, 1), queue: make(chan func(context.Context), 1024),
		refusals: refusedBudget(), asked: askedBudget(), looks: make(chan struct{}, looksAtOnce),
	}
	for name := range cfg.Policy.Persons {
		b.hands[name] = &hands{
			reader: client.NewPool(client.Config{Path: filepath.Join(cfg.Run, "readers", name+".sock"), Timeout: readWithin}, atOnce),
			scribe: client.NewPool(client.Config{Path: filepath.Join(cfg.Run, "scribes", name+".sock"), Timeout: landWithin}, atOnce),
			all:    make(chan struct{}, atOnce), forAgents: make(chan struct{}, atOnce-ownersOwn),
		}
	}
	if err := b.openStore(); err != nil {
		return nil, err
	}
	b.settleAll(ctx)
	b.work.Go(func() { b.background(ctx) })
	b.work.Go(func() { b.expire(ctx) })
	b.work.Go(func() { b.witness(ctx) })
	return b, nil
}

func (b *Broker) openStore() error {
	journalDir, vaultDir := filepath.Join(b.cfg.State, "journal"), filepath.Join(b.cfg.State, "vault")
	for _, d := range []string{journalDir, vaultDir} {
		if err := os.Mkdir(d, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("making the keeper's state: %w", err)
		}
	}
	var captures []captured
	var err error
	b.journal, b.found, err = journal.Open(journal.Config{Dir: journalDir, Now: b.cfg.Now, Log: b.cfg.Log}, func(r journal.Record) error {
		if err := b.ledger.apply(r); err != nil {
			return err
		}
		captures = append(captures, b.capturesOf(r)...)
		return nil
	})
	if err != nil {
		return fmt.Errorf("opening the journal: %w", err)
	}
	b.vault, err = vault.Open(vault.Config{Dir: vaultDir, Bodies: b.journal, Quota: b.cfg.Policy.Keep.Size, Log: b.cfg.Log})
	if err != nil {
		b.journal.Close()
		return err
	}
	for _, c := range captures {
		b.vault.Note(c.person, c.ref)
	}
	return nil
}

type captured struct {
	person string
	ref    journal.Ref
}

// capturesOf finds the captures among a record's bodies.
func (b *Broker) capturesOf(r journal.Record) []captured {
	var out []captured
	_, view := b.ledger.get(action.ID(r.ID))
	for _, ref := range r.Bodies {
		if ref.Role == vault.Role {
			out = append(out, captured{view.Person, ref})
		}
	}
	return out
}

// Failed gives the fault after which the keeper must stop: the journal's.
func (b *Broker) Failed() <-chan error { return b.failed }

// Close waits for the work in the background, and closes the journal.
func (b *Broker) Close() error {
	b.work.Wait()
	b.sayHead()
	for _, h := range b.hands {
		h.reader.Close()
		h.scribe.Close()
	}
	return b.journal.Close()
}

// record puts entries on disk, and takes them into the ledger and the vault. A
// failure is a refusal: whatever was to follow is not done.
func (b *Broker) record(entries ...journal.Entry) error {
	return b.write(b.journal.Commit, entries)
}

// note is record without waiting for the disk, for what recovery would find out
// again.
func (b *Broker) note(entries ...journal.Entry) error {
	return b.write(b.journal.Append, entries)
}

func (b *Broker) write(how func(...journal.Entry) ([]journal.Record, error), entries []journal.Entry) error {
	if err := b.ledger.fits(entries); err != nil {
		return err
	}
	records, err := how(entries...)
	if refusal.As(err) != nil {
		return err // the journal cannot hold it, has written nothing, and is sound
	}
	if err == nil {
		err = b.ledger.apply(records...)
	}
	if err == nil {
		for _, r := range records {
			for _, c := range b.capturesOf(r) {
				b.vault.Note(c.person, c.ref)
			}
		}
	}
	if err != nil {
		b.cfg.Log.Error("journal", "error", err)
		select {
		case b.failed <- err:
		default:
		}
		return refusal.New(refusal.JournalFailed, "the action", "")
	}
	return nil
}

func entry(kind string, id action.ID, content any, bodies ...journal.Body) journal.Entry {
	return journal.Entry{Kind: kind, ID: string(id), Content: content, Bodies: bodies}
}

// RefusedPeer journals callers that a socket turned away, one record a minute
// for each uid and kind.
func (b *Broker) RefusedPeer(socket string, uid uint32, why *refusal.Refusal, n int) {
	key := fmt.Sprintf("%s %d %s", socket, uid, why.Code)
	if n := b.floods.count(key, uint64(n), b.cfg.Now()); n > 0 {
		b.note(entry(kindPeer, "", peer{Socket: socket, UID: uid, Count: n, Code: string(why.Code)}))
	}
}

// sayHead tells the log the head of the journal's chain, so that a journal
// rewritten later does not match what stands there.
func (b *Broker) sayHead() {
	seq, head := b.journal.Head()
	b.cfg.Log.Info("journal head", "records", seq, "head", head)
}

// witness says the head once a minute, where it moved.
func (b *Broker) witness(ctx context.Context) {
	var said uint64
	for {
		select {
		case <-time.After(time.Minute):
			if seq, _ := b.journal.Head(); seq != said {
				said = seq
				b.sayHead()
			}
		case <-ctx.Done():
			return
		}
	}
}

// Verify walks the whole journal.
func (b *Broker) Verify(ctx context.Context) (protocol.VerifyResult, error) {
	r, err := b.journal.Verify(ctx)
	var broken *journal.Broken
	if errors.As(err, &broken) {
		return protocol.VerifyResult{}, refusal.New(refusal.JournalBroken, "verifying the journal", "%v", broken)
	}
	if err != nil {
		return protocol.VerifyResult{}, err
	}
	return protocol.VerifyResult{
		Segments: uint64(r.Segments), Records: uint64(r.Records), Bodies: uint64(r.Bodies), Bytes: uint64(r.Bytes), Head: r.Head,
		Unseparated: b.cfg.Policy.Consent.Unseparated,
	}, nil
}
