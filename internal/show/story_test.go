package show

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"countersign/internal/action"
	"countersign/internal/classify"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// O6: a story says what became of a transaction, who decided, and whether it was
// taken back, and the path comes last.
func TestStory(t *testing.T) {
	for want, tx := range map[string]protocol.Transaction{
		"waiting  claude: write /x":                              {State: protocol.StateWaiting},
		"waiting (previewed anew)  claude: write /x":             {State: protocol.StateWaiting, Stale: 1},
		"landed by policy  claude: write /x":                     {State: protocol.StateLanded, DecidedBy: "policy"},
		"landed, approved by alice  claude: write /x":            {State: protocol.StateLanded, DecidedBy: "alice"},
		"not-landed, approved by alice  claude: write /x":        {State: protocol.StateNotLanded, DecidedBy: "alice"},
		"denied by alice  claude: write /x":                      {State: protocol.StateDenied, DecidedBy: "alice"},
		"withdrawn  claude: write /x":                            {State: protocol.StateWithdrawn},
		"refused (not-granted)  claude: write /x":                {State: protocol.StateRefused, Refusal: &refusal.Refusal{Code: refusal.NotGranted}},
		"landed by policy, undone by u  claude: write /x":        {State: protocol.StateLanded, DecidedBy: "policy", UndoneBy: "u"},
		"landed, approved by alice, undo of o  claude: write /x": {State: protocol.StateLanded, DecidedBy: "alice", UndoOf: "o"},
	} {
		tx.By, tx.Capability, tx.Paths = "claude", action.CapFileWrite, []action.Path{"/x"}
		if got := string(Story(tx)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// O6: the log is narrowed in a person's words, times among them; what is none of
// them is an error and narrows nothing silently.
func TestNarrow(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) protocol.Time { return protocol.Time(now.Add(-d).UnixNano()) }
	on := func(y int, m time.Month, d, h, min int) protocol.Time {
		return protocol.Time(time.Date(y, m, d, h, min, 0, 0, time.UTC).UnixNano())
	}
	for said, want := range map[string]protocol.LogParams{
		"agent=claude":                    {By: "claude"},
		"path=/home/a b":                  {Path: "/home/a b"},
		`path="/home/\033"`:               {Path: "/home/\x1b"},
		"kind=undo":                       {Capability: action.CapUndo},
		"state=denied":                    {State: protocol.StateDenied},
		"state=refused":                   {State: protocol.StateRefused, Refused: true},
		"refused=":                        {Refused: true},
		"since=30m":                       {Since: ago(30 * time.Minute)},
		"since=2h":                        {Since: ago(2 * time.Hour)},
		"until=7d":                        {Until: ago(7 * 24 * time.Hour)},
		"since=2026-01-31":                {Since: on(2026, 1, 31, 0, 0)},
		"until=2026-01-31T15:04":          {Until: on(2026, 1, 31, 15, 4)},
		"since=2026-01-31T15:04:00+00:00": {Since: on(2026, 1, 31, 15, 4)},
	} {
		key, value, _ := strings.Cut(said, "=")
		var got protocol.LogParams
		if err := Narrow(&got, key, value, now); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", said, got, err, want)
		}
	}
	for _, said := range []string{"agent=", "path=home", "path=\"", "since=", "since=x", "since=99999h", "since=5", "since=h", "until=2026-13-01", "colour=red", "="} {
		key, value, _ := strings.Cut(said, "=")
		if err := Narrow(&protocol.LogParams{}, key, value, now); err == nil {
			t.Errorf("%s is taken", said)
		}
	}
}

// O1: every reason has its meaning in a person's words, and it is said once for
// all the paths of one reason.
func TestMeanings(t *testing.T) {
	for _, n := range classify.Names() {
		if Meaning(n) == "" {
			t.Errorf("%s has no meaning", n)
		}
	}
	var out bytes.Buffer
	Writer{Out: &out}.Head(protocol.ShowResult{Transaction: protocol.Transaction{Reasons: []classify.Reason{
		{Name: classify.RunsLater, Path: "/a", Why: "w"}, {Name: classify.RunsLater, Path: "/b", Why: "w"}, {Name: classify.Large, Path: "/a", Why: "l"},
	}}})
	if strings.Count(out.String(), Meaning(classify.RunsLater)) != 1 || strings.Count(out.String(), Meaning(classify.Large)) != 1 ||
		strings.Index(out.String(), Meaning(classify.RunsLater)) < strings.Index(out.String(), "(/b)") {
		t.Error(out.String())
	}
}

// O1: whether and how an action can be undone is said of what it is.
func TestUndoing(t *testing.T) {
	detail := func(does ...action.Does) *action.Detail {
		d := &action.Detail{}
		for _, w := range does {
			d.Changes = append(d.Changes, action.ChangeDetail{Does: w})
		}
		return d
	}
	for want, s := range map[string]protocol.ShowResult{
		"NO, no copy is kept":                     {Detail: detail(action.Creates)},
		"yes, what it makes is taken away again":  {Transaction: protocol.Transaction{Reversible: true}, Detail: detail(action.Creates, action.Creates)},
		"yes, a copy of what it replaces is kept": {Transaction: protocol.Transaction{Reversible: true}, Detail: detail(action.Creates, action.Replaces)},
		"yes, git keeps what was there":           {Transaction: protocol.Transaction{Reversible: true, Capability: action.CapGitCommit}},
	} {
		if got := undoing(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// O1: what a screen lays out for itself is line by line what is written.
func TestLines(t *testing.T) {
	var out bytes.Buffer
	s := protocol.ShowResult{Transaction: protocol.Transaction{ID: "x", State: "waiting", Sentence: "two\nlines"}, Detail: &action.Detail{}}
	Writer{Out: &out}.Account(s)
	text := ""
	for _, l := range Lines(func(w Writer) { w.Account(s) }) {
		text += string(l.Text) + "\n"
	}
	if text != out.String() {
		t.Errorf("%q, want %q", text, out.String())
	}
}
