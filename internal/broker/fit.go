package broker

import (
	"fmt"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// What goes to a scribe, and what would go there to take it back, has to fit a
// frame: that is looked at while nothing has happened yet. The bounds leave
// room for what a scribe adds when it answers, and for an undo to name more
// than the action did.
const (
	maxIntent = wire.MaxFrame - 512<<10
	maxUndo   = wire.MaxFrame - 128<<10
	maxItems  = canon.MaxItems - 1<<10
	// maxDetail bounds the account of an action that asks, so that it can be
	// shown whole.
	maxDetail = 6 << 20
)

// load is what a message takes at most: bytes, and data items.
type load struct{ bytes, items int }

func (l *load) add(bytes, items int) { l.bytes, l.items = l.bytes+bytes, l.items+items }

func (l load) within(bytes int) bool { return l.bytes <= bytes && l.items <= maxItems }

// around is what stands around the paths of an intent, in a request.
func around() load { return load{bytes: 1 << 10, items: 48} }

// The most that the parts of fixed form take, in bytes, keys and numbers
// counted.
const (
	imageBytes  = 160
	factBytes   = 512
	changeBytes = 192
)

// attributes counts a list of them, with its key.
func (l *load) attributes(list []action.Attribute) {
	if len(list) > 0 {
		l.add(0, 2)
	}
	for _, a := range list {
		l.add(len(a.Name)+len(a.Value)+32, 5)
	}
}

// some counts a field that is there or not.
func (l *load) some(there bool, items int) {
	if there {
		l.add(0, items)
	}
}

// fact counts what a reader said of one path.
func (l *load) fact(f action.Fact) {
	l.add(factBytes+len(f.Path)+len(f.Real)+len(f.Follows)+len(f.Base.Landing.Name)+len(f.Target), 15)
	v := f.Base.Version
	l.some(v != nil, 22)
	l.some(v != nil && v.Kind != "", 2)
	for _, there := range []bool{f.Follows != "", f.Target != "", f.AnyGroup, f.Default != nil, len(f.NotKept) > 0, len(f.Aliases) > 0, f.Repository} {
		l.some(there, 2)
	}
	l.attributes(f.Attributes)
	for _, n := range f.NotKept {
		l.add(len(n)+5, 1)
	}
	for _, a := range f.Aliases {
		l.add(len(a)+5, 1)
	}
}

// image counts one image.
func (l *load) image(i action.Image) {
	l.add(imageBytes, 9)
	l.some(i.Kind != "", 2)
	l.some(i.Attributes != nil, 2)
}

// planned counts what an intent says of one path beside its fact.
func (l *load) planned(result action.Image) {
	l.image(result)
	l.add(64, 1)
}

// action counts the action itself.
func (l *load) action(a action.Action) {
	if u := a.Undo; u != nil {
		for _, r := range u.Restores {
			l.restore(r)
		}
		for _, left := range u.Leaves {
			l.add(changeBytes+len(left.Path)+len(left.Why), 8)
			l.image(left.Left)
			l.image(left.Back)
			if left.Now != nil {
				l.image(*left.Now)
			}
		}
		return
	}
	for _, c := range a.FileWrite.Changes {
		l.add(changeBytes+len(c.Path), 5)
		l.some(c.Expect != nil, 4)
		if c.Write != nil {
			l.add(len(c.Write.Content)+len(c.Write.Type), 6)
		}
		if c.Edit != nil {
			l.add(0, 3)
			for _, e := range c.Edit.Edits {
				l.add(len(e.Old)+len(e.New)+40, 7)
			}
		}
	}
}

func (l *load) restore(r action.Restore) {
	l.add(changeBytes+len(r.Path)+len(r.Content), 7)
	l.image(r.Left)
	l.image(r.Back)
	l.some(r.AnyGroup, 2)
	l.some(r.Made > 0, 2)
	l.attributes(r.Attributes)
}

// carried refuses an action that could not be sent to a scribe.
func (v *preview) carried(a action.Action) error {
	most := maxIntent
	if a.Undo != nil {
		most = maxUndo
	}
	l := around()
	l.action(a)
	for _, p := range v.plans {
		l.fact(p.Fact)
		l.planned(p.Result)
	}
	if l.within(most) {
		return nil
	}
	// The count is a little high, so one that is near the bound is measured.
	in := protocol.Intent{ID: action.NewID(), Action: a, Facts: v.facts(), Approved: &action.Hash{}}
	for _, p := range v.plans {
		in.Results, in.Staged = append(in.Results, p.Result), append(in.Staged, stagedName())
	}
	raw, err := canon.Encode(protocol.IntentParams{Intent: in})
	var back canon.Raw
	if err == nil {
		err = canon.Decode(raw, &back)
	}
	if err != nil || len(raw) > most {
		return refusal.New(refusal.TooLarge, whatOf(a), "with what stands at its %d paths it takes %d bytes, of at most %d, or too many items", len(v.plans), len(raw), most)
	}
	return nil
}

// takenBack says of each path whether its undo can put back what stands there:
// that was read, and fits what one undo can carry, in the order of the paths.
// whole says whether the undo can be sent at all.
func (v *preview) takenBack() (each []bool, whole bool) {
	l := around()
	for _, p := range v.plans {
		l.undo(p.Fact, p.Attributes)
	}
	each, whole = make([]bool, len(v.plans)), l.within(maxUndo)
	for i, b := range v.befores {
		each[i] = b.Read && whole && l.content(len(b.Content))
	}
	return each, whole
}

// undo counts what putting one path back takes in an intent, without the bytes
// of what stood there: after are the attributes that the action leaves it.
func (l *load) undo(f action.Fact, after []action.Attribute) {
	left := action.Image{Attributes: action.AttributesHash(after)}
	found := f // as the undo will find it
	found.Path, found.Attributes, found.NotKept = f.Resolved(), after, nil
	if found.Base.Version == nil {
		found.Base.Version = &action.Version{}
	}
	l.fact(found)
	l.planned(f.Image())
	l.restore(action.Restore{
		Path: f.Resolved(), Left: left, Back: f.Image(), AnyGroup: f.AnyGroup, Attributes: f.Attributes,
		Made: uint64(len(f.Base.Landing.Missing())),
	})
}

// content says whether so many bytes more fit an undo, and counts them.
func (l *load) content(bytes int) bool {
	more := *l
	if more.add(bytes, 0); !more.within(maxUndo) {
		return false
	}
	*l = more
	return true
}

// whatOf names an action by its capability and its first path.
func whatOf(a action.Action) string {
	paths := a.Paths()
	what := string(a.Capability()) + " of " + paths[0].String()
	if n := len(paths) - 1; n > 0 {
		what += fmt.Sprintf(" and %d more", n)
	}
	return what
}
