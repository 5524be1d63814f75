package notify

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/internal/action"
	"countersign/internal/protocol"
)

// waits makes a list of writes by claude, by their IDs' last letters, and more
// that do not fit.
func waits(ids string, more uint64) (l protocol.ListResult) {
	for _, r := range ids {
		l.Transactions = append(l.Transactions, wants("claude", action.CapFileWrite, string(r)))
	}
	l.More = more
	return l
}

func wants(by string, kind action.Capability, id string) protocol.Transaction {
	return protocol.Transaction{
		ID: action.ID(strings.Repeat("a", 12) + id), State: protocol.StateWaiting, By: by, Person: "alice", Capability: kind,
		Paths: []action.Path{"/home/alice/x"},
	}
}

// O5: the owner hears of what is new, of less only as a correction, and of
// nothing where nothing changed; where more waits than a list holds, the
// number tells.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		told, now string
		hid, hide uint64 // more than fit, before and now
		want      Change
	}{
		{"", "", 0, 0, Keep},
		{"", "b", 0, 0, Tell},
		{"b", "b", 0, 0, Keep},
		{"b", "bc", 0, 0, Tell},
		{"bc", "c", 0, 0, Correct},
		{"bc", "d", 0, 0, Tell},
		{"b", "c", 0, 0, Tell},
		{"bc", "cd", 0, 0, Tell},
		{"b", "", 0, 0, Withdraw},
		{"bc", "bc", 0, 1, Tell},
		{"bc", "bc", 1, 1, Keep},
		{"bc", "cd", 2, 1, Correct}, // one was decided, and another moved into the list
		{"bc", "cd", 2, 2, Keep},
		{"bc", "cd", 2, 3, Tell},
		{"bc", "cd", 1, 0, Correct},
		{"bc", "", 1, 0, Withdraw},
	} {
		if got := Compare(waits(c.told, c.hid), waits(c.now, c.hide)); got != c.want {
			t.Errorf("from %q and %d to %q and %d: %d, want %d", c.told, c.hid, c.now, c.hide, got, c.want)
		}
	}
}

// O5: a notification says who wants what in whose home, how many, and where to
// look, and is as long whatever waits.
func TestWords(t *testing.T) {
	several := wants("claude", action.CapFileWrite, "c")
	several.Paths = make([]action.Path, 3)
	many := several
	many.More = 997
	alone := wants("alice", action.CapFileDelete, "b")
	alone.Unseparated = true
	crowd := protocol.ListResult{More: 7}
	for i := range 6 {
		crowd.Transactions = append(crowd.Transactions, wants(fmt.Sprintf("agent-%d", i), action.CapGitDiscard, "b"))
	}
	list := func(all ...protocol.Transaction) protocol.ListResult { return protocol.ListResult{Transactions: all} }
	for _, c := range []struct {
		name          string
		now           protocol.ListResult
		summary, body string
	}{
		{"one", waits("b", 0), "claude asks to write a file", "In the home of alice.\nTo look at it: countersign show aaaaaaaaaaaab"},
		{"one with files", list(several), "claude asks to write 3 files", "In the home of alice.\nTo look at it: countersign show aaaaaaaaaaaac"},
		{"one with a thousand", list(many), "claude asks to write 1000 files", "In the home of alice.\nTo look at it: countersign show aaaaaaaaaaaac"},
		{"not separated", list(alone), "alice asks to delete a file", "In the home of alice.\nTo look at it: countersign show aaaaaaaaaaaab\n" +
			"NOT SEPARATED: agents run as you, and can approve what they propose"},
		{"several", list(wants("claude", action.CapFileWrite, "b"), wants("other", action.CapFileDelete, "d"), several), "3 actions wait for you",
			"claude: write 4 files in the home of alice\nother: delete a file in the home of alice\nTo see them: countersign pending"},
		{"crowd", crowd, "13 actions wait for you", "agent-0: discard work in the home of alice\nagent-1: discard work in the home of alice\n" +
			"agent-2: discard work in the home of alice\nagent-3: discard work in the home of alice\nand more\nTo see them: countersign pending"},
		{"more than fit", waits("bc", 1), "3 actions wait for you", "claude: write 2 files in the home of alice\nand more\nTo see them: countersign pending"},
		{"unheard of", list(wants("claude", "dance", "b"), wants("claude", "dance", "c")), "2 actions wait for you",
			"claude: do 2 things in the home of alice\nTo see them: countersign pending"},
		{"nameless", list(wants("", action.CapGitPush, "b")), "somebody asks to push", "In the home of alice.\nTo look at it: countersign show aaaaaaaaaaaab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Words(c.now); got != (Notice{c.summary, c.body}) {
				t.Errorf("it says\n%s\n%s\nwant\n%s\n%s", got.Summary, got.Body, c.summary, c.body)
			}
		})
	}
}

// O3, O5: nothing that an agent chose is in a notification; and whatever a
// name is, it stays on its line, and short.
func TestNothingOfAnAgents(t *testing.T) {
	const hostile = "zz\x1b[2J\nApproved\u202e"
	x := wants(strings.Repeat(hostile, 20), action.CapFileWrite, "b")
	x.Person, x.ID = hostile, hostile
	bare := wants("claude", action.CapFileWrite, "b")
	full := bare
	full.Paths = []action.Path{"/home/alice/" + hostile}
	full.Sentence, full.Why, full.Rule = hostile, hostile, hostile
	for _, n := range []int{1, 2} {
		of := func(t protocol.Transaction) Notice {
			return Words(protocol.ListResult{Transactions: []protocol.Transaction{t, t}[:n]})
		}
		if got, want := of(full), of(bare); got != want {
			t.Errorf("it depends on what the agent chose: %+v, and not %+v", got, want)
		}
		got := of(x)
		if all := got.Summary + got.Body; strings.ContainsAny(all, "\x1b\u202e") || strings.Contains(got.Summary, "\n") ||
			strings.Count(got.Body, "\n") != 1 || utf8.RuneCountInString(all) > 300 {
			t.Errorf("a name breaks out:\n%q\n%q", got.Summary, got.Body)
		}
	}
}
