package road

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/protocol"
	"countersign/tests/lab"
)

// tracer is an strace that holds some processes.
type tracer struct {
	w    *world
	cmd  *exec.Cmd
	out  string
	errs bytes.Buffer
	done chan struct{}
}

// trace attaches to processes of the lab, and returns once each of their
// threads is held.
func (w *world) trace(names []string, args ...string) *tracer {
	w.t.Helper()
	lab.Need(w.t, "strace")
	tr := &tracer{w: w, out: filepath.Join(w.Dir, "strace"), done: make(chan struct{})}
	args = append([]string{"-f", "-qq", "-o", tr.out}, args...)
	var pids []int
	for _, name := range names {
		pid := w.PID(name)
		pids = append(pids, pid)
		args = append(args, "-p", fmt.Sprint(pid))
	}
	tr.cmd = exec.Command("strace", args...)
	tr.cmd.Stderr = &tr.errs
	w.must(tr.cmd.Start())
	go func() {
		tr.cmd.Wait()
		close(tr.done)
	}()
	w.t.Cleanup(tr.detach)
	w.eventually("strace holds every thread", func() bool {
		for _, pid := range pids {
			if !held(pid) {
				return false
			}
		}
		return true
	})
	return tr
}

func held(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, task := range tasks {
		if b, err := os.ReadFile(task); err == nil && strings.Contains(string(b), "TracerPid:\t0\n") {
			return false
		}
	}
	return len(tasks) > 0
}

// detach lets go of the processes.
func (tr *tracer) detach() {
	tr.cmd.Process.Signal(syscall.SIGINT)
	<-tr.done
}

// T14: an action that lands alone waits for the disk three times, in keeper
// and scribe together: the intent, the file, its directory.
func TestThreeFlushes(t *testing.T) {
	w := start(t)
	path := w.put("a.txt", "0\n", 0o644)
	w.propose(lab.Claude, write(path, "warm\n"), protocol.StateLanded)
	tr := w.trace([]string{"keeper", "scribe@alice", "reader@alice"}, "-e", "trace=fsync,fdatasync,sync_file_range,syncfs,sync,msync")
	content := strings.Repeat("0123456789abcde\n", 640) // 10 KiB
	w.propose(lab.Claude, write(path, content), protocol.StateLanded)
	tr.detach()
	calls := 0
	for line := range strings.Lines(read(tr.out)) {
		if strings.Contains(line, "(") && !strings.Contains(line, "resumed>") {
			calls++
		}
	}
	if calls != 3 {
		t.Fatalf("%d flushes:\n%s", calls, read(tr.out))
	}
	w.holds(path, content)
}
