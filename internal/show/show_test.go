package show

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/visible"
)

// corpus is text that has fooled terminals and the people before them.
func corpus() map[string]string {
	return map[string]string{
		"clear line":      "a\x1b[2K\x1b[1A\x1b[31mred\x1b[0m",
		"own colours":     red + "x" + plain,
		"title":           "\x1b]0;title\a",
		"hyperlink":       "\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\",
		"clipboard":       "\x1b]52;c;cm0gLXJmIC8=\a",
		"device control":  "\x1bPq#0\x1b\\ \x1b_x\x1b\\ \x1b^x\x1b\\",
		"carriage return": "agent says: nothing\rapprove: yes",
		"backspace":       "rm\b\bls\x7f",
		"C1":              "\u009b2K\u009d0;x\u009c\u0085",
		"lone bytes":      "\x9b2K\xff\xc3",
		"bidi":            "\u202egnp.exe\u202c\u2066x\u2069\u061c",
		"zero width":      "a\u200bb\u200c\u200d\u2060\ufeff",
		"tags":            "\U000e0001\U000e0061\U000e007f",
		"variation":       "a\ufe0f\U000e0100\u180b",
		"fillers":         "\u3164\u115f\u1160\uffa0\u2800\u17b4",
		"spaces":          "\u00a0\u2003\u3000",
		"separators":      "a\u2028b\u2029c",
		"newlines":        "x\napprove: countersign approve abcdefghijkmn@0123456789abcdef\n  owner says: yes\n",
		"NUL":             "a\x00b",
		"very long":       strings.Repeat("long ", 2_000),
		"format":          "%s%d%!n%[9]d",
		"quote":           `"\033[2K"`,
		"private use":     "\ue000\U000f0000\uffff",
	}
}

// fill puts s into every string, and into a first element of every list, that
// v reaches; numbers become 7.
func fill(v reflect.Value, s string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), s)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), s)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), s)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), s)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	}
}

func filled[T any](s string) T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), s)
	return v
}

// every writes s in every place that a Writer has for it.
func every(s string, colour bool) string {
	var out bytes.Buffer
	w := Writer{Out: &out, Colour: colour}
	tx := filled[protocol.Transaction](s)
	w.Banner(true)
	w.Rows([]protocol.Transaction{tx})
	tx.UndoneBy = ""
	w.Rows([]protocol.Transaction{tx})
	w.Note(s)
	for _, state := range []protocol.State{protocol.StateWaiting, protocol.StateLanded, protocol.StateDenied, protocol.StateRefused} {
		tx.State = state
		w.Answer(tx)
		w.Event(tx)
		w.Stories([]protocol.Transaction{tx})
		w.Numbered(7, Story(tx), s, s)
		w.NumberedStory(7, tx)
	}
	whole := filled[protocol.ShowResult](s)
	w.Transaction(whole)
	whole.Transaction.State = protocol.StateWaiting
	w.Transaction(whole)
	d := filled[action.Detail](s)
	d.Changes[0].Old = action.Image{Absent: true}
	w.Detail(d)
	d.Changes[0].NoDiff = ""
	for _, lead := range []string{"", "+", "-", " ", "@@", "\\ ", "--- ", "x"} {
		d.Changes[0].Diff = lead + s
		w.Detail(d)
	}
	w.Status(filled[protocol.StatusResult](s))
	w.Title(action.Path(s))
	w.Listing(filled[protocol.Listing](s))
	w.Matches(filled[protocol.GlobResult](s).Matches)
	w.Stat(filled[protocol.StatFile](s))
	w.Walked(filled[protocol.Walked](s))
	w.line("%s", w.Sentence(tx))
	w.line("%s", Refusal(&refusal.Refusal{Code: refusal.Code(s), What: s, Why: s, Fix: s}))
	return out.String()
}

// O3: whatever an agent, a file, a journal or a peer put anywhere, what is
// written is visible characters, tabs, line ends, and colours of our own; and
// where colours are off, not even those.
func TestNothingGetsThrough(t *testing.T) {
	ours := strings.NewReplacer(red, "", green, "", cyan, "", bold, "", plain, "")
	for name, s := range corpus() {
		plainly, painted := every(s, false), every(s, true)
		if ours.Replace(painted) != plainly {
			t.Errorf("%s: colours change the text", name)
		}
		for i, line := range strings.Split(plainly, "\n") {
			for _, r := range line {
				if r != '\t' && !visible.Rune(r) {
					t.Fatalf("%s: %U in line %d: %.300q", name, r, i, line)
				}
			}
		}
	}
}

// O3: a text of many lines takes one line wherever it stands, so that it can
// begin none of ours.
func TestNoLineIsForged(t *testing.T) {
	one := strings.Count(every("x", false), "\n")
	for name, s := range corpus() {
		got := every(s, false)
		if name == "newlines" { // but in a diff, which is lines
			continue
		}
		if n := strings.Count(got, "\n"); n != one {
			t.Errorf("%s: %d lines, want %d", name, n, one)
		}
	}
	fake := "x\napprove: countersign approve abcdefghijkmn@0123456789abcdef"
	whole := filled[protocol.ShowResult](fake)
	whole.Transaction.State, whole.Transaction.ID, whole.Transaction.Prefix = protocol.StateWaiting, "zzzzzzzzzzzzz", "fedcba9876543210"
	whole.Detail.Changes[0].Diff = "+x\n+approve: y\n approve: y\n-approve: y\n"
	var out bytes.Buffer
	Writer{Out: &out}.Transaction(whole)
	var approve []string
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "approve:") {
			approve = append(approve, line)
		}
	}
	if len(approve) != 1 || approve[0] != "approve: countersign approve zzzzzzzzzzzzz@fedcba9876543210\n" {
		t.Errorf("lines that offer an approval: %q", approve)
	}
}

// O3: trailing white space and a missing final newline show in a diff, in lines
// that stay too.
func TestDiffShowsWhatHides(t *testing.T) {
	var out bytes.Buffer
	diff := "--- /a\n+++ /a\n@@ -1,2 +1,2 @@\n same \t\n-old \n+new\t\n+\n+x\r\n\\ No newline at end of file\n"
	Writer{Out: &out}.Detail(action.Detail{Changes: []action.ChangeDetail{{Path: "/a", Does: action.Replaces, Diff: diff}}})
	want := "\nreplace /a\n--- /a\n+++ /a\n@@ -1,2 +1,2 @@\n" + " same⟦SP⟧⟦TAB⟧\n-old⟦SP⟧\n+new⟦TAB⟧\n+\n+x⟦CR⟧" +
		"\n" + `\ No newline at end of file` + "\n"
	if out.String() != want {
		t.Errorf("shown:\n%s\nwant:\n%s", out.String(), want)
	}
}

// T3: what cannot be shown as a diff is shown by size and hash, and new text is
// shown beside that.
func TestDetailNamesWhatItDoesNotShow(t *testing.T) {
	h := action.HashOf([]byte("new\n"))
	var out bytes.Buffer
	Writer{Out: &out}.Detail(action.Detail{Changes: []action.ChangeDetail{{
		Path: "/a", Real: "/A", Does: action.Replaces, Old: action.Image{Absent: true}, New: action.Image{Hash: &h, Size: 4},
		NoDiff: "the file there is binary", Diff: "--- /a\n+++ /a\n@@ -0,0 +1 @@\n+new\n", NotKept: []string{"user.tag"},
	}}})
	for _, want := range []string{"it lands at /A\n", "not kept: user.tag\n", "the file there is binary\n", "before: no file\n", "4 bytes, SHA-256 " + h.String() + "\n", "\n+new\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
}

// O1, T8: the machine's own sentence says who wants what, where, and whether
// the one who may approve it proposed it.
func TestSentence(t *testing.T) {
	for want, tx := range map[string]protocol.Transaction{
		"robot: write /a":                      {By: "robot", Capability: action.CapFileWrite, Paths: []action.Path{"/a"}},
		"robot: delete /a, \"/\\n\"":           {By: "robot", Capability: action.CapFileDelete, Paths: []action.Path{"/a", "/\n"}},
		"robot: commit in /r":                  {By: "robot", Capability: action.CapGitCommit, Paths: []action.Path{"/r"}},
		"robot: discard work in /r":            {By: "robot", Capability: action.CapGitDiscard, Paths: []action.Path{"/r"}},
		"robot: push /r":                       {By: "robot", Capability: action.CapGitPush, Paths: []action.Path{"/r"}},
		"alice: put back /a":                   {By: "alice", Capability: action.CapUndo, Paths: []action.Path{"/a"}, UndoOf: "x", Self: true},
		"robot: write /a, /b, /c":              {By: "robot", Capability: action.CapFileWrite, Paths: []action.Path{"/a", "/b", "/c"}},
		"robot: write /a, /b and 2 more":       {By: "robot", Capability: action.CapFileWrite, Paths: []action.Path{"/a", "/b", "/c", "/d"}},
		"robot: write /a, /b and 998 more":     {By: "robot", Capability: action.CapFileWrite, Paths: []action.Path{"/a", "/b", "/c"}, More: 997},
		"alice (self-proposed): write /a":      {By: "alice", Capability: action.CapFileWrite, Paths: []action.Path{"/a"}, Self: true},
		"robot (unseparated): write /a":        {By: "robot", Capability: action.CapFileWrite, Paths: []action.Path{"/a"}, Unseparated: true},
		`ro⟦ESC⟧[2Kbot: write "/\342\200\256"`: {By: "ro\x1b[2Kbot", Capability: action.CapFileWrite, Paths: []action.Path{"/\u202e"}},
	} {
		if got := (Writer{}).Sentence(tx); string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// O4: only what waits offers an approval, and by its ID and prefix.
func TestOnlyWhatWaitsOffersApproval(t *testing.T) {
	for _, s := range []protocol.State{protocol.StateWaiting, protocol.StateApproved, protocol.StateIntent, protocol.StateLanded,
		protocol.StateDenied, protocol.StateRefused, protocol.StateUnknown, protocol.StateExpired} {
		var out bytes.Buffer
		Writer{Out: &out}.Transaction(protocol.ShowResult{Transaction: protocol.Transaction{ID: "abcdefghijkmn", State: s, Prefix: "0123456789abcdef"}})
		if got := strings.Contains(out.String(), "approve abcdefghijkmn@0123456789abcdef"); got != (s == protocol.StateWaiting) {
			t.Errorf("%s: an approval is offered: %v", s, got)
		}
	}
}

// O3: on a screen no text reaches the left edge by being long: a row that goes
// on begins with a mark, and holds what the line holds, no more and no less.
func TestLongLinesAreFolded(t *testing.T) {
	forged := "+x" + strings.Repeat(" ", 18) + " decided by: auto"
	for _, line := range []string{"", "short", forged, strings.Repeat("日", 50), strings.Repeat("\t", 9), strings.Repeat("x", 200)} {
		var out bytes.Buffer
		Writer{Out: &out, Width: 20}.line("%s", line)
		var whole string
		for i, row := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
			if i > 0 != strings.HasPrefix(row, goesOn) {
				t.Errorf("%q: row %d is %q", line, i, row)
			}
			if n := utf8.RuneCountInString(row); n > 20 {
				t.Errorf("%q: row %d has %d runes", line, i, n)
			}
			whole += strings.TrimPrefix(row, goesOn)
		}
		if whole != line {
			t.Errorf("%q is shown as %q", line, whole)
		}
	}
}

// O3: JSON says exactly what it holds, and shows nothing that moves or hides.
func TestJSONIsHarmless(t *testing.T) {
	const nasty = "a\u009b2K\u202eb\u200b\U000e0041é日\x7f\n\t\"⟦"
	raw, err := json.Marshal(map[string]string{"k": nasty})
	if err != nil {
		t.Fatal(err)
	}
	shown := JSON(string(raw) + "\n")
	for _, r := range shown {
		if r != '\n' && !visible.Rune(r) {
			t.Errorf("%U shows in %q", r, shown)
		}
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(shown), &back); err != nil || back["k"] != nasty {
		t.Errorf("%q reads as %q: %v", shown, back["k"], err)
	}
}

// O3: a name cannot go on as words of a line's own: it comes last, and is quoted
// where it holds what stands between words.
func TestNamesAreNoWords(t *testing.T) {
	for name, want := range map[string]string{
		"/a":                   "/a",
		"/y  undo of abc":      `"/y  undo of abc"`,
		"/z (self-proposed)":   `"/z (self-proposed)"`,
		"/a, /b":               `"/a, /b"`,
		"/trail ":              `"/trail "`,
		"/x; undone by abc":    `"/x; undone by abc"`,
		"/in \"quotes\" or \\": `"/in \"quotes\" or \\"`,
	} {
		var out bytes.Buffer
		Writer{Out: &out}.Rows([]protocol.Transaction{{By: "claude", Capability: action.CapFileWrite, Paths: []action.Path{action.Path(name)}, UndoneBy: "u"}})
		if line := strings.TrimSuffix(out.String(), "\n"); !strings.HasSuffix(line, "undone by u; claude: write "+want) {
			t.Errorf("%q: %s", name, line)
		}
		if back, err := action.ParsePath(named(action.Path(name))); err != nil || string(back) != name {
			t.Errorf("%q reads back as %q: %v", name, back, err)
		}
	}
}
