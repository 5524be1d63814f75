package show

import (
	"slices"
	"time"

	"countersign/internal/action"
	"countersign/internal/classify"
	"countersign/internal/protocol"
	"countersign/internal/visible"
)

// Line is one line of what is shown, before a screen folds it.
type Line struct {
	Text   visible.Text
	Strong bool
}

// Lines gives what write writes, line by line, for whoever lays it out
// otherwise.
func Lines(write func(Writer)) []Line {
	var out []Line
	write(Writer{collect: &out})
	return out
}

// Note writes one line of a program's own words.
func (w Writer) Note(text string) { w.line("%s", text) }

// Numbered writes an action of a numbered list: what it is, whose, how long ago.
func (w Writer) Numbered(n int, what visible.Text, by, ago string) {
	w.line("%d. %s, %s ago: %s", n, by, ago, what)
}

// NumberedStory writes an action of a numbered log.
func (w Writer) NumberedStory(n int, t protocol.Transaction) {
	w.line("%d. %s: %s", n, t.Proposed.Time().Format(time.DateTime), Story(t))
}

// reasons says why a transaction asks, and once for each reason what that means
// for the files it names.
func (w Writer) reasons(all []classify.Reason) {
	for i, r := range all {
		w.line("  asks: %s, %s (%s)", r.Name, r.Why, r.Path)
		if last := i+1 == len(all) || all[i+1].Name != r.Name; last && Meaning(r.Name) != "" {
			w.line("        %s", Meaning(r.Name))
		}
	}
}

// Meaning says in a person's words what a reason means for the file it is about.
func Meaning(n classify.Name) string {
	return map[classify.Name]string{
		classify.DataDeletion:       "what stands there now will be gone from its place",
		classify.NotCaptured:        "nothing can bring the old content back",
		classify.OutsideSnapshot:    "it is outside the places that you said are kept",
		classify.Publication:        "it leaves this machine, and nothing takes it back",
		classify.RunsLater:          "what stands in it is carried out later, as you, and nobody asks again",
		classify.Credentials:        "who has what stands in it can act in your name",
		classify.PermissionsWidened: "more users than before could read, change or run it",
		classify.AttributesLost:     "an undo brings the content back, and not what is named",
		classify.BinaryContent:      "what its bytes mean to a program cannot be seen here",
		classify.Large:              "it is more than is read at a glance",
		classify.OthersWork:         "the commit takes in changes that this agent did not make",
		classify.ForeignIdentity:    "the commit is made in a name that the repository chose",
	}[n]
}

// undoing says whether and how a transaction can be taken back.
func undoing(s protocol.ShowResult) string {
	t := s.Transaction
	created := s.Detail != nil && len(s.Detail.Changes) > 0 &&
		!slices.ContainsFunc(s.Detail.Changes, func(c action.ChangeDetail) bool { return c.Does != action.Creates })
	switch {
	case !t.Reversible:
		return "NO, no copy is kept"
	case t.Capability == action.CapGitCommit:
		return "yes, git keeps what was there"
	case created:
		return "yes, what it makes is taken away again"
	}
	return "yes, a copy of what it replaces is kept"
}
