// Package screen drives the owner's screen in a real terminal (a pane of tmux),
// against real daemons and under real users.
package screen

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/internal/protocol"
	"countersign/internal/testas"
	"countersign/tests/lab"
)

func TestMain(m *testing.M) { os.Exit(lab.Main(m, nil)) }

// world is a lab that runs.
type world struct {
	*lab.Lab
	t *testing.T
}

func newWorld(t *testing.T) *world {
	t.Helper()
	testas.Root(t)
	lab.Need(t, "tmux")
	lab.Need(t, "setpriv")
	l, err := lab.New(lab.Config{})
	if err == nil {
		err = l.Up()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(l.Log())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{l, t}
}

// script puts a program in alice's home.
func (w *world) script(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.Home("alice"), name)
	if err := w.Put(lab.Alice, path, text, 0o755); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// stands checks what a file holds.
func (w *world) stands(path, want string) {
	w.t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		w.t.Errorf("%s holds %q, %v; want %q", path, got, err, want)
	}
}

// propose has an agent propose that a file hold a text.
func (w *world) propose(agent uint32, path, text, sentence string) protocol.Transaction {
	w.t.Helper()
	p, err := json.Marshal(map[string]any{"sentence": sentence, "action": map[string]any{"file-write": map[string]any{
		"changes": []any{map[string]any{"path": path, "write": map[string]any{"text": text, "mode": "0755"}}}}}})
	if err != nil {
		w.t.Fatal(err)
	}
	r := w.Run(agent, string(p), "propose", "-", "--json")
	var t protocol.Transaction
	if err := json.Unmarshal([]byte(r.Stdout), &t); err != nil || t.State != protocol.StateWaiting {
		w.t.Fatalf("%+v, %v", r, err)
	}
	return t
}

// tx gives a transaction as it stands now.
func (w *world) tx(t protocol.Transaction) protocol.Transaction {
	w.t.Helper()
	r := w.Run(lab.Alice, "", "show", string(t.ID), "--json")
	var s protocol.ShowResult
	if err := json.Unmarshal([]byte(r.Stdout), &s); err != nil {
		w.t.Fatalf("%+v, %v", r, err)
	}
	return s.Transaction
}

// remains makes sure that a transaction stands in a state, and goes on to.
func (w *world) remains(t protocol.Transaction, state protocol.State) {
	w.t.Helper()
	time.Sleep(time.Second)
	if got := w.tx(t).State; got != state {
		w.t.Errorf("%s is %s, want %s", t.ID, got, state)
	}
}

// pane is a terminal with a program in it.
type pane struct {
	t      *testing.T
	socket string
	log    string // what was written to it, byte by byte
}

// open runs `countersign` as alice in a terminal of a size.
func (w *world) open(width, height int, args ...string) *pane {
	w.t.Helper()
	as := fmt.Sprintf("setpriv --reuid %d --regid %d --clear-groups", lab.Alice, lab.Alice)
	return w.run(width, height, as+" "+w.Program()+" "+strings.Join(args, " "))
}

// ended is written once the program has ended, with its exit code.
const ended = "<ended with %d>"

// ends waits until the program has ended with an exit code.
func (p *pane) ends(code int) {
	p.t.Helper()
	p.wrote(fmt.Sprintf(ended, code))
}

// run runs a shell's line in a terminal of a size.
func (w *world) run(width, height int, line string) *pane {
	w.t.Helper()
	dir, err := os.MkdirTemp("", "cs-pane-") // a socket's path is short
	if err != nil {
		w.t.Fatal(err)
	}
	p := &pane{t: w.t, socket: filepath.Join(dir, "s"), log: filepath.Join(dir, "log")}
	w.t.Cleanup(func() {
		p.tmux("kill-server")
		os.RemoveAll(dir)
	})
	p.must("new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "sleep 1000")
	p.must("pipe-pane", "cat >"+p.log)
	p.until("the log", func() bool { _, err := os.Stat(p.log); return err == nil })
	p.must("respawn-pane", "-k", "env COUNTERSIGN_ROOT="+w.Root+" TERM=screen "+line+"; printf '"+ended+"' $?; exec sleep 1000")
	return p
}

func (p *pane) tmux(args ...string) (string, error) {
	out, err := exec.Command("tmux", append([]string{"-S", p.socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
	return string(out), err
}

func (p *pane) must(args ...string) string {
	p.t.Helper()
	out, err := p.tmux(args...)
	if err != nil {
		p.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return out
}

// screen is what stands in the terminal.
func (p *pane) screen() string { return p.must("capture-pane", "-p") }

// raw is every byte that was written to the terminal.
func (p *pane) raw() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

func (p *pane) until(what string, done func() bool) {
	p.t.Helper()
	const within = time.Minute
	for begin := time.Now(); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > within {
			p.t.Fatalf("%s did not come; the screen:\n%s", what, p.screen())
		}
	}
}

// sees waits until a text stands on the screen.
func (p *pane) sees(text string) {
	p.t.Helper()
	p.until(strconv.Quote(text), func() bool { return strings.Contains(p.screen(), text) })
}

// wrote waits until a text has been written, wherever it stands by now.
func (p *pane) wrote(text string) {
	p.t.Helper()
	p.until(strconv.Quote(text), func() bool { return strings.Contains(p.raw(), text) })
}

// press presses keys by the names that tmux has for them, one after another
// with nothing between.
func (p *pane) press(keys ...string) {
	p.t.Helper()
	p.must(append([]string{"send-keys"}, keys...)...)
}

// types types a text.
func (p *pane) types(text string) {
	p.t.Helper()
	p.must("send-keys", "-l", text)
}

// ripe waits until an A counts.
func (p *pane) ripe() {
	p.t.Helper()
	p.sees("A approves   d denies")
}

// approves presses A by itself.
func (p *pane) approves() {
	p.t.Helper()
	p.ripe()
	time.Sleep(400 * time.Millisecond) // well apart from the key before
	p.press("A")
}

// answers types a line once a question ends what was written, and has stood long
// enough for an answer to count.
func (p *pane) answers(question, line string) {
	p.t.Helper()
	p.until(strconv.Quote(question), func() bool { return strings.HasSuffix(p.raw(), question) })
	time.Sleep(700 * time.Millisecond)
	if line != "" {
		p.types(line)
	}
	p.press("Enter")
}

// resize gives the terminal another size.
func (p *pane) resize(width, height int) {
	p.t.Helper()
	p.must("resize-window", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height))
}
