package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/prompt"
	"countersign/internal/protocol"
	"countersign/internal/screen"
	"countersign/internal/terminal"
	"countersign/internal/visible"
	"countersign/internal/wire/client"
)

type screenCmd struct {
	Plain bool `help:"A line at a time, for a screen reader or a terminal that cannot be drawn on."`
}

// Run shows the owner's screen, or the same in lines.
func (c *screenCmd) Run(s *session) (err error) {
	if !prompt.Terminal(os.Stdin, os.Stdout) {
		fmt.Fprintln(os.Stderr, "countersign: there is no terminal here; `countersign --help` lists the commands")
		return ended(exitUsage)
	}
	keeper := s.pool()
	defer keeper.Close()
	if err := keeper.Call(s.ctx, protocol.Watch, protocol.WatchParams{}, &protocol.WatchResult{}); err != nil {
		return err
	}
	if c.Plain {
		return screen.Lines{Keeper: keeper.Call, Company: company, In: os.Stdin, Out: os.Stdout, Write: s.out}.Run(s.ctx)
	}
	if kind := os.Getenv("TERM"); kind == "" || kind == "dumb" {
		return errors.New("this terminal cannot be drawn on, as its TERM says: give --plain")
	}
	t, err := terminal.Open(s.ctx, os.Stdin, os.Stdout, s.out.Colour)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	return screen.Run(s.ctx, screen.Config{Keeper: keeper.Call, Terminal: t, Company: company})
}

// pool makes connections to the keeper's consent socket that are kept.
func (s *session) pool() *client.Pool {
	const kept = 4
	return client.NewPool(client.Config{Path: filepath.Join(s.run, "keeper", owner+".sock")}, kept)
}

// company names the agents that have this terminal.
func company(agents []protocol.Agent) (string, bool, error) {
	names := make(map[uint32]string)
	for _, a := range agents {
		names[a.UID] = a.Name
	}
	found, hidden, err := terminal.Companions(os.Stdin, func(uid uint32) bool { return names[uid] != "" })
	var who []string
	for _, f := range found {
		who = append(who, fmt.Sprintf("%s by %s, process %d", visible.Line(names[f.UID]), visible.Line(f.Name), f.PID))
	}
	return strings.Join(who, "; "), hidden, err
}

type watchCmd struct {
	JSON bool `name:"json" help:"Print JSON, a transaction a line."`
}

// Run writes what waits, and then every change as it comes, until it is
// interrupted. Changes that follow one another at once may be one line.
func (c *watchCmd) Run(s *session) error {
	keeper := s.pool()
	defer keeper.Close()
	for seen := uint64(0); ; {
		var news protocol.WatchResult
		if err := keeper.Call(s.ctx, protocol.Watch, protocol.WatchParams{Seen: seen}, &news); err != nil {
			return err
		}
		if seen == 0 || news.Lost {
			if news.Lost {
				fmt.Fprintln(os.Stderr, "countersign: more happened than is remembered: `countersign log` has it; this waits now")
			}
			if err := s.allPending(keeper, &news); err != nil {
				return err
			}
		}
		if seen == 0 && !c.JSON {
			s.out.Banner(news.Unseparated)
		}
		for _, t := range news.Changed {
			if !c.JSON {
				s.out.Event(t)
			} else if err := printJSONLine(t); err != nil {
				return err
			}
		}
		seen = news.Seen
		const pause = 100 * time.Millisecond // a flood is told in gulps
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// allPending puts everything that waits before what has changed.
func (s *session) allPending(keeper *client.Pool, news *protocol.WatchResult) error {
	for in := (protocol.PendingParams{}); ; {
		var some protocol.ListResult
		if err := keeper.Call(s.ctx, protocol.Pending, in, &some); err != nil {
			return err
		}
		news.Changed = append(news.Changed, some.Transactions...)
		if some.More == 0 || len(some.Transactions) == 0 {
			return nil
		}
		in.After = some.Transactions[len(some.Transactions)-1].ID
	}
}
