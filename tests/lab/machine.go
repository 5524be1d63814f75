package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Machine is a machine of a test's own as far as files go: commands see an /etc
// and a /run that are theirs, with the real tools for users and groups, and a
// systemctl that only writes down what it is told. The test's own system is
// not changed.
type Machine struct{ Dir string }

// NewMachine makes one beneath a directory, with the users and groups of an
// installation.
func NewMachine(dir string) (*Machine, error) {
	m := &Machine{Dir: dir}
	bin := filepath.Join(dir, "bin")
	if err := errors.Join(os.MkdirAll(bin, 0o755), os.MkdirAll(filepath.Join(dir, "run/systemd/system"), 0o755)); err != nil {
		return nil, err
	}
	if out, err := exec.Command("cp", "-a", "/etc", filepath.Join(dir, "etc")).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copying /etc: %w: %s", err, out)
	}
	systemctl := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%[1]s/systemctl.log\n"+
		"if grep -qsx -- \"$1\" %[1]s/systemctl.fails; then echo \"told to fail\" >&2; exit 1; fi\n", dir)
	if err := os.WriteFile(filepath.Join(bin, "systemctl"), []byte(systemctl), 0o755); err != nil {
		return nil, err
	}
	for _, c := range [][]string{
		{"groupadd", "-r", "countersign-agents"}, {"groupadd", "-r", "countersign-people"},
		{"useradd", "-r", "-U", "-G", "countersign-agents", "countersign-keeper"},
	} {
		if r := m.Run(c...); r.Code != 0 {
			return nil, fmt.Errorf("%v: %s", c, r.Stderr)
		}
	}
	return m, nil
}

// Run runs a command on the machine as root; the programs under test are found
// by their names.
func (m *Machine) Run(args ...string) Result {
	const within = 60 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	const enter = `mount --bind "$0/etc" /etc; mount --bind "$0/run" /run; exec "$@"`
	c := exec.CommandContext(ctx, "unshare", append([]string{"--mount", "--propagation", "private", "--", "sh", "-ec", enter, m.Dir}, args...)...)
	c.Dir = "/"
	c.Env = []string{"LC_ALL=C", "PATH=" + filepath.Join(m.Dir, "bin") + ":" + os.Getenv(programsVariable) + ":/usr/sbin:/usr/bin:/sbin:/bin"}
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		return Result{Code: -1, Stderr: err.Error()}
	}
	return Result{Code: c.ProcessState.ExitCode(), Stdout: out.String(), Stderr: errs.String()}
}
