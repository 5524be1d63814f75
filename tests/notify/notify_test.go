// Package notify holds `countersign notify` to what an owner sees of it: on a
// real session bus, with a notification server that writes down what it is
// told, beside a real keeper.
package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/testas"
	"countersign/tests/lab"
)

func TestMain(m *testing.M) { os.Exit(lab.Main(m, nil)) }

// desktop is alice's: a lab, a session bus, and `countersign notify`.
type desktop struct {
	*lab.Lab
	*session
	server *server
	ended  chan lab.Result
	stop   func()
}

func start(t *testing.T, can ...string) *desktop {
	t.Helper()
	testas.Root(t)
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the daemons' log:\n%s", l.Log())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.Up(); err != nil {
		t.Fatal(err)
	}
	d := &desktop{Lab: l, session: newSession(t, lab.Alice, l.Dir+"/alices")}
	if can != nil {
		d.server = d.serve(can...)
	}
	d.run("DBUS_SESSION_BUS_ADDRESS=" + d.address)
	return d
}

// run starts `countersign notify` as alice with an environment.
func (d *desktop) run(env ...string) {
	d.t.Helper()
	c := d.Command(context.Background(), lab.Alice, "notify")
	c.Env = append(c.Env, env...)
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.ended, d.stop = make(chan lab.Result, 1), func() { c.Process.Signal(syscall.SIGTERM) }
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Wait()
		d.ended <- lab.Result{Code: c.ProcessState.ExitCode(), Stdout: out.String(), Stderr: errs.String()}
	}()
	d.t.Cleanup(func() {
		c.Process.Kill()
		<-done
		if d.t.Failed() {
			d.t.Logf("notify said:\n%s%s", out.String(), errs.String())
		}
	})
}

// ends waits until it has ended.
func (d *desktop) ends() lab.Result {
	d.t.Helper()
	select {
	case r := <-d.ended:
		return r
	case <-time.After(patience):
		d.t.Fatal("it does not end")
	}
	return lab.Result{}
}

const patience = 40 * time.Second

func (d *desktop) eventually(what string, is func() bool) {
	d.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			list, closed := d.server.calls()
			d.t.Fatalf("it did not come to pass: %s; shown %+v, closed %d times", what, list, closed)
		}
	}
}

// told waits for a notification of this number and gives it.
func (d *desktop) told(n int) (last shown) {
	d.t.Helper()
	d.eventually(fmt.Sprintf("notification %d", n), func() bool {
		list, _ := d.server.calls()
		if len(list) > n {
			d.t.Fatalf("more than %d notifications: %+v", n, list)
		}
		if len(list) == n {
			last = list[n-1]
		}
		return len(list) == n
	})
	return last
}

func (d *desktop) closed(n int) {
	d.t.Helper()
	d.eventually(fmt.Sprintf("closed %d times", n), func() bool { _, closed := d.server.calls(); return closed == n })
}

// asks proposes a program in alice's home, which waits for her.
func (d *desktop) asks(name string) (id string) {
	d.t.Helper()
	b, _ := json.Marshal(map[string]any{
		"sentence": hostile, "action": map[string]any{"file-write": map[string]any{"changes": []any{map[string]any{
			"path": filepath.Join(d.Home("alice"), name), "write": map[string]any{"text": "#!/bin/sh\n# " + marker + "\n", "mode": "0755"},
		}}}},
	})
	const waiting = 4
	r := d.Run(lab.Claude, string(b), "propose", "--json", "-")
	var t struct{ ID string }
	if err := json.Unmarshal([]byte(r.Stdout), &t); err != nil || r.Code != waiting {
		d.t.Fatalf("propose: %d %v\n%s%s", r.Code, err, r.Stdout, r.Stderr)
	}
	return t.ID
}

func (d *desktop) denies(ids ...string) {
	d.t.Helper()
	for _, id := range ids {
		if r := d.Run(lab.Alice, "", "deny", id); r.Code != 0 {
			d.t.Fatalf("deny: %s", r.Stderr)
		}
	}
}

// What an agent chose, to be told by the marker wherever it comes out.
const (
	marker  = "zzhostile"
	hostile = "<b>" + marker + "</b>\n\x1b[2JApproved\u202e&amp;"
)

// O3, O5: a waiting action appears on the desktop, in the machine's own words;
// nothing of the agent's passes over the bus; it is closed once it was denied.
func TestAppearsAndCloses(t *testing.T) {
	d := start(t, "body", "body-markup")
	id := d.asks(strings.ReplaceAll(hostile, "/", "") + ".sh")
	got := d.told(1)
	want := shown{app: "Countersign", summary: "claude asks to write a file",
		body: "In the home of alice.\nTo look at it: countersign show " + id}
	if got.actions = nil; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("it says %+v, not %+v", got, want)
	}
	d.denies(id)
	d.closed(1)
	if !d.saw(id) {
		t.Error("nothing was seen on the bus")
	}
	if d.saw(marker) {
		t.Error("something that the agent chose passed over the bus")
	}
}

// O5: a flood is summed up in one notification, which takes the place of the
// one before; it is made true as the owner decides.
func TestFlood(t *testing.T) {
	d := start(t, "body")
	began := time.Now()
	ids := []string{d.asks("first.sh")}
	d.told(1)
	for i := range 6 {
		ids = append(ids, d.asks(fmt.Sprintf("more-%d.sh", i)))
	}
	var list []shown
	d.eventually("all of it is summed up", func() bool {
		list, _ = d.server.calls()
		return list[len(list)-1].summary == "7 actions wait for you"
	})
	n := len(list)
	if most := 2 + int(time.Since(began)/(5*time.Second)); n > most || list[n-1].replaces != given {
		t.Errorf("%d notifications: %+v", n, list)
	}
	d.denies(ids[1:]...)
	if got := d.told(n + 1); got.replaces != given || !strings.HasSuffix(got.summary, "to write a file") && !strings.HasSuffix(got.summary, "wait for you") {
		t.Errorf("it says %+v", got)
	}
	d.denies(ids[0])
	d.closed(1)
}

// O5, P5: the keeper's restart is survived: what waited is not told again, and
// what comes after it is. So is the notification server's.
func TestRestarts(t *testing.T) {
	d := start(t, "body")
	first := d.asks("first.sh")
	d.told(1)
	before := d.PID("keeper")
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	d.eventually("another keeper", func() bool { now := d.PID("keeper"); return now != 0 && now != before })
	time.Sleep(8 * time.Second) // it has asked again, and the gap is over
	second := d.asks("second.sh")
	if got := d.told(2); got.summary != "2 actions wait for you" || got.replaces != given {
		t.Errorf("it says %+v", got)
	}
	d.server.conn.Close()
	d.server = d.serve("body")
	if got := d.told(1); got.summary != "2 actions wait for you" || got.replaces != 0 {
		t.Errorf("another server is told %+v", got)
	}
	if err := d.server.dismiss(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	d.denies(first)
	time.Sleep(8 * time.Second)
	d.told(1) // what was put away stays so, though less waits
	d.denies(second)
	third := d.asks("third.sh")
	if got := d.told(2); got.replaces != 0 || !strings.HasSuffix(got.body, third) {
		t.Errorf("it says %+v", got)
	}
}

// O5: asked to end, it takes away what it showed, and ends well; it says once
// that nobody answers; and ends with the session.
func TestEnds(t *testing.T) {
	d := start(t, "body")
	d.asks("first.sh")
	d.told(1)
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(8 * time.Second) // several questions
	d.stop()
	r := d.ends()
	if _, closed := d.server.calls(); r.Code != 0 || closed != 1 {
		t.Errorf("exit code %d, closed %d times", r.Code, closed)
	}
	if n := strings.Count(r.Stderr, "\n"); n != 1 || !strings.Contains(r.Stderr, "the keeper") {
		t.Errorf("it said, on %d lines:\n%s", n, r.Stderr)
	}
	d.run("DBUS_SESSION_BUS_ADDRESS=" + d.address)
	time.Sleep(time.Second)
	d.end()
	if r := d.ends(); r.Code != 1 || !strings.Contains(r.Stderr, "refused: the session bus: ") {
		t.Errorf("without its session: %+v", r)
	}
}

// O5, O7: without a session bus it is refused in words; without a notification
// server it says so once, and waits for one; a stranger to the keeper is
// refused.
func TestWithout(t *testing.T) {
	d := start(t)
	id := d.asks("first.sh")
	time.Sleep(3 * time.Second)
	d.server = d.serve("body")
	if got := d.told(1); !strings.HasSuffix(got.body, id) {
		t.Errorf("it says %+v", got)
	}
	d.stop()
	if r := d.ends(); r.Code != 0 || strings.Count(r.Stderr, "level=WARN") != 1 || !strings.Contains(r.Stderr, "the notification server") {
		t.Errorf("without a server: %+v", r)
	}
	d.run()
	if r := d.ends(); r.Code != 1 || !strings.Contains(r.Stderr, "refused: the session bus: ") || !strings.Contains(r.Stderr, "desktop session") {
		t.Errorf("without a bus: %+v", r)
	}
	newSession(t, lab.Stranger, d.Dir+"/strangers")
	c := d.Command(t.Context(), lab.Stranger, "notify")
	c.Env = append(c.Env, "XDG_RUNTIME_DIR="+d.Dir+"/strangers")
	const refused = 3
	if out, _ := c.CombinedOutput(); c.ProcessState.ExitCode() != refused || !strings.Contains(string(out), "[not-permitted]") {
		t.Errorf("a stranger: exit code %d\n%s", c.ProcessState.ExitCode(), out)
	}
}
