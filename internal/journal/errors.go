package journal

import (
	"errors"
	"fmt"
)

var (
	// ErrFailed says that a write or a sync failed once. What is on disk is
	// unknown from then on, so the journal serves nothing more in this
	// process: the keeper stops, and the next Open looks at what is there.
	// A record whose Append or Commit gave it may stand or not.
	ErrFailed = errors.New("the journal failed")
	// ErrClosed says that Close was called.
	ErrClosed = errors.New("the journal is closed")
	// ErrLocked says that another process has this journal open.
	ErrLocked = errors.New("another process has the journal open")
	// ErrVersion says that a newer program wrote the journal. Nothing of it
	// was touched.
	ErrVersion = errors.New("the journal's format is newer than this program")
)

// Broken is damage that no crash explains: bytes that were proven to be on
// disk are not what they were, or the chain does not hold. Nothing is cut or
// repaired; a person is told.
type Broken struct {
	Segment string // the file's name
	Offset  int64  // bytes from its start to what does not hold
	Seq     uint64 // the record that should stand there; 0 where none is meant
	What    string

	torn bool // an interrupted write could have left this
}

// Error names the place and what is wrong with it.
func (b *Broken) Error() string {
	s := fmt.Sprintf("journal broken: segment %s, offset %d", b.Segment, b.Offset)
	if b.Seq != 0 {
		s += fmt.Sprintf(", record %d", b.Seq)
	}
	return s + ": " + b.What
}
