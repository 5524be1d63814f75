package action

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/internal/refusal"
)

// proposal spells a proposal of one change.
func proposal(change string) string {
	return `{"action":{"file-write":{"changes":[` + change + `]}}}`
}

// T2: the JSON spelling reads into the vocabulary: text or base64, a quoted
// path where it begins with a quote, modes as people write them.
func TestParseProposal(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want Action
	}{
		"text":   {proposal(`{"path":"/a","write":{"text":"é\n"}}`), change(Change{Path: "/a", Write: &Write{Content: []byte("é\n")}})},
		"bytes":  {proposal(`{"path":"/a","write":{"base64":"/w==","type":"x/y"}}`), change(Change{Path: "/a", Write: &Write{Content: []byte("\xff"), Type: "x/y"}})},
		"mode":   {proposal(`{"path":"/a","write":{"text":"","mode":"0755"}}`), change(Change{Path: "/a", Write: &Write{Mode: 0o755}})},
		"quoted": {proposal(`{"path":"\"/a\\377\\n\"","delete":{}}`), change(Change{Path: "/a\xff\n", Delete: &Delete{}})},
		"bare":   {proposal(`{"path":"/a\\n","delete":{}}`), change(Change{Path: `/a\n`, Delete: &Delete{}})},
		"edit":   {proposal(`{"path":"/a","edit":{"edits":[{"old":"x","new":"","count":2}]}}`), change(Change{Path: "/a", Edit: &Edit{Edits: []Replacement{rep("x", "", 2)}}})},
		"absent": {proposal(`{"path":"/a","write":{"text":""},"expect":{"absent":true}}`), change(Change{Path: "/a", Write: &Write{}, Expect: &Expect{Absent: true}})},
		"commit": {`{"action":{"git-write":{"commit":{"root":"/r","message":"m"}}}}`, Action{GitWrite: &GitWrite{Commit: &Commit{Root: "/r", Message: "m"}}}},
		"push":   {`{"action":{"git-push":{"root":"/r","remote":"o","ref":"m"}}}`, Action{GitPush: &GitPush{Root: "/r", Remote: "o", Ref: "m"}}},
	} {
		p, err := ParseProposal([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, want := digest(t, p.Action), digest(t, c.want); got != want {
			t.Errorf("%s: read as %+v", name, p.Action)
		}
	}
	if p, err := ParseProposal([]byte(`{"sentence":"why","action":` + `{"git-push":{"root":"/r","remote":"o","ref":"m"}}}`)); err != nil || p.Sentence != "why" {
		t.Errorf("sentence %q, %v", p.Sentence, err)
	}
}

func digest(t interface{ Fatal(...any) }, a Action) Hash {
	h, err := a.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// T2: JSON keys match exactly, none stands twice, none is unknown, and what is
// required is there. T1: nobody sends an undo but by its ID.
func TestParseProposalRefuses(t *testing.T) {
	const form, bad, path, text = refusal.BadRequest, refusal.BadAction, refusal.PathNotClean, refusal.NotText
	w := `"write":{"text":""}`
	one := func(edit string) string { return proposal(`{"path":"/a","edit":{"edits":[` + edit + `]}}`) }
	for name, c := range map[string]struct {
		in   string
		want refusal.Code
	}{
		"nothing":                 {``, form},
		"a list":                  {`[]`, form},
		"cut off":                 {`{"action":`, form},
		"two":                     {proposal(`{"path":"/a",`+w+`}`) + `{}`, form},
		"no action":               {`{}`, bad},
		"a null action":           {`{"action":null}`, bad},
		"an empty action":         {`{"action":{}}`, bad},
		"an unknown kind":         {`{"action":{"shell":{}}}`, form},
		"an undo":                 {`{"action":{"undo":{"transaction":"abcdefghijkmn","restores":[]}}}`, bad},
		"no changes":              {proposal(``), bad},
		"null changes":            {`{"action":{"file-write":{"changes":null}}}`, bad},
		"changes missing":         {`{"action":{"file-write":{}}}`, bad},
		"unknown key":             {proposal(`{"path":"/a","x":0,` + w + `}`), form},
		"unknown key that hides":  {proposal("{\"path\":\"/a\",\"\u202e\\u001b\":0," + w + "}"), form},
		"hostile bytes in a path": {proposal(`{"path":"/a/\u001b[2K\u202e/../b",` + w + `}`), path},
		"unknown key on top":      {`{"action":{"file-write":{"changes":[{"path":"/a",` + w + `}]}},"x":0}`, form},
		"key in other case":       {proposal(`{"Path":"/a",` + w + `}`), form},
		"key twice":               {proposal(`{"path":"/a","path":"/b",` + w + `}`), form},
		"key twice, escaped":      {proposal(`{"path":"/a","p\u0061th":"/b",` + w + `}`), form},
		"kind twice":              {`{"action":{"file-write":{"changes":[]},"file-write":{"changes":[]}}}`, form},
		"no path":                 {proposal(`{` + w + `}`), path},
		"a null path":             {proposal(`{"path":null,` + w + `}`), path},
		"a number for path":       {proposal(`{"path":7,` + w + `}`), form},
		"a broken quote":          {proposal(`{"path":"\"/a",` + w + `}`), form},
		"a surrogate":             {proposal(`{"path":"/\ud800",` + w + `}`), form},
		"bytes for UTF-8":         {proposal("{\"path\":\"/\xff\"," + w + "}"), form},
		"no verb":                 {proposal(`{"path":"/a"}`), bad},
		"a null verb":             {proposal(`{"path":"/a","write":null}`), bad},
		"two verbs":               {proposal(`{"path":"/a","delete":{},` + w + `}`), bad},
		"a delete of more":        {proposal(`{"path":"/a","delete":{"recursive":true}}`), form},
		"write of nothing":        {proposal(`{"path":"/a","write":{}}`), bad},
		"text and base64":         {proposal(`{"path":"/a","write":{"text":"","base64":"","type":"x/y"}}`), bad},
		"base64, no type":         {proposal(`{"path":"/a","write":{"base64":"eA=="}}`), bad},
		"broken base64":           {proposal(`{"path":"/a","write":{"base64":"eA","type":"x/y"}}`), form},
		"base64 with a line":      {proposal(`{"path":"/a","write":{"base64":"eA\n==","type":"x/y"}}`), form},
		"mode 0600":               {proposal(`{"path":"/a","write":{"text":"","mode":"0600"}}`), bad},
		"mode 755":                {proposal(`{"path":"/a","write":{"text":"","mode":"755"}}`), bad},
		"mode, a number":          {proposal(`{"path":"/a","write":{"text":"","mode":420}}`), form},
		"no edits":                {one(``), bad},
		"no new text":             {one(`{"old":"x"}`), bad},
		"a null new text":         {one(`{"old":"x","new":null}`), bad},
		"no old text":             {one(`{"new":"x"}`), bad},
		"empty old text":          {one(`{"old":"","new":"x"}`), bad},
		"a count of none":         {one(`{"old":"x","new":"y","count":0}`), bad},
		"a negative count":        {one(`{"old":"x","new":"y","count":-1}`), form},
		"half a count":            {one(`{"old":"x","new":"y","count":1.5}`), form},
		"a count in words":        {one(`{"old":"x","new":"y","count":"1"}`), form},
		"expect of nothing":       {proposal(`{"path":"/a","expect":{},` + w + `}`), bad},
		"not absent":              {proposal(`{"path":"/a","expect":{"absent":false},` + w + `}`), bad},
		"a short hash":            {proposal(`{"path":"/a","expect":{"hash":"00"},` + w + `}`), form},
		"a path twice":            {proposal(`{"path":"/a",` + w + `},{"path":"/a",` + w + `}`), bad},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := ParseProposal([]byte(c.in))
			if got := codeOf(t, err); got != c.want {
				t.Errorf("%s: %q (%v), want %q; read as %+v", c.in, got, err, c.want, p.Action)
			}
		})
	}
}

// drawPath draws a clean path of any bytes.
func drawPath(t *rapid.T) Path {
	segment := rapid.Custom(func(t *rapid.T) string {
		b := rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "name")
		s := strings.NewReplacer("/", "_", "\x00", "_").Replace(string(b))
		if s == "." || s == ".." {
			return "dot"
		}
		return s
	})
	return Path("/" + strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "path"), "/"))
}

// drawAction draws a valid action that a client can send.
func drawAction(t *rapid.T) Action {
	text := rapid.String()
	hash := rapid.Custom(func(t *rapid.T) *Expect {
		if rapid.Bool().Draw(t, "absent") {
			return &Expect{Absent: true}
		}
		return &Expect{Hash: ptr(HashOf([]byte(text.Draw(t, "seen"))))}
	})
	c := Change{Path: drawPath(t)}
	if rapid.Bool().Draw(t, "expects") {
		c.Expect = hash.Draw(t, "expect")
	}
	root := Path("/r")
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		c.Write = &Write{Content: []byte(text.Draw(t, "content"))}
	case 1:
		c.Write = &Write{Content: rapid.SliceOf(rapid.Byte()).Draw(t, "content"), Type: rapid.SampledFrom([]string{"x/y", "text/plain"}).Draw(t, "type"),
			Mode: rapid.SampledFrom([]uint32{0, 0o644, 0o755}).Draw(t, "mode")}
	case 2:
		old := text.Filter(func(s string) bool { return s != "" }).Draw(t, "old")
		c.Edit = &Edit{Edits: []Replacement{rep(old, old+text.Draw(t, "new")+"x", rapid.Uint64().Draw(t, "count"))}}
	case 3:
		c.Delete = &Delete{}
	case 4:
		return Action{GitWrite: &GitWrite{Commit: &Commit{Root: drawPath(t), Message: strings.ReplaceAll(text.Draw(t, "message"), "\x00", "")}}}
	case 5:
		return Action{GitWrite: &GitWrite{Discard: &Discard{Root: root, Paths: []Path{drawPath(t)[1:]}}}}
	case 6:
		return Action{GitPush: &GitPush{Root: root, Remote: text.Draw(t, "remote"), Ref: text.Draw(t, "ref")}}
	}
	return change(c)
}

// T2: what is written in JSON reads back to the same digest, through this
// package's reader and through the encoding.
func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAction(t)
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
		j, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		p, err := ParseProposal(fmt.Appendf(nil, `{"action":%s}`, j))
		if err != nil {
			t.Fatalf("%s: %v", j, err)
		}
		if digest(t, p.Action) != digest(t, a) {
			t.Fatalf("%s reads as another action", j)
		}
		b, err := Encode(a)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Decode(b); err != nil || digest(t, again) != HashOf(b) {
			t.Fatalf("%x: %v", b, err)
		}
	})
}

// T1: an undo can be printed for a reader, and never proposed.
func TestUndoIsPrintedWithoutItsBytes(t *testing.T) {
	j, err := json.Marshal(undo(Restore{Path: there, Left: Image{Absent: true}, Back: image("secret", 0o644), Content: []byte("secret")}))
	if err != nil || strings.Contains(string(j), "secret") || strings.Contains(string(j), "c2VjcmV0") {
		t.Errorf("%s, %v", j, err)
	}
	if _, err := ParseProposal(fmt.Appendf(nil, `{"action":%s}`, j)); codeOf(t, err) != refusal.BadAction {
		t.Errorf("proposed: %v", err)
	}
}

// T2: nothing makes the reader of JSON panic, and whatever it takes is valid
// and is written and read again as the same action.
func FuzzParseProposal(f *testing.F) {
	for _, s := range samples() {
		j, err := json.Marshal(s.a)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(fmt.Appendf(nil, `{"action":%s,"sentence":"why"}`, j))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseProposal(data)
		if err != nil {
			codeOf(t, err)
			return
		}
		j, err := json.Marshal(p.Action)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseProposal(fmt.Appendf(nil, `{"action":%s}`, j))
		if err != nil || digest(t, again.Action) != digest(t, p.Action) {
			t.Errorf("%s: %v", j, err)
		}
	})
}

// O7: what is wrong with a proposal's JSON is said in JSON's terms, with the
// place, and nothing of this program's insides.
func TestJSONFaultsAreNamed(t *testing.T) {
	for in, want := range map[string]string{
		``:               "unexpected EOF",
		`{"action": []}`: "/action",
		`{"action": {"file-write": {"changes": [{"path": "/a", "mode": "0755", "delete": {}}]}}}`: "/action/file-write/changes/0/mode",
		`{"action": {"file-write": {"changes": [{"path": "\"/a", "delete": {}}]}}}`:               "its quoted form is broken",
		`{"action": {}, "action": {}}`: "duplicate",
	} {
		_, err := ParseProposal([]byte(in))
		r := refusal.As(err)
		if r == nil || r.Code != refusal.BadRequest || !strings.Contains(r.Why, want) || !strings.Contains(r.Fix, "docs/proposal.md") {
			t.Errorf("%s: %v", in, err)
		} else if strings.Contains(r.Why, "Go ") || strings.Contains(r.Why, "json:") || strings.Contains(r.Why, "action.") {
			t.Errorf("%s: %s", in, r.Why)
		}
	}
}
