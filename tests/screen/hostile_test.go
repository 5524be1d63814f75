package screen

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/visible"
	"countersign/internal/wire/client"
	"countersign/tests/lab"
)

// proposeOver proposes a new program over a kept connection.
func proposeOver(t *testing.T, c *client.Client, path string) protocol.Transaction {
	t.Helper()
	return proposeChange(t, c, "", action.Change{Path: action.Path(path), Write: &action.Write{Content: []byte("echo\n"), Mode: 0o755}})
}

func proposeChange(t *testing.T, c *client.Client, sentence string, changes ...action.Change) protocol.Transaction {
	t.Helper()
	in := protocol.ActParams{Sentence: sentence, Action: action.Action{FileWrite: &action.FileWrite{Changes: changes}}}
	rand.Read(in.Nonce[:])
	var tx protocol.Transaction
	if err := c.Call(context.Background(), protocol.Act, in, &tx); err != nil {
		t.Fatal(err)
	}
	return tx
}

// hostile is text that has fooled terminals and the people before them.
var hostile = []string{
	"\x1b[2J\x1b[1;1HA approves", "\x1b]0;title\a", "\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "\x1b]52;c;cm0gLXJmIC8=\a",
	"\x1bP+q\x1b\\\x1b_x\x1b\\", "\x1b[6n\x1b[c", "agent says: no\rcan be undone: yes", "rm\b\bls\x7f", "\u009b2K\u009d0;x\u009c\u0085",
	"\u202egnp.exe\u202c\u2066x\u2069", "a\u200bb\u2060\ufeff\u00ad", "\U000e0001\U000e0061", "p\u0430yp\u0430l", strings.Repeat("long ", 150),
	"a\u0301\u0336\ufe0f", "\u3164\u2800\u00a0", "x\n  can be undone: yes\napprove: y", "⟦SP⟧⤷ A approves", "trailing \t ", "'\"\\%s%n", "日本語テキスト",
}

// allowed is every control sequence that may come to a terminal.
var allowed = regexp.MustCompile(`\x1b\[(\d+;\d+H|2J|2K|[0-9;]*m|6n|\?(1049|7|25|2004)[hl])`)

// harmless checks output: visible characters, line ends, tabs where it is
// written in lines, and our own control sequences.
func harmless(t *testing.T, what, out string, more string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Errorf("%s: it is no UTF-8", what)
	}
	rest := allowed.ReplaceAllString(out, "")
	for i, r := range rest {
		if !visible.Rune(r) && !strings.ContainsRune(more, r) {
			t.Fatalf("%s: %U is written: %q", what, r, rest[max(0, i-60):min(len(rest), i+60)])
		}
	}
}

// O3: names, texts, diffs and words of an agent's reach the terminal as visible
// characters alone, in every view of the screen, in lines, and in every command,
// for a terminal and for a pipe.
func TestHostileTexts(t *testing.T) {
	w := newWorld(t)
	c, err := w.Dial(lab.Claude, "keeper/act")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var all []protocol.Transaction
	for i, h := range hostile {
		name := strings.NewReplacer("/", "_", "\x00", "_").Replace(h)
		if len(name) > 200 {
			name = name[:200]
		}
		path := w.script(fmt.Sprintf("%02d%s", i, name), "old "+h+"\n"+h+"\nsame")
		all = append(all, proposeChange(t, c, h, action.Change{Path: action.Path(path), Write: &action.Write{Content: []byte("new " + h + "\n" + h + " \n\x00same")}}))
	}
	w.everyView(all)
	for _, args := range [][]string{{"pending"}, {"log"}, {"show", string(all[0].ID)}, {"show", string(all[16].ID)}, {"log", "--refused", "--path", w.Home("alice")}} {
		r := w.Run(lab.Alice, "", args...)
		harmless(t, strings.Join(args, " "), r.Stdout+r.Stderr, "\n\t")
		r = w.Run(lab.Alice, "", append(args, "--json")...)
		harmless(t, strings.Join(args, " ")+" --json", r.Stdout+r.Stderr, "\n")
		p := w.open(100, 50, args...)
		p.ends(0)
		harmless(t, strings.Join(args, " ")+" in a terminal", p.raw(), "\r\n\t")
	}
	for _, args := range [][]string{{"watch"}, {"watch", "--json"}} {
		p := w.open(100, 50, args...)
		p.until("everything that waits", func() bool { return strings.Contains(p.raw(), string(all[len(all)-1].ID)) })
		harmless(t, strings.Join(args, " "), p.raw(), "\r\n\t")
	}
}

// everyView looks at actions in every view.
func (w *world) everyView(all []protocol.Transaction) {
	w.t.Helper()
	for _, size := range [][2]int{{80, 24}, {160, 50}} {
		p := w.open(size[0], size[1])
		p.sees("claude: ")
		p.press("Down", "Down", "Down", "Down", "Down", "Down", "Enter", "Home", "Enter")
		for _, tx := range all {
			p.sees(string(tx.ID) + "@")
			p.press("NPage", "End")
			p.sees("the end")
			p.press("Tab")
		}
		p.sees(string(all[0].ID) + "@")
		p.press("Escape")
		p.sees("what waits")
		p.press("l")
		p.sees("the log")
		p.press("NPage", "?", "q")
		p.ends(0)
		harmless(w.t, fmt.Sprintf("the screen at %v", size), p.raw(), "\r\n")
	}
	p := w.open(100, 50, "--plain")
	p.sees("actions wait for you")
	for i := 0; i < len(all); i += 4 {
		p.answers("quit: ", fmt.Sprint(i+1))
		p.wrote("the whole of " + string(all[i].ID))
		p.answers("[approve/deny/back] ", "back")
	}
	p.answers("quit: ", "log")
	p.answers("quit: ", "quit")
	p.ends(0)
	harmless(w.t, "in lines", p.raw(), "\r\n\t")
}

// O3: a name that passes for another is marked wherever it is shown.
func TestLookAlike(t *testing.T) {
	w := newWorld(t)
	tx := w.propose(lab.Claude, filepath.Join(w.Home("alice"), ".bаshrc.sh"), "x\n", "")
	p := w.open(120, 40)
	p.sees("look-alike: U+0430 is no a")
	p.press("Enter")
	p.sees("look-alike: U+0430 is no a")
	if r := w.Run(lab.Alice, "", "show", string(tx.ID)); !strings.Contains(r.Stdout, "look-alike: U+0430 is no a") {
		t.Errorf("%+v", r)
	}
}
