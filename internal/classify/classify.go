package classify

import (
	"bytes"
	"fmt"
	mathbits "math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/internal/action"
)

// Change is what an action would do at one path, as the keeper planned it.
type Change struct {
	Path, Real action.Path // as given, and the landing as disk spells it; without a Real, Path stands
	Home       string      // the home they lie in, as the policy lists it

	// Aliases are other names of the landing, by which links of the home lead
	// there: a dotfiles repository's file is the start-up file that links to it.
	Aliases []action.Path
	// InRepository says that the landing lies in a directory that git takes,
	// or would with one file more, for a repository's own.
	InRepository bool

	// Capability is what the action as a whole asks for. A file-write that
	// leaves nothing at the path counts as a file-delete whatever it says.
	Capability action.Capability

	Old, New               *action.Image // before and after; nil is absent
	OldContent, NewContent []byte        // nil where unknown, absent or too large
	ContentType            string        // of a binary write, as the agent named it
	NotKept                []string      // what the file would lose, in words

	Captured       bool // Old's bytes are in the vault
	InSnapshotRoot bool // Real is under a snapshot root of the policy
}

// Limits is what an owner's policy says about classes.
type Limits struct {
	Large  int64   // bytes of one file's new content that are no longer read by a person
	Tables *Tables // what counts; nil is the tables as they are
}

// Class is what an action amounts to.
type Class struct {
	Capability action.Capability `cbor:"capability" json:"capability"`
	Reversible bool              `cbor:"reversible" json:"reversible"`
	By         string            `cbor:"by,omitempty" json:"by,omitempty"` // BySnapshot or ByGit; empty where not reversible
	Reasons    []Reason          `cbor:"reasons" json:"reasons"`           // by reason, path and entry; each once
}

// What puts back an action that is reversible.
const (
	BySnapshot = "snapshot"
	ByGit      = "git"
)

// Classify says what the changes of one action amount to together. Without any
// the capability is empty, which no policy allows.
func Classify(changes []Change, limits Limits) Class {
	c := Class{Reversible: len(changes) > 0, Reasons: []Reason{}}
	if limits.Tables == nil {
		limits.Tables = builtIn
	}
	for i := range changes {
		ch := &changes[i]
		if weight(ch.capability()) > weight(c.Capability) {
			c.Capability = ch.capability()
		}
		c.Reversible = c.Reversible && ch.reversible()
		for _, rule := range rules {
			for _, r := range rule(ch, limits) {
				r.Path = ch.Path
				c.Reasons = append(c.Reasons, r)
			}
		}
	}
	c.Reasons = sorted(c.Reasons)
	switch {
	case c.Reversible && c.Capability == action.CapGitCommit:
		c.By = ByGit
	case c.Reversible:
		c.By = BySnapshot
	}
	return c
}

// weight orders capabilities: an action of several kinds is its gravest, and
// one that is not known is graver than any.
func weight(c action.Capability) int {
	if c == "" {
		return -1
	}
	order := []action.Capability{action.CapFileWrite, action.CapFileDelete, action.CapGitCommit,
		action.CapGitDiscard, action.CapUndo, action.CapGitPush}
	if i := slices.Index(order, c); i >= 0 {
		return i
	}
	return len(order)
}

func (c *Change) capability() action.Capability {
	if (c.Capability == "" || c.Capability == action.CapFileWrite) && !there(c.New) {
		return action.CapFileDelete
	}
	if c.Capability == "" {
		return action.CapFileWrite
	}
	return c.Capability
}

// reversible says whether the path can be made what it was: its bytes are
// kept, or it had none.
func (c *Change) reversible() bool {
	return c.capability() != action.CapGitPush && (c.Captured || !there(c.Old))
}

func there(i *action.Image) bool { return i != nil && !i.Absent }

// A rule gives the reasons it finds in one change; their Path is filled in by
// the caller.
type rule func(*Change, Limits) []Reason

// rules never changes while a program runs. What others-work and
// foreign-identity rest on is facts of a repository: ClassifyGit gives them.
var rules = [...]rule{deletion, capture, outside, publication, listed, widened, lost, binary, large}

func deletion(c *Change, _ Limits) []Reason {
	switch {
	case c.capability() == action.CapGitDiscard:
		return one(DataDeletion, "uncommitted work is destroyed")
	case there(c.Old) && !there(c.New):
		return one(DataDeletion, "the file is deleted")
	case there(c.Old) && !c.Captured:
		return one(DataDeletion, "the file is replaced and no copy is kept")
	}
	return nil
}

func capture(c *Change, _ Limits) []Reason {
	if there(c.Old) && !c.Captured {
		return one(NotCaptured, "no copy of the file is kept")
	}
	return nil
}

func outside(c *Change, _ Limits) []Reason {
	if !c.InSnapshotRoot {
		return one(OutsideSnapshot, "it lies under no snapshot root")
	}
	return nil
}

func publication(c *Change, _ Limits) []Reason {
	if c.capability() == action.CapGitPush {
		return one(Publication, "it is sent to another machine")
	}
	return nil
}

// listed gives a reason for each entry of the tables that holds the change.
func listed(c *Change, l Limits) []Reason {
	var out []Reason
	held := l.Tables.holding(c)
	for i, bits := range held {
		for ; bits != 0; bits &= bits - 1 {
			e := &l.Tables.entries[i*64+mathbits.TrailingZeros64(bits)]
			out = append(out, Reason{Name: e.Reason, Entry: e.Name, Why: e.Why})
		}
	}
	return out
}

// widened compares permission bits. A new file takes the person's umask, which
// is their own choice, so only one that everybody may write counts.
func widened(c *Change, _ Limits) []Reason {
	switch {
	case !there(c.New), c.New.Kind == action.Symlink: // a link's mode says nothing
		return nil
	case !there(c.Old):
		if c.New.Mode&0o002 != 0 {
			return one(PermissionsWidened, "everybody may write the new file")
		}
	case c.New.Mode&^c.Old.Mode != 0:
		return one(PermissionsWidened, fmt.Sprintf("its mode goes from %04o to %04o", c.Old.Mode, c.New.Mode))
	case c.New.GID != c.Old.GID && c.New.Mode&0o070&^(c.New.Mode<<3) != 0: // more than everybody may
		return one(PermissionsWidened, fmt.Sprintf("its group goes from %d to %d", c.Old.GID, c.New.GID))
	}
	return nil
}

func lost(c *Change, _ Limits) []Reason {
	const most = 8 // named in a reason; the account has all of them
	if len(c.NotKept) == 0 || !there(c.New) {
		return nil
	}
	named := c.NotKept[:min(len(c.NotKept), most)]
	why := "it would lose what cannot be kept: " + strings.Join(named, ", ")
	if more := len(c.NotKept) - len(named); more > 0 {
		why += fmt.Sprintf(", and %d more", more)
	}
	return one(AttributesLost, why)
}

func binary(c *Change, _ Limits) []Reason {
	switch {
	case !there(c.New):
		return nil
	case c.ContentType != "":
		return one(BinaryContent, "it is written as binary content")
	case !utf8.Valid(c.NewContent) || bytes.IndexByte(c.NewContent, 0) >= 0:
		return one(BinaryContent, "the content is not text")
	}
	return nil
}

func large(c *Change, l Limits) []Reason {
	if !there(c.New) {
		return nil
	}
	size := max(c.New.Size, uint64(len(c.NewContent)))
	if size > uint64(max(l.Large, 0)) {
		return one(Large, fmt.Sprintf("the file has %d bytes, over the %d that policy calls large", size, max(l.Large, 0)))
	}
	return nil
}

func one(n Name, why string) []Reason { return []Reason{{Name: n, Why: why}} }
