package policy

import (
	"bytes"
	"fmt"
	"strings"

	"countersign/internal/action"
	"countersign/internal/classify"
	"countersign/internal/grant"
	"countersign/internal/refusal"
)

// Disk is what is taken for what disk says, where an action is explained
// without it.
type Disk struct {
	Stands  bool                        // a file stands at every path; without it, where the action needs one
	Mode    uint32                      // of the files that stand; 0 is 0644
	Lost    bool                        // what stands cannot be captured
	Lands   map[action.Path]action.Path // where paths land; one that is missing lands as it is named
	Aliases map[action.Path]action.Path // names of the home from which a link leads to a path
}

// Explanation is what a policy makes of an action, by the policy and what was
// assumed of disk alone.
type Explanation struct {
	Person     string            `json:"person,omitempty"` // whose home it lies in
	Capability action.Capability `json:"capability"`
	Paths      []Place           `json:"paths"`
	Refused    *refusal.Refusal  `json:"refused,omitempty"` // what refuses it before any decision, or for its size after one; the first that applies
	Class      classify.Class    `json:"class"`
	Decision   Decision          `json:"decision"`
	NewText    int               `json:"new_text"` // bytes
	Disk       []string          `json:"depends_on_disk"`
}

// Place is one path of an explanation.
type Place struct {
	Path         action.Path      `json:"path"`
	Lands        action.Path      `json:"lands"`
	Read         *Cited           `json:"read,omitempty"`  // the grant that lets it be read
	Write        *Cited           `json:"write,omitempty"` // and written
	Refused      *refusal.Refusal `json:"refused,omitempty"`
	SnapshotRoot bool             `json:"snapshot_root"`
}

// Cited is a grant and where the file has it.
type Cited struct {
	Key  string `json:"key"`
	Line int    `json:"line"`
	Root string `json:"root"`
}

// Explain says what would become of a valid action. by names the person or the
// agent who proposes it; empty is an agent that may. It is pure: what it cannot
// know without a disk it says.
func (p *Policy) Explain(a action.Action, by string, disk Disk) Explanation {
	e := Explanation{Capability: a.Capability(), NewText: a.NewText(), Paths: []Place{}}
	person, err := p.personOf(a)
	e.refuse(err)
	who, err := p.proposer(by, person)
	e.refuse(err)
	if person != nil {
		e.Person = person.Name
		for _, path := range a.Paths() {
			e.Paths = append(e.Paths, p.place(person, path, disk))
		}
		for _, place := range e.Paths {
			if place.Refused != nil {
				e.refuse(place.Refused)
			}
		}
	}
	e.refuse(a.CarriedOut())
	e.Class = p.classOf(a, person, disk)
	e.Decision = p.Decide(e.Class, who)
	e.refuse(p.bounds(e))
	e.Disk = dependsOn(a)
	return e
}

// refuse keeps the first refusal.
func (e *Explanation) refuse(err error) {
	if r := refusal.As(err); r != nil && e.Refused == nil {
		e.Refused = r
	}
}

// personOf gives the person in whose home all of an action lies.
func (p *Policy) personOf(a action.Action) (*Person, error) {
	var person *Person
	for _, path := range a.Paths() {
		home, err := p.HomeOf(path)
		switch {
		case err != nil:
			return nil, err
		case person != nil && person != home:
			return nil, refusal.New(refusal.SeveralHomes, path.String(), "")
		}
		person = home
	}
	return person, nil
}

// proposer says who proposes, as a decision turns on it.
func (p *Policy) proposer(by string, person *Person) (Proposer, error) {
	if by == "" || person == nil {
		return Proposer{}, nil
	}
	if p.Agents[by] != nil && p.AgentMay(by, person.Name) {
		return Proposer{Agent: by, Self: p.OwnerOf(p.Agents[by].UID, person.Name)}, nil
	}
	if o := p.Persons[by]; o != nil && p.OwnerOf(o.UID, person.Name) {
		return Proposer{Self: true}, nil
	}
	return Proposer{}, refusal.New(refusal.NotPermitted, by, "it may not propose in the home of %s", person.Name)
}

// place judges one path as it is named and as it lands.
func (p *Policy) place(person *Person, path action.Path, disk Disk) Place {
	out := Place{Path: path, Lands: disk.lands(path)}
	out.SnapshotRoot = person.InSnapshotRoot(out.Lands)
	key := "persons." + person.Name
	if g, err := person.Grants.Judge(grant.Read, string(path)); err == nil {
		out.Read = p.cited(key+".read", person.Grants.Reads, g)
	}
	g, err := person.Grants.Judge(grant.Write, string(path))
	if err == nil {
		out.Write = p.cited(key+".write", person.Grants.Writes, g)
		if out.Lands != path {
			_, err = person.Grants.Judge(grant.Write, string(out.Lands))
			err = refusal.About(path.String(), err)
		}
	}
	out.Refused = refusal.As(err)
	return out
}

// cited names a grant of a list by its key and line.
func (p *Policy) cited(key string, list []grant.Grant, g grant.Grant) *Cited {
	for i := range list {
		if list[i].Root == g.Root {
			at := item(key, i)
			return &Cited{Key: at, Line: p.lines.of(at + ".root"), Root: g.Root}
		}
	}
	return nil
}

// classOf classifies an action by what it brings and what is assumed.
func (p *Policy) classOf(a action.Action, person *Person, disk Disk) classify.Class {
	if a.GitWrite != nil && person != nil {
		root := a.Paths()[0]
		return classify.ClassifyGit(classify.Git{Repository: root, Capability: a.Capability(), Kept: true, InSnapshotRoot: person.InSnapshotRoot(disk.lands(root))})
	}
	if a.FileWrite == nil || person == nil {
		return classify.Class{Capability: a.Capability(), Reversible: a.GitPush == nil, Reasons: []classify.Reason{}}
	}
	var changes []classify.Change
	for _, c := range a.FileWrite.Changes {
		changes = append(changes, disk.change(c, person))
	}
	return classify.Classify(changes, p.Classes())
}

func (d Disk) lands(path action.Path) action.Path {
	if to, ok := d.Lands[path]; ok {
		return to
	}
	return path
}

// change puts a change into the words that classify judges.
func (d Disk) change(c action.Change, person *Person) classify.Change {
	out := classify.Change{Path: c.Path, Real: d.lands(c.Path), Home: string(person.Home), Capability: action.CapFileWrite,
		Captured: !d.Lost, InSnapshotRoot: person.InSnapshotRoot(d.lands(c.Path))}
	if alias, ok := d.Aliases[c.Path]; ok {
		out.Aliases = []action.Path{alias}
	}
	mode := d.Mode
	if mode == 0 {
		mode = 0o644
	}
	if d.Stands || c.Write == nil {
		h := action.HashOf(nil)
		out.Old = &action.Image{Hash: &h, Mode: mode}
	} else {
		mode = 0o666 &^ person.Umask
	}
	switch {
	case c.Write != nil:
		out.NewContent, out.ContentType = c.Write.Content, c.Write.Type
		if c.Write.Mode != 0 {
			mode = c.Write.Mode
		}
	case c.Edit != nil:
		out.OldContent, out.NewContent = pieces(c.Edit)
	default:
		return out
	}
	h := action.HashOf(out.NewContent)
	out.New = &action.Image{Hash: &h, Size: uint64(len(out.NewContent)), Mode: mode}
	return out
}

// pieces gives what an edit takes away and what it brings; the rest of the file
// is not known.
func pieces(e *action.Edit) (old, now []byte) {
	var olds, news [][]byte
	for _, r := range e.Edits {
		olds, news = append(olds, r.Old), append(news, r.New)
	}
	return bytes.Join(olds, []byte("\n")), bytes.Join(news, []byte("\n"))
}

// bounds holds an explained action to the limits of its verdict.
func (p *Policy) bounds(e Explanation) error {
	n := int64(e.NewText)
	switch {
	case e.Decision.Verdict == Deny:
		return refusal.New(refusal.PolicyDenies, string(e.Capability), "%s", e.Decision.Rule)
	case e.Decision.Verdict == Auto && n > p.Limits.AutoBytes:
		return refusal.New(refusal.TooLongToAuto, string(e.Capability), "%d bytes, of at most %d", n, p.Limits.AutoBytes)
	case e.Decision.Verdict == Ask && n > p.Limits.AskedText:
		return refusal.New(refusal.TooLongToAsk, string(e.Capability), "%d bytes, of at most %d; it asks by %s", n, p.Limits.AskedText, e.Decision.Rule)
	}
	return nil
}

// dependsOn says in words what of an explanation a disk could change.
func dependsOn(a action.Action) []string {
	if a.FileWrite == nil {
		return []string{"everything that git would find in the repository"}
	}
	out := []string{
		"where each path lands: a link on the way, and a link of the home that leads to it, are judged as well",
		"whose the files are, and what replacing them would lose",
		"whether a directory on the way has a HEAD, which makes it a repository's own",
	}
	var writes, edits, deletes bool
	for _, c := range a.FileWrite.Changes {
		writes, edits, deletes = writes || c.Write != nil, edits || c.Edit != nil, deletes || c.Delete != nil
	}
	if writes {
		out = append(out, "whether a file stands where one is written, with which mode and content, and whether it can be captured")
	}
	if edits {
		out = append(out, "whether an edited file holds the old text, what else it holds, how large it is and which mode it has")
	}
	if deletes {
		out = append(out, "what a deleted file holds, and whether it can be captured")
	}
	return out
}

// String names a grant for a person.
func (c *Cited) String() string {
	if c == nil {
		return "none"
	}
	return fmt.Sprintf("%s, line %d: %s", c.Key, c.Line, strings.TrimSpace(c.Root))
}
