package action

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"
)

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// HashOf hashes content.
func HashOf(b []byte) Hash { return sha256.Sum256(b) }

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads hex of the full length.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) != 2*len(h) {
		return fmt.Errorf("a hash has %d hex digits", 2*len(h))
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// ID names a proposal and the transaction it becomes: 13 characters of the
// keeper's making, random, no secret.
type ID string

const idLetters = "abcdefghijkmnpqrstuvwxyz23456789"

var idForm = base32.NewEncoding(idLetters).WithPadding(base32.NoPadding)

// NewID makes an ID.
func NewID() ID {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return ID(idForm.EncodeToString(b[:]))
}

// Valid says whether id has the form of an ID.
func (id ID) Valid() bool {
	return len(id) == 13 && strings.Trim(string(id), idLetters) == ""
}

// Landing is where a path leads: the directory that holds the name, and the
// name as disk has it. Where directories on the way are missing, Dev and Ino
// are those of the last one that is there, and Name begins with the missing
// ones. Two paths with one landing are one place.
type Landing struct {
	Dev  uint64 `cbor:"dev" json:"dev"`
	Ino  uint64 `cbor:"ino" json:"ino"`
	Name Path   `cbor:"name" json:"name"`
}

// Kind is what sort of entry stands at a path.
type Kind string

// The kinds that an action changes. The content of a symbolic link is what it
// points to.
const (
	Regular Kind = ""
	Symlink Kind = "link"
)

// Version is a file as it was found: its content and its whole stat. Times are
// nanoseconds since 1970.
type Version struct {
	Kind  Kind   `cbor:"kind,omitempty" json:"kind,omitempty"`
	Hash  Hash   `cbor:"hash" json:"hash"`
	Size  uint64 `cbor:"size" json:"size"`
	Mode  uint32 `cbor:"mode" json:"mode"` // permission and set-id bits
	UID   uint32 `cbor:"uid" json:"uid"`
	GID   uint32 `cbor:"gid" json:"gid"`
	Dev   uint64 `cbor:"dev" json:"dev"`
	Ino   uint64 `cbor:"ino" json:"ino"`
	Links uint64 `cbor:"links" json:"links"`
	Mtime int64  `cbor:"mtime" json:"mtime"`
	Ctime int64  `cbor:"ctime" json:"ctime"`
}

// Base is what a path had when it was captured: where it lands, and the
// regular file there, or none.
type Base struct {
	Landing Landing  `cbor:"landing" json:"landing"`
	Version *Version `cbor:"version,omitempty" json:"version,omitempty"`
}

// SameContent compares for consent, for expect and for undo: what a person
// would call the same file in the same place. A touch or a backup changes
// nothing of it.
func (b Base) SameContent(o Base) bool {
	if b.Landing != o.Landing || (b.Version == nil) != (o.Version == nil) {
		return false
	}
	if b.Version == nil {
		return true
	}
	v, w := b.Version, o.Version
	return v.Kind == w.Kind && v.Hash == w.Hash && v.Mode == w.Mode && v.UID == w.UID && v.GID == w.GID
}

// Same compares a capture against disk before an exchange: the content and the
// whole stat.
func (b Base) Same(o Base) bool {
	if b.Landing != o.Landing || (b.Version == nil) != (o.Version == nil) {
		return false
	}
	return b.Version == nil || *b.Version == *o.Version
}

// SameDisplaced compares a captured file with the one that an exchange moved
// aside. The exchange itself changes the ctime; a count of links is no change
// of the file.
func (v Version) SameDisplaced(o Version) bool {
	v.Ctime, o.Ctime = 0, 0
	v.Links, o.Links = 0, 0
	return v == o
}
