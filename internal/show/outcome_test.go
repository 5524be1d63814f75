package show

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

func answer(t protocol.Transaction) string {
	var out bytes.Buffer
	Writer{Out: &out}.Answer(t)
	_, behind, _ := strings.Cut(out.String(), "\n") // the row that every list has
	return behind
}

// S28: an answer tells what became of every path, with what there is to say of
// each, and then what changed, by line; what is left out of it is counted.
func TestAnswer(t *testing.T) {
	tx := protocol.Transaction{
		ID: "abcdefghijkmn", State: protocol.StateLanded, Stale: 2,
		Outcome: &protocol.Outcome{Result: protocol.Landed, More: 7, Changes: []protocol.PathOutcome{
			{Path: "/a", Did: protocol.Replaced, Links: 2, NotKept: []string{"group 27"}, NoLease: "there is none", After: []string{"closing: EIO"}},
			{Path: "/b", Did: protocol.Created}, {Path: "/c", Did: protocol.Deleted}, {Path: "/d", Did: protocol.Overtaken},
		}},
		Regions: []action.Region{{Path: "/a", From: 9, Text: "nine\nten \n", Cut: 1}}, MoreRegions: 3,
	}
	const want = `  read again 2 times, since disk or a program was in the way
  replaced /a
    2 other names keep the old text
    not kept: group 27
    nothing but the exchange stood against other writers: there is none
    after it landed: closing: EIO
  created /b
  deleted /c
  somebody else's work stands there: /d
  and 7 paths more that do not fit here: countersign show abcdefghijkmn
/a now, from line 9:
     9  nine
    10  ten⟦SP⟧
  and 1 line more that do not fit here
and what changed in 3 files more does not fit here: countersign show abcdefghijkmn
its owner takes it back with:  countersign undo abcdefghijkmn
`
	if got := answer(tx); got != want {
		t.Errorf("it is told\n%s\nwant\n%s", got, want)
	}
}

// S19: what landed in part is said to have, path by path, and what somebody wrote
// that is kept.
func TestPartIsSaid(t *testing.T) {
	tx := protocol.Transaction{
		ID: "abcdefghijkmn", State: protocol.StateUnknown,
		Outcome: &protocol.Outcome{
			Result: protocol.Partial, Refused: refusal.New(refusal.Changed, "/b", ""), Words: "EIO",
			Kept:    []protocol.KeptAside{{Path: "/.countersign-0123456789abcdef"}},
			Changes: []protocol.PathOutcome{{Path: "/a", Did: protocol.Replaced}, {Path: "/b", Did: protocol.TakenBack}, {Path: "/c", Did: protocol.Unsettled}},
		},
	}
	const want = `  IT LANDED IN PART: some paths changed, and could not be taken back
  found out: EIO
  somebody's file could not be put back, and is kept: /.countersign-0123456789abcdef
  replaced /a
  changed, and taken back: /b
  NEITHER AS IT WAS NOR AS PLANNED: /c
its owner takes back what landed with:  countersign undo abcdefghijkmn
`
	if got := answer(tx); got != want {
		t.Errorf("it is told\n%s\nwant\n%s", got, want)
	}
}

// S28, O7: of many paths that came out as planned the first are named and the
// others counted; one of which there is more to say is always named.
func TestManyPathsAreCounted(t *testing.T) {
	o := &protocol.Outcome{Result: protocol.Landed}
	for i := range 40 {
		o.Changes = append(o.Changes, protocol.PathOutcome{Path: action.Path(fmt.Sprintf("/f%02d", i)), Did: protocol.Replaced})
	}
	o.Changes[30].NotKept = []string{"group 27"}
	o.Changes[31].Did = protocol.Overtaken
	got := answer(protocol.Transaction{ID: "abcdefghijkmn", State: protocol.StateLanded, Outcome: o})
	for _, want := range []string{"  replaced /f00\n", "  replaced /f15\n", "  replaced /f30\n    not kept: group 27\n", "there: /f31\n", "  and 22 paths more likewise\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "/f16\n") {
		t.Errorf("more are named than fit a screen:\n%s", got)
	}
	var whole bytes.Buffer
	Writer{Out: &whole}.Transaction(protocol.ShowResult{Transaction: protocol.Transaction{State: protocol.StateLanded, Outcome: o}})
	if n := strings.Count(whole.String(), " /f"); n != 40 {
		t.Errorf("shown whole, %d paths are named", n)
	}
}

// T12: what an undo leaves is told with its three versions, in the answer and
// where it is shown.
func TestLeavesAreTold(t *testing.T) {
	base, theirs, ours := action.HashOf([]byte("base")), action.HashOf([]byte("theirs")), action.HashOf([]byte("ours"))
	now := action.Image{Hash: &theirs, Size: 6}
	tx := protocol.Transaction{ID: "abcdefghijkmn", State: protocol.StateWaiting, UndoOf: "nmkjihgfedcba", MoreLeaves: 2, Leaves: []action.Leave{
		{Path: "/a", Left: action.Image{Hash: &base, Size: 4}, Now: &now, Back: action.Image{Hash: &ours, Size: 4}, Why: "it changed since"},
		{Path: "/b", Left: action.Image{Absent: true}, Back: action.Image{Kind: action.Symlink, Hash: &ours}, Why: "it is a directory [not-regular]"},
	}}
	want := "  left as it is, it changed since: /a\n" +
		"    the action left:      4 bytes, SHA-256 " + base.String() + "\n" +
		"    disk holds:           6 bytes, SHA-256 " + theirs.String() + "\n" +
		"    before it there was:  4 bytes, SHA-256 " + ours.String() + "\n" +
		"  left as it is, it is a directory [not-regular]: /b\n" +
		"    the action left:      no file\n" +
		"    before it there was:  a symbolic link, SHA-256 of what it points to " + ours.String() + "\n" +
		"  and 2 paths more left as they are: countersign show abcdefghijkmn\n"
	if got := answer(tx); !strings.Contains(got, want) {
		t.Errorf("the answer:\n%s", got)
	}
	var whole bytes.Buffer
	Writer{Out: &whole}.Transaction(protocol.ShowResult{Transaction: tx})
	if !strings.Contains(whole.String(), want) {
		t.Errorf("shown:\n%s", whole.String())
	}
}

// T3, O7: of several files the account begins with all of their names and what
// comes and goes in each; what was left out of an answer is said before it.
func TestAccountOfManyBeginsWithAll(t *testing.T) {
	var out bytes.Buffer
	Writer{Out: &out}.Transaction(protocol.ShowResult{
		Transaction: protocol.Transaction{ID: "abcdefghijkmn", State: protocol.StateLanded},
		Cut:         []string{"the action itself, of 9 bytes"},
		Detail: &action.Detail{Changes: []action.ChangeDetail{
			{Path: "/a", Does: action.Replaces, Diff: "--- \"/a\"\n+++ \"/a\"\n@@ -1,2 +1,3 @@\n same\n-old\n+new\n++++ more\n"},
			{Path: "/b", Does: action.Deletes, NoDiff: "the file there is binary", Old: action.Image{Absent: true}, New: action.Image{Absent: true}},
		}},
	})
	const want = "\n2 paths:\n  replace      +2 -1  /a\n  delete     no diff  /b\n\nreplace /a\n"
	got := out.String()
	all, cut := strings.Index(got, want), strings.Index(got, "left out here, since it does not fit one answer: the action itself, of 9 bytes\n")
	if all < 0 || cut < 0 || cut > all {
		t.Errorf("shown:\n%s", got)
	}
}
