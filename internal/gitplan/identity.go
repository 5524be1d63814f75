package gitplan

import (
	"strings"
	"unicode/utf8"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// identify finds whom a commit is by, as git would with the person's
// configuration: what the repository sets holds over what the person did. Nobody
// is made up from the names of user and machine.
func (w *Work) identify() error {
	var err error
	if w.Plan.Author, err = w.ident("author"); err == nil {
		w.Plan.Committer, err = w.ident("committer")
	}
	return err
}

func (w *Work) ident(role string) (i protocol.GitIdent, err error) {
	for _, part := range []struct {
		key string
		to  *string
	}{{"name", &i.Name}, {"email", &i.Email}} {
		value, own := "", false
		for _, section := range []string{"user", role} {
			if v, ok := w.Persons(section, "", part.key); ok {
				value, own = v, false
			}
			if v, ok := w.Config(section, "", part.key); ok {
				value, own = v, v != value
			}
		}
		w.Plan.Foreign = w.Plan.Foreign || own
		if strings.TrimSpace(value) == "" {
			return i, refusal.New(refusal.GitIdentity, w.Path.String(), "there is no %s", part.key)
		}
		if !utf8.ValidString(value) || strings.ContainsAny(value, "\x00\n\r") || len(value) > 1<<10 {
			return i, refusal.New(refusal.GitIdentity, w.Path.String(), "the %s is no line of text", part.key)
		}
		*part.to = value
	}
	return i, nil
}
