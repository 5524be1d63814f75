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
	Result Image  // of a file that is created the group is the directory's to give, and 0 here
	KeepID bool   // whether Result.GID must be given to the file
	Back   bool   // whether New stood there before: an undo's
}

// Plan works out every change of an action. befores stand in the order of
// a.Paths; umask is the person's. It refuses what cannot be done on these
// bytes, and plans all or nothing.
func (a Action) Plan(befores []Before, umask uint32) ([]Planned, error) {
	paths := a.Paths()
	if len(befores) != len(paths) {
		return nil, refusal.New(refusal.Differs, "the action", "%d paths, %d captured", len(paths), len(befores))
	}
	plans := make([]Planned, 0, len(paths))
	for i, before := range befores {
		if before.Fact.Path != paths[i] {
			return nil, refusal.New(refusal.Differs, paths[i].String(), "%s was captured instead", before.Fact.Path)
		}
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

func (c Change) plan(b Before, umask uint32) (Planned, error) {
	name, v := c.Path.String(), b.Fact.Base.Version
	if err := c.Expect.check(name, v); err != nil {
		return Planned{}, err
	}
	p := Planned{Fact: b.Fact, Old: b.Content}
	if v == nil {
		if c.Write == nil {
			return Planned{}, refusal.New(refusal.NotFound, c.verb()+" "+name, "")
		}
		p.Does, p.New, p.Type = Creates, c.Write.Content, c.Write.Type
		p.Result.Mode = 0o666 &^ (umask & 0o777)
	} else {
		p.Does, p.KeepID = Replaces, true
		p.Result.Mode, p.Result.GID = v.Mode&0o777, v.GID
	}
	switch {
	case c.Delete != nil:
		p.Does, p.KeepID, p.Result = Deletes, false, Image{Absent: true}
		return p, nil
	case c.Edit != nil:
		if !b.Read {
			return Planned{}, refusal.New(refusal.FileTooBig, "edit of "+name, "%d bytes", v.Size)
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

func (r Restore) plan(b Before) (Planned, error) {
	name := r.Path.String()
	if r.Back.Is(b.Fact.Base) {
		return Planned{}, refusal.New(refusal.NoChange, "undo of "+name, "")
	}
	if !r.Left.Is(b.Fact.Base) {
		return Planned{}, refusal.New(refusal.Conflict, "undo of "+name, "the action left %s, disk holds %s, undo would put back %s",
			r.Left, b.Fact.Base.Image(), r.Back)
	}
	p := Planned{Fact: b.Fact, Old: b.Content, Result: r.Back, Back: true}
	if r.Back.Absent {
		p.Does = Deletes
		return p, nil
	}
	p.Does, p.New, p.KeepID = Replaces, r.Content, true
	if b.Fact.Base.Version == nil {
		p.Does = Creates
	}
	return p.finish(name)
}

// finish takes the hash of the new bytes and refuses a change that is none.
func (p Planned) finish(name string) (Planned, error) {
	h := HashOf(p.New)
	p.Result.Hash, p.Result.Size = &h, uint64(len(p.New))
	if p.KeepID && p.Result.Is(p.Fact.Base) {
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
	return *i.Hash == *o.Hash && i.Size == o.Size && i.Mode == o.Mode && i.GID == o.GID
}
