package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Terminal is a terminal that shows a screen of this program's. Draw and Close
// are called by one goroutine.
type Terminal struct {
	in, out *os.File
	colour  bool
	before  *term.State // how it was found
	raw     *term.State // how it is now, to be put back after a stop

	events chan Event
	stop   context.CancelFunc
	done   chan struct{}

	shown  frame
	drawn  int // the number of the last drawing
	asking asking
}

// The control sequences around a screen: its own buffer, no wrapping, no cursor,
// and pastes that are told apart; and back.
const (
	enter = "\x1b[?1049h\x1b[?7l\x1b[?25l\x1b[?2004h"
	leave = "\x1b[0m\x1b[?2004l\x1b[?25h\x1b[?7h\x1b[?1049l"
)

// Open takes a terminal over, and throws away what was typed before. Whoever
// opened it closes it, whatever happens.
func Open(ctx context.Context, in, out *os.File, colour bool) (*Terminal, error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("taking the terminal over: %w", err)
	}
	t := &Terminal{in: in, out: out, colour: colour, before: before, events: make(chan Event, 64), done: make(chan struct{})}
	if t.raw, err = term.GetState(int(in.Fd())); err == nil {
		err = t.begin()
	}
	if err != nil {
		return nil, errors.Join(err, term.Restore(int(in.Fd()), before))
	}
	ctx, t.stop = context.WithCancel(ctx)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGWINCH, unix.SIGCONT)
	go t.listen(ctx, signals)
	return t, nil
}

func (t *Terminal) begin() error {
	if err := unix.IoctlSetInt(int(t.in.Fd()), unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return fmt.Errorf("throwing away what was typed before: %w", err)
	}
	_, err := t.out.WriteString(enter)
	return err
}

// Close gives the terminal back as it was found.
func (t *Terminal) Close() error {
	t.stop()
	<-t.done
	_, err := t.out.WriteString(leave)
	// What was typed for a screen that is gone is not for whoever reads next.
	return errors.Join(err, unix.IoctlSetInt(int(t.in.Fd()), unix.TCFLSH, unix.TCIFLUSH), term.Restore(int(t.in.Fd()), t.before))
}

// Events gives what comes from the terminal. It is read until Close.
func (t *Terminal) Events() <-chan Event { return t.events }

// Size gives columns and rows, or none where the terminal does not say.
func (t *Terminal) Size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// Forget has the next drawing draw every row, whatever stands there.
func (t *Terminal) Forget() { t.shown = frame{} }

// Draw draws rows from the top, and returns once they are on the way. With ask
// it is a drawing with a number of its own: an event says when it stands.
func (t *Terminal) Draw(rows []Row, ask bool) (number int, err error) {
	now := frame{rows: rows}
	now.width, now.height = t.Size()
	b := paint(t.shown, now, t.colour)
	t.shown = now
	if ask {
		t.drawn++
		b = append(b, t.asking.expect(t.drawn, now.width, now.height)...)
	}
	if len(b) == 0 {
		return t.drawn, nil
	}
	if _, err := t.out.Write(b); err != nil {
		return t.drawn, fmt.Errorf("writing to the terminal: %w", err)
	}
	return t.drawn, nil
}

// glance is how often the wait for a key looks whether it is still wanted, and
// how long an escape may stand alone before it is the key.
const glance = 50 * time.Millisecond

// listen reads the terminal until ctx ends.
func (t *Terminal) listen(ctx context.Context, signals chan os.Signal) {
	defer close(t.done)
	defer signal.Stop(signals)
	d := &decoder{report: t.asking.answered}
	buf := make([]byte, 4096)
	for ctx.Err() == nil {
		select {
		case s := <-signals:
			t.send(ctx, t.signalled(s))
		default:
		}
		n, err := t.read(buf)
		for _, e := range d.feed(buf[:n], n == 0) {
			t.send(ctx, e)
		}
		if err != nil {
			t.send(ctx, Event{Err: err})
			return
		}
	}
}

func (t *Terminal) send(ctx context.Context, e Event) {
	select {
	case t.events <- e:
	case <-ctx.Done():
	}
}

// signalled takes note of a new size, or of having been stopped: the terminal
// was somebody else's meanwhile, and what was typed was for them.
func (t *Terminal) signalled(s os.Signal) Event {
	if s == unix.SIGCONT {
		if err := errors.Join(term.Restore(int(t.in.Fd()), t.raw), t.begin()); err != nil {
			return Event{Err: err}
		}
	}
	return Event{Resized: true}
}

// read takes what the terminal has, and nothing where it has nothing soon.
func (t *Terminal) read(buf []byte) (int, error) {
	ready := []unix.PollFd{{Fd: int32(t.in.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(ready, int(glance.Milliseconds()))
	if err == unix.EINTR || err == nil && n == 0 {
		return 0, nil
	} else if err != nil {
		return 0, fmt.Errorf("waiting for a key: %w", err)
	}
	switch n, err = unix.Read(int(t.in.Fd()), buf); {
	case err == unix.EINTR, err == unix.EAGAIN:
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("reading a key: %w", err)
	case n == 0:
		return 0, errors.New("the terminal is gone")
	}
	return n, nil
}
