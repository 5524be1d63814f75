package boot

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"countersign/internal/testas"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(helperVariable) == "" {
		defer built.remove()
		return m.Run()
	}
	if err := help(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// prepared has what machines are loaded with.
type prepared struct{ sources, self string }

// built is made once for all tests, by the first that needs it.
var built = &once{}

// tester builds the test binary as one that runs in an empty root directory.
func tester(dir string) (string, error) {
	path := filepath.Join(dir, "tester")
	c := exec.Command("go", "test", "-c", "-o", path, ".")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("building the helper: %w\n%s", err, out)
	}
	return path, err
}

type once struct {
	sync.Once
	prepared
	err error
}

func (o *once) remove() { os.RemoveAll(o.sources) }

func prepare(t *testing.T) prepared {
	t.Helper()
	testas.Root(t)
	for _, program := range []string{"systemd-nspawn", "nsenter", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv(testas.NeedsRoot) == "fail" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	if testing.Short() {
		t.Skip("boots machines")
	}
	built.Do(func() {
		built.sources, built.err = os.MkdirTemp("", "countersign-install-")
		if built.err == nil {
			built.err = collect(built.sources, "0.1", "0.2")
		}
		if built.err == nil {
			built.self, built.err = tester(built.sources)
		}
	})
	must(t, built.err)
	return built.prepared
}

// booted runs a test on machines that are up, with nothing of Countersign's
// installed: one over the root of this system, and one over another root where
// it is named.
func booted(t *testing.T, test func(t *testing.T, m *Machine)) {
	p := prepare(t)
	lowers := map[string]string{"here": "/"}
	if other := os.Getenv("COUNTERSIGN_BOOT_ROOT"); other != "" {
		lowers[filepath.Base(other)] = other
	}
	for name, lower := range lowers {
		t.Run(name, func(t *testing.T) { test(t, p.boot(t, lower)) })
	}
}

func (p prepared) boot(t *testing.T, lower string) *Machine {
	t.Helper()
	m, err := New(lower, map[string]string{sources: p.sources, helper: p.self})
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(m.Run("journalctl", "--no-pager", "-o", "short-monotonic", "-u", "countersign-*", "-n", "60").Out)
		}
		if err := errors.Join(m.Cut(), m.Remove()); err != nil {
			t.Error(err)
		}
	})
	must(t, m.Start())
	return m
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
