package protocol

import (
	"countersign/internal/action"
	"countersign/internal/refusal"
)

// What the reader answers agents, and the person.
const (
	Read      = "executor.read"
	ReadImage = "executor.read-image"
	List      = "executor.list"
	Glob      = "executor.glob"
	Stat      = "executor.stat"
)

// ReadParams asks for windows of text files, in their order; at most MaxFiles.
type ReadParams struct {
	Files []ReadWanted `cbor:"files"`
}

// MaxFiles bounds the files of one read or stat.
const MaxFiles = 64

// ReadWanted asks for lines of a text file; lines count from 1, and Lines of 0
// asks for as many as fit.
type ReadWanted struct {
	Path  action.Path `cbor:"path"`
	From  uint64      `cbor:"from,omitempty"`
	Lines uint64      `cbor:"lines,omitempty"`
}

// ReadResult has an answer for each file, in the order they were asked for.
type ReadResult struct {
	Policy action.Hash `cbor:"policy" json:"policy"`
	Files  []ReadFile  `cbor:"files" json:"files"`
}

// ReadFile is a window of a text file with the version of the whole, or why it
// was not read. The version's Links say how many names the file has.
type ReadFile struct {
	Path    action.Path      `cbor:"path" json:"path"`
	Refusal *refusal.Refusal `cbor:"refusal,omitempty" json:"refusal,omitempty"`
	Version *action.Version  `cbor:"version,omitempty" json:"version,omitempty"`
	From    uint64           `cbor:"from,omitempty" json:"from,omitempty"`
	Lines   uint64           `cbor:"lines,omitempty" json:"lines,omitempty"` // in Text
	Total   uint64           `cbor:"total,omitempty" json:"total,omitempty"` // in the file
	Text    string           `cbor:"text,omitempty" json:"text,omitempty"`
}

// PathParams names one path.
type PathParams struct {
	Path action.Path `cbor:"path"`
}

// ReadImageResult is a whole image file. Its media type is what its content
// says, whatever its name.
type ReadImageResult struct {
	Policy  action.Hash    `cbor:"policy" json:"policy"`
	Path    action.Path    `cbor:"path" json:"path"`
	Version action.Version `cbor:"version" json:"version"`
	Type    string         `cbor:"type" json:"type"` // image/png, image/jpeg, image/gif or image/webp
	Content []byte         `cbor:"content" json:"content"`
}

// Kind is what kind of file something is.
type Kind string

const (
	KindFile      Kind = "file"
	KindDirectory Kind = "directory"
	KindLink      Kind = "link"
	KindPipe      Kind = "pipe"
	KindSocket    Kind = "socket"
	KindDevice    Kind = "device"
)

// About is what a listing tells of a file.
type About struct {
	Kind  Kind   `cbor:"kind" json:"kind"`
	Size  uint64 `cbor:"size" json:"size"`
	Mode  uint32 `cbor:"mode" json:"mode"`                       // permission and set-id bits
	Mtime int64  `cbor:"mtime" json:"mtime"`                     // nanoseconds since 1970
	Links uint64 `cbor:"links,omitempty" json:"links,omitempty"` // of a file with more than one name
	// Target is where a link leads, inside its grant, where the grant follows
	// links; it is as a walk would spell it.
	Target action.Path `cbor:"target,omitempty" json:"target,omitempty"`
	// Why says why nothing goes through it: of a link, of a mount.
	Why string `cbor:"why,omitempty" json:"why,omitempty"`
	// Grant says that another grant begins here.
	Grant bool `cbor:"grant,omitempty" json:"grant,omitempty"`
}

// ListParams asks what is in a directory or, without a path, what is granted.
type ListParams struct {
	Path      action.Path `cbor:"path,omitempty"`
	Recursive bool        `cbor:"recursive,omitempty"`
	All       bool        `cbor:"all,omitempty"`   // of a recursive one: pass over nothing
	After     action.Path `cbor:"after,omitempty"` // Next of the answer before
	Limit     uint64      `cbor:"limit,omitempty"` // entries of the answer; 0 is MaxEntries
}

// MaxEntries bounds the entries of one listing, and MaxMatches those of one
// glob.
const (
	MaxEntries = 2000
	MaxMatches = 5000
)

// Listing is what is in a directory, in path order, or the caller's grants.
type Listing struct {
	Policy  action.Hash `cbor:"policy" json:"policy"`
	Path    action.Path `cbor:"path,omitempty" json:"path,omitempty"`
	Entries []Entry     `cbor:"entries,omitempty" json:"entries,omitempty"`
	Grants  []Granted   `cbor:"grants,omitempty" json:"grants,omitempty"`
	// PassedOver is what whole walks pass over by name, beside what ignore
	// files cover; it goes with Grants.
	PassedOver []string `cbor:"passed-over,omitempty" json:"passed_over,omitempty"`
	Walked
}

// Entry is one name in a directory, relative to the listing's path.
type Entry struct {
	Name action.Path `cbor:"name" json:"name"`
	About
}

// Granted is one grant.
type Granted struct {
	Root        action.Path `cbor:"root" json:"root"`
	Write       bool        `cbor:"write" json:"write"` // a grant to change; else to read
	Include     []string    `cbor:"include,omitempty" json:"include,omitempty"`
	Ignore      []string    `cbor:"ignore,omitempty" json:"ignore,omitempty"`
	MaxFileSize uint64      `cbor:"max-file-size" json:"max_file_size"` // bytes
	FollowLinks bool        `cbor:"follow-links" json:"follow_links"`
	CrossMounts bool        `cbor:"cross-mounts" json:"cross_mounts"`
	Why         string      `cbor:"why,omitempty" json:"why,omitempty"` // why it is unavailable
}

// GlobParams asks for the paths that a pattern matches: an absolute one, one
// relative to Path or, without that, to every read grant's root.
type GlobParams struct {
	Pattern action.Path `cbor:"pattern"` // bytes, as paths are
	Path    action.Path `cbor:"path,omitempty"`
	Kind    Kind        `cbor:"kind,omitempty"` // only these; empty: all
	All     bool        `cbor:"all,omitempty"`  // pass over nothing
	After   action.Path `cbor:"after,omitempty"`
	Limit   uint64      `cbor:"limit,omitempty"` // matches of the answer; 0 is MaxMatches
}

// GlobResult is what matched: grant by grant in the order of their roots, and
// in path order within each.
type GlobResult struct {
	Policy  action.Hash `cbor:"policy" json:"policy"`
	Matches []Match     `cbor:"matches" json:"matches"`
	Walked
}

// Match is one path that a pattern matches.
type Match struct {
	Path action.Path `cbor:"path" json:"path"`
	Kind Kind        `cbor:"kind" json:"kind"`
}

// StatParams asks what stands at paths; at most MaxFiles.
type StatParams struct {
	Paths []action.Path `cbor:"paths"`
}

// StatResult has an answer for each path, in their order.
type StatResult struct {
	Policy action.Hash `cbor:"policy" json:"policy"`
	Files  []StatFile  `cbor:"files" json:"files"`
}

// StatFile is what stands at a path, or why nothing is said of it.
type StatFile struct {
	Path    action.Path      `cbor:"path" json:"path"`
	Refusal *refusal.Refusal `cbor:"refusal,omitempty" json:"refusal,omitempty"`
	About   *About           `cbor:"about,omitempty" json:"about,omitempty"`
	UID     uint32           `cbor:"uid,omitempty" json:"uid,omitempty"`
	GID     uint32           `cbor:"gid,omitempty" json:"gid,omitempty"`
	Root    action.Path      `cbor:"root,omitempty" json:"root,omitempty"`   // of the grant that shows it
	Write   bool             `cbor:"write,omitempty" json:"write,omitempty"` // a write grant covers it too
}

// Missed is a place that a walk met and could not look into.
type Missed struct {
	Path action.Path  `cbor:"path" json:"path"`
	Code refusal.Code `cbor:"code" json:"code"`
	Why  string       `cbor:"why" json:"why"`
}

// Walked is what every walk's answer says of the walk itself.
type Walked struct {
	// Next is there where the walk stopped at one of its bounds: the last place
	// that was dealt with. Sent back as After, with the rest as it was, the
	// walk goes on behind it.
	Next action.Path `cbor:"next,omitempty" json:"next,omitempty"`
	// Left is the directories that a walk which stopped did not enter, or did
	// not finish: the first of those that it knew of, and how many more.
	Left     []action.Path `cbor:"left,omitempty" json:"left,omitempty"`
	LeftMore uint64        `cbor:"left-more,omitempty" json:"left_more,omitempty"`
	// Missed is what could not be looked into: the first, and how many more.
	Missed     []Missed `cbor:"missed,omitempty" json:"missed,omitempty"`
	MissedMore uint64   `cbor:"missed-more,omitempty" json:"missed_more,omitempty"`
	// Passed counts what was passed over: repositories' own files,
	// dependencies, builds, and what ignore files cover.
	Passed uint64 `cbor:"passed,omitempty" json:"passed,omitempty"`
}
