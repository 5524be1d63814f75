// Package road holds what a story at the command line cannot: separation as
// the kernel enforces it, kills at chosen instants, hostile peers, and a tree
// that is edited and put back whole.
package road

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/testas"
	"countersign/tests/lab"
)

func TestMain(m *testing.M) {
	os.Exit(lab.Main(m, map[string]lab.Helper{"keeper-opens": keeperOpens}))
}

// world is a lab with a test around it.
type world struct {
	*lab.Lab
	t testing.TB
}

// start makes a lab and starts everything in it, by a policy's text if one is
// given. It ends with the test; a test that failed shows the daemons' log.
func start(t testing.TB, policy ...string) *world {
	t.Helper()
	testas.Root(t)
	w := build(t, lab.Config{})
	w.up(policy...)
	return w
}

// up starts everything.
func (w *world) up(policy ...string) {
	w.t.Helper()
	var err error
	if len(policy) > 0 {
		err = w.UpWithPolicy(w.Policy(policy[0]))
	} else {
		err = w.Up()
	}
	w.must(err)
}

func build(t testing.TB, c lab.Config) *world {
	t.Helper()
	l, err := lab.New(c)
	w := &world{Lab: l, t: t}
	t.Cleanup(func() {
		log := l.Log()
		if err := l.Close(); err != nil {
			t.Errorf("closing the lab: %v", err)
		}
		if t.Failed() {
			t.Logf("the daemons' log:\n%s", log)
		}
	})
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// alice gives a path in alice's home.
func (w *world) alice(name string) string { return filepath.Join(w.Home("alice"), name) }

// put makes a file of alice's.
func (w *world) put(name, content string, mode os.FileMode) string {
	w.t.Helper()
	path := w.alice(name)
	w.must(w.MkdirAll(lab.Alice, filepath.Dir(path)))
	w.must(w.Put(lab.Alice, path, content, mode))
	return path
}

// holds says what a file must hold.
func (w *world) holds(path, want string) {
	w.t.Helper()
	if got := read(path); got != want {
		w.t.Fatalf("%s holds %.100q, want %.100q", path, got, want)
	}
}

// read gives a file's content, or why there is none.
func read(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// clean says that nothing staged was left anywhere in alice's home.
func (w *world) clean() {
	w.t.Helper()
	if left := lab.Leftovers(w.Home("alice")); len(left) > 0 {
		w.t.Fatalf("left behind: %q", left)
	}
}

// call asks a socket something as a user, over a connection of its own.
func (w *world) call(uid uint32, socket, method string, params, result any) error {
	c, err := w.Dial(uid, socket)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return c.Call(ctx, method, params, result)
}

func (w *world) act(uid uint32, a action.Action) (t protocol.Transaction, err error) {
	in := protocol.ActParams{Action: a}
	rand.Read(in.Nonce[:])
	err = w.call(uid, "keeper/act", protocol.Act, in, &t)
	return t, err
}

// propose is act that must come to a state.
func (w *world) propose(uid uint32, a action.Action, want protocol.State) protocol.Transaction {
	w.t.Helper()
	t, err := w.act(uid, a)
	w.must(err)
	if t.State != want {
		w.t.Fatalf("the proposal is %s, want %s: %v %+v", t.State, want, t.Refusal, t.Outcome)
	}
	return t
}

func (w *world) decide(uid uint32, t protocol.Transaction) (out protocol.Transaction, err error) {
	in := protocol.DecideParams{ID: t.ID, Prefix: t.Prefix, Approve: true}
	err = w.call(uid, "keeper/consent", protocol.Decide, in, &out)
	return out, err
}

// approve is alice's approval, which must land.
func (w *world) approve(t protocol.Transaction) {
	w.t.Helper()
	out, err := w.decide(lab.Alice, t)
	w.must(err)
	if out.State != protocol.StateLanded {
		w.t.Fatalf("approved and %s: %v %+v", out.State, out.Refusal, out.Outcome)
	}
}

func (w *world) show(uid uint32, socket string, id action.ID) protocol.Transaction {
	w.t.Helper()
	var s protocol.ShowResult
	w.must(w.call(uid, socket, protocol.Show, protocol.IDParams{ID: id}, &s))
	return s.Transaction
}

func (w *world) log(uid uint32, socket string) []protocol.Transaction {
	w.t.Helper()
	var l protocol.ListResult
	w.must(w.call(uid, socket, protocol.Log, protocol.LogParams{Limit: 500}, &l))
	return l.Transactions
}

// eventually waits for a condition, and fails the test where it does not come.
func (w *world) eventually(what string, is func() bool) {
	w.t.Helper()
	if !soon(is) {
		w.t.Fatalf("it did not come to pass within %v: %s", patience, what)
	}
}

const patience = 20 * time.Second

// soon waits for a condition, and says whether it came.
func soon(is func() bool) bool {
	const every = 5 * time.Millisecond
	for end := time.Now().Add(patience); !is(); time.Sleep(every) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// settled waits until a transaction has ended, whoever has to come back first.
func (w *world) settled(id action.ID) (t protocol.Transaction) {
	w.t.Helper()
	w.eventually("the transaction ends", func() bool {
		var s protocol.ShowResult
		err := w.call(lab.Alice, "keeper/consent", protocol.Show, protocol.IDParams{ID: id}, &s)
		t = s.Transaction
		return err == nil && t.State.Ended()
	})
	return t
}

func write(path, content string) action.Action {
	return change(action.Change{Path: action.Path(path), Write: &action.Write{Content: []byte(content)}})
}

// script is a write that asks, since what it writes can be run.
func script(path, content string) action.Action {
	return change(action.Change{Path: action.Path(path), Write: &action.Write{Content: []byte(content), Mode: 0o755}})
}

func change(c action.Change) action.Action {
	return action.Action{FileWrite: &action.FileWrite{Changes: []action.Change{c}}}
}

// expecting adds what the proposer saw.
func expecting(a action.Action, content string) action.Action {
	h := action.HashOf([]byte(content))
	a.FileWrite.Changes[0].Expect = &action.Expect{Hash: &h}
	return a
}

// raw connects to a socket as a user, without a word.
func (w *world) raw(uid uint32, socket string) (c *net.UnixConn, err error) {
	err = lab.As(uid, func() error {
		c, err = net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: w.Socket(socket)})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connecting as uid %d: %w", uid, err)
	}
	return c, nil
}
