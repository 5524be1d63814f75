package action

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"countersign/internal/refusal"
	"countersign/internal/visible"
)

// fine is the code of what is not refused.
const fine = refusal.Code("")

// codeOf gives the code of a refusal, or fine. An error that is no refusal
// fails the test, and so does a refusal that carries what does not show.
func codeOf(t *testing.T, err error) refusal.Code {
	t.Helper()
	if err == nil {
		return fine
	}
	r := refusal.As(err)
	if r == nil {
		t.Fatalf("an error that is no refusal: %v", err)
	}
	if s := r.Error(); string(visible.Line(s)) != s || strings.Contains(s, "\t") {
		t.Errorf("a refusal that is not one harmless line: %q", s)
	}
	return r.Code
}

func ptr[T any](v T) *T { return &v }

// change makes an action of one change.
func change(c Change) Action { return Action{FileWrite: &FileWrite{Changes: []Change{c}}} }

const there = Path("/home/alice/a.txt")

func write(content string) Change {
	return Change{Path: there, Write: &Write{Content: []byte(content)}}
}

func edit(edits ...Replacement) Change { return Change{Path: there, Edit: &Edit{Edits: edits}} }

func rep(from, to string, count uint64) Replacement {
	return Replacement{Old: []byte(from), New: []byte(to), Count: count}
}

// image makes an image of content.
func image(content string, mode uint32) Image {
	return Image{Hash: ptr(HashOf([]byte(content))), Size: uint64(len(content)), Mode: mode, GID: 100}
}

const someID = ID("abcdefghijkmn")

func undo(r ...Restore) Action { return Action{Undo: &Undo{Transaction: someID, Restores: r}} }

// sample is a valid action of each shape that the vocabulary has.
type sample struct {
	name string
	a    Action
	does Capability
	hand refusal.Code // of CarriedOut
}

func samples() []sample {
	sum := ptr(HashOf([]byte("seen")))
	return []sample{
		{"write", change(write("text\n")), CapFileWrite, fine},
		{"write-empty", change(write("")), CapFileWrite, fine},
		{"write-new", change(Change{Path: there, Write: &Write{Content: []byte("#!/bin/sh\n"), Mode: 0o755}, Expect: &Expect{Absent: true}}), CapFileWrite, fine},
		{"write-binary", change(Change{Path: "/home/alice/\xff\n\".png", Write: &Write{Content: []byte("\x89PNG\xff"), Type: "image/png", Mode: 0o644}, Expect: &Expect{Hash: sum}}), CapFileWrite, fine},
		{"edit", change(edit(rep("a", "b", 0), rep("é", "", 3))), CapFileWrite, fine},
		{"delete", change(Change{Path: there, Delete: &Delete{}, Expect: &Expect{Hash: sum}}), CapFileDelete, fine},
		{"several", Action{FileWrite: &FileWrite{Changes: []Change{write("x"), {Path: "/home/alice/b", Delete: &Delete{}}}}}, CapFileDelete, fine},
		{"commit", Action{GitWrite: &GitWrite{Commit: &Commit{Root: "/home/alice/r", Message: "Say what\n\nand why: é\n"}}}, CapGitCommit, fine},
		{"discard", Action{GitWrite: &GitWrite{Discard: &Discard{Root: "/home/alice/r", Paths: []Path{"a", "b/\xff"}}}}, CapGitDiscard, refusal.NotYet},
		{"push", Action{GitPush: &GitPush{Root: "/home/alice/r", Remote: "origin", Ref: "refs/heads/main"}}, CapGitPush, refusal.NoHands},
		{"undo-back", undo(Restore{Path: there, Left: image("new", 0o644), Back: image("old", 0o600), Content: []byte("old")}), CapUndo, fine},
		{"undo-commit", Action{Undo: &Undo{Transaction: "abcdefghijkmn", Restores: []Restore{}, Commit: &Uncommit{
			Root: "/home/alice/r", Branch: "refs/heads/main", From: strings.Repeat("a", 40), To: strings.Repeat("b", 40),
		}}}, CapUndo, fine},
		{"undo-create", undo(Restore{Path: there, Left: image("new", 0o644), Back: Image{Absent: true}}), CapUndo, fine},
		{"undo-delete", undo(Restore{Path: there, Left: Image{Absent: true}, Back: image("old", 0o755), Content: []byte("old")}), CapUndo, fine},
	}
}

// T1: the vocabulary is closed: each of its shapes is valid and has its one
// capability, and a push, which has no hands, is refused by name, as for now
// are discards.
func TestVocabulary(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			b, err := Encode(s.a)
			if err != nil {
				t.Fatal(err)
			}
			a, err := Decode(b)
			if err != nil {
				t.Fatalf("decoding: %v", err)
			}
			if got := a.Capability(); got != s.does {
				t.Errorf("capability %s, want %s", got, s.does)
			}
			if got := codeOf(t, a.CarriedOut()); got != s.hand {
				t.Errorf("carried out: %q, want %q", got, s.hand)
			}
			if len(a.Paths()) == 0 {
				t.Error("it names no place")
			}
		})
	}
}

// T1: an action is exactly one of the set, a change exactly one of write, edit
// and delete, a path stands once, and an undo holds what its images say. S24:
// an edit's old text is not empty and differs from the new. S9: a mode is 0644
// or 0755. S26: a write without a content type is UTF-8.
func TestValidate(t *testing.T) {
	const bad, text, path = refusal.BadAction, refusal.NotText, refusal.PathNotClean
	w, root := &Write{}, Path("/home/alice/r")
	many := func(n int) []Path { return paths(strings.Split(strings.Repeat("x,", n-1)+"x", ",")) }
	gone, old := Image{Absent: true}, image("old", 0o644)
	back := Restore{Path: there, Left: gone, Back: old, Content: []byte("old")}
	wide, half := old, old
	wide.Mode, half.Hash = 0o4755, nil
	for name, c := range map[string]struct {
		a    Action
		want refusal.Code
	}{
		"nothing":   {Action{}, bad},
		"two kinds": {Action{FileWrite: change(write("")).FileWrite, GitPush: &GitPush{Root: root}}, bad},

		"no changes":       {Action{FileWrite: &FileWrite{}}, bad},
		"too many changes": {Action{FileWrite: &FileWrite{Changes: make([]Change, MaxChanges+1)}}, bad},
		"a path twice":     {Action{FileWrite: &FileWrite{Changes: []Change{write("x"), edit(rep("x", "y", 0))}}}, bad},
		"a dirty path":     {change(Change{Path: "/home/alice/../bob", Write: w}), path},

		"a change that is none": {change(Change{Path: there}), bad},
		"write and delete":      {change(Change{Path: there, Write: w, Delete: &Delete{}}), bad},
		"write and edit":        {change(Change{Path: there, Write: w, Edit: edit(rep("x", "y", 0)).Edit}), bad},
		"expect of nothing":     {change(Change{Path: there, Write: w, Expect: &Expect{}}), bad},
		"expect of both":        {change(Change{Path: there, Write: w, Expect: &Expect{Absent: true, Hash: &Hash{}}}), bad},

		"mode 0600":       {change(Change{Path: there, Write: &Write{Mode: 0o600}}), bad},
		"mode 04755":      {change(Change{Path: there, Write: &Write{Mode: 0o4755}}), bad},
		"a long type":     {change(Change{Path: there, Write: &Write{Type: strings.Repeat("x", 129)}}), bad},
		"bytes as text":   {change(write("\xff")), text},
		"bytes of a type": {change(Change{Path: there, Write: &Write{Content: []byte("\xff"), Type: "x/y"}}), fine},

		"no edits":          {change(edit()), bad},
		"empty old text":    {change(edit(rep("", "x", 0))), bad},
		"old equal to new":  {change(edit(rep("x", "y", 0), rep("x", "x", 0))), bad},
		"old text no UTF-8": {change(edit(rep("\xff", "x", 0))), text},
		"new text no UTF-8": {change(edit(rep("x", "\xff", 0))), text},
		"empty new text":    {change(edit(rep("x", "", 0))), fine},
		"the largest count": {change(edit(rep("x", "y", math.MaxUint64))), fine},

		"git that is none":      {Action{GitWrite: &GitWrite{}}, bad},
		"commit and discard":    {Action{GitWrite: &GitWrite{Commit: &Commit{Root: root}, Discard: &Discard{Root: root, Paths: many(1)}}}, bad},
		"a message of 64 KiB":   {Action{GitWrite: &GitWrite{Commit: &Commit{Root: root, Message: strings.Repeat("x", MaxMessage)}}}, fine},
		"a message over 64 KiB": {Action{GitWrite: &GitWrite{Commit: &Commit{Root: root, Message: strings.Repeat("x", MaxMessage+1)}}}, bad},
		"commit in no root":     {Action{GitWrite: &GitWrite{Commit: &Commit{}}}, path},
		"discard of nothing":    {Action{GitWrite: &GitWrite{Discard: &Discard{Root: root}}}, bad},
		"discard of most":       {Action{GitWrite: &GitWrite{Discard: &Discard{Root: root, Paths: many(MaxChanges)}}}, fine},
		"discard of too many":   {Action{GitWrite: &GitWrite{Discard: &Discard{Root: root, Paths: many(MaxChanges + 1)}}}, bad},
		"discard of absolute":   {Action{GitWrite: &GitWrite{Discard: &Discard{Root: root, Paths: []Path{"/etc"}}}}, bad},
		"discard that climbs":   {Action{GitWrite: &GitWrite{Discard: &Discard{Root: root, Paths: []Path{"../x"}}}}, bad},
		"push of no root":       {Action{GitPush: &GitPush{Remote: "origin"}}, path},

		"undo":                    {undo(back), fine},
		"undo of nobody's":        {Action{Undo: &Undo{Restores: []Restore{back}}}, bad},
		"undo of nothing":         {undo(), bad},
		"undo of a path twice":    {undo(back, back), bad},
		"undo of a dirty path":    {undo(Restore{Path: "/a/", Left: gone, Back: old, Content: []byte("old")}), path},
		"other bytes than said":   {undo(Restore{Path: there, Left: gone, Back: old, Content: []byte("new")}), bad},
		"bytes of an absent file": {undo(Restore{Path: there, Left: old, Back: gone, Content: []byte("x")}), bad},
		"an image of nothing":     {undo(Restore{Path: there, Left: half, Back: gone}), bad},
		"an absent image's size":  {undo(Restore{Path: there, Left: old, Back: Image{Absent: true, Size: 1}}), bad},
		"absent with a hash":      {undo(Restore{Path: there, Left: Image{Absent: true, Hash: &Hash{}}, Back: gone}), bad},
		"a set-id image":          {undo(Restore{Path: there, Left: gone, Back: wide, Content: []byte("old")}), bad},
	} {
		if got := codeOf(t, c.a.Validate()); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func paths(s []string) []Path {
	out := make([]Path, len(s))
	for i := range s {
		out[i] = Path(s[i])
	}
	return out
}

// T3: new text is what an owner would have to read: content, and replacements
// as often as they land; what an undo puts back is not counted, and a count
// that would overflow does not wrap round to a small one.
func TestNewText(t *testing.T) {
	for name, c := range map[string]struct {
		a    Action
		want int
	}{
		"a write":         {change(write("12345")), 5},
		"edits":           {change(edit(rep("a", "123", 0), rep("b", "12", 1))), 5},
		"many times":      {change(edit(rep("a", "123", 1000))), 3000},
		"a huge count":    {change(edit(rep("a", "1234", math.MaxUint64/4+2))), math.MaxInt32},
		"two huge counts": {change(edit(rep("a", "12", math.MaxUint64), rep("a", "12", math.MaxUint64))), math.MaxInt32},
		"a deletion":      {change(Change{Path: there, Delete: &Delete{}}), 0},
		"an undo":         {undo(Restore{Path: there, Left: Image{Absent: true}, Back: image("old", 0), Content: []byte("old")}), 0},
		"a commit":        {Action{GitWrite: &GitWrite{Commit: &Commit{Root: "/r", Message: "m"}}}, 0},
	} {
		if got := c.a.NewText(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// T2: the places an action names stand in its own order, as captures do.
func TestPathsKeepTheirOrder(t *testing.T) {
	a := Action{FileWrite: &FileWrite{Changes: []Change{{Path: "/z"}, {Path: "/a"}, {Path: "/m"}}}}
	var got bytes.Buffer
	for _, p := range a.Paths() {
		got.WriteString(string(p))
	}
	if got.String() != "/z/a/m" {
		t.Errorf("paths %s", got.String())
	}
}
