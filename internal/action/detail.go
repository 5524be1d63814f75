package action

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"countersign/internal/canon"
)

// DiffRemoved bounds the old text, in bytes, that a diff spells out; what is
// removed beyond it is shown by name, size and hash.
const DiffRemoved = 64 << 10

// AllRemoved bounds, in the same way, the old text that all diffs of one
// action spell out together, so that the account of many files fits an answer.
const AllRemoved = 1 << 20

// MaxDiff bounds one diff, in bytes. An action whose new text does not fit is
// not one that an owner can be asked about: Unshown says so.
const MaxDiff = 1 << 20

// NoDiffTooLong stands where a diff would be longer than MaxDiff.
const NoDiffTooLong = "its diff is over 1 MiB and is not shown"

// Unshown says whether new text was left out of the account for its length.
func (d Detail) Unshown() bool {
	return slices.ContainsFunc(d.Changes, func(c ChangeDetail) bool { return c.NoDiff == NoDiffTooLong })
}

// Detail is the machine's own account of what an action would do, made from
// disk and the action and never from what its proposer says of it. Keeper and
// scribe make it alike; its hash is part of what an owner approves.
type Detail struct {
	Changes []ChangeDetail `cbor:"changes" json:"changes"`
	Git     *GitDetail     `cbor:"git,omitempty" json:"git,omitempty"`
}

// GitDetail is the account of a git action beside that of its paths, whose
// names and images are those of the last commit and of the work tree. What comes
// from a repository is raw text.
type GitDetail struct {
	Does       string   `cbor:"does" json:"does"` // commit, discard, or undo
	Repository Path     `cbor:"repository" json:"repository"`
	Branch     Path     `cbor:"branch,omitempty" json:"branch,omitempty"` // none where HEAD is detached
	Head       string   `cbor:"head,omitempty" json:"head,omitempty"`     // none where there is no commit yet
	Tree       string   `cbor:"tree,omitempty" json:"tree,omitempty"`
	Author     string   `cbor:"author,omitempty" json:"author,omitempty"`
	Committer  string   `cbor:"committer,omitempty" json:"committer,omitempty"`
	Message    string   `cbor:"message,omitempty" json:"message,omitempty"`
	To         string   `cbor:"to,omitempty" json:"to,omitempty"` // of an undo: where the branch goes back to
	Notes      []string `cbor:"notes,omitempty" json:"notes,omitempty"`
}

// ChangeDetail is the account of one path. Diff holds raw text: whoever shows
// it makes it harmless first. It holds new text whole wherever that is UTF-8,
// whatever it is called and whatever it replaces; old text may be left out of
// it, and NoDiff says so.
type ChangeDetail struct {
	Path    Path     `cbor:"path" json:"path"`
	Real    Path     `cbor:"real,omitempty" json:"real,omitempty"` // the landing, where its spelling differs
	Does    Does     `cbor:"does" json:"does"`
	Old     Image    `cbor:"old" json:"old"`
	New     Image    `cbor:"new" json:"new"`
	Diff    string   `cbor:"diff,omitempty" json:"diff,omitempty"`
	NoDiff  string   `cbor:"no-diff,omitempty" json:"no_diff,omitempty"` // why there is none, or not all of the old text in it
	Effects []string `cbor:"effects,omitempty" json:"effects,omitempty"` // what a diff does not show
	NotKept []string `cbor:"not-kept,omitempty" json:"not_kept,omitempty"`
}

// DetailOf makes the account of planned changes.
func DetailOf(plans []Planned) Detail {
	d := Detail{Changes: make([]ChangeDetail, 0, len(plans))}
	left := AllRemoved
	for _, p := range plans {
		d.Changes = append(d.Changes, p.detail(&left))
	}
	return d
}

// detail makes the account of one path, and spends what it spells out of old
// text.
func (p Planned) detail(left *int) ChangeDetail {
	c := ChangeDetail{
		Path: p.Fact.Path, Does: p.Does,
		Old: p.Fact.Image(), New: p.Result,
		NotKept: p.Fact.NotKept, Effects: p.effects(),
	}
	if p.Fact.Real != p.Fact.Path {
		c.Real = p.Fact.Real
	}
	if !utf8.Valid(p.New) {
		c.NoDiff = "binary content"
		if p.Type != "" {
			c.NoDiff += fmt.Sprintf(" (%s)", p.Type)
		}
		return c
	}
	old, v := p.Old, p.Fact.Base.Version
	switch {
	case v != nil && old == nil && v.Size > 0:
		c.NoDiff = "the file there was not read: it is over the size limit"
	case !utf8.Valid(old):
		old, c.NoDiff = nil, "the file there is binary"
	}
	text, cut := shorten(p.diff(old), p.Back, left)
	if c.Diff = text; cut > 0 {
		c.NoDiff = fmt.Sprintf("%d bytes of the old text that is concerned are not shown", cut)
	}
	if len(text) > MaxDiff {
		c.Diff, c.NoDiff = "", NoDiffTooLong
	}
	return c
}

// diff makes the unified diff from old. Its labels are quoted, so that no name
// can forge a line of it.
func (p Planned) diff(old []byte) string {
	from, to := "/dev/null", "/dev/null"
	if p.Does != Creates {
		from = p.Fact.Path.String()
	}
	if p.Does != Deletes {
		to = p.Fact.Path.String()
	}
	return udiff.Unified(from, to, string(old), string(p.New))
}

// shorten leaves out of a diff the text that stood on disk before, past
// DiffRemoved of each kind and past what is left for the whole action: removed
// lines, unchanged ones, and with back added ones too. It says how many bytes
// they are. Each run of them gives way to a line that begins with a backslash,
// as no line of a file's text does in a diff.
func shorten(diff string, back bool, left *int) (text string, cut int) {
	var b strings.Builder
	shown := make(map[byte]int)
	run, header := 0, true
	gap := func() {
		if run > 0 {
			fmt.Fprintf(&b, "\\ %d bytes of old text are not shown here\n", run)
		}
		cut, run = cut+run, 0
	}
	for line := range strings.Lines(diff) {
		header = header && line[0] != '@'
		sign := line[0]
		if old := sign == '-' || sign == ' ' || sign == '+' && back; old && !header {
			n := len(line) - 1
			if shown[sign]+n > DiffRemoved || n > *left {
				run += n
				continue
			}
			shown[sign] += n
			*left -= n
		} else if sign == '\\' && run > 0 {
			run-- // the end of line that the diff gave the line before
			continue
		}
		gap()
		b.WriteString(line)
	}
	gap()
	return b.String(), cut
}

// effects names in words what the lines of a diff do not show.
func (p Planned) effects() []string {
	var e []string
	say := func(format string, args ...any) { e = append(e, fmt.Sprintf(format, args...)) }
	v := p.Fact.Base.Version
	if v != nil && !p.Result.Absent && p.Result.Mode != v.Mode&0o777 {
		say("mode %04o becomes %04o", v.Mode&0o777, p.Result.Mode)
	}
	if v != nil && v.Kind == Symlink {
		say("it is a symbolic link to %s", p.Fact.Target)
	}
	if p.Fact.Follows != "" {
		say("a link leads to %s", p.Fact.Follows)
	}
	for i := range p.Fact.Base.Landing.Missing() {
		names := p.Fact.Base.Landing.Missing()
		say("new directory %s", Path(strings.Join(names[:i+1], "/")))
	}
	if p.Made > 0 {
		say("%d directories above it that were made for it go too, as far as they are empty then", p.Made)
	}
	if v == nil && p.Result.Kind == Symlink {
		say("symbolic link to %s", Path(p.New))
	} else if v == nil {
		say("new file, mode %04o", p.Result.Mode)
	}
	if p.Type != "" {
		say("written as %s", p.Type)
	}
	if v != nil && p.Group && p.Result.GID != v.GID {
		say("group %d becomes %d", v.GID, p.Result.GID)
	}
	if v != nil && v.Links > 1 {
		say("%d other names keep the old content", v.Links-1)
	}
	if p.Does == Replaces && p.Old != nil && utf8.Valid(p.Old) && utf8.Valid(p.New) {
		if was, is := lineEnds(p.Old), lineEnds(p.New); was != is {
			say("line ends: %s becomes %s", was, is)
		}
		if was, is := bytes.HasPrefix(p.Old, bom), bytes.HasPrefix(p.New, bom); was != is {
			say("the byte-order mark changes")
		}
	}
	return e
}

var bom = []byte("\xef\xbb\xbf")

func lineEnds(b []byte) string {
	lf, crlf := bytes.Count(b, []byte("\n")), bytes.Count(b, []byte("\r\n"))
	switch {
	case lf == 0:
		return "none"
	case crlf == 0:
		return "LF"
	case crlf == lf:
		return "CRLF"
	}
	return "mixed"
}

// Hash is what an approval names a detail by: the SHA-256 of its canonical
// encoding.
func (d Detail) Hash() (Hash, error) {
	b, err := d.Encode()
	return HashOf(b), err
}

// Encode gives the canonical encoding of d.
func (d Detail) Encode() ([]byte, error) { return canon.Encode(d) }
