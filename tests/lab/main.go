package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"countersign/internal/testas"
)

// The environment variables by which a test binary speaks to itself.
const (
	programsVariable = "COUNTERSIGN_LAB_PROGRAMS" // directory of the built programs
	helperVariable   = "COUNTERSIGN_LAB_HELPER"   // what to be instead of a test
)

// Helper is what a test binary does when it was started again by Again.
type Helper func(args []string) error

// Main is for TestMain: it builds the four programs, runs the tests, and gives
// the exit code. In a binary that Again started it runs that helper instead.
func Main(m *testing.M, helpers map[string]Helper) int {
	if name := os.Getenv(helperVariable); name != "" {
		return help(helpers[name], os.Args[1:])
	}
	dir, err := build()
	defer os.RemoveAll(dir)
	if err == nil {
		err = os.Setenv(programsVariable, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		return 1
	}
	return m.Run()
}

func help(h Helper, args []string) int {
	err := errors.New("no such helper")
	if h != nil {
		err = h(args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// build puts the programs where every user can run them.
func build() (dir string, err error) {
	if dir, err = openTemp(""); err != nil {
		return dir, err
	}
	c := exec.Command("go", "build", "-o", dir+"/", "countersign/cmd/...")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("building the programs: %w\n%s", err, out)
	}
	return dir, nil
}

// openTemp makes a directory that every user can walk through.
func openTemp(base string) (string, error) {
	dir, err := os.MkdirTemp(base, "countersign-lab-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	return dir, err
}

// Need skips, or fails, a test that needs a program of the system.
func Need(t testing.TB, program string) {
	t.Helper()
	_, err := exec.LookPath(program)
	switch {
	case err == nil:
	case os.Getenv(testas.NeedsRoot) == "fail":
		t.Fatalf("this test needs %s", program)
	default:
		t.Skipf("this test needs %s", program)
	}
}

// Again prepares the test binary as a helper under a uid. It is executed by
// its handle, since the user cannot walk to it. The caller runs it.
func Again(uid uint32, helper string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(self)
	if err != nil {
		return nil, err
	}
	c := exec.Command("/proc/self/fd/3", args...)
	c.ExtraFiles = []*os.File{f}
	c.Dir, c.Env = "/", []string{helperVariable + "=" + helper}
	c.SysProcAttr = credential(uid)
	return c, nil
}

func credential(uid uint32) *syscall.SysProcAttr {
	if uint32(os.Geteuid()) == uid {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
}

func program(name string) string { return filepath.Join(os.Getenv(programsVariable), name) }
