package protocol

import (
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/refusal"
)

func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// O2: every key that a command's JSON can have stands in docs/answer.md.
func TestDocsKeys(t *testing.T) {
	docs := page(t, "answer.md")
	for _, v := range []any{
		Transaction{}, Outcome{}, PathOutcome{}, KeptAside{}, ShowResult{}, ListResult{}, action.Region{}, action.Leave{}, action.Image{},
		action.Detail{}, action.ChangeDetail{}, refusal.Refusal{},
	} {
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			key, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if key == "" || !strings.Contains(docs, "`"+key+"`") {
				t.Errorf("%s.%s: %q is not in the page", typ.Name(), typ.Field(i).Name, key)
			}
		}
	}
}

// T2, S28: the bounds that docs/wire.md states are the ones in force.
func TestDocsBounds(t *testing.T) {
	docs := page(t, "wire.md")
	for sentence, n := range map[string]int{
		"has all of them as far as # bytes go": MaxAnswer, "shown as far as\n# go": MaxShown, "at most # targets": MaxCapture, "has its first # paths": MaxPaths,
		"At most # changes": action.MaxChanges, "have # bytes of text at most": action.MaxRegions,
	} {
		if want := strings.Replace(sentence, "#", strconv.Itoa(n), 1); !strings.Contains(docs, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
}
