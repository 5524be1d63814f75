package stage

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/protocol"
	"countersign/internal/testas"
)

const (
	envDir  = "COUNTERSIGN_STAGE_DIR"
	envKill = "COUNTERSIGN_STAGE_KILL" // the how manieth step a process is killed at
	envFail = "COUNTERSIGN_STAGE_FAIL" // whether the last path's verifying fails
)

// TestIsKilled is the process that TestKilled kills: it carries out an intent.
func TestIsKilled(t *testing.T) {
	dir := os.Getenv(envDir)
	if dir == "" {
		t.Skip("it is run by TestKilled")
	}
	b, err := os.ReadFile(dir + ".intent")
	must(t, err)
	var in protocol.Intent
	must(t, canon.Decode(b, &in))
	kill, err := strconv.Atoi(os.Getenv(envKill))
	must(t, err)
	h := homeAt(t, dir).follow()
	n, last := 0, in.Facts[len(in.Facts)-1].Path
	h.step = func(s Step, p action.Path) error {
		if n++; n == kill {
			must(t, unix.Kill(os.Getpid(), unix.SIGKILL))
			select {}
		}
		if s == Verify && p == last && os.Getenv(envFail) != "" {
			return unix.EIO
		}
		return nil
	}
	h.Carry(in)
}

// carryAndKill carries an intent out in a process that is killed at its n-th
// step, and says whether it came to be.
func (h *home) carryAndKill(in protocol.Intent, n int, fail string) bool {
	h.Helper()
	b, err := canon.Encode(in)
	must(h.T, err, os.WriteFile(h.dir+".intent", b, 0o600))
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestIsKilled$", "-test.count=1")
	cmd.Env = append(os.Environ(), envDir+"="+h.dir, envKill+"="+strconv.Itoa(n), envFail+"="+fail)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(interface{ Signaled() bool }).Signaled() {
		return true
	}
	if err != nil {
		h.Fatalf("%v\n%s", err, out)
	}
	return false
}

// S12 S19 T16: wherever a scribe is killed, in carrying a change out or in
// taking it back, settling leaves all the files as they were or all as they
// were planned, nothing beside them, and says which; and settling that is itself
// cut off at any step, and done again, does the same.
func TestKilled(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, s := range scenarios() {
		for _, fail := range []string{"", "fail"} {
			t.Run(strings.TrimSpace(name+" "+fail), func(t *testing.T) {
				before, after := s.both(t)
				for kill := 1; ; kill++ {
					h := s.home(t)
					in := h.intent(s.does(h))
					if !h.carryAndKill(in, kill, fail) {
						return
					}
					for cut := 1; h.settleAndCut(in, cut); cut++ {
					}
					h.isSettled(kill, in, before, after)
				}
			})
		}
	}
}

// settleAndCut settles an intent, is cut off at the n-th step, and says whether
// it was. Nothing of it is done afterwards but that handles are closed, which
// the end of a process does too.
func (h *home) settleAndCut(in protocol.Intent, n int) (cut bool) {
	h.Helper()
	h.step = func(Step, action.Path) error {
		if n--; n == 0 {
			panic("cut off")
		}
		return nil
	}
	defer func() {
		h.step = nil
		if p := recover(); p != nil {
			if cut = p == "cut off"; !cut {
				panic(p)
			}
		}
	}()
	_, files, err := h.Settle(in)
	must(h.T, err)
	if len(files) > 0 {
		h.Errorf("%d handles", len(files))
	}
	return false
}

// isSettled checks an intent that was settled, and settles it once more.
func (h *home) isSettled(kill int, in protocol.Intent, before, after string) {
	h.Helper()
	out, files, err := h.Settle(in)
	if err != nil || len(files) > 0 || len(out.Kept) > 0 || len(out.Changes) != len(in.Facts) {
		h.Fatalf("%d: %+v, %v", kill, out, err)
	}
	want := map[protocol.Result]string{protocol.Landed: after, protocol.NotLanded: before}[out.Result]
	if h.tree() != want || (out.Refused != nil) != (out.Result == protocol.NotLanded) {
		h.Errorf("%d: %+v\n%s", kill, out, h.tree())
	}
	for i, c := range out.Changes {
		if c.Path != in.Facts[i].Path || c.Did.Changed() != (out.Result == protocol.Landed) || len(c.After) > 0 {
			h.Errorf("%d: %+v", kill, c)
		}
		if before != after {
			h.isTold(strconv.Itoa(kill), in, i, c)
		}
	}
}
