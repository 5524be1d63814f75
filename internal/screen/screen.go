package screen

import (
	"context"
	"fmt"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/show"
	"countersign/internal/terminal"
	"countersign/internal/visible"
)

// Config says whom to ask, where to draw, and who must not be there.
type Config struct {
	// Keeper makes one call of the consent socket. It is safe for concurrent
	// use, and ends with ctx.
	Keeper func(ctx context.Context, method string, params, result any) error

	// Terminal is drawn on. Whoever opened it closes it.
	Terminal Terminal

	// Company names the agents that have the terminal, in harmless words; nobody
	// is "". hidden says that other users' processes cannot be seen here. It is
	// called before each approval, and may take some milliseconds.
	Company func(agents []protocol.Agent) (who string, hidden bool, err error)

	Now func() time.Time // for ages and for how long a text stood; nil is time.Now
}

// Terminal is what package terminal gives.
type Terminal interface {
	Draw(rows []terminal.Row, ask bool) (number int, err error)
	Forget()
	Size() (width, height int)
	Events() <-chan terminal.Event
}

// view is one of the things that the screen shows.
type view int

const (
	theList view = iota
	theDetail
	theLog
)

// app is a screen at work. One goroutine has it; calls run in others, and what
// they bring is taken in by that one.
type app struct {
	cfg     Config
	ctx     context.Context // ends calls that only read, as the screen ends
	answers chan func(*app)
	flying  int // calls that are not answered yet
	end     error
	ended   bool

	view, behind view // behind a detail: where Escape goes
	helping      bool // help covers the view
	list         *list
	detail       *detail
	log          *logView
	below        bool // diffs are shown one side below the other, however wide

	guard  guard
	typing typing
	sure   *sure
	input  *input
	help   int // rows of it that are above the screen

	said    visible.Text // the last word on what was done, until a key
	asked   action.ID    // whose account is on its way
	anew    bool         // and it changed since it was asked for
	looks   int          // counts what was asked for
	mine    action.ID    // what was decided on here last
	busy    string       // what is under way that no other decision may overtake
	trouble string       // why the keeper is not heard of
	agents  []protocol.Agent
	open    bool // nothing separates agents from their owner
	hidden  bool // an agent that has the terminal would not be seen
	width   int
	height  int
}

// calling bounds a call that only reads.
const calling = 45 * time.Second

// Run shows the screen until its owner leaves it, which is no error, or ctx
// ends, or the terminal is gone. A keeper that refuses this user at once is an
// error; one that cannot be reached is tried again, and that is said.
func Run(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := newApp(ctx, cfg)
	go a.follow()
	return a.run()
}

func newApp(ctx context.Context, cfg Config) *app {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &app{
		cfg: cfg, ctx: ctx, answers: make(chan func(*app), 16), list: newList(), log: &logView{},
		trouble: "it has not answered yet",
	}
}

func (a *app) run() error {
	tick := time.NewTimer(0)
	defer tick.Stop()
	for !a.ended {
		if len(a.cfg.Terminal.Events()) == 0 { // else what is drawn now would be looked at by nobody
			if err := a.draw(); err != nil {
				return err
			}
		}
		tick.Reset(a.wait())
		select {
		case e := <-a.cfg.Terminal.Events():
			if e.Err != nil {
				return e.Err
			}
			a.event(e)
		case take := <-a.answers:
			take(a)
		case <-tick.C:
			a.ripe()
		case <-a.ctx.Done():
			return a.ctx.Err()
		}
	}
	return a.end
}

// wait says when the screen changes by itself.
func (a *app) wait() time.Duration {
	now := a.cfg.Now()
	next := 10 * time.Second // for the ages
	if a.view == theDetail && !a.helping && !a.guard.since.IsZero() {
		if left := stands - now.Sub(a.guard.since); left > 0 {
			next = min(next, left)
		}
	}
	if a.sure != nil {
		next = min(next, max(a.sure.at.Add(apart).Sub(now), 0))
	}
	return next
}

// draw brings the terminal to what there is to see.
func (a *app) draw() error {
	a.width, a.height = a.cfg.Terminal.Size()
	rows, t := a.render()
	ask := !a.guard.shown.same(t)
	number, err := a.cfg.Terminal.Draw(rows, ask)
	if ask {
		a.guard.drawn(t, number)
	}
	return err
}

// event takes in what came from the terminal.
func (a *app) event(e terminal.Event) {
	switch {
	case e.Resized:
		a.cfg.Terminal.Forget()
		a.guard = guard{}
		a.sure = nil
	case e.Drawn > 0:
		a.guard.stood(e.Drawn, a.cfg.Now())
		if d := a.detail; a.view == theDetail && !a.helping && e.Drawn == a.guard.number && d.ends() && a.guard.shown.same(d.text()) {
			d.atEnd = true
		}
	default:
		a.key(e)
	}
}

// call asks the keeper beside the screen, and takes in what comes of it. A call
// that decides runs to its end even where the screen ends first.
func (a *app) call(method string, params, result any, decides bool, take func(*app, error)) {
	a.flying++
	go func() {
		ctx, cancel := a.ctx, context.CancelFunc(func() {})
		if decides {
			ctx = context.WithoutCancel(ctx)
		} else {
			ctx, cancel = context.WithTimeout(ctx, calling)
		}
		defer cancel()
		err := a.cfg.Keeper(ctx, method, params, result)
		select {
		case a.answers <- func(a *app) { a.flying--; take(a, err) }:
		case <-a.ctx.Done():
		}
	}()
}

// look asks for a transaction whole, to be shown, or to be shown anew.
func (a *app) look(id action.ID) {
	a.asked, a.anew = id, false
	a.looks++
	this := a.looks
	var s protocol.ShowResult
	a.call(protocol.Show, protocol.IDParams{ID: id}, &s, false, func(a *app, err error) {
		if a.asked == "" || a.looks != this {
			return // it was asked for again, or something else was
		}
		a.asked = ""
		switch {
		case err != nil:
			a.say(failed(err))
		case a.anew:
			a.look(id)
		default:
			a.put(s)
		}
	})
}

// put shows a transaction, in the place of what was shown of it before.
func (a *app) put(s protocol.ShowResult) {
	now := newDetail(s)
	was := a.detail
	if a.view == theDetail && was != nil && was.whole.Transaction.ID == s.Transaction.ID {
		now.find = was.find
		if was.preview != now.preview {
			a.sure = nil
		}
		state := was.whole.Transaction.State
		if changed := was.preview != now.preview || state != s.Transaction.State; changed && !state.Ended() && a.mine != s.Transaction.ID {
			a.say(moved(s.Transaction))
		}
		if was.preview == now.preview {
			now.atEnd, now.offset = was.atEnd, was.offset
		}
	}
	if a.view != theDetail {
		a.behind, a.view = a.view, theDetail
	}
	a.detail = now
	if now.preview != "" {
		a.company()
	}
	a.list.take(s.Transaction)
	a.log.take(s.Transaction)
}

// moved says what happened to what is being looked at.
func moved(t protocol.Transaction) string {
	switch t.State {
	case protocol.StateWaiting:
		return "it changed while you looked: this is a new preview"
	case protocol.StateApproved, protocol.StateIntent:
		return "while you looked it was approved, and is under way"
	}
	return "while you looked it came to be " + string(t.State)
}

func (a *app) say(what string) { a.said = visible.Line(what) }

// failed says what went wrong with a call.
func failed(err error) string {
	if r := refusal.As(err); r != nil {
		return "refused: " + string(show.Refusal(r))
	}
	return fmt.Sprintf("not done: %v", err)
}
