package action

import (
	"crypto/sha256"
	"math"
	"strings"
	"unicode/utf8"

	"countersign/internal/canon"
	"countersign/internal/refusal"
	"countersign/internal/visible"
)

// Action is one proposal: exactly one field is set.
type Action struct {
	FileWrite *FileWrite `cbor:"file-write,omitempty"`
	GitWrite  *GitWrite  `cbor:"git-write,omitempty"`
	GitPush   *GitPush   `cbor:"git-push,omitempty"`
	Undo      *Undo      `cbor:"undo,omitempty"`
}

// FileWrite changes files: each path once, all or none.
type FileWrite struct {
	Changes []Change `cbor:"changes"`
}

// Change is what happens to one path: exactly one of Write, Edit and Delete.
type Change struct {
	Path   Path    `cbor:"path"`
	Write  *Write  `cbor:"write,omitempty"`
	Edit   *Edit   `cbor:"edit,omitempty"`
	Delete *Delete `cbor:"delete,omitempty"`
	Expect *Expect `cbor:"expect,omitempty"`
}

// Write replaces or creates a whole file. Without a Type the content is UTF-8
// text; with one, a media type, it is any bytes.
type Write struct {
	Content []byte `cbor:"content"`
	Type    string `cbor:"type,omitempty"`
	Mode    uint32 `cbor:"mode,omitempty"` // 0644 or 0755; absent keeps or defaults
}

// Edit replaces pieces of a text file, in order, each matched on what the ones
// before it left.
type Edit struct {
	Edits []Replacement `cbor:"edits"`
}

// Replacement puts New wherever Old stands, which must be exactly Count times.
type Replacement struct {
	Old   []byte `cbor:"old"`
	New   []byte `cbor:"new"`
	Count uint64 `cbor:"count,omitempty"` // absent is 1
}

// Delete removes a file.
type Delete struct{}

// Expect is what the proposer saw: the hash of a whole file, or none there.
type Expect struct {
	Hash   *Hash `cbor:"hash,omitempty"`
	Absent bool  `cbor:"absent,omitempty"`
}

// GitWrite is one of the two things that are done to a repository.
type GitWrite struct {
	Commit  *Commit  `cbor:"commit,omitempty"`
	Discard *Discard `cbor:"discard,omitempty"`
}

// Commit stages everything in the repository at Root and commits it.
type Commit struct {
	Root    Path   `cbor:"root"`
	Message string `cbor:"message"`
}

// Discard puts paths, relative to Root, back to the last commit.
type Discard struct {
	Root  Path   `cbor:"root"`
	Paths []Path `cbor:"paths"`
}

// GitPush is known so that it can be refused by name: it has no hands.
type GitPush struct {
	Root   Path   `cbor:"root"`
	Remote string `cbor:"remote"`
	Ref    string `cbor:"ref"`
}

// Undo puts back what a landed transaction replaced. The keeper composes it
// from captures on an owner's word; no client sends one.
type Undo struct {
	Transaction ID        `cbor:"transaction"`
	Restores    []Restore `cbor:"restores"`
	Leaves      []Leave   `cbor:"leaves,omitempty"`
	Commit      *Uncommit `cbor:"commit,omitempty"` // of the undo of a commit, which restores no path
}

// Uncommit moves a branch back from a commit to what it pointed to before. The
// work tree is left as it is.
type Uncommit struct {
	Root   Path   `cbor:"root"`
	Branch Path   `cbor:"branch,omitempty"` // whole name; none where HEAD is detached
	From   string `cbor:"from"`             // the commit, a whole hash
	To     string `cbor:"to,omitempty"`     // a whole hash; none where it was the first
}

// Leave is a path that an undo leaves as it is, with the three versions that
// its owner has to choose from.
type Leave struct {
	Path Path   `cbor:"path" json:"path"`
	Left Image  `cbor:"left" json:"left"`                   // what the action left there
	Now  *Image `cbor:"now,omitempty" json:"now,omitempty"` // what disk held when the undo was composed; nil where that cannot be looked at
	Back Image  `cbor:"back" json:"back"`                   // what stood there before the action
	Why  string `cbor:"why" json:"why"`                     // one harmless line
}

// Restore puts one path from the image an action left to the one it replaced.
type Restore struct {
	Path       Path        `cbor:"path"`
	Left       Image       `cbor:"left"`
	Back       Image       `cbor:"back"`
	Content    []byte      `cbor:"content,omitempty"`    // Back's bytes
	Attributes []Attribute `cbor:"attributes,omitempty"` // Back's
	AnyGroup   bool        `cbor:"any-group,omitempty"`  // the person may not give it Back's group
	Made       uint64      `cbor:"made,omitempty"`       // directories above it that the action made, and that go again if they are empty
}

// Image is what stands at a path: nothing, or a file's content and metadata.
type Image struct {
	Absent     bool   `cbor:"absent,omitempty" json:"absent,omitempty"`
	Kind       Kind   `cbor:"kind,omitempty" json:"kind,omitempty"`
	Hash       *Hash  `cbor:"hash,omitempty" json:"hash,omitempty"`
	Size       uint64 `cbor:"size,omitempty" json:"size,omitempty"`
	Mode       uint32 `cbor:"mode,omitempty" json:"mode,omitempty"` // permission bits
	GID        uint32 `cbor:"gid,omitempty" json:"gid,omitempty"`
	Attributes *Hash  `cbor:"attributes,omitempty" json:"attributes,omitempty"` // of the extended attributes; nil is none
}

// Limits of one action, whatever a policy says.
const (
	MaxChanges = 2048
	MaxMessage = 64 << 10
	MaxMade    = 64 // missing directories on the way to one path
)

// Encode gives the canonical encoding of a.
func Encode(a Action) ([]byte, error) { return canon.Encode(a) }

// Decode reads a canonical encoding and validates it.
func Decode(b []byte) (Action, error) {
	var a Action
	if err := canon.Decode(b, &a); err != nil {
		return Action{}, refusal.New(refusal.BadAction, "the action", "%v", err)
	}
	return a, a.Validate()
}

// Digest names an action: the SHA-256 of its canonical encoding.
func (a Action) Digest() (Hash, error) {
	b, err := Encode(a)
	if err != nil {
		return Hash{}, err
	}
	return sha256.Sum256(b), nil
}

// Capability is what an action asks to be allowed to do.
type Capability string

// The capabilities a policy speaks of.
const (
	CapFileWrite  Capability = "file-write"
	CapFileDelete Capability = "file-delete"
	CapGitCommit  Capability = "git-commit"
	CapGitDiscard Capability = "git-discard"
	CapGitPush    Capability = "git-push"
	CapUndo       Capability = "undo"
)

// Capability gives the capability of a valid action; one delete among the
// changes makes it a delete.
func (a Action) Capability() Capability {
	switch {
	case a.GitPush != nil:
		return CapGitPush
	case a.Undo != nil:
		return CapUndo
	case a.GitWrite != nil && a.GitWrite.Commit != nil:
		return CapGitCommit
	case a.GitWrite != nil:
		return CapGitDiscard
	}
	for _, c := range a.FileWrite.Changes {
		if c.Delete != nil {
			return CapFileDelete
		}
	}
	return CapFileWrite
}

// Paths lists the places an action names, in the action's order.
func (a Action) Paths() []Path {
	var p []Path
	switch {
	case a.FileWrite != nil:
		for _, c := range a.FileWrite.Changes {
			p = append(p, c.Path)
		}
	case a.Undo != nil && a.Undo.Commit != nil:
		p = append(p, a.Undo.Commit.Root)
	case a.Undo != nil:
		for _, r := range a.Undo.Restores {
			p = append(p, r.Path)
		}
	case a.GitPush != nil:
		p = append(p, a.GitPush.Root)
	case a.GitWrite != nil && a.GitWrite.Commit != nil:
		p = append(p, a.GitWrite.Commit.Root)
	case a.GitWrite != nil:
		p = append(p, a.GitWrite.Discard.Root)
	}
	return p
}

// NewText counts the bytes of content and new text that a FileWrite brings,
// a replacement's as often as it lands, up to 2^31-1; what an undo puts back
// was on disk before and is not counted.
func (a Action) NewText() int {
	n := uint64(0)
	if a.FileWrite == nil {
		return 0
	}
	for _, c := range a.FileWrite.Changes {
		if c.Write != nil {
			n += uint64(len(c.Write.Content))
		}
		if c.Edit != nil {
			for _, e := range c.Edit.Edits {
				n += min(uint64(len(e.New))*min(max(e.Count, 1), math.MaxInt32), math.MaxInt32)
			}
		}
	}
	return int(min(n, math.MaxInt32))
}

// CarriedOut refuses by name what the vocabulary knows and nothing here
// carries out: a push for good, the rest for now.
func (a Action) CarriedOut() error {
	switch {
	case a.GitPush != nil:
		return refusal.New(refusal.NoHands, "push of "+a.GitPush.Root.String(), "")
	case a.GitWrite != nil && a.GitWrite.Discard != nil:
		return refusal.New(refusal.NotYet, string(a.Capability())+" in "+a.Paths()[0].String(), "discards")
	}
	return nil
}

// Git says whether git carries this out.
func (a Action) Git() bool { return a.GitWrite != nil || a.Undo != nil && a.Undo.Commit != nil }

// Validate checks everything about an action that needs no disk.
func (a Action) Validate() error {
	set := 0
	for _, there := range []bool{a.FileWrite != nil, a.GitWrite != nil, a.GitPush != nil, a.Undo != nil} {
		if there {
			set++
		}
	}
	if set != 1 {
		return bad("the action", "it must be exactly one of file-write, git-write, git-push, undo")
	}
	switch {
	case a.FileWrite != nil:
		return a.FileWrite.validate()
	case a.GitWrite != nil:
		return a.GitWrite.validate()
	case a.GitPush != nil:
		return a.GitPush.Root.Validate()
	default:
		return a.Undo.validate()
	}
}

func bad(what, why string, args ...any) error {
	return refusal.New(refusal.BadAction, what, why, args...)
}

func (f *FileWrite) validate() error {
	if len(f.Changes) == 0 {
		return bad("file-write", "it changes nothing")
	}
	if len(f.Changes) > MaxChanges {
		return bad("file-write", "over %d changes", MaxChanges)
	}
	seen := make(map[Path]bool, len(f.Changes))
	for _, c := range f.Changes {
		if err := c.validate(); err != nil {
			return err
		}
		if seen[c.Path] {
			return bad(c.Path.String(), "it is changed twice; several edits of one file are one change")
		}
		seen[c.Path] = true
	}
	return nil
}

func (c Change) validate() error {
	if err := c.Path.Validate(); err != nil {
		return err
	}
	name := c.Path.String()
	set := 0
	for _, there := range []bool{c.Write != nil, c.Edit != nil, c.Delete != nil} {
		if there {
			set++
		}
	}
	if set != 1 {
		return bad(name, "a change is exactly one of write, edit, delete")
	}
	if e := c.Expect; e != nil && (e.Hash != nil) == e.Absent {
		return bad(name, "expect is a hash or absent")
	}
	switch {
	case c.Write != nil:
		return c.Write.validate(name)
	case c.Edit != nil:
		return c.Edit.validate(name)
	}
	return nil
}

func (w *Write) validate(name string) error {
	if w.Mode != 0 && w.Mode != 0o644 && w.Mode != 0o755 {
		return bad(name, "a mode is 0644 or 0755")
	}
	if len(w.Type) > 128 {
		return bad(name, "the content type is over 128 bytes")
	}
	if w.Type == "" && !utf8.Valid(w.Content) {
		return refusal.New(refusal.NotText, "write of "+name, "the content")
	}
	return nil
}

func (e *Edit) validate(name string) error {
	if len(e.Edits) == 0 {
		return bad(name, "the edit has no replacements")
	}
	for i, r := range e.Edits {
		switch {
		case len(r.Old) == 0:
			return bad(name, "edit %d: the old text is empty", i+1)
		case string(r.Old) == string(r.New):
			return bad(name, "edit %d: old and new text are equal", i+1)
		case !utf8.Valid(r.Old) || !utf8.Valid(r.New):
			return refusal.New(refusal.NotText, "edit of "+name, "edit %d", i+1)
		}
	}
	return nil
}

func (g *GitWrite) validate() error {
	if (g.Commit != nil) == (g.Discard != nil) {
		return bad("git-write", "it must be exactly one of commit, discard")
	}
	if g.Commit != nil {
		switch m := g.Commit.Message; {
		case len(m) > MaxMessage:
			return bad("commit", "the message is over %d bytes", MaxMessage)
		case strings.Contains(m, "\x00"):
			return bad("commit", "the message has a zero byte")
		}
		return g.Commit.Root.Validate()
	}
	if len(g.Discard.Paths) == 0 || len(g.Discard.Paths) > MaxChanges {
		return bad("discard", "it names no paths, or over %d", MaxChanges)
	}
	for _, p := range g.Discard.Paths {
		if err := Path("/" + p).Validate(); err != nil {
			return bad("discard", "%s is not relative and clean", p)
		}
	}
	return g.Discard.Root.Validate()
}

func (u *Undo) validate() error {
	if !u.Transaction.Valid() {
		return bad("undo", "it names no transaction")
	}
	if u.Commit != nil {
		return u.Commit.validate(len(u.Restores) + len(u.Leaves))
	}
	if len(u.Restores) == 0 || len(u.Restores) > MaxChanges {
		return bad("undo", "it restores nothing, or over %d paths", MaxChanges)
	}
	seen := make(map[Path]bool, len(u.Restores))
	for _, r := range u.Restores {
		if err := r.Path.Validate(); err != nil {
			return err
		}
		if !r.Left.valid() || !r.Back.valid() || seen[r.Path] {
			return bad(r.Path.String(), "an image is absent or a hash, and a path stands once")
		}
		if r.Back.Hash != nil && *r.Back.Hash != HashOf(r.Content) {
			return bad(r.Path.String(), "the content is not the image's")
		}
		if r.Back.Absent && (len(r.Content) > 0 || len(r.Attributes) > 0) || !r.Back.Absent && r.Made > 0 || r.Made > MaxMade {
			return bad(r.Path.String(), "an absent image has no content, and only it has directories that were made")
		}
		if !sameHash(r.Back.Attributes, AttributesHash(r.Attributes)) {
			return bad(r.Path.String(), "the attributes are not the image's")
		}
		seen[r.Path] = true
	}
	return u.validateLeaves(seen)
}

// IsCommit says whether s has the form of a whole hash of git's.
func IsCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

func (u *Uncommit) validate(paths int) error {
	if paths > 0 || !IsCommit(u.From) || u.To != "" && (!IsCommit(u.To) || len(u.To) != len(u.From)) {
		return bad("undo", "that of a commit names two commits and no path")
	}
	if u.Branch != "" && (!strings.HasPrefix(string(u.Branch), "refs/heads/") || Path("/"+u.Branch).Validate() != nil) {
		return bad("undo", "%s is no branch", u.Branch)
	}
	return u.Root.Validate()
}

func (u *Undo) validateLeaves(seen map[Path]bool) error {
	const maxWhy = 4096
	if len(u.Leaves) > MaxChanges {
		return bad("undo", "it leaves over %d paths", MaxChanges)
	}
	for _, l := range u.Leaves {
		if err := l.Path.Validate(); err != nil {
			return err
		}
		if !l.Left.valid() || !l.Back.valid() || l.Now != nil && !l.Now.valid() || seen[l.Path] {
			return bad(l.Path.String(), "an image is absent or a hash, and a path stands once")
		}
		if len(l.Why) > maxWhy || visible.Line(l.Why) != visible.Text(l.Why) {
			return bad(l.Path.String(), "why it is left is no harmless line")
		}
		seen[l.Path] = true
	}
	return nil
}

func (i Image) valid() bool {
	if i.Absent {
		return i == Image{Absent: true}
	}
	return i.Hash != nil && i.Mode&^0o777 == 0 && (i.Kind == Regular || i.Kind == Symlink && i.Attributes == nil)
}
