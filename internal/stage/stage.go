package stage

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
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
	AutoBytes int    // most content in an action policy lands alone, in bytes

	// At is called before each step that changes disk, for tests that put
	// another writer at an exact instant; nil does nothing.
	At func(Step)
	// Sync puts a file or directory on disk; nil is fsync.
	Sync func(*os.File) error
}

// Step is an instant in a change.
type Step string

// The steps, in their order.
const (
	Create   Step = "create"
	Write    Step = "write"
	Exchange Step = "exchange"
	Verify   Step = "verify"
	TakeBack Step = "take-back"
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

// New makes a stager.
func New(cfg Config) *Stager {
	if cfg.At == nil {
		cfg.At = func(Step) {}
	}
	if cfg.Sync == nil {
		cfg.Sync = (*os.File).Sync
	}
	return &Stager{cfg: cfg, settled: make(map[action.ID]bool)}
}

var stagedName = regexp.MustCompile(`^\.countersign-[0-9a-f]{16}$`)

// change is one path of an intent on its way to disk.
type change struct {
	*Stager
	what    string
	place   *beneath.Place // the target
	aside   *beneath.Place // the staged name beside it
	fact    action.Fact    // as captured, and found again here
	planned action.Planned
}

// Carry carries an intent out. An error is a refusal, and nothing was changed.
// Files that were displaced and could not be put back are handed over with the
// outcome, open for reading; the caller closes them. Whatever fails once the
// change has landed is told in the outcome, and does not make it an error.
//
// When it returns landed, the file and its directory are on disk, unless the
// outcome says that a sync failed.
func (s *Stager) Carry(in protocol.Intent) (protocol.Outcome, []*os.File, error) {
	if err := s.check(in); err != nil {
		return protocol.Outcome{}, nil, err
	}
	if err := s.bounded(in); err != nil {
		return protocol.Outcome{}, nil, err
	}
	found, err := s.cfg.Finder.Find(grant.Write, in.Facts[0].Path)
	if err != nil {
		return protocol.Outcome{}, nil, err
	}
	defer found.Close()
	defer s.locks.lock(found.Place.Landing())()
	if s.isSettled(in.ID) {
		return protocol.Outcome{}, nil, refusal.New(refusal.WrongState, "intent "+string(in.ID), "it was settled before it arrived")
	}
	c, err := s.plan(in, found)
	if err != nil {
		return protocol.Outcome{}, nil, err
	}
	if err := found.Replaced(); err != nil {
		return protocol.Outcome{}, nil, err
	}
	switch c.planned.Does {
	case action.Creates:
		return c.create()
	case action.Deletes:
		return c.remove()
	}
	return c.replace()
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
		if in.Facts[i].Path != paths[i] || (r.Hash == nil) != r.Absent || r.Absent && in.Facts[i].Base.Version == nil {
			return refusal.New(refusal.BadRequest, what, "what it captured or planned does not fit its action")
		}
	}
	for i, name := range in.Staged {
		if !stagedName.MatchString(name) || slices.Contains(in.Staged[:i], name) {
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

// plan finds the facts again, plans again, and compares both with what the
// keeper decided on. Any difference touches nothing.
func (s *Stager) plan(in protocol.Intent, found *facts.Found) (*change, error) {
	before, file, err := s.cfg.Finder.Look(found)
	if err != nil {
		return nil, err
	}
	if file != nil {
		defer file.Close()
	}
	what, given := found.Path.String(), in.Facts[0]
	if !before.Fact.Base.Same(given.Base) {
		return nil, refusal.New(refusal.Changed, what, "")
	}
	if before.Fact.Real != given.Real || !slices.Equal(before.Fact.NotKept, given.NotKept) {
		return nil, refusal.New(refusal.Differs, what, "where it lands, or what it would lose")
	}
	plans, err := in.Action.Plan([]action.Before{before}, s.cfg.Umask)
	if err != nil {
		return nil, err
	}
	if !plans[0].Result.SameResult(in.Results[0]) {
		return nil, refusal.New(refusal.Differs, what, "the content")
	}
	if in.Approved != nil {
		if h, err := action.DetailOf(plans).Hash(); err != nil || h != *in.Approved {
			return nil, refusal.New(refusal.Differs, what, "what the owner was shown")
		}
	}
	if err := s.writable(what, found.Place, before.Fact); err != nil {
		return nil, err
	}
	return &change{
		Stager: s, what: what, fact: before.Fact, planned: plans[0],
		place: found.Place, aside: found.Place.Beside(in.Staged[0]),
	}, nil
}

// writable refuses what the person could not write by hand: a rename would be
// a way round the file's own mode.
func (s *Stager) writable(what string, p *beneath.Place, f action.Fact) error {
	if len(f.NotKept) > 0 {
		return refusal.New(refusal.NotKept, what, "%v", f.NotKept)
	}
	if v := f.Base.Version; v != nil && v.Mode&unix.S_IWUSR == 0 {
		return refusal.New(refusal.NotWritable, what, "the file's mode is %04o", v.Mode)
	}
	err := unix.Faccessat(int(p.Dir.Fd()), ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	if errors.Is(err, unix.EACCES) {
		return refusal.New(refusal.NotWritable, what, "its directory is not the person's to write")
	}
	if err != nil {
		return beneath.Refuse(what, err)
	}
	return nil
}

func (s *Stager) isSettled(id action.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled[id]
}

// landings are locks by landing. The zero value is ready.
type landings struct {
	mu   sync.Mutex
	held map[action.Landing]*landing
}

type landing struct {
	sync.Mutex
	users int
}

// lock waits for the landing and gives the call that lets go of it.
func (l *landings) lock(at action.Landing) (unlock func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = make(map[action.Landing]*landing)
	}
	h := l.held[at]
	if h == nil {
		h = &landing{}
		l.held[at] = h
	}
	h.users++
	l.mu.Unlock()
	h.Lock()
	return func() {
		h.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(l.held, at)
		}
	}
}
