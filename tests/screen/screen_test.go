package screen

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/internal/protocol"
	"countersign/tests/lab"
)

// O1, O4: what waits is listed, looked at, and approved by a key on exactly what
// stands there; keys that were typed ahead, and Enter, approve nothing.
func TestApprove(t *testing.T) {
	w := newWorld(t)
	path := w.script("greet.sh", "echo hello\n")
	tx := w.propose(lab.Claude, path, "echo hello, everybody\n", "Greets everybody.")
	p := w.open(80, 24)
	p.sees("claude: 1")
	p.press("Enter", "A") // at one go: the A was typed before the account stood
	p.sees("agent says: Greets everybody.")
	p.sees("+echo hello, everybody")
	p.sees("can be undone: yes, a copy of what it replaces is kept")
	p.sees(string(tx.ID) + "@" + tx.Prefix)
	p.ripe()
	p.press("Enter")
	p.press("Enter", "Enter", "y", "Enter")
	w.remains(tx, protocol.StateWaiting)
	w.stands(path, "echo hello\n")
	p.approves()
	p.sees("It has landed.")
	w.stands(path, "echo hello, everybody\n")
	p.press("u")
	p.sees("undo of " + string(tx.ID))
	w.stands(path, "echo hello, everybody\n")
	p.approves()
	p.sees("It has landed.")
	w.stands(path, "echo hello\n")
	p.press("q")
	p.ends(0)
}

// O4: what is typed ahead of the program itself, and what is pasted, approves
// nothing.
func TestTypedAhead(t *testing.T) {
	w := newWorld(t)
	tx := w.propose(lab.Claude, w.script("a.sh", "a\n"), "b\n", "")
	as := fmt.Sprintf("setpriv --reuid %d --regid %d --clear-groups", lab.Alice, lab.Alice)
	p := w.run(80, 24, "sh -c 'sleep 1; exec "+as+" "+w.Program()+"'")
	p.press("Enter")
	p.types("AAAA")
	p.sees("claude: 1")
	p.press("Enter")
	p.ripe()
	p.must("set-buffer", "A")
	p.must("paste-buffer", "-p")
	p.sees("what is pasted decides nothing")
	p.must("set-buffer", "A\nA\n")
	p.must("paste-buffer", "-p")
	w.remains(tx, protocol.StateWaiting)
}

// O1: an action is denied with a word to the agent, who gets it.
func TestDeny(t *testing.T) {
	w := newWorld(t)
	tx := w.propose(lab.Claude, w.script("a.sh", "a\n"), "b\n", "")
	p := w.open(80, 24)
	p.sees("claude: 1")
	p.press("Enter")
	p.ripe()
	time.Sleep(400 * time.Millisecond)
	p.press("d")
	p.sees("A word to the agent:")
	p.types("use the helper in lib")
	p.press("Enter")
	p.sees("Denied.")
	r := w.Run(lab.Claude, "", "await", string(tx.ID), "--json")
	var got protocol.Transaction
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil || got.State != protocol.StateDenied || got.Why != "use the helper in lib" {
		t.Errorf("%+v, %v", r, err)
	}
}

// O4, O8: a diff that is longer than the screen is approved once its end has
// stood, at whatever size the terminal comes to have.
func TestLongDiffAndSizes(t *testing.T) {
	w := newWorld(t)
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "echo %d\n", i)
	}
	path := w.script("long.sh", "x\n")
	tx := w.propose(lab.Claude, path, text.String(), "")
	p := w.open(80, 24)
	p.sees("claude: 1")
	p.press("Enter")
	p.sees("(End, then A approves)")
	time.Sleep(time.Second)
	p.press("A")
	p.sees("there is more of it below")
	for _, size := range [][2]int{{50, 15}, {140, 40}, {30, 5}, {80, 24}} {
		p.resize(size[0], size[1])
		if size[0] < 40 {
			p.sees("too small")
		} else {
			p.sees("(End, then A approves)"[:min(22, size[0])])
		}
	}
	w.remains(tx, protocol.StateWaiting)
	p.press("End")
	p.sees("+echo 299")
	p.approves()
	p.sees("It has landed.")
	w.stands(path, text.String())
}

// O1: of two screens of one owner each says what the other decided.
func TestTwoScreens(t *testing.T) {
	w := newWorld(t)
	tx := w.propose(lab.Claude, w.script("a.sh", "a\n"), "b\n", "")
	one, two := w.open(80, 24), w.open(80, 24)
	for _, p := range []*pane{one, two} {
		p.sees("claude: 1")
		p.press("Enter")
		p.ripe()
	}
	one.approves()
	one.sees("It has landed.")
	two.sees("while you looked it came to be landed")
	two.press("A")
	two.sees("not approved: it is landed")
	second := w.propose(lab.Other, w.script("b.sh", "a\n"), "b\n", "")
	for _, p := range []*pane{one, two} {
		p.press("Escape")
		p.sees("other: 1")
	}
	if w.tx(tx).State != protocol.StateLanded || w.tx(second).State != protocol.StateWaiting {
		t.Error("the states are wrong")
	}
}

// O4: an approval of what disk overtook lands nothing; the new preview is shown,
// and takes an approval of its own.
func TestStale(t *testing.T) {
	w := newWorld(t)
	path := w.script("a.sh", "a\n")
	tx := w.propose(lab.Claude, path, "b\n", "")
	p := w.open(80, 24)
	p.sees("claude: 1")
	p.press("Enter")
	p.ripe()
	w.script("a.sh", "the owner's own\n")
	p.approves()
	p.sees("disk moved on since it was shown")
	p.sees("-the owner's own")
	w.stands(path, "the owner's own\n")
	if now := w.tx(tx); now.State != protocol.StateWaiting || now.Prefix == tx.Prefix {
		t.Errorf("%+v", now)
	}
	p.approves()
	p.sees("It has landed.")
	w.stands(path, "b\n")
}

// O1: what its agent withdraws while it is looked at is said to be, and can no
// longer be decided on.
func TestWithdrawn(t *testing.T) {
	w := newWorld(t)
	tx := w.propose(lab.Claude, w.script("a.sh", "a\n"), "b\n", "")
	p := w.open(80, 24)
	p.sees("claude: 1")
	p.press("Enter")
	p.ripe()
	if r := w.Run(lab.Claude, "", "withdraw", string(tx.ID)); r.Code != 7 {
		t.Fatalf("%+v", r)
	}
	p.sees("while you looked it came to be withdrawn")
	p.press("A")
	p.sees("not approved: it is withdrawn")
}

// O1: a flood of one agent's takes a few rows, and what another agent proposes
// is seen beside it.
func TestFlood(t *testing.T) {
	w := newWorld(t)
	c, err := w.Dial(lab.Claude, "keeper/act")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := w.open(80, 24)
	p.sees("Nothing waits for you.")
	const many = 200 // as many as an agent may have waiting
	for i := range many {
		proposeOver(t, c, w.Home("alice")+fmt.Sprintf("/%d.sh", i))
	}
	other := w.propose(lab.Other, w.script("other.sh", "a\n"), "b\n", "")
	p.sees("201 waiting")
	p.sees("and 194 more: Enter shows them")
	p.sees("other.sh")
	p.press("/")
	p.types("other.sh")
	p.press("Enter", "Enter")
	p.sees(string(other.ID))
	p.approves()
	p.sees("It has landed.")
}

// O4: while an agent's process has the owner's terminal nothing is approved, and
// once it has gone it is.
func TestAgentAtTheTerminal(t *testing.T) {
	w := newWorld(t)
	tx := w.propose(lab.Claude, w.script("a.sh", "a\n"), "b\n", "")
	as := func(uid int) string { return fmt.Sprintf("setpriv --reuid %d --regid %d --clear-groups", uid, uid) }
	p := w.run(80, 24, "sh -c '"+as(lab.Claude)+" sleep 8 & exec "+as(lab.Alice)+" "+w.Program()+"'")
	p.sees("claude: 1")
	p.press("Enter")
	p.approves()
	p.sees("an agent has this terminal too: claude by sleep")
	w.remains(tx, protocol.StateWaiting)
	time.Sleep(8 * time.Second)
	p.approves()
	p.sees("It has landed.")
}

// O1: a keeper that is gone is said to be, and one that is back is heard again.
func TestKeeperGone(t *testing.T) {
	w := newWorld(t)
	w.propose(lab.Claude, w.script("a.sh", "a\n"), "b\n", "")
	p := w.open(80, 24)
	p.sees("claude: 1")
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	p.sees("The keeper is not heard of")
	p.sees("a.sh")
	if err := w.Up(); err != nil {
		t.Fatal(err)
	}
	p.until("the keeper", func() bool { return !strings.Contains(p.screen(), "not heard of") })
	p.press("Enter")
	p.approves()
	p.sees("It has landed.")
}

// O8: in lines the same is listed, shown whole and decided by whole words, with
// no drawing, and without colours where there are to be none.
func TestPlain(t *testing.T) {
	w := newWorld(t)
	path := w.script("a.sh", "a\n")
	tx := w.propose(lab.Claude, path, "b\n", "Makes it b.")
	p := w.open(120, 60, "--plain")
	p.sees("One action waits for you.")
	p.sees("1. claude,")
	const ask = "A number looks at it. Or: list, log, undo NUMBER, help, quit: "
	p.answers(ask, "1")
	p.sees("agent says: Makes it b.")
	whole := "This is the whole of " + string(tx.ID) + "@" + tx.Prefix + ". [approve/deny/back] "
	p.answers(whole, "")
	const again = "type one of the words whole: approve, deny, back "
	p.answers(again, "y")
	w.remains(tx, protocol.StateWaiting)
	p.answers(again, "approve")
	p.sees("It is landed.")
	w.stands(path, "b\n")
	p.answers(ask, "log")
	p.sees("landed, approved by alice")
	p.answers(ask, "quit")
	p.ends(0)
	if strings.Contains(p.raw(), "\x1b[?1049h") {
		t.Error("it is drawn")
	}
}

// O8: NO_COLOR turns colours off, and the signs of a diff stay.
func TestNoColour(t *testing.T) {
	w := newWorld(t)
	w.propose(lab.Claude, w.script("a.sh", "a\n"), "b\n", "")
	as := fmt.Sprintf("env NO_COLOR=1 setpriv --reuid %d --regid %d --clear-groups ", lab.Alice, lab.Alice)
	p := w.run(80, 24, as+w.Program())
	p.sees("claude: 1")
	p.press("Enter")
	p.sees("+b")
	p.sees("-a")
	for _, colour := range []string{"\x1b[31m", "\x1b[32m", "\x1b[36m"} {
		if strings.Contains(p.raw(), colour) {
			t.Errorf("%q is written", colour)
		}
	}
}

// O1: without a terminal there is no screen, and with one that cannot be drawn on
// the way to lines is named; both end as wrong usage or failure.
func TestNoTerminal(t *testing.T) {
	w := newWorld(t)
	if r := w.Run(lab.Alice, ""); r.Code != 2 || !strings.Contains(r.Stderr, "there is no terminal here") {
		t.Errorf("%+v", r)
	}
	p := w.run(80, 24, "sh -c 'TERM=dumb exec setpriv --reuid 61201 --regid 61201 --clear-groups "+w.Program()+"'")
	p.wrote("give --plain")
	p.ends(1)
}

// T8: who decides for nobody's home gets no screen.
func TestNotAnOwner(t *testing.T) {
	w := newWorld(t)
	p := w.run(80, 24, fmt.Sprintf("setpriv --reuid %d --regid %d --clear-groups %s", lab.Claude, lab.Claude, w.Program()))
	p.wrote("not-permitted")
	p.ends(3)
}
