package road

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/testas"
	"countersign/tests/lab"
)

// T8: without root everything runs as one user, which is said at the start, in
// every answer and on every screen; the root directory is that user's alone,
// and the road works.
func TestWithoutRoot(t *testing.T) {
	testas.Root(t)
	w := build(t, lab.Config{UID: lab.Alice})
	const said = "NOT SEPARATED"
	w.sayReady(said)
	w.up()
	if !w.Ready.Unseparated {
		t.Error("ready without a word of it")
	}
	if info, err := os.Stat(w.Root); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the root is %v, %v", info, err)
	}
	for _, name := range []string{"keeper", "scribe@alice", "reader@alice"} {
		if status := read(fmt.Sprintf("/proc/%d/status", w.PID(name))); !strings.Contains(status, fmt.Sprintf("Uid:\t%d\t", lab.Alice)) {
			t.Errorf("%s: %s", name, status)
		}
	}
	path := w.put("run.sh", "one\n", 0o755)
	r := w.Run(lab.Alice, proposal(path, "two\n"), "propose", "-")
	id := firstID(r.Stdout)
	saying := func(r lab.Result, code int, what string) {
		t.Helper()
		if r.Code != code || !strings.Contains(r.Stdout, said) {
			t.Errorf("%s: exit code %d, want %d, and %q:\n%s%s", what, r.Code, code, said, r.Stdout, r.Stderr)
		}
	}
	saying(r, 4, "propose")
	saying(w.Run(lab.Alice, "", "pending"), 0, "pending")
	shown := w.Run(lab.Alice, "", "show", id)
	saying(shown, 0, "show")
	_, command, _ := strings.Cut(shown.Stdout, "approve: countersign approve ")
	saying(w.Run(lab.Alice, "", "approve", strings.Fields(command)[0]), 0, "approve")
	w.holds(path, "two\n")
	saying(w.Run(lab.Alice, "", "undo", "--yes", id), 0, "undo")
	w.holds(path, "one\n")
	saying(w.Run(lab.Alice, "", "log"), 0, "log")
	saying(w.Run(lab.Alice, "", "status"), 0, "status")
	saying(w.Run(lab.Alice, "", "verify"), 0, "verify")
	saying(w.Run(lab.Alice, "", "pending"), 0, "pending, with nothing in it")
	if r := w.Run(lab.Claude, "", "pending"); r.Code == 0 {
		t.Errorf("another user was answered: %s", r.Stdout)
	}
}

// sayReady starts `up` for people, hears what it says once it serves, and
// stops it.
func (w *world) sayReady(said string) {
	w.t.Helper()
	c := w.Command(context.Background(), lab.Alice, append([]string{"up"}, w.Flags()...)...)
	out, err := c.StdoutPipe()
	w.must(err)
	w.must(c.Start())
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(first, said) {
		w.t.Errorf("up says %q, %v", first, err)
	}
	c.Process.Signal(syscall.SIGTERM)
	w.must(c.Wait())
}

func proposal(path, text string) string {
	return fmt.Sprintf(`{"action": {"file-write": {"changes": [{"path": %q, "write": {"text": %q}}]}}}`, path, text)
}

// firstID finds an ID in what a command printed.
func firstID(out string) string {
	for _, word := range strings.Fields(out) {
		if len(word) == 13 && strings.Trim(word, "abcdefghijkmnpqrstuvwxyz23456789") == "" {
			return word
		}
	}
	return ""
}
