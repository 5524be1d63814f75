package action

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/internal/refusal"
)

// The JSON spelling of the vocabulary, for people and scripts. It differs from
// the encoding where JSON cannot hold bytes: a path is UTF-8 or git's quoted
// form, content is "text" or "base64". Keys match exactly, none stands twice,
// none is unknown, and what is required is there.
type (
	jsonAction struct {
		FileWrite *jsonFileWrite `json:"file-write,omitzero"`
		GitWrite  *jsonGitWrite  `json:"git-write,omitzero"`
		GitPush   *jsonGitPush   `json:"git-push,omitzero"`
		Undo      *jsonUndo      `json:"undo,omitzero"`
	}
	jsonFileWrite struct {
		Changes []jsonChange `json:"changes"`
	}
	jsonChange struct {
		Path   Path        `json:"path"`
		Write  *jsonWrite  `json:"write,omitzero"`
		Edit   *jsonEdit   `json:"edit,omitzero"`
		Delete *Delete     `json:"delete,omitzero"`
		Expect *jsonExpect `json:"expect,omitzero"`
	}
	jsonWrite struct {
		Text   *string `json:"text,omitzero"`
		Base64 *[]byte `json:"base64,omitzero"`
		Type   string  `json:"type,omitzero"`
		Mode   string  `json:"mode,omitzero"`
	}
	jsonEdit struct {
		Edits []jsonReplacement `json:"edits"`
	}
	jsonReplacement struct {
		Old   *string `json:"old"`
		New   *string `json:"new"`
		Count *uint64 `json:"count,omitzero"`
	}
	jsonExpect struct {
		Hash   *Hash `json:"hash,omitzero"`
		Absent bool  `json:"absent,omitzero"`
	}
	jsonGitWrite struct {
		Commit  *jsonCommit  `json:"commit,omitzero"`
		Discard *jsonDiscard `json:"discard,omitzero"`
	}
	jsonCommit struct {
		Root    Path   `json:"root"`
		Message string `json:"message"`
	}
	jsonDiscard struct {
		Root  Path   `json:"root"`
		Paths []Path `json:"paths"`
	}
	jsonGitPush struct {
		Root   Path   `json:"root"`
		Remote string `json:"remote"`
		Ref    string `json:"ref"`
	}
	jsonUndo struct {
		Transaction ID            `json:"transaction"`
		Restores    []jsonRestore `json:"restores"`
	}
	jsonRestore struct {
		Path Path  `json:"path"`
		Left Image `json:"left"`
		Back Image `json:"back"`
	}
)

// Proposal is what a client hands in: an action and its one sentence.
type Proposal struct {
	Action   Action
	Sentence string
}

// ParseProposal reads a proposal in JSON: {"action": {…}, "sentence": "…"}.
func ParseProposal(b []byte) (Proposal, error) {
	var in struct {
		Action   *jsonAction `json:"action"`
		Sentence string      `json:"sentence,omitzero"`
	}
	if err := json.Unmarshal(b, &in, json.RejectUnknownMembers(true)); err != nil {
		r := refusal.New(refusal.BadRequest, "the proposal", "%s", jsonFault(err))
		r.Fix = "docs/proposal.md describes its JSON"
		return Proposal{}, r
	}
	if in.Action == nil {
		return Proposal{}, bad("the proposal", "it has no action")
	}
	a, err := in.Action.action()
	if err != nil {
		return Proposal{}, err
	}
	return Proposal{Action: a, Sentence: in.Sentence}, a.Validate()
}

// jsonFault says what is wrong with a JSON text in JSON's terms: where, and what.
func jsonFault(err error) string {
	if r := refusal.As(err); r != nil {
		err = r
	}
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	where := ""
	switch {
	case errors.As(err, &semantic):
		where = fmt.Sprintf("at %q, byte %d", semantic.JSONPointer, semantic.ByteOffset)
		switch {
		case refusal.As(semantic.Err) != nil:
			return where + ": " + refusal.As(semantic.Err).Why
		case semantic.Err != nil:
			return where + ": " + semantic.Err.Error()
		}
		return fmt.Sprintf("%s: a %s stands where it cannot", where, semantic.JSONKind)
	case errors.As(err, &syntactic):
		return fmt.Sprintf("at %q, byte %d: %v", syntactic.JSONPointer, syntactic.ByteOffset, syntactic.Err)
	}
	return err.Error()
}

func (j *jsonAction) action() (Action, error) {
	var a Action
	if j.Undo != nil {
		return a, bad("the action", "an undo is asked for by its ID alone")
	}
	if j.FileWrite != nil {
		a.FileWrite = &FileWrite{}
		for _, c := range j.FileWrite.Changes {
			change, err := c.change()
			if err != nil {
				return Action{}, err
			}
			a.FileWrite.Changes = append(a.FileWrite.Changes, change)
		}
	}
	if g := j.GitWrite; g != nil {
		a.GitWrite = &GitWrite{Commit: (*Commit)(g.Commit), Discard: (*Discard)(g.Discard)}
	}
	a.GitPush = (*GitPush)(j.GitPush)
	return a, nil
}

func (j jsonChange) change() (Change, error) {
	c := Change{Path: j.Path, Delete: j.Delete, Expect: (*Expect)(j.Expect)}
	if w := j.Write; w != nil {
		if (w.Text != nil) == (w.Base64 != nil) {
			return c, bad(j.Path.String(), "a write has text or base64")
		}
		c.Write = &Write{Type: w.Type}
		switch {
		case w.Text != nil:
			c.Write.Content = []byte(*w.Text)
		case w.Type == "":
			return c, bad(j.Path.String(), "base64 content names its type")
		default:
			c.Write.Content = *w.Base64
		}
		switch w.Mode {
		case "":
		case "0644":
			c.Write.Mode = 0o644
		case "0755":
			c.Write.Mode = 0o755
		default:
			return c, bad(j.Path.String(), "a mode is 0644 or 0755")
		}
	}
	if j.Edit != nil {
		c.Edit = &Edit{}
		for i, r := range j.Edit.Edits {
			if r.Old == nil || r.New == nil {
				return c, bad(j.Path.String(), "edit %d lacks its old or its new text", i+1)
			}
			one := Replacement{Old: []byte(*r.Old), New: []byte(*r.New)}
			if r.Count != nil {
				if one.Count = *r.Count; one.Count == 0 {
					return c, bad(j.Path.String(), "edit %d: a count is 1 or more", i+1)
				}
			}
			c.Edit.Edits = append(c.Edit.Edits, one)
		}
	}
	return c, nil
}

// MarshalJSON writes the spelling that ParseProposal reads.
func (a Action) MarshalJSON() ([]byte, error) {
	var j jsonAction
	if a.FileWrite != nil {
		j.FileWrite = &jsonFileWrite{}
		for _, c := range a.FileWrite.Changes {
			j.FileWrite.Changes = append(j.FileWrite.Changes, c.json())
		}
	}
	if g := a.GitWrite; g != nil {
		j.GitWrite = &jsonGitWrite{Commit: (*jsonCommit)(g.Commit), Discard: (*jsonDiscard)(g.Discard)}
	}
	j.GitPush = (*jsonGitPush)(a.GitPush)
	if u := a.Undo; u != nil {
		j.Undo = &jsonUndo{Transaction: u.Transaction}
		for _, r := range u.Restores {
			j.Undo.Restores = append(j.Undo.Restores, jsonRestore{Path: r.Path, Left: r.Left, Back: r.Back})
		}
	}
	return json.Marshal(j)
}

func (c Change) json() jsonChange {
	j := jsonChange{Path: c.Path, Delete: c.Delete, Expect: (*jsonExpect)(c.Expect)}
	if w := c.Write; w != nil {
		j.Write = &jsonWrite{Type: w.Type}
		if w.Type == "" && utf8.Valid(w.Content) {
			s := string(w.Content)
			j.Write.Text = &s
		} else {
			j.Write.Base64 = &w.Content
		}
		switch w.Mode {
		case 0o644:
			j.Write.Mode = "0644"
		case 0o755:
			j.Write.Mode = "0755"
		}
	}
	if c.Edit != nil {
		j.Edit = &jsonEdit{}
		for _, r := range c.Edit.Edits {
			from, to := string(r.Old), string(r.New)
			one := jsonReplacement{Old: &from, New: &to}
			if r.Count != 0 {
				one.Count = &r.Count
			}
			j.Edit.Edits = append(j.Edit.Edits, one)
		}
	}
	return j
}
