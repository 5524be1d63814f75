package protocol

import (
	"countersign/internal/action"
	"countersign/internal/refusal"
)

// Grep is the reader's method that searches the content of files.
const Grep = "executor.grep"

// GrepMode says what is told of a file that has matching lines.
type GrepMode string

const (
	GrepLines GrepMode = ""      // the lines
	GrepCount GrepMode = "count" // how many they are
	GrepFiles GrepMode = "files" // that there are some
)

// MaxGrepContext bounds the lines on either side of a match.
const MaxGrepContext = 50

// GrepParams asks for the lines that match a pattern in one file, or in what a
// walk meets beneath one directory.
type GrepParams struct {
	Path       action.Path `cbor:"path"`
	Pattern    string      `cbor:"pattern"`
	Literal    bool        `cbor:"literal,omitempty"`
	IgnoreCase bool        `cbor:"ignore-case,omitempty"`
	Word       bool        `cbor:"word,omitempty"`
	Context    uint64      `cbor:"context,omitempty"`
	Include    []string    `cbor:"include,omitempty"` // globs; none is every file
	Exclude    []string    `cbor:"exclude,omitempty"`
	All        bool        `cbor:"all,omitempty"` // what walks pass over, too
	Mode       GrepMode    `cbor:"mode,omitempty"`
	Limit      uint64      `cbor:"limit,omitempty"` // matches in one answer; 0 is as many as fit
	// After and AfterLine go on behind a place, as Next and NextLine of the part
	// before named it.
	After     action.Path `cbor:"after,omitempty"`
	AfterLine uint64      `cbor:"after-line,omitempty"`
}

// GrepResult is one part of an answer, in path order.
type GrepResult struct {
	Policy   action.Hash   `cbor:"policy" json:"policy"`
	Files    []GrepFile    `cbor:"files" json:"files"`
	Skipped  []GrepSkipped `cbor:"skipped" json:"skipped"`   // files that were not searched
	Searched uint64        `cbor:"searched" json:"searched"` // files, to their end
	Matches  uint64        `cbor:"matches" json:"matches"`   // lines, or files where files are asked for
	Walked
	NextLine uint64 `cbor:"next-line,omitempty" json:"next_line,omitempty"` // where Next is a file that is not told to its end
}

// GrepFile is a file with matching lines.
type GrepFile struct {
	Path  action.Path `cbor:"path" json:"path"`
	Links uint64      `cbor:"links,omitempty" json:"links,omitempty"` // its names, where it has more than one
	Count uint64      `cbor:"count,omitempty" json:"count,omitempty"`
	Lines []GrepLine  `cbor:"lines,omitempty" json:"lines,omitempty"`
}

// GrepLine is a line without its end. What is not UTF-8 is in Bytes, and Text
// is empty then; of a long line only a part is there, and its size is told.
type GrepLine struct {
	Number uint64 `cbor:"number" json:"number"`
	Match  bool   `cbor:"match,omitempty" json:"match,omitempty"` // not a line of context
	From   uint64 `cbor:"from,omitempty" json:"from,omitempty"`   // of the leftmost match, in bytes of the line
	To     uint64 `cbor:"to,omitempty" json:"to,omitempty"`
	Text   string `cbor:"text,omitempty" json:"text,omitempty"`
	Bytes  []byte `cbor:"bytes,omitempty" json:"bytes,omitempty"`
	At     uint64 `cbor:"at,omitempty" json:"at,omitempty"`     // where in the line the part begins
	Size   uint64 `cbor:"size,omitempty" json:"size,omitempty"` // of the whole line, where this is a part
}

// GrepSkipped is files of one directory, one behind the other in the walk, that
// were not searched for one reason: not-text for binary ones, or what reading
// them would be refused with.
type GrepSkipped struct {
	Dir   action.Path   `cbor:"dir" json:"dir"`
	Code  refusal.Code  `cbor:"code" json:"code"`
	Names []action.Path `cbor:"names" json:"names"`
}
