package action

import (
	"countersign/internal/refusal"
)

// Before is what stood at a path when an action is planned.
type Before struct {
	Fact    Fact
	Content []byte // of the file; nil where absent, or where it was not read
	Read    bool   // whether Content is the whole file
}

// Does says what a planned change does to its path.
type Does string

const (
	Creates  Does = "create"
	Replaces Does = "replace"
	Deletes  Does = "delete"
)

// Planned is one change worked out against what stood there: the bytes that
// will stand there, and what replacing would give up.
type Planned struct {
	Fact   Fact
	Does   Does
	Old    []byte // what is replaced, where it was read
	New    []byte // what will stand there; nil for a delete
	Type   string // content type of a binary write
	Result Image
	Back   bool   // whether New stood there before: an undo's
	Made   uint64 // directories above it to remove if the change leaves them empty

	// Group says that Result.GID must be given to the file, and Exact that it
	// must have Attributes and no others. Without them these are the
	// directory's to give, and not part of Result.
	Group, Exact bool
	Attributes   []Attribute
}

// Plan works out every change of an action. befores stand in the order of
// a.Paths; umask is the person's. It refuses what cannot be done on these
// bytes, and two changes of one place, and plans all or nothing.
func (a Action) Plan(befores []Before, umask uint32) ([]Planned, error) {
	paths := a.Paths()
	if len(befores) != len(paths) {
		return nil, refusal.New(refusal.Differs, "the action", "%d paths, %d captured", len(paths), len(befores))
	}
	for i, before := range befores {
		if before.Fact.Path != paths[i] {
			return nil, refusal.New(refusal.Differs, paths[i].String(), "%s was captured instead", before.Fact.Path)
		}
	}
	if err := onePlaceEach(befores); err != nil {
		return nil, err
	}
	plans := make([]Planned, 0, len(paths))
	for i, before := range befores {
		var p Planned
		var err error
		if a.Undo != nil {
			p, err = a.Undo.Restores[i].plan(before)
		} else {
			p, err = a.FileWrite.Changes[i].plan(before, umask)
		}
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// onePlaceEach refuses two paths of one change that reach one file, by another
// spelling, a link or a hard link, and one that is a directory to another: what
// is done at the one would undo what is done at the other.
func onePlaceEach(befores []Before) error {
	type file struct{ dev, ino uint64 }
	places, files := make(map[Landing]Path), make(map[file]Path)
	for _, b := range befores {
		at := b.Fact.Base.Landing
		if first, taken := places[at]; taken {
			return refusal.New(refusal.SamePlace, b.Fact.Path.String(), "%s leads there too", first)
		}
		places[at] = b.Fact.Path
		if v := b.Fact.Base.Version; v != nil {
			id := file{v.Dev, v.Ino}
			if first, taken := files[id]; taken {
				return refusal.New(refusal.SamePlace, b.Fact.Path.String(), "%s is the same file", first)
			}
			files[id] = b.Fact.Path
		}
	}
	for _, b := range befores {
		at := b.Fact.Base.Landing
		for i := range len(at.Name) {
			if at.Name[i] != '/' {
				continue
			}
			if first, taken := places[Landing{at.Dev, at.Ino, at.Name[:i]}]; taken {
				return refusal.New(refusal.SamePlace, b.Fact.Path.String(), "%s cannot be a file and a directory", first)
			}
		}
	}
	return nil
}

func (c Change) plan(b Before, umask uint32) (Planned, error) {
	name, v := c.Path.String(), b.Fact.Base.Version
	if err := c.Expect.check(name, v); err != nil {
		return Planned{}, err
	}
	p := Planned{Fact: b.Fact, Old: b.Content}
	switch {
	case v == nil && c.Write == nil:
		return Planned{}, refusal.New(refusal.NotFound, c.verb()+" "+name, "")
	case c.Delete != nil:
		p.Does, p.Result = Deletes, Image{Absent: true}
		return p, nil
	case v == nil:
		p.create(umask)
	default:
		p.replace()
	}
	switch {
	case c.Edit != nil:
		if !b.Read {
			return Planned{}, refusal.New(refusal.FileTooBig, "edit of "+name, "%d bytes, or the files of this action together", v.Size)
		}
		text, err := c.Edit.apply(name, b.Content)
		if err != nil {
			return Planned{}, err
		}
		p.New = text
	case c.Write != nil:
		p.New, p.Type = c.Write.Content, c.Write.Type
		if c.Write.Mode != 0 {
			p.Result.Mode = c.Write.Mode
		}
	}
	return p.finish(name)
}

// create plans a new file's metadata: as a person's shell would make it.
func (p *Planned) create(umask uint32) {
	p.Does, p.Result.Mode = Creates, 0o666&^(umask&0o777)
	if acl := p.Fact.Default; acl != nil {
		p.Result.Mode = 0o666 & *acl
	}
}

// replace plans to keep what the old file had. Where its group cannot be given
// to another file, no other group gets what that one could do.
func (p *Planned) replace() {
	v := p.Fact.Base.Version
	p.Does, p.Exact, p.Attributes = Replaces, true, p.Fact.Attributes
	p.Result.Mode, p.Result.Attributes = v.Mode&0o777, AttributesHash(p.Attributes)
	p.group(p.Fact.AnyGroup, v.GID)
}

func (p *Planned) group(any bool, gid uint32) {
	if any {
		others := p.Result.Mode & 0o007
		p.Result.Mode &= 0o707 | others<<3
		return
	}
	p.Group, p.Result.GID = true, gid
}

func (r Restore) plan(b Before) (Planned, error) {
	name := r.Path.String()
	if r.Back.Is(b.Fact) {
		return Planned{}, refusal.New(refusal.NoChange, "undo of "+name, "")
	}
	if !r.Left.Is(b.Fact) {
		return Planned{}, refusal.New(refusal.Conflict, "undo of "+name, "the action left %s, disk holds %s, undo would put back %s",
			r.Left, b.Fact.Image(), r.Back)
	}
	p := Planned{Fact: b.Fact, Old: b.Content, Result: r.Back, Back: true, Made: r.Made}
	switch {
	case r.Back.Absent:
		p.Does = Deletes
		return p, nil
	case r.Back.Kind == Symlink && !r.Left.Absent:
		return Planned{}, refusal.New(refusal.NotRegular, "undo of "+name, "a link is not put in a file's place")
	}
	p.Does, p.New, p.Exact, p.Attributes = Replaces, r.Content, true, r.Attributes
	if b.Fact.Base.Version == nil {
		p.Does = Creates
	}
	p.Result.GID = 0
	if r.Back.Kind == Regular {
		p.group(r.AnyGroup, r.Back.GID)
	}
	return p.finish(name)
}

// finish takes the hash of the new bytes and refuses a change that is none.
func (p Planned) finish(name string) (Planned, error) {
	h := HashOf(p.New)
	p.Result.Hash, p.Result.Size = &h, uint64(len(p.New))
	is := p.Result
	if v := p.Fact.Base.Version; v != nil && !p.Group {
		is.GID = v.GID // nothing is to be done about it
	}
	if p.Does == Replaces && is.Is(p.Fact) {
		return Planned{}, refusal.New(refusal.NoChange, name, "")
	}
	return p, nil
}

// check compares what the proposer saw with what stands there.
func (e *Expect) check(name string, v *Version) error {
	switch {
	case e == nil:
		return nil
	case e.Absent && v != nil:
		return refusal.New(refusal.Outdated, name, "it was expected absent, and there is a file")
	case e.Hash != nil && v == nil:
		return refusal.New(refusal.Outdated, name, "it is gone")
	case e.Hash != nil && *e.Hash != v.Hash:
		return refusal.New(refusal.Outdated, name, "%s was seen, disk holds %s", e.Hash.Short(), v.Hash.Short())
	}
	return nil
}

func (c Change) verb() string {
	switch {
	case c.Edit != nil:
		return "edit of"
	case c.Delete != nil:
		return "delete of"
	}
	return "write of"
}

// Short is enough of a hash for a person to compare.
func (h Hash) Short() string { return h.String()[:12] }

// String names an image in a few words.
func (i Image) String() string {
	if i.Absent {
		return "nothing"
	}
	return i.Hash.Short()
}

// SameResult says whether two sides planned the same thing to stand there. An
// image that is neither a file nor absent, as a peer could send, is no result.
func (i Image) SameResult(o Image) bool {
	if i.Absent || o.Absent || i.Hash == nil || o.Hash == nil {
		return i.Absent && o.Absent
	}
	return i.Kind == o.Kind && *i.Hash == *o.Hash && i.Size == o.Size && i.Mode == o.Mode && i.GID == o.GID && sameHash(i.Attributes, o.Attributes)
}
