package notify

import (
	"fmt"
	"slices"
	"strings"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/visible"
)

// Change is what has to become of the notification.
type Change int

// From what was told to what waits now.
const (
	Keep     Change = iota // it says what is so
	Tell                   // something has begun to wait
	Correct                // less waits than it says, and nothing new
	Withdraw               // nothing waits any more
)

// Compare gives the change that leads from the list that the owner was told of
// to the one that waits now. Both are as keeper.pending answers: where there
// were more than fit, a list is known by its number alone.
func Compare(told, now protocol.ListResult) Change {
	before, after := total(told), total(now)
	switch {
	case after == 0 && before == 0:
		return Keep
	case after == 0:
		return Withdraw
	case after > before, told.More == 0 && slices.ContainsFunc(now.Transactions, absentFrom(told)):
		return Tell
	case after < before:
		return Correct
	}
	return Keep
}

func total(l protocol.ListResult) uint64 { return uint64(len(l.Transactions)) + l.More }

func absentFrom(l protocol.ListResult) func(protocol.Transaction) bool {
	known := make(map[action.ID]bool, len(l.Transactions))
	for _, t := range l.Transactions {
		known[t.ID] = true
	}
	return func(t protocol.Transaction) bool { return !known[t.ID] }
}

// news leaves out what nobody needs to be told of: whoever asks for an undo is
// an owner, and looks at its preview already.
func news(l protocol.ListResult) protocol.ListResult {
	var out []protocol.Transaction
	for _, t := range l.Transactions {
		if t.UndoOf == "" {
			out = append(out, t)
		}
	}
	return protocol.ListResult{Transactions: out, More: l.More}
}

// Notice is what a notification says, in plain text: a headline, and the lines
// beneath it.
type Notice struct{ Summary, Body string }

// Most lines of a notice that say who wants what; servers show only so many.
const maxLines = 4

// Words gives the notice for a list in which something waits.
func Words(now protocol.ListResult) Notice {
	if total(now) == 1 && len(now.Transactions) == 1 {
		return one(now.Transactions[0])
	}
	var lines []string
	groups, left := grouped(now.Transactions), now.More > 0
	for i, g := range groups {
		if i == maxLines {
			left = true
			break
		}
		lines = append(lines, fmt.Sprintf("%s: %s in the home of %s", g.by, g.does(), g.person))
	}
	if left {
		lines = append(lines, "and more")
	}
	lines = append(lines, "To see them: countersign pending")
	return notice(fmt.Sprintf("%d actions wait for you", total(now)), now, lines)
}

func one(t protocol.Transaction) Notice {
	g := groupOf(t)
	return notice(fmt.Sprintf("%s asks to %s", g.by, g.does()), protocol.ListResult{Transactions: []protocol.Transaction{t}}, []string{
		fmt.Sprintf("In the home of %s.", g.person), fmt.Sprintf("To look at it: countersign show %s", visible.Line(string(t.ID))),
	})
}

// notice adds what is said on every screen where it is true.
func notice(summary string, of protocol.ListResult, lines []string) Notice {
	if slices.ContainsFunc(of.Transactions, func(t protocol.Transaction) bool { return t.Unseparated }) {
		lines = append(lines, "NOT SEPARATED: agents run as you, and can approve what they propose")
	}
	return Notice{Summary: summary, Body: strings.Join(lines, "\n")}
}

// group is what one proposer wants of one kind in one home.
type group struct {
	by, person string
	kind       action.Capability
	many       uint64 // files, or actions where files are not what counts
}

func groupOf(t protocol.Transaction) group {
	g := group{by: name(t.By), person: name(t.Person), kind: t.Capability, many: 1}
	switch t.Capability {
	case action.CapFileWrite, action.CapFileDelete:
		g.many = uint64(len(t.Paths)) + t.More
	}
	return g
}

// grouped sums up, in the order of the list.
func grouped(list []protocol.Transaction) (groups []group) {
	for _, t := range list {
		g := groupOf(t)
		same := func(o group) bool { return o.by == g.by && o.person == g.person && o.kind == g.kind }
		if i := slices.IndexFunc(groups, same); i >= 0 {
			groups[i].many += g.many
		} else {
			groups = append(groups, g)
		}
	}
	return groups
}

func (g group) does() string {
	words, known := map[action.Capability][2]string{
		action.CapFileWrite:  {"write a file", "write %d files"},
		action.CapFileDelete: {"delete a file", "delete %d files"},
		action.CapGitCommit:  {"make a commit", "make %d commits"},
		action.CapGitDiscard: {"discard work", "discard work %d times"},
		action.CapGitPush:    {"push", "push %d times"},
	}[g.kind]
	if !known {
		words = [2]string{"do something", "do %d things"}
	}
	if g.many == 1 {
		return words[0]
	}
	return fmt.Sprintf(words[1], g.many)
}

// name gives a name of the policy's. It is a short one of plain letters there;
// that is not relied on.
func name(s string) string {
	const most = 32
	if r := []rune(string(visible.Line(s))); len(r) > most {
		return string(r[:most]) + "…"
	} else if len(r) > 0 {
		return string(r)
	}
	return "somebody"
}
