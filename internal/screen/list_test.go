package screen

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/terminal"
)

// O1: the row that the cursor is on stays where it is on the screen, and the
// same action, whatever comes, ends and goes; each agent's actions stand oldest
// first, below its own row.
func TestNothingMovesTheCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, now := newList(), time.Unix(1_800_000_000, 0)
		height := rapid.IntRange(3, 20).Draw(t, "height")
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			l.shown(80, height, now)
			line, cursor, was := l.line, l.cursor, l.rows()
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1, 2:
				n := rapid.IntRange(0, 60).Draw(t, "n")
				s := waiting(n, fmt.Sprintf("agent%d", n%3), "")
				if rapid.IntRange(0, 3).Draw(t, "end") == 0 {
					s.Transaction.State = protocol.StateWithdrawn
				}
				l.take(s.Transaction)
			case 3:
				l.fold(rapid.Bool().Draw(t, "open"))
				cursor = l.cursor // a fold may take the row away that it was on
			case 4:
				l.move(rapid.IntRange(-3, 3).Draw(t, "by"))
				cursor = l.cursor
				line = l.line
			case 5:
				var all []protocol.Transaction
				for _, w := range l.byID {
					if w.t.State == protocol.StateWaiting {
						all = append(all, w.t)
					}
				}
				l.keep(all)
			}
			rows := l.shown(80, height, now)
			if cursor != (key{}) && l.cursor != cursor {
				t.Fatalf("the cursor went from %+v to %+v", cursor, l.cursor)
			}
			if fits := len(was) > height && len(l.rows()) > height; fits && cursor == l.cursor && line >= 0 && line < height && abs(l.line-line) > 0 {
				at := slices.Index(l.rows(), l.cursor)
				if at >= line && len(l.rows())-at > height-line {
					t.Fatalf("the cursor's row went from %d to %d", line, l.line)
				}
			}
			if len(l.byID) > 0 && (l.cursor.agent() || !strings.Contains(words(rows[l.line]), "> ")) {
				t.Fatalf("no row is under the cursor: %+v", l.cursor)
			}
			ordered(t, l)
		}
	})
}

func abs(n int) int { return max(n, -n) }

func ordered(t *rapid.T, l *list) {
	for _, a := range l.agents {
		if !slices.IsSortedFunc(a.items, func(a, b *waits) int { return int(a.t.Proposed - b.t.Proposed) }) {
			t.Fatalf("%s is out of order", a.by)
		}
	}
}

// O1: many actions of one agent take a few rows until they are asked for, and
// bury none of another's.
func TestFlood(t *testing.T) {
	r := newRig(t, 80, 24)
	var all []protocol.Transaction
	for n := range 1000 {
		all = append(all, waiting(n, "claude", "").Transaction)
	}
	last := waiting(5000, "other", "")
	last.Transaction.UID = 971
	all = append(all, last.Transaction)
	r.heard(protocol.WatchResult{Seen: 1}, all, nil)
	r.settle()
	r.shows("and 994 more: Enter shows them")
	r.shows("other: 1")
	r.shows("/home/alice/5000.sh")
	r.shows("1001 waiting")
	for range few {
		r.press(terminal.Down)
	}
	r.press(terminal.Enter)
	if len(r.list.rows()) != 1001+2 {
		t.Errorf("%d rows", len(r.list.rows()))
	}
	r.shows("> ")
	r.press(terminal.Left)
	r.shows("and 994 more")
}

// O1: an older action that comes late does not push the one under the cursor
// out of those that are shown.
func TestLateComer(t *testing.T) {
	l := newList()
	for n := range few {
		l.take(waiting(10+n, "claude", "").Transaction)
	}
	l.move(few)
	cursor := l.cursor
	l.take(waiting(5, "claude", "").Transaction)
	if l.cursor != cursor || !slices.Contains(l.rows(), cursor) || cursor.id != id(10+few-1) {
		t.Errorf("the cursor is on %+v, was on %+v", l.cursor, cursor)
	}
}

// O1: what has ended keeps its row until the list is come back to.
func TestEndedKeepsItsRow(t *testing.T) {
	r := newRig(t, 80, 24)
	a, b := waiting(1, "claude", diffOf(1)), waiting(2, "claude", diffOf(1))
	r.looking(a, b)
	r.press(terminal.Escape)
	b.Transaction.State = protocol.StateWithdrawn
	r.changes(b)
	r.shows("withdrawn")
	r.shows("1 waiting")
	r.press(terminal.Enter, terminal.Escape)
	if strings.Contains(r.screen(), "/home/alice/2.sh") {
		t.Errorf("it is still there:\n%s", r.screen())
	}
}

// O1: search finds an action wherever it is, by its path, its reasons and its
// ID, and goes round.
func TestSearchInTheList(t *testing.T) {
	r := newRig(t, 80, 24)
	var all []protocol.Transaction
	for n := range 50 {
		all = append(all, waiting(n, "claude", "").Transaction)
	}
	r.heard(protocol.WatchResult{Seen: 1}, all, nil)
	r.settle()
	for word, n := range map[string]int{"/42.SH": 42, string(id(7)): 7, "runs-later": 8} {
		r.list.to(id(7))
		r.types("/" + word)
		r.press(terminal.Enter)
		if r.list.cursor.id != id(n) {
			t.Errorf("%s: the cursor is on %+v", word, r.list.cursor)
		}
	}
	r.types("/nowhere")
	r.press(terminal.Enter)
	r.shows("not found")
}

// O1: a diff is searched too, and the end of it is found.
func TestSearchInADetail(t *testing.T) {
	r := newRig(t, 80, 16)
	r.looking(waiting(1, "claude", diffOf(200)))
	r.types("/New 150")
	r.press(terminal.Enter)
	r.shows("+new 150")
	r.types("/new 199")
	r.press(terminal.Enter)
	r.shows("+new 199")
	r.types("N")
	r.shows("not found")
	r.types("/OLD 1")
	r.press(terminal.Enter)
	r.types("N")
	r.shows("-old 199")
}

// O1: of several files every path is listed, and the keys ] and [ go from one to
// the next.
func TestSeveralFiles(t *testing.T) {
	r := newRig(t, 80, 16)
	s := waiting(1, "claude", "")
	s.Detail.Changes = nil
	for n := range 40 {
		s.Detail.Changes = append(s.Detail.Changes, waiting(n, "claude", diffOf(9)).Detail.Changes...)
	}
	r.looking(s)
	shown := ""
	for r.detail.offset+r.detail.height < len(r.detail.rows) {
		shown += r.screen()
		r.press(terminal.PageDown)
	}
	for n := range 40 {
		if !strings.Contains(shown, fmt.Sprintf("replace      +9 -9  /home/alice/%d.sh", n)) {
			t.Errorf("file %d is not listed", n)
		}
	}
	r.press(terminal.Home)
	r.types("]]]")
	r.shows("replace /home/alice/2.sh")
	if r.detail.starts[r.detail.files[2]] != r.detail.offset {
		t.Error("it is not at the top")
	}
	r.types("[")
	if r.detail.starts[r.detail.files[1]] != r.detail.offset {
		t.Error("the one before is not at the top")
	}
}

// O1: Tab goes from one action that waits to the next, round the end, and passes
// over what has ended.
func TestNext(t *testing.T) {
	r := newRig(t, 80, 24)
	a, b, c := waiting(1, "claude", diffOf(1)), waiting(2, "claude", diffOf(1)), waiting(3, "claude", diffOf(1))
	r.looking(a, b, c)
	b.Transaction.State = protocol.StateDenied
	r.changes(b)
	for _, want := range []int{3, 1, 3} {
		r.press(terminal.Tab)
		if got := r.detail.whole.Transaction.ID; got != id(want) {
			t.Errorf("%s, want %s", got, id(want))
		}
	}
	r.press(terminal.BackTab)
	if got := r.detail.whole.Transaction.ID; got != id(1) {
		t.Errorf("backwards: %s", got)
	}
}

// O6: the log is asked for by what its owner typed, in pieces, and what is new
// comes above without moving the cursor.
func TestLog(t *testing.T) {
	r := newRig(t, 80, 10)
	for n := range 30 {
		s := waiting(100-n, "claude", "").Transaction
		s.State, s.DecidedBy = protocol.StateLanded, "alice"
		r.keeper.log = append(r.keeper.log, s)
	}
	r.heard(protocol.WatchResult{Seen: 1}, []protocol.Transaction{}, nil)
	r.types("ljj")
	r.shows("landed, approved by alice  claude: write /home/alice/98.sh")
	line := r.log.line
	r.changes(protocol.ShowResult{Transaction: waiting(200, "claude", "").Transaction})
	if r.log.entries[r.log.cursor].ID != id(98) || r.log.line != line {
		t.Errorf("the cursor is on %s, row %d", r.log.entries[r.log.cursor].ID, r.log.line)
	}
	r.types("fagent=claude path=/home/alice kind=undo since=2h")
	r.press(terminal.Enter)
	var last protocol.LogParams
	for _, c := range r.keeper.calls {
		if p, ok := c.(protocol.LogParams); ok && p.Before == "" {
			last = p
		}
	}
	if last.By != "claude" || last.Path != "/home/alice" || last.Capability != action.CapUndo || last.Since == 0 {
		t.Errorf("%+v", last)
	}
	r.types("fsince=never")
	r.press(terminal.Enter)
	r.shows("is no time")
}

// O1: what the keeper cannot be asked is said, and what was known stays.
func TestKeeperGone(t *testing.T) {
	r := newRig(t, 80, 24)
	r.looking(waiting(1, "claude", diffOf(1)))
	r.press(terminal.Escape)
	r.heard(protocol.WatchResult{}, nil, fmt.Errorf("the socket is gone"))
	r.settle()
	r.shows("The keeper is not heard of")
	r.shows("/home/alice/1.sh")
	r.heard(protocol.WatchResult{Seen: 1}, []protocol.Transaction{}, nil)
	r.settle()
	r.shows("0 waiting")
	r.shows("  ended       [runs-later] write /home/alice/1.sh")
}

// O8: on a screen that has become taller an account fills it, to its end.
func TestTaller(t *testing.T) {
	r := newRig(t, 80, 16)
	r.looking(waiting(1, "claude", diffOf(200)))
	r.press(terminal.End)
	r.glass.height = 40
	r.does(terminal.Event{Resized: true})
	if got := len(r.detail.shown()); got != r.detail.height || !r.detail.ends() {
		t.Errorf("%d rows of %d", got, r.detail.height)
	}
}
