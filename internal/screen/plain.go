package screen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"countersign/internal/prompt"
	"countersign/internal/protocol"
	"countersign/internal/show"
)

// Lines says whom to ask, and at which terminal, for the screen in lines.
type Lines struct {
	// Keeper and Company are as in Config.
	Keeper  func(ctx context.Context, method string, params, result any) error
	Company func(agents []protocol.Agent) (who string, hidden bool, err error)

	In, Out *os.File
	Write   show.Writer // to Out
}

// lines is the screen in lines at work: everything is written below what was
// there, nothing is drawn, and every answer is a line.
type lines struct {
	Lines
	ctx  context.Context
	list []protocol.Transaction // as it was numbered last
	open bool
}

// errDone ends the screen in lines.
var errDone = errors.New("the owner has left")

// Run asks and tells until its owner leaves, which is no error, or ctx or the
// terminal ends.
func (c Lines) Run(ctx context.Context) error {
	l := &lines{Lines: c, ctx: ctx}
	if err := l.pending(); err != nil {
		return err
	}
	for {
		answer, err := prompt.Line(ctx, c.In, c.Out, "A number looks at it. Or: list, log, undo NUMBER, help, quit:")
		if err == nil {
			err = l.answer(strings.Fields(strings.ToLower(answer)))
		}
		switch {
		case errors.Is(err, errDone):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && prompt.Gone(err):
			return err
		case err != nil:
			c.Write.Note(notDecided(err))
		}
	}
}

// answer does what a line says.
func (l *lines) answer(words []string) error {
	if len(words) == 0 {
		return nil
	}
	switch words[0] {
	case "list":
		return l.pending()
	case "log":
		return l.log()
	case "quit":
		return errDone
	case "help":
		l.Write.Note("list: what waits. log: what happened. A number of either: that action, whole. " +
			"undo and a number: what taking it back would do. Every decision is asked for by a whole word.")
		return nil
	case "undo":
		if len(words) == 2 {
			return l.numbered(words[1], l.undo)
		}
	default:
		return l.numbered(words[0], l.look)
	}
	return nil
}

// numbered finds the action of a number.
func (l *lines) numbered(word string, do func(protocol.Transaction) error) error {
	n, err := strconv.Atoi(strings.TrimSuffix(word, "."))
	if err != nil || n < 1 || n > len(l.list) {
		l.Write.Note("there is no such number or word; help says which there are")
		return nil
	}
	return do(l.list[n-1])
}

func (l *lines) call(method string, params, result any) error {
	ctx, cancel := context.WithTimeout(l.ctx, calling)
	defer cancel()
	return l.Keeper(ctx, method, params, result)
}

func (l *lines) pending() error {
	var r protocol.ListResult
	if err := l.call(protocol.Pending, protocol.PendingParams{}, &r); err != nil {
		return err
	}
	l.Write.Banner(r.Unseparated)
	l.open, l.list = r.Unseparated, r.Transactions
	switch n := uint64(len(r.Transactions)) + r.More; n {
	case 0:
		l.Write.Note("Nothing waits for you.")
	case 1:
		l.Write.Note("One action waits for you.")
	default:
		l.Write.Note(fmt.Sprintf("%d actions wait for you; the oldest first.", n))
	}
	for i, t := range l.list {
		l.Write.Numbered(i+1, said(t), t.By, age(t.Proposed, time.Now()))
	}
	return nil
}

func (l *lines) log() error {
	var r protocol.ListResult
	const some = 20
	if err := l.call(protocol.Log, protocol.LogParams{Limit: some}, &r); err != nil {
		return err
	}
	l.list = r.Transactions
	for i, t := range l.list {
		l.Write.NumberedStory(i+1, t)
	}
	return nil
}

// look shows an action, and asks what is to become of one that waits. The
// account is whole above the question, where a screen reader or the terminal's
// own memory has it.
func (l *lines) look(t protocol.Transaction) error {
	var s protocol.ShowResult
	if err := l.call(protocol.Show, protocol.IDParams{ID: t.ID}, &s); err != nil {
		return err
	}
	l.Write.Banner(s.Transaction.Unseparated)
	l.Write.Account(s)
	t = s.Transaction
	if t.State != protocol.StateWaiting || t.Prefix == "" || s.Detail == nil {
		return nil
	}
	answer, err := prompt.Ask(l.ctx, l.In, l.Out, "This is the whole of "+string(t.ID)+"@"+t.Prefix+".", []string{"approve", "deny", "back"})
	switch {
	case err != nil || answer == "back":
		return err
	case answer == "deny":
		why, err := prompt.Line(l.ctx, l.In, l.Out, "A word to the agent, or nothing:")
		if err != nil {
			return err
		}
		return l.decide(protocol.DecideParams{ID: t.ID, Why: why})
	}
	if err := l.alone(); err != nil {
		return err
	}
	return l.decide(protocol.DecideParams{ID: t.ID, Prefix: t.Prefix, Approve: true})
}

// alone makes sure that no agent has this terminal.
func (l *lines) alone() error {
	var w protocol.WatchResult
	if err := l.call(protocol.Watch, protocol.WatchParams{}, &w); err != nil || w.Unseparated {
		return err
	}
	who, hidden, err := l.Company(w.Agents)
	if hidden {
		l.Write.Note(unseen)
	}
	if err != nil {
		return fmt.Errorf("whether an agent has this terminal cannot be told: %w", err)
	}
	if who != "" {
		return fmt.Errorf("an agent has this terminal too: %s", who)
	}
	return nil
}

func (l *lines) decide(in protocol.DecideParams) error {
	var t protocol.Transaction
	if err := l.Keeper(context.WithoutCancel(l.ctx), protocol.Decide, in, &t); err != nil {
		return err
	}
	l.Write.Note("It is " + string(t.State) + ".")
	return nil
}

// undo previews taking an action back, and asks.
func (l *lines) undo(t protocol.Transaction) error {
	var u protocol.Transaction
	if err := l.call(protocol.Undo, protocol.UndoParams{ID: t.ID}, &u); err != nil {
		return err
	}
	return l.look(u)
}
