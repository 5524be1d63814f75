package broker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// some makes up to n things.
func some[T any](r *rand.Rand, n int, make func() T) (out []T) {
	for range r.IntN(n + 1) {
		out = append(out, make())
	}
	return out
}

func word(r *rand.Rand, n int) string { return strings.Repeat("w", 1+r.IntN(n)) }

func attribute(r *rand.Rand) action.Attribute {
	return action.Attribute{Name: action.Path("user." + word(r, 40)), Value: []byte(word(r, 300))}
}

// largest fills every field of a fact with what takes most room.
func largest(r *rand.Rand, name string) action.Fact {
	const most = 1<<63 - 1
	mode := uint32(0o777)
	return action.Fact{
		Path: action.Path("/home/" + name), Real: action.Path("/home/real/" + name), Follows: action.Path("/home/follows/" + name),
		Base: action.Base{
			Landing: action.Landing{Dev: most, Ino: most, Name: action.Path(name)},
			Version: &action.Version{Kind: action.Symlink, Size: most, Mode: 1<<32 - 1, UID: 1<<32 - 1, GID: 1<<32 - 1, Dev: most, Ino: most, Links: most, Mtime: most, Ctime: -most},
		},
		Target: action.Path(word(r, 50)), Attributes: some(r, 5, func() action.Attribute { return attribute(r) }),
		NotKept: some(r, 5, func() string { return word(r, 60) }), AnyGroup: true, Default: &mode,
		Aliases: some(r, action.MaxAliases, func() action.Path { return action.Path("/home/alice/." + word(r, 60)) }), Repository: true,
	}
}

func imageOf(r *rand.Rand) action.Image {
	return action.Image{Kind: action.Symlink, Hash: &action.Hash{}, Size: 1<<63 - 1, Mode: 0o777, GID: 1<<32 - 1, Attributes: &action.Hash{}}
}

// items counts the data items of an encoding.
func items(t *testing.T, v any) int {
	t.Helper()
	raw, err := canon.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	n, pos := 0, 0
	for pos < len(raw) {
		major, arg, size := raw[pos]>>5, uint64(raw[pos]&31), 1
		if arg >= 24 {
			wide := 1 << (arg - 24)
			arg = 0
			for _, c := range raw[pos+1 : pos+1+wide] {
				arg = arg<<8 | uint64(c)
			}
			size += wide
		}
		if pos += size; major == 2 || major == 3 {
			pos += int(arg)
		}
		n++
	}
	return n
}

// T2, T11: what is counted of an intent, in bytes and in items, is never less
// than it takes: what is found to fit a frame fits it.
func TestCountIsNeverShort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		in := protocol.Intent{ID: action.NewID(), Approved: &action.Hash{}}
		v := &preview{}
		undo := &action.Undo{Transaction: action.NewID()}
		write := &action.FileWrite{}
		for i := range 1 + r.IntN(20) {
			name := fmt.Sprintf("%s%d", word(r, 200), i)
			f := largest(r, name)
			v.plans = append(v.plans, action.Planned{Fact: f, Result: imageOf(r)})
			in.Facts, in.Results, in.Staged = append(in.Facts, f), append(in.Results, imageOf(r)), append(in.Staged, stagedName())
			c := action.Change{Path: f.Path, Expect: &action.Expect{Hash: &action.Hash{}}}
			if r.IntN(2) == 0 {
				c.Write = &action.Write{Content: []byte(word(r, 5000)), Type: word(r, 100), Mode: 0o755}
			} else {
				c.Edit = &action.Edit{Edits: some(r, 9, func() action.Replacement {
					return action.Replacement{Old: []byte(word(r, 90)), New: []byte(word(r, 90)), Count: 1<<63 - 1}
				})}
			}
			write.Changes = append(write.Changes, c)
			undo.Restores = append(undo.Restores, action.Restore{
				Path: f.Path, Left: imageOf(r), Back: imageOf(r), Content: []byte(word(r, 3000)), AnyGroup: true, Made: action.MaxMade,
				Attributes: some(r, 5, func() action.Attribute { return attribute(r) }),
			})
			now := imageOf(r)
			undo.Leaves = append(undo.Leaves, action.Leave{Path: f.Path, Left: now, Now: &now, Back: now, Why: word(r, 500)})
		}
		for name, a := range map[string]action.Action{"write": {FileWrite: write}, "undo": {Undo: undo}} {
			in.Action = a
			raw, err := canon.Encode(protocol.IntentParams{Intent: in})
			if err != nil {
				t.Fatal(err)
			}
			l := around()
			l.action(a)
			for _, p := range v.plans {
				l.fact(p.Fact)
				l.planned(p.Result)
			}
			if n := items(t, protocol.IntentParams{Intent: in}); l.bytes < len(raw) || l.items < n {
				t.Fatalf("round %d, %s: counted %d bytes and %d items; it takes %d and %d", round, name, l.bytes, l.items, len(raw), n)
			}
		}
	}
}

// files makes a preview of files that are replaced, all of one size.
func files(n int, size int64, attributes int) *preview {
	v := &preview{}
	a := []action.Attribute{{Name: "user.a", Value: make([]byte, attributes)}}
	for i := range n {
		f := action.Fact{Path: action.Path(fmt.Sprintf("/home/alice/f%04d", i)), Base: action.Base{Version: &action.Version{Size: uint64(size)}}, Attributes: a}
		f.Real = f.Path
		v.befores = append(v.befores, action.Before{Fact: f, Content: make([]byte, size), Read: true})
		v.plans = append(v.plans, action.Planned{Fact: f, Attributes: a, Result: action.Image{Hash: &action.Hash{}}})
	}
	return v
}

// T11, T12, T13: an action is reversible only as far as its undo can be sent: of what
// stands at many paths, that is what fits one frame with all there is to say of
// them.
func TestPromiseFitsAFrame(t *testing.T) {
	for name, c := range map[string]struct {
		v    *preview
		kept int
		all  bool
	}{
		"one file of 8 MiB":                        {files(1, 8<<20, 0), 1, true},
		"many small ones":                          {files(2048, 100, 0), 2048, true},
		"many whose attributes alone are too much": {files(2048, 1, 2<<10), 0, false},
	} {
		each, whole := c.v.takenBack()
		kept := 0
		for _, k := range each {
			if k {
				kept++
			}
		}
		if kept != c.kept || whole != c.all {
			t.Errorf("%s: %d can be put back, all of it can be sent: %v", name, kept, whole)
		}
	}
	v := files(2000, 4<<10, 200)
	each, whole := v.takenBack()
	if !whole || !each[0] || each[1999] {
		t.Fatalf("the first is kept: %v, the last: %v", each[0], each[1999])
	}
	undo := &action.Undo{Transaction: action.NewID()}
	in := protocol.Intent{ID: action.NewID()}
	for i, p := range v.plans {
		r := action.Restore{Path: p.Fact.Path, Left: imageOf(nil), Back: imageOf(nil), Attributes: p.Fact.Attributes}
		if each[i] {
			r.Content = v.befores[i].Content
		}
		undo.Restores = append(undo.Restores, r)
		in.Facts, in.Results, in.Staged = append(in.Facts, p.Fact), append(in.Results, r.Back), append(in.Staged, stagedName())
	}
	in.Action = action.Action{Undo: undo}
	raw, err := canon.Encode(protocol.IntentParams{Intent: in})
	if err != nil || len(raw) > maxUndo {
		t.Errorf("its undo takes %d bytes, of at most %d: %v", len(raw), maxUndo, err)
	}
	if err := v.carried(in.Action); err != nil {
		t.Errorf("its undo is refused: %v", err)
	}
}

// T2: what cannot be sent to a scribe is refused as too large, by bytes and by
// items, and what is near the bound is measured before it is.
func TestTooLargeIsRefused(t *testing.T) {
	of := func(v *preview) action.Action {
		w := &action.FileWrite{}
		for _, p := range v.plans {
			w.Changes = append(w.Changes, action.Change{Path: p.Fact.Path, Write: &action.Write{Content: []byte("x")}})
		}
		return action.Action{FileWrite: w}
	}
	fits := files(2048, 0, 3<<10)
	bytes := files(2048, 0, 4<<10)
	items := files(2048, 0, 0)
	for i := range items.plans {
		for k := range 40 {
			items.plans[i].Fact.Attributes = append(items.plans[i].Fact.Attributes, action.Attribute{Name: action.Path(fmt.Sprintf("user.%02d", k))})
		}
	}
	for name, c := range map[string]struct {
		v    *preview
		code refusal.Code
	}{"fits": {fits, ""}, "bytes": {bytes, refusal.TooLarge}, "items": {items, refusal.TooLarge}} {
		err := c.v.carried(of(c.v))
		if c.code == "" && err != nil || c.code != "" && !refusal.Is(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// T2: the bounds on intents that docs/wire.md states are the ones in force.
func TestDocsBounds(t *testing.T) {
	b, err := os.ReadFile("../../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("it takes at most %d bytes, an undo %d", maxIntent, maxUndo); !strings.Contains(string(b), want) {
		t.Errorf("%q is not in the page", want)
	}
}
