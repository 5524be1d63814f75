package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// desk is a Desk that writes down what it is told.
type desk struct {
	sync.Mutex
	did  []string
	last uint32
	fail error // of the next call, which is carried out all the same
	down error // of every call
	gone chan Gone
}

func (d *desk) err() error {
	err := d.fail
	d.fail = nil
	return cmp.Or(err, d.down)
}

func (d *desk) Show(_ context.Context, replaces uint32, n Notice) (uint32, error) {
	d.Lock()
	defer d.Unlock()
	if d.last = replaces; replaces == 0 {
		d.last = uint32(len(d.did) + 1)
	}
	d.did = append(d.did, fmt.Sprintf("%d: %s", d.last, n.Summary))
	return d.last, d.err()
}

func (d *desk) Close(_ context.Context, id uint32) error {
	d.Lock()
	defer d.Unlock()
	d.did = append(d.did, fmt.Sprintf("%d closed", id))
	return d.err()
}

func (d *desk) Gone() <-chan Gone { return d.gone }

// play is a run of the teller in a bubble of time. Whoever plays holds the
// desk's lock but while time passes.
type play struct {
	t     *testing.T
	desk  *desk
	now   protocol.ListResult
	err   error
	asked int
	log   strings.Builder
	stop  context.CancelFunc
	ended chan error
}

func playing(t *testing.T, f func(p *play)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := &play{t: t, desk: &desk{gone: make(chan Gone)}, stop: stop, ended: make(chan error, 1)}
		go func() {
			p.ended <- Run(ctx, Config{Desk: p.desk, Log: slog.New(slog.NewTextHandler(p, nil)), Pending: p.pending})
		}()
		synctest.Wait()
		p.desk.Lock()
		f(p)
		p.desk.Unlock()
		stop()
		synctest.Wait()
	})
}

func (p *play) pending(context.Context) (protocol.ListResult, error) {
	p.desk.Lock()
	defer p.desk.Unlock()
	p.asked++
	return p.now, p.err
}

// Write takes the log.
func (p *play) Write(b []byte) (int, error) {
	p.desk.Lock()
	defer p.desk.Unlock()
	return p.log.Write(b)
}

func (p *play) pass(d time.Duration) {
	p.desk.Unlock()
	time.Sleep(d)
	synctest.Wait()
	p.desk.Lock()
}

// did takes what the desk was told since the last time.
func (p *play) did(want ...string) {
	p.t.Helper()
	if !slices.Equal(p.desk.did, want) {
		p.t.Errorf("the desk was told %q, not %q", p.desk.did, want)
	}
	p.desk.did = nil
}

// O5: one notification is put up, replaced and closed; in a flood it is at
// most every few seconds, and sums up.
func TestOneNotification(t *testing.T) {
	playing(t, func(p *play) {
		p.did()
		p.now = waits("b", 0)
		p.pass(2 * time.Second)
		p.did("1: claude asks to write a file")
		p.now = waits("bc", 0)
		p.pass(2 * time.Second)
		p.now = waits("bcdefgh", 0)
		p.pass(2 * time.Second)
		p.did()
		p.pass(2 * time.Second)
		p.did("1: 7 actions wait for you")
		p.pass(time.Minute)
		p.did()
		p.now = waits("gh", 0)
		p.pass(2 * time.Second)
		p.did("1: 2 actions wait for you")
		p.now = waits("", 0)
		p.pass(2 * time.Second)
		p.did("1 closed")
		p.now = waits("i", 0) // within the gap still
		p.pass(2 * time.Second)
		p.pass(2 * time.Second)
		p.did("1: claude asks to write a file")
	})
}

// O5: what the owner put away stays so until something new waits; what went
// with its server is told again; an undo is shown to whoever asks for it.
func TestPutAway(t *testing.T) {
	playing(t, func(p *play) {
		p.now = waits("bc", 0)
		p.pass(2 * time.Second)
		p.did("1: 2 actions wait for you")
		p.desk.gone <- Gone{ID: 9} // another's
		p.now = waits("c", 0)
		p.pass(6 * time.Second)
		p.did("1: claude asks to write a file")
		p.desk.gone <- Gone{ID: 1}
		p.now = waits("", 0)
		p.pass(6 * time.Second)
		p.now = waits("de", 0)
		p.pass(6 * time.Second)
		p.did("1: 2 actions wait for you")
		p.desk.gone <- Gone{ID: 1}
		p.now = waits("d", 0)
		p.pass(6 * time.Second)
		p.did()
		p.desk.gone <- Gone{All: true}
		p.pass(6 * time.Second)
		p.did("1: claude asks to write a file")
		undo := wants("alice", "undo", "f")
		undo.UndoOf = "aaaaaaaaaaaax"
		p.now.Transactions = append(p.now.Transactions, undo)
		p.pass(time.Minute)
		p.did()
	})
}

// O5: a keeper or a server that cannot be reached is asked less and less, down
// to every 30 s, and said so once; what was told is not told again.
func TestPatience(t *testing.T) {
	playing(t, func(p *play) {
		p.now = waits("b", 0)
		p.pass(2 * time.Second)
		p.did("1: claude asks to write a file")
		p.err = refusal.New(refusal.Unavailable, "the keeper", "")
		p.pass(5 * time.Minute)
		p.asked = 0
		p.pass(time.Hour)
		if p.asked != 120 {
			t.Errorf("it asked %d times in an hour", p.asked)
		}
		p.err = nil
		p.pass(30 * time.Second)
		p.did()
		p.asked = 0
		p.pass(time.Minute)
		if p.asked != 30 {
			t.Errorf("it asked %d times in a minute", p.asked)
		}
		if said := strings.Count(p.log.String(), "level=WARN"); said != 1 {
			t.Errorf("it said so %d times:\n%s", said, p.log.String())
		}
		p.now, p.desk.fail = waits("bc", 0), errors.New("no server")
		p.pass(time.Minute)
		p.did("1: 2 actions wait for you", "1: 2 actions wait for you") // the first was shown and failed
		p.now, p.desk.fail = waits("", 0), errors.New("no server")
		p.pass(time.Minute)
		p.did("1 closed", "1 closed")
		p.log.Reset()
		p.now, p.desk.down = waits("d", 0), errors.New("no server")
		p.pass(time.Hour)
		if n := len(p.desk.did); n < 120 || n > 125 || strings.Count(p.log.String(), "\n") != 1 {
			t.Errorf("in an hour without a server it tried %d times, and said:\n%s", n, p.log.String())
		}
	})
}

// O5: it ends when asked to, and closes what it showed; it gives up where the
// keeper does not serve this user, but not on one word, and where the session
// is over.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(*play)
		ends  bool
		code  refusal.Code
		did   []string
	}{
		"asked":       {func(p *play) { p.stop() }, true, "", []string{"1: claude asks to write a file", "1 closed"}},
		"bus gone":    {func(p *play) { close(p.desk.gone) }, true, refusal.Unavailable, []string{"1: claude asks to write a file"}},
		"refused":     {func(p *play) { p.refuse(4 * time.Second) }, true, refusal.NotPermitted, []string{"1: claude asks to write a file", "1 closed"}},
		"one refusal": {func(p *play) { p.refuse(2 * time.Second); p.err = nil; p.pass(time.Minute) }, false, "", []string{"1: claude asks to write a file"}},
	} {
		t.Run(name, func(t *testing.T) {
			playing(t, func(p *play) {
				p.now = waits("b", 0)
				p.pass(3 * time.Second)
				c.begin(p)
				p.pass(4 * time.Second)
				select {
				case err := <-p.ended:
					if !c.ends || c.code == "" && err != nil || c.code != "" && !refusal.Is(err, c.code) {
						t.Errorf("it ended with %v", err)
					}
				default:
					if c.ends {
						t.Error("it goes on")
					}
				}
				p.did(c.did...)
			})
		})
	}
}

// refuse answers as a keeper that does not serve this user, for a while.
func (p *play) refuse(d time.Duration) {
	p.err = refusal.New(refusal.NotPermitted, "consent", "")
	p.pass(d)
}

// O5: the session's bus is found by the environment and over a Unix socket
// alone; without one there is a refusal that says so.
func TestAddress(t *testing.T) {
	for _, c := range []struct{ bus, runtime, want string }{
		{"unix:path=/x", "", "unix:path=/x"},
		{"unix:path=/x,guid=1", "/run/user/1", "unix:path=/x,guid=1"},
		{"tcp:host=x,port=1;unix:abstract=/y", "", "unix:abstract=/y"},
		{"", "/run/user/1 000", "unix:path=/run/user/1%20000/bus"},
		{"", "", ""},
		{"tcp:host=x,port=1", "/run/user/1", ""},
		{"autolaunch:", "", ""},
	} {
		env := map[string]string{"DBUS_SESSION_BUS_ADDRESS": c.bus, "XDG_RUNTIME_DIR": c.runtime}
		got, err := Address(func(key string) string { return env[key] })
		if got != c.want || (err == nil) != (c.want != "") || err != nil && !refusal.Is(err, refusal.Unavailable) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	if _, err := Connect(t.Context(), "unix:path=/nonexistent"); !refusal.Is(err, refusal.Unavailable) {
		t.Errorf("no bus at all: %v", err)
	}
}
