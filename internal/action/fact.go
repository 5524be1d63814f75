package action

import (
	"bytes"
	"slices"
	"strings"

	"countersign/internal/canon"
)

// Fact is what disk says of one path of an action: found by the reader for
// the keeper, and by the scribe again for itself.
type Fact struct {
	Path    Path `cbor:"path" json:"path"`
	Real    Path `cbor:"real" json:"real"`                           // the landing, spelled from the home as the policy lists it
	Follows Path `cbor:"follows,omitempty" json:"follows,omitempty"` // where links on the way led, spelled from the grant's root; without any, Path does
	Base    Base `cbor:"base" json:"base"`

	Aliases    []Path `cbor:"aliases,omitempty" json:"aliases,omitempty"`       // names of the home from which links lead to the landing
	Repository bool   `cbor:"repository,omitempty" json:"repository,omitempty"` // a directory on the way has a HEAD, as one that git takes for a repository's own

	Target     Path        `cbor:"target,omitempty" json:"target,omitempty"`         // of a symbolic link: what it points to
	Attributes []Attribute `cbor:"attributes,omitempty" json:"attributes,omitempty"` // that stay when the file is replaced, by name
	NotKept    []string    `cbor:"not-kept,omitempty" json:"not_kept,omitempty"`     // what replacing it would lose, in words
	AnyGroup   bool        `cbor:"any-group,omitempty" json:"any_group,omitempty"`   // the person may not give a file this one's group

	// Default is the permissions in the default access control list of the
	// directory, which a new file takes instead of the person's umask; nil
	// where it has none.
	Default *uint32 `cbor:"default,omitempty" json:"default,omitempty"`
}

// MaxAliases bounds the names of the home by which links lead to one place.
const MaxAliases = 16

// Attribute is an extended attribute of a file. An access control list is one.
type Attribute struct {
	Name  Path   `cbor:"name" json:"name"` // bytes, like a path's
	Value []byte `cbor:"value" json:"value"`
}

// MaxAttributes bounds the extended attributes of one file that are carried,
// names and values, in bytes.
const MaxAttributes = 16 << 10

// Same says whether two sides found the same.
func (f Fact) Same(o Fact) bool {
	return f.Path == o.Path && f.Real == o.Real && f.Follows == o.Follows && f.Base.Same(o.Base) && f.Target == o.Target &&
		slices.Equal(f.Aliases, o.Aliases) && f.Repository == o.Repository &&
		slices.EqualFunc(f.Attributes, o.Attributes, Attribute.same) && slices.Equal(f.NotKept, o.NotKept) &&
		f.AnyGroup == o.AnyGroup && (f.Default == nil) == (o.Default == nil) && (f.Default == nil || *f.Default == *o.Default)
}

func (a Attribute) same(o Attribute) bool { return a.Name == o.Name && bytes.Equal(a.Value, o.Value) }

// Resolved is the path with the links on its way resolved, as far as they
// were followed.
func (f Fact) Resolved() Path {
	if f.Follows != "" {
		return f.Follows
	}
	return f.Path
}

// Missing lists the directories that do not exist on the way to the landing,
// from the outermost.
func (l Landing) Missing() []string {
	names := strings.Split(string(l.Name), "/")
	return names[:len(names)-1]
}

// Image gives what undo needs to know of what stands there.
func (f Fact) Image() Image {
	v := f.Base.Version
	if v == nil {
		return Image{Absent: true}
	}
	h := v.Hash
	return Image{Kind: v.Kind, Hash: &h, Size: v.Size, Mode: v.Mode & 0o777, GID: v.GID, Attributes: AttributesHash(f.Attributes)}
}

// Is says whether this image stands there. A file that is set-id is no image of
// anything.
func (i Image) Is(f Fact) bool {
	now := f.Image()
	if i.Absent || now.Absent {
		return i.Absent && now.Absent
	}
	return i.Kind == now.Kind && *i.Hash == *now.Hash && i.Mode == f.Base.Version.Mode && i.GID == now.GID && sameHash(i.Attributes, now.Attributes)
}

// AttributesHash names a list of attributes: the SHA-256 of its canonical
// encoding, nil where it is empty. The list is in order of names.
func AttributesHash(list []Attribute) *Hash {
	if len(list) == 0 {
		return nil
	}
	b, err := canon.Encode(list)
	if err != nil {
		panic("[unexpected] attributes that have no encoding: " + err.Error())
	}
	h := HashOf(b)
	return &h
}

func sameHash(a, b *Hash) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// How says how a path is to be resolved.
type How uint8

const (
	// ToFile follows links where the grant does, to the file they lead to.
	ToFile How = iota
	// ToEntry stops at the path's last name, a symbolic link too.
	ToEntry
)

// Target is a path of an action, and how it is resolved.
type Target struct {
	Path Path `cbor:"path"`
	How  How  `cbor:"how,omitempty"`
}

// Targets lists the places an action changes, in the order of its paths. What
// is deleted is the entry that was named, and what an undo puts back is the
// entry that was changed.
func (a Action) Targets() []Target {
	var t []Target
	switch {
	case a.FileWrite != nil:
		for _, c := range a.FileWrite.Changes {
			how := ToFile
			if c.Delete != nil {
				how = ToEntry
			}
			t = append(t, Target{Path: c.Path, How: how})
		}
	case a.Undo != nil:
		for _, r := range a.Undo.Restores {
			t = append(t, Target{Path: r.Path, How: ToEntry})
		}
	}
	return t
}

// Made gives, in the order of an action's paths, how many directories above
// each it takes away again where it leaves them empty.
func (a Action) Made() []uint64 {
	made := make([]uint64, len(a.Paths()))
	if a.Undo != nil {
		for i, r := range a.Undo.Restores {
			made[i] = r.Made
		}
	}
	return made
}

// Room is how many bytes of old content one action may still have kept; what
// is beyond counts as not captured. Keeper and scribe spend it alike, in the
// order of the action's paths.
type Room struct{ Left int64 }

// Take says whether so many bytes are kept, and spends them.
func (r *Room) Take(size uint64) bool {
	if r.Left < 0 || size > uint64(r.Left) {
		return false
	}
	r.Left -= int64(size)
	return true
}

// Keep spends what was read of a file, or drops it where that does not fit.
func (r *Room) Keep(b Before) Before {
	if b.Read && !r.Take(uint64(len(b.Content))) {
		b.Content, b.Read = nil, false
	}
	return b
}
