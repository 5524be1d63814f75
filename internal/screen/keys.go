package screen

import (
	"strings"

	"countersign/internal/terminal"
)

// key takes a key in.
func (a *app) key(e terminal.Event) {
	follows := false
	if e.Key == terminal.Rune {
		follows = a.typing.key(a.cfg.Now())
	}
	switch {
	case a.input != nil:
		i := a.input
		done, ok := i.key(e)
		if done && a.input == i {
			a.input = nil
		}
		if ok {
			i.take(a, i.text)
		}
		return
	case a.sure != nil:
		a.sure = nil
		a.say("stopped: not approved")
		return
	case e.Pasted != "":
		a.say("what is pasted decides nothing")
		return
	}
	a.said = ""
	if a.everywhere(e) {
		return
	}
	switch {
	case a.helping:
		a.helpKey(e)
	case a.view == theDetail:
		a.detailKey(e, follows)
	case a.view == theLog:
		a.logKey(e)
	default:
		a.listKey(e)
	}
}

// everywhere takes the keys that do the same in every view.
func (a *app) everywhere(e terminal.Event) bool {
	switch {
	case e.Key == terminal.Control && e.Rune == 'c':
		a.ended = true
	case e.Key == terminal.Control && e.Rune == 'l':
		a.cfg.Terminal.Forget()
		a.guard = guard{}
	case e.Key != terminal.Rune:
		return false
	case e.Rune == 'q' && a.busy != "":
		a.say("something is still under way")
	case e.Rune == 'q':
		a.ended = true
	case e.Rune == '?':
		a.helping, a.help = !a.helping, 0
	default:
		return false
	}
	return true
}

// by says by how many rows a key moves on a screen of so many, and whether it
// moves at all.
func by(e terminal.Event, height int) (rows int, moves bool) {
	const far = 1 << 30
	page := max(height-1, 1)
	switch e.Key {
	case terminal.Up:
		return -1, true
	case terminal.Down:
		return 1, true
	case terminal.PageUp:
		return -page, true
	case terminal.PageDown:
		return page, true
	case terminal.Home:
		return -far, true
	case terminal.End:
		return far, true
	case terminal.Rune:
		rows, moves = map[rune]int{'k': -1, 'j': 1, 'b': -page, ' ': page, 'g': -far, 'G': far}[e.Rune]
	}
	return rows, moves
}

func (a *app) listKey(e terminal.Event) {
	l := a.list
	if rows, moves := by(e, l.height); moves {
		l.move(rows)
		return
	}
	switch {
	case e.Key == terminal.Enter && l.cursor.id != "", e.Key == terminal.Right && l.cursor.id != "":
		a.look(l.cursor.id)
	case e.Key == terminal.Enter, e.Key == terminal.Right:
		l.fold(true)
	case e.Key == terminal.Left:
		l.fold(false)
	case e.Key == terminal.Tab:
		a.show(l.next(l.cursor.id, 1))
	case e.Key == terminal.Escape:
		l.find = ""
		l.sweep()
	case e.Key != terminal.Rune:
	case e.Rune == 'l':
		a.toLog()
	case e.Rune == '/':
		a.search(&l.find, l.search)
	case e.Rune == 'n' && l.find != "":
		a.found(l.search(1))
	case e.Rune == 'N' && l.find != "":
		a.found(l.search(-1))
	}
}

// search asks for a word, and goes to it.
func (a *app) search(find *string, next func(by int) bool) {
	a.input = &input{asks: "Search:", enters: "goes to it; n and N go on", most: 100, take: func(a *app, word string) {
		if *find = strings.ToLower(word); word != "" {
			a.found(next(1))
		}
	}}
}

func (a *app) found(there bool) {
	if !there {
		a.say("not found")
	}
}

func (a *app) detailKey(e terminal.Event, follows bool) {
	d := a.detail
	if rows, moves := by(e, d.height); moves {
		d.scroll(rows)
		return
	}
	id := d.whole.Transaction.ID
	switch {
	case e.Key == terminal.Escape, e.Key == terminal.Left:
		a.leave()
	case e.Key == terminal.Enter:
		d.scroll(1)
	case e.Key == terminal.Tab:
		a.show(a.list.next(id, 1))
	case e.Key == terminal.BackTab:
		a.show(a.list.next(id, -1))
	case e.Key != terminal.Rune:
	case e.Rune == 'A':
		a.approve(follows)
	case e.Rune == 'a':
		a.say("approving takes a capital A: Shift and a")
	case e.Rune == 'd' && follows:
		a.say("not denied: press d by itself")
	case e.Rune == 'd':
		a.deny()
	case e.Rune == 'u':
		a.undo(d.whole.Transaction)
	default:
		a.readingKey(e)
	}
}

// readingKey takes the keys by which an account is read.
func (a *app) readingKey(e terminal.Event) {
	d := a.detail
	switch e.Rune {
	case ']':
		a.found(d.file(1))
	case '[':
		a.found(d.file(-1))
	case 's':
		if a.below = !a.below; a.width < beside {
			a.say("side by side needs a wider screen")
		}
	case '/':
		d.found = d.offset - 1
		a.search(&d.find, d.search)
	case 'n':
		a.found(d.search(1))
	case 'N':
		a.found(d.search(-1))
	}
}

// leave goes back from a detail to where it was looked at from.
func (a *app) leave() {
	a.view, a.asked = a.behind, ""
	if a.view == theList {
		a.list.sweep()
	}
}

func (a *app) helpKey(e terminal.Event) {
	if rows, moves := by(e, a.height-4); moves {
		const far = 1 << 20
		a.help += max(min(rows, far), -far)
		return
	}
	a.helping = false
}
