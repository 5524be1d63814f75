package vault

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"countersign/internal/action"
	"countersign/internal/journal"
	"countersign/internal/refusal"
)

const (
	// Inline is the size, in bytes, up to which a capture is a body of its
	// intent's record.
	Inline = 1 << 20
	// MaxContent is the size, in bytes, over which nothing is captured.
	MaxContent = 8 << 20
	// Role is the role of a body that is a capture.
	Role = "capture"
)

var (
	// ErrNotHeld says that this person's vault has no such content.
	ErrNotHeld = errors.New("the vault does not hold it")
	// ErrDamaged says that the vault held it and its bytes are gone or not
	// what they were. It is no longer held: the next Prepare keeps it anew.
	ErrDamaged = errors.New("what the vault held is damaged")
)

// Bodies reads a body of the journal and checks its hash; *journal.Journal
// does. It may be called from several goroutines at once.
type Bodies interface {
	ReadBody(journal.Ref) ([]byte, error)
}

// Config says where a vault lies. Dir, Bodies and Quota are needed.
type Config struct {
	// Dir holds the larger captures. It exists already, and only the keeper
	// can enter it.
	Dir string
	// Bodies reads the smaller ones.
	Bodies Bodies
	// Quota is how many bytes are kept for one person, in the journal and in
	// files together. Captures that are prepared at the same moment may carry
	// it over by what those under Inline take.
	Quota int64
	// Sync returns when a file is on disk, SyncDir when a directory's names
	// are. Default fsync. Seams for faults.
	Sync, SyncDir func(*os.File) error
	// Log hears of system errors and leftovers. Default: nobody.
	Log *slog.Logger
}

// Vault is safe for use from several goroutines at once.
type Vault struct {
	cfg Config

	mu      sync.Mutex
	persons map[string]*shelf
}

// shelf is one person's part.
type shelf struct {
	held map[action.Hash]place
	used int64 // bytes held, and those of files being written
	made bool  // the directory stands, its name on disk
}

// place is where a content stands: a file where ref has no role.
type place struct {
	size int64
	ref  journal.Ref
}

func (p place) inFile() bool { return p.ref.Role == "" }

// Held is a capture that Prepare accepted.
type Held struct {
	Hash action.Hash
	Size int64
	// Body goes into the intent's record, and the Ref that the journal gave
	// for it to Note once the record is on disk. It is nil where the content
	// is on disk already.
	Body *journal.Body
}

// Open opens the vault in cfg.Dir. It lists the files there, removes what
// interrupted writes left, and syncs the directories. The caller replays the
// journal's captures into it with Note before it is used.
func Open(cfg Config) (*Vault, error) {
	if cfg.Sync == nil {
		cfg.Sync = (*os.File).Sync
	}
	if cfg.SyncDir == nil {
		cfg.SyncDir = (*os.File).Sync
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	v := &Vault{cfg: cfg, persons: map[string]*shelf{}}
	if err := v.list(); err != nil {
		return nil, fmt.Errorf("opening the vault: %w", err)
	}
	return v, nil
}

// shelf gives a person's part; the caller holds mu.
func (v *Vault) shelf(person string) *shelf {
	s := v.persons[person]
	if s == nil {
		s = &shelf{held: map[action.Hash]place{}}
		v.persons[person] = s
	}
	return s
}

// Note says that a body of the journal, which is on disk, holds a capture of
// this person's. Of several bodies with one content the last noted stands.
func (v *Vault) Note(person string, ref journal.Ref) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.shelf(person)
	p, ok := s.held[ref.Hash]
	if !ok {
		s.used += ref.Size
	}
	if !ok || !p.inFile() {
		s.held[ref.Hash] = place{size: ref.Size, ref: ref}
	}
}

// Room says whether Prepare would accept this content now.
func (v *Vault) Room(person string, hash action.Hash, size int64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.shelf(person)
	_, held := s.held[hash]
	return held || size <= MaxContent && size <= v.cfg.Quota-s.used
}

// Used gives how many bytes are kept for a person.
func (v *Vault) Used(person string) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.shelf(person).used
}

// Prepare sees to it that content can be kept for a person, before the intent
// that would replace it. Content that is held is not kept twice. What is over
// MaxContent, over the quota, or cannot be put on disk is a refusal,
// not-captured; nothing counts on what that may have left.
func (v *Vault) Prepare(person string, content []byte) (Held, error) {
	if !personOK(person) {
		return Held{}, fmt.Errorf("[unexpected] a person named %q", person)
	}
	h := Held{Hash: action.HashOf(content), Size: int64(len(content))}
	if h.Size > MaxContent {
		return Held{}, notCaptured("it is %d bytes, of at most %d", h.Size, MaxContent)
	}
	held, err := v.reserve(person, h)
	if held || err != nil {
		return h, err
	}
	if h.Size <= Inline {
		h.Body = &journal.Body{Role: Role, Data: content}
		return h, nil
	}
	err = v.write(person, h.Hash, content)
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.shelf(person)
	_, twice := s.held[h.Hash]
	if err != nil || twice {
		s.used -= h.Size
	}
	if err != nil {
		v.cfg.Log.Error("vault: a capture could not be kept", "person", person, "size", h.Size, "err", err)
		return Held{}, notCaptured("%v", cause(err))
	}
	if !twice {
		s.held[h.Hash] = place{size: h.Size}
	}
	return h, nil
}

// reserve says whether the content is held, and where it is not, takes the
// room that a file needs. A body takes its room when it is noted.
func (v *Vault) reserve(person string, h Held) (held bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.shelf(person)
	if _, held = s.held[h.Hash]; held {
		return true, nil
	}
	if h.Size > v.cfg.Quota-s.used {
		return false, notCaptured("%d bytes are kept for %s, of at most %d, and this takes %d", s.used, person, v.cfg.Quota, h.Size)
	}
	if h.Size > Inline {
		s.used += h.Size
	}
	return false, nil
}

// Get gives a person's captured content, checked against its hash: ErrNotHeld
// where it is not theirs, ErrDamaged where it can be read no more, or the
// system's error.
func (v *Vault) Get(person string, hash action.Hash) ([]byte, error) {
	if !personOK(person) {
		return nil, fmt.Errorf("[unexpected] a person named %q", person)
	}
	v.mu.Lock()
	p, ok := v.shelf(person).held[hash]
	v.mu.Unlock()
	if !ok {
		return nil, ErrNotHeld
	}
	content, err := v.read(person, hash, p)
	var broken *journal.Broken
	if errors.As(err, &broken) || errors.Is(err, os.ErrNotExist) || err == nil && action.HashOf(content) != hash {
		v.forget(person, hash)
		return nil, errors.Join(ErrDamaged, err)
	}
	return content, err
}

func (v *Vault) forget(person string, hash action.Hash) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.shelf(person)
	s.used -= s.held[hash].size
	delete(s.held, hash)
}

func notCaptured(why string, args ...any) error {
	return refusal.New(refusal.NotCaptured, "capture", why, args...)
}

// cause takes the path off a system error: it is the keeper's own.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}
