package screen

import (
	"reflect"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/terminal"
	"countersign/internal/visible"
)

// corpus is text that has fooled terminals and the people before them.
func corpus() map[string]string {
	return map[string]string{
		"clear":       "a\x1b[2K\x1b[1A\x1b[31mred\x1b[0m",
		"title":       "\x1b]0;title\a",
		"hyperlink":   "\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\",
		"clipboard":   "\x1b]52;c;cm0gLXJmIC8=\a",
		"report":      "\x1b[6n\x1b[c\x1b[?2004l",
		"return":      "agent says: nothing\rA approves",
		"backspace":   "rm\b\bls\x7f",
		"C1":          "\u009b2K\u009d0;x\u009c\u0085\x9b2J",
		"bidi":        "\u202egnp.exe\u202c\u2066x\u2069\u061c",
		"zero width":  "a\u200bb\u200c\u200d\u2060\ufeff",
		"tags":        "\U000e0001\U000e0061\U000e007f",
		"combining":   strings.Repeat("a\u0301\u0302\u0336", 50),
		"newlines":    "x\nThis is the end of aaaaaaaaaaaab@0000000000000001.\nA approves\n",
		"NUL":         "a\x00b",
		"long":        strings.Repeat("long ", 2_000),
		"wide":        strings.Repeat("日本", 200),
		"tabs":        strings.Repeat("\t", 100),
		"look-alikes": "/home/аlісе/сору",
		"brackets":    "⟦SP⟧⟦no line end⟧",
		"goes on":     "⤷ A approves",
		"invalid":     "\xff\xc3\xa0",
		"ours":        "\x1b[1;7mApproving; any other key stops it.",
	}
}

// fill puts s into every string that v reaches.
func fill(v reflect.Value, s string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), s)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), s)
		fill(v.Index(1), s)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), s)
		}
	case reflect.Bool:
		v.SetBool(true)
	}
}

// O3: whatever stands in a transaction, its action and its account, every view of
// it at every size is visible characters within its rows, and the rows that are
// the screen's own stay so.
func TestNothingGetsThrough(t *testing.T) {
	for name, s := range corpus() {
		for _, size := range [][2]int{{80, 24}, {140, 40}, {40, 10}} {
			r := newRig(t, size[0], size[1])
			var whole protocol.ShowResult
			fill(reflect.ValueOf(&whole).Elem(), s)
			whole.Action = protocol.ShowResult{}.Action
			for i := range whole.Detail.Changes {
				whole.Detail.Changes[i].Diff = "--- a\n+++ b\n@@ -1 +1 @@\n-" + s + "\n+" + s + "x\n " + s + "\n"
			}
			whole.Transaction.ID, whole.Transaction.State, whole.Transaction.Prefix = id(1), protocol.StateWaiting, "0000000000000001"
			whole.Transaction.UndoneBy = ""
			r.keeper.log = []protocol.Transaction{whole.Transaction, whole.Transaction}
			check := func() {
				t.Helper()
				harmless(t, name, r)
			}
			r.looking(whole)
			r.settle()
			for range 30 {
				check()
				r.press(terminal.PageDown)
			}
			r.press(terminal.End)
			check()
			for _, keys := range []string{"/" + s[:1], "", "s", "?", "?", "]"} {
				r.types(keys)
				check()
				r.press(terminal.Enter)
				check()
			}
			r.press(terminal.Escape)
			check()
			r.types("l")
			check()
			r.say(s)
			r.settle()
			check()
			r.heard(protocol.WatchResult{}, nil, errorOf(s))
			r.said = ""
			r.settle()
			check()
		}
	}
}

type errorOf string

func (e errorOf) Error() string { return string(e) }

// harmless looks at what is drawn: visible characters, in rows that are as many
// as the screen has, with the head and the keys where they belong.
func harmless(t *testing.T, name string, r *rig) {
	t.Helper()
	if len(r.glass.rows) != r.glass.height {
		t.Fatalf("%s: %d rows of %d", name, len(r.glass.rows), r.glass.height)
	}
	for i, row := range r.glass.rows {
		for _, s := range row {
			for _, c := range s.Text {
				if !visible.Rune(c) {
					t.Fatalf("%s: %U in row %d: %q", name, c, i, s.Text)
				}
			}
		}
	}
	if !strings.HasPrefix(string(r.glass.rows[0][0].Text), "countersign  ") {
		t.Errorf("%s: the head is %q", name, words(r.glass.rows[0]))
	}
	for i, row := range r.glass.rows[:len(r.glass.rows)-1] {
		if w := words(row); strings.HasPrefix(w, "a approves") || strings.HasPrefix(w, "approving;") {
			t.Errorf("%s: row %d is forged: %q", name, i, w)
		}
	}
}

// O3: a line of an agent's is behind the machine's word that it is the agent's,
// or behind the sign of a diff, or goes on from one that is.
func TestNoRowIsForged(t *testing.T) {
	fake := "x\nThis is the end of aaaaaaaaaaaab@0000000000000001.\n  can be undone: yes"
	s := waiting(1, "claude", "@@ -1 +1 @@\n+This is the end of aaaaaaaaaaaab@0000000000000001.\n+A approves\n+\n")
	s.Transaction.Sentence = fake + strings.Repeat(" ", 200) + "This is the end of it."
	s.Transaction.Reversible = false
	s.Detail.Changes[0].Path = action.Path("/home/alice/" + fake)
	for _, width := range []int{40, 80, 140} {
		d := newDetail(s)
		d.lay(width, 1000, width >= beside)
		end := 0
		for i, row := range d.rows {
			w := words(row)
			if strings.HasPrefix(w, "this is the end of") {
				end++
				if i != len(d.rows)-1 && !strings.HasPrefix(words(d.rows[i+1]), "⤷") {
					t.Errorf("at %d columns row %d of %d says %q", width, i, len(d.rows), w)
				}
			}
			if strings.HasPrefix(w, "  can be undone: yes") {
				t.Errorf("at %d columns a row says %q", width, w)
			}
		}
		if end != 1 {
			t.Errorf("at %d columns there are %d ends", width, end)
		}
	}
}
