package stage

import (
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/facts"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Config says whose files are changed, within which bounds.
type Config struct {
	Finder    facts.Finder
	Umask     uint32 // the person's
	AskedText int    // most new text in an action an owner approved, in bytes
	AutoBytes int    // most content in an action policy lands alone, in bytes; also most old content of one action that is kept
	Log       *slog.Logger

	// At is called before each step that changes disk or settles what is
	// changed, with the path it is for: a test puts another writer there, or
	// ends the process. An error is the step's. Nil does nothing.
	At func(Step, action.Path) error
	// Sync puts a file or directory on disk; nil is fsync.
	Sync func(*os.File) error
	// Lease takes a read lease on a file; nil is F_SETLEASE.
	Lease func(*os.File) error
	// Hold is how long leases may be held; 0 is a second, which is what
	// another program's open for writing waits at most.
	Hold time.Duration
	// Now is the clock that Hold is measured by; nil is the system's.
	Now func() time.Time
}

// Step is an instant in a change.
type Step string

// The steps, in their order. A change of several files takes the first four
// with every file before it takes the others with any.
const (
	MakeDir  Step = "make-directory"
	Create   Step = "create"
	Write    Step = "write"
	Hold     Step = "hold"
	Exchange Step = "exchange"
	Verify   Step = "verify"
	TakeBack Step = "take-back"
	PutBack  Step = "put-back"
	Unlink   Step = "unlink"
	SyncDir  Step = "sync-directory"
)

// Stager carries out intents, those of one landing one after another.
type Stager struct {
	cfg   Config
	locks landings

	mu      sync.Mutex
	settled map[action.ID]bool
}

// New makes a stager. It sets the process's umask to none: modes are given
// whole here, from the person's umask.
func New(cfg Config) *Stager {
	unix.Umask(0)
	if cfg.At == nil {
		cfg.At = func(Step, action.Path) error { return nil }
	}
	if cfg.Sync == nil {
		cfg.Sync = (*os.File).Sync
	}
	if cfg.Lease == nil {
		cfg.Lease = setLease
	}
	if cfg.Hold == 0 {
		cfg.Hold = time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Stager{cfg: cfg, settled: make(map[action.ID]bool)}
}

// Carry carries an intent out, all its changes or none. An error is a refusal,
// and nothing was changed. Files that were displaced and could not be put back
// are handed over with the outcome, open for reading; the caller closes them.
// Whatever fails once the change has landed is told in the outcome, and does not
// make it an error.
//
// When it returns landed, the files and their directories are on disk, unless
// the outcome says that a sync failed.
func (s *Stager) Carry(in protocol.Intent) (protocol.Outcome, []*os.File, error) {
	if err := s.check(in); err != nil {
		return protocol.Outcome{}, nil, err
	}
	if err := s.bounded(in); err != nil {
		return protocol.Outcome{}, nil, err
	}
	w, err := s.find(in, in.Action.Targets())
	if err != nil {
		return protocol.Outcome{}, nil, err
	}
	defer w.close()
	defer s.locks.lock(landingsOf(in))()
	if s.isSettled(in.ID) {
		return protocol.Outcome{}, nil, refusal.New(refusal.WrongState, "intent "+string(in.ID), "it was settled before it arrived")
	}
	if err := w.plan(); err != nil {
		return protocol.Outcome{}, nil, err
	}
	return w.carry()
}

// check refuses an intent that is malformed.
func (s *Stager) check(in protocol.Intent) error {
	what := "intent " + string(in.ID)
	if err := in.Action.Validate(); err != nil {
		return err
	}
	if err := in.Action.CarriedOut(); err != nil {
		return err
	}
	paths := in.Action.Paths()
	n := len(paths)
	if !in.ID.Valid() || len(in.Facts) != n || len(in.Results) != n || len(in.Staged) != n {
		return refusal.New(refusal.BadRequest, what, "its lists do not fit its action")
	}
	for i, r := range in.Results {
		if in.Facts[i].Path != paths[i] || in.Facts[i].Resolved().Validate() != nil || (r.Hash == nil) != r.Absent || r.Absent && in.Facts[i].Base.Version == nil {
			return refusal.New(refusal.BadRequest, what, "what it captured or planned does not fit its action")
		}
	}
	names := slices.Sorted(slices.Values(in.Staged))
	for i, name := range names {
		if !grant.IsStagedName(name) || i > 0 && name == names[i-1] {
			return refusal.New(refusal.BadRequest, what, "a staged name is malformed")
		}
	}
	return nil
}

// bounded refuses an intent with more new text than policy lets anybody
// decide. An intent that is settled was within the bounds of its time.
func (s *Stager) bounded(in protocol.Intent) error {
	what := "intent " + string(in.ID)
	if n := in.Action.NewText(); in.Approved != nil && n > s.cfg.AskedText {
		return refusal.New(refusal.TooLongToAsk, what, "%d bytes", n)
	} else if n > s.cfg.AutoBytes {
		return refusal.New(refusal.TooLongToAuto, what, "%d bytes", n)
	}
	return nil
}

func (s *Stager) isSettled(id action.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled[id]
}
