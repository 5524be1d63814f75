package broker

import (
	"slices"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// aFact is a file as an honest reader tells it.
func aFact() action.Fact {
	return action.Fact{
		Path: "/home/alice/a", Real: "/home/alice/a",
		Base:       action.Base{Landing: action.Landing{Dev: 1, Ino: 2, Name: "a"}, Version: &action.Version{Size: 3, Mode: 0o644}},
		Attributes: []action.Attribute{{Name: "user.a", Value: []byte("1")}, {Name: "user.b"}}, NotKept: []string{"group 27"},
	}
}

// T11: whatever a reader says of a place that no disk can hold, or that would
// move a person's eye, is no fact.
func TestFactsAreSound(t *testing.T) {
	target := action.Path("b")
	link := func(f *action.Fact) {
		f.Base.Version = &action.Version{Kind: action.Symlink, Size: 1, Hash: action.HashOf([]byte(target))}
		f.Target, f.Attributes, f.NotKept = target, nil, nil
	}
	mode := uint32(0o1777)
	for name, c := range map[string]struct {
		twist func(*action.Fact)
		how   action.How
		sound bool
	}{
		"a file":  {func(*action.Fact) {}, action.ToFile, true},
		"nothing": {func(f *action.Fact) { f.Base.Version, f.Attributes, f.NotKept = nil, nil, nil }, action.ToFile, true},
		"nothing beneath nothing": {func(f *action.Fact) {
			f.Base.Version, f.Attributes, f.NotKept, f.Base.Landing.Name = nil, nil, nil, "x/a"
		}, action.ToFile, true},
		"a link":                     {link, action.ToEntry, true},
		"a hundred names":            {func(f *action.Fact) { f.NotKept = make([]string, 100) }, action.ToFile, true},
		"a link where a file is":     {link, action.ToFile, false},
		"a link to more than it has": {func(f *action.Fact) { link(f); f.Base.Version.Size++ }, action.ToEntry, false},
		"a link to elsewhere":        {func(f *action.Fact) { link(f); f.Target = "c" }, action.ToEntry, false},
		"a file beneath nothing":     {func(f *action.Fact) { f.Base.Landing.Name = "x/a" }, action.ToFile, false},
		"a name that climbs":         {func(f *action.Fact) { f.Base.Landing.Name = "../a" }, action.ToFile, false},
		"a place that is not clean":  {func(f *action.Fact) { f.Real = "/home/alice/../a" }, action.ToFile, false},
		"a way that is not clean":    {func(f *action.Fact) { f.Follows = "a" }, action.ToFile, false},
		"known by other names":       {func(f *action.Fact) { f.Aliases = []action.Path{"/home/alice/.b"} }, action.ToFile, true},
		"a name that is no path":     {func(f *action.Fact) { f.Aliases = []action.Path{"/home/alice/.b", "b"} }, action.ToFile, false},
		"names without end":          {func(f *action.Fact) { f.Aliases = slices.Repeat([]action.Path{"/home/alice/.b"}, action.MaxAliases+1) }, action.ToFile, false},
		"another kind":               {func(f *action.Fact) { f.Base.Version.Kind = "pipe" }, action.ToFile, false},
		"a file with a target":       {func(f *action.Fact) { f.Target = "b" }, action.ToFile, false},
		"nothing with attributes":    {func(f *action.Fact) { f.Base.Version = nil }, action.ToFile, false},
		"attributes out of order":    {func(f *action.Fact) { f.Attributes[0].Name = "user.c" }, action.ToFile, false},
		"an attribute twice":         {func(f *action.Fact) { f.Attributes[0].Name = "user.b" }, action.ToFile, false},
		"attributes without end":     {func(f *action.Fact) { f.Attributes[0].Value = make([]byte, action.MaxAttributes) }, action.ToFile, false},
		"words that move":            {func(f *action.Fact) { f.NotKept[0] = "x\x1b[2K" }, action.ToFile, false},
		"words without end":          {func(f *action.Fact) { f.NotKept[0] = strings.Repeat("x", maxNames+1) }, action.ToFile, false},
		"a mode that is none":        {func(f *action.Fact) { f.Default = &mode }, action.ToFile, false},
	} {
		f := aFact()
		c.twist(&f)
		if err := soundFact(f, action.Target{Path: f.Path, How: c.how}); (err == nil) != c.sound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// T16, T18: an answer of a scribe that no honest one gives is not believed, in
// part either: it says nothing about the disk.
func TestOutcomesAreSound(t *testing.T) {
	in := protocol.Intent{Facts: []action.Fact{{Path: "/a"}, {Path: "/b"}}}
	landed := func() protocol.Outcome {
		return protocol.Outcome{Result: protocol.Landed, Changes: []protocol.PathOutcome{
			{Path: "/a", Did: protocol.Replaced, Version: &action.Version{}}, {Path: "/b", Did: protocol.Deleted},
		}}
	}
	for name, c := range map[string]struct {
		twist func(*protocol.Outcome)
		sound bool
	}{
		"landed":                     {func(*protocol.Outcome) {}, true},
		"landed, and overtaken":      {func(o *protocol.Outcome) { o.Changes[1].Did = protocol.Overtaken }, true},
		"in part":                    {func(o *protocol.Outcome) { o.Result, o.Changes[1].Did = protocol.Partial, protocol.TakenBack }, true},
		"landed but for one":         {func(o *protocol.Outcome) { o.Changes[1].Did = protocol.Untouched }, false},
		"not landed but for one":     {func(o *protocol.Outcome) { o.Result = protocol.NotLanded }, false},
		"a result of its own":        {func(o *protocol.Outcome) { o.Result = "splendid" }, false},
		"a deed of its own":          {func(o *protocol.Outcome) { o.Changes[1].Did = "improved" }, false},
		"a deed of nobody's":         {func(o *protocol.Outcome) { o.Result, o.Changes[1].Did = protocol.Unknown, "improved" }, false},
		"one path":                   {func(o *protocol.Outcome) { o.Changes = o.Changes[:1] }, false},
		"another's path":             {func(o *protocol.Outcome) { o.Changes[1].Path = "/c" }, false},
		"paths that are left out":    {func(o *protocol.Outcome) { o.More = 1 }, false},
		"something that is cut":      {func(o *protocol.Outcome) { o.Changes[0].Cut = true }, false},
		"another kind":               {func(o *protocol.Outcome) { o.Changes[0].Version.Kind = "x" }, false},
		"words that move":            {func(o *protocol.Outcome) { o.Words = "x\ny" }, false},
		"too much that failed":       {func(o *protocol.Outcome) { o.Changes[0].After = make([]string, maxAfter+1) }, false},
		"failures that move":         {func(o *protocol.Outcome) { o.Changes[0].After = []string{"\u202e"} }, false},
		"a lease that moves":         {func(o *protocol.Outcome) { o.Changes[0].NoLease = "\r" }, false},
		"something kept nowhere":     {func(o *protocol.Outcome) { o.Kept = []protocol.KeptAside{{Path: "x"}} }, false},
		"refused for its own reason": {func(o *protocol.Outcome) { o.Refused = &refusal.Refusal{Code: "mood"} }, false},
	} {
		out := landed()
		c.twist(&out)
		if soundOutcome(out, in) != c.sound {
			t.Errorf("%s: believed: %v", name, !c.sound)
		}
	}
	if !soundOutcome(unbelieved(in), in) {
		t.Error("what is made of an answer that is not believed is not believed")
	}
}

// many makes an outcome of n paths with something to say of each.
func many(n int) protocol.Outcome {
	out := protocol.Outcome{Result: protocol.Landed}
	for i := range n {
		out.Changes = append(out.Changes, protocol.PathOutcome{
			Path: action.Path("/home/alice/" + strings.Repeat("p", 60)), Did: protocol.Replaced, Links: 1, NotKept: []string{"group 27"},
			Version: &action.Version{Size: uint64(i)}, Attributes: &action.Hash{},
		})
	}
	return out
}

// S28: what does not fit an answer is left out from what matters least: what
// stands there now, then what there is to say, then paths, and each is counted or
// marked; what is answered is never longer than stated.
func TestOutcomeIsFitted(t *testing.T) {
	for _, n := range []int{1, 16, 400, 1000, 2048} {
		for _, most := range []int{8 << 10, 64 << 10, protocol.MaxAnswer, protocol.MaxShown} {
			all := many(n)
			fits, left := fitOutcome(all, most)
			raw, err := canon.Encode(fits)
			if err != nil || left < 0 || len(raw) > most+1<<10 {
				t.Fatalf("%d paths in %d bytes take %d, %d are left: %v", n, most, len(raw), left, err)
			}
			if len(fits.Changes)+int(fits.More) != n {
				t.Fatalf("%d paths and %d more of %d", len(fits.Changes), fits.More, n)
			}
			unsaid, unversioned := 0, 0
			for _, c := range fits.Changes {
				if c.Links == 0 {
					unsaid++
				}
				if c.Version == nil {
					unversioned++
				}
				if c.Did != protocol.Replaced || c.Cut != (c.Links == 0 || c.Version == nil) {
					t.Fatalf("%+v", c)
				}
			}
			if fits.More > 0 && unsaid < len(fits.Changes) || unsaid > 0 && unversioned < len(fits.Changes) {
				t.Errorf("%d paths in %d bytes: %d are left out, of %d nothing is said, %d have no version", n, most, fits.More, unsaid, unversioned)
			}
			if all.Changes[0].Cut {
				t.Fatal("the outcome itself was changed")
			}
		}
	}
}

// S28: what an answer shows as standing now is no file that was overtaken.
func TestRegionsStand(t *testing.T) {
	plans := []action.Planned{{Fact: action.Fact{Path: "/a"}}, {Fact: action.Fact{Path: "/b"}}, {Fact: action.Fact{Path: "/c"}}}
	out := protocol.Outcome{More: 1, Changes: []protocol.PathOutcome{{Path: "/a", Did: protocol.Overtaken}, {Path: "/b", Did: protocol.Replaced}}}
	if got := standing(plans, out); len(got) != 2 || got[0].Fact.Path != "/b" || got[1].Fact.Path != "/c" {
		t.Errorf("%+v", got)
	}
}

// T14: an outcome is one record whatever is in it: what its head does not hold
// stands whole beside it.
func TestOutcomeHasAHead(t *testing.T) {
	long := many(1)
	long.Changes[0].After = []string{strings.Repeat("x", maxSaid), strings.Repeat("y", maxSaid)}
	for name, c := range map[string]struct {
		out    protocol.Outcome
		beside bool
	}{"short": {many(protocol.MaxPaths), false}, "many": {many(protocol.MaxPaths + 1), true}, "long": {long, true}} {
		e, err := outcomeEntry(kindOutcome, action.NewID(), c.out)
		if err != nil {
			t.Fatal(err)
		}
		head := e.Content.(outcome).Outcome
		if raw, err := canon.Encode(head); err != nil || len(raw) > headBytes+4<<10 || len(head.Changes) > protocol.MaxPaths {
			t.Errorf("%s: the head has %d bytes and %d paths: %v", name, len(raw), len(head.Changes), err)
		}
		if (len(e.Bodies) == 1) != c.beside {
			t.Errorf("%s: %d bodies", name, len(e.Bodies))
		}
		if c.beside {
			all, err := decode[protocol.Outcome](e.Bodies[0].Data)
			if err != nil || len(all.Changes) != len(c.out.Changes) || len(all.Changes[0].After) != len(c.out.Changes[0].After) {
				t.Errorf("%s: beside it stand %d paths: %v", name, len(all.Changes), err)
			}
		}
	}
}

// S28: of what is shown the action gives way first, then diffs from the end, then
// paths, and it is said; of what waits the account stays whole.
func TestShownIsFitted(t *testing.T) {
	made := func(state protocol.State) protocol.ShowResult {
		res := protocol.ShowResult{Transaction: protocol.Transaction{State: state}, Action: &action.Action{}, Detail: &action.Detail{}}
		for range 100 {
			res.Detail.Changes = append(res.Detail.Changes, action.ChangeDetail{Path: "/a", Diff: strings.Repeat("+x\n", 300)})
		}
		return res
	}
	for name, c := range map[string]struct {
		state                protocol.State
		most                 int
		action, diffs, paths bool // whether all of it is there
	}{
		"all":       {protocol.StateLanded, 1 << 20, true, true, true},
		"no action": {protocol.StateLanded, 200 << 10, false, true, true},
		"diffs":     {protocol.StateLanded, 120 << 10, false, false, true},
		"paths":     {protocol.StateLanded, 30 << 10, false, false, false},
		"waiting":   {protocol.StateWaiting, 120 << 10, false, true, true},
	} {
		res := made(c.state)
		if err := fitShown(&res, 100<<10, c.most); err != nil {
			t.Fatal(err)
		}
		diffs := 0
		for _, d := range res.Detail.Changes {
			if d.Diff != "" {
				diffs++
			} else if d.NoDiff == "" {
				t.Errorf("%s: a diff is gone without a word", name)
			}
		}
		if (res.Action != nil) != c.action || (diffs == 100) != c.diffs || (len(res.Detail.Changes) == 100) != c.paths || (len(res.Cut) == 0) != c.action {
			t.Errorf("%s: action %v, %d diffs of %d paths, said: %q", name, res.Action != nil, diffs, len(res.Detail.Changes), res.Cut)
		}
		if raw, err := canon.Encode(res); c.state != protocol.StateWaiting && (err != nil || len(raw) > c.most) {
			t.Errorf("%s: it takes %d bytes of %d: %v", name, len(raw), c.most, err)
		}
	}
}
