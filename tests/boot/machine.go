package boot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is a booted one.
type Machine struct {
	name string
	dir  string // everything of it lies here
	root string // of its filesystem, seen from outside
	load map[string]string

	nspawn *exec.Cmd
	gone   chan struct{} // closed once nspawn was waited for
	leader int           // its init, seen from outside
}

// New lays a machine out over a root directory; load has what it sees
// read-only, by the path inside.
func New(lower string, load map[string]string) (m *Machine, err error) {
	m = &Machine{load: load}
	if m.dir, err = os.MkdirTemp("", "countersign-boot-"); err != nil {
		return nil, err
	}
	m.name, m.root = filepath.Base(m.dir), filepath.Join(m.dir, "root")
	layers := filepath.Join(m.dir, "layers")
	for _, d := range []string{m.root, layers, filepath.Join(m.dir, "home"), filepath.Join(m.dir, "people")} {
		err = errors.Join(err, os.Mkdir(d, 0o755), os.Chmod(d, 0o755))
	}
	err = errors.Join(err, unix.Mount("tmpfs", layers, "tmpfs", 0, "mode=755"))
	upper, work := filepath.Join(layers, "upper"), filepath.Join(layers, "work")
	err = errors.Join(err, os.Mkdir(upper, 0o755), os.Mkdir(work, 0o755))
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work)
	if err == nil {
		err = unix.Mount("overlay", m.root, "overlay", 0, options)
	}
	if err == nil {
		// An empty one is filled at boot; another machine's would be its name.
		os.Remove(filepath.Join(m.root, "etc/machine-id"))
		err = os.WriteFile(filepath.Join(m.root, "etc/machine-id"), nil, 0o444)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("laying out a machine: %w", err), m.Remove())
	}
	return m, nil
}

// Remove takes a machine away that does not run.
func (m *Machine) Remove() error {
	var err error
	for _, d := range []string{m.root, filepath.Join(m.dir, "layers")} {
		if e := unix.Unmount(d, unix.MNT_DETACH); e != nil && e != unix.EINVAL {
			err = errors.Join(err, e)
		}
	}
	for _, c := range m.cgroups() {
		exec.Command("find", c, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").Run()
	}
	if err != nil {
		return err // what is still mounted is not to be removed
	}
	return os.RemoveAll(m.dir)
}

// cgroups gives the machine's own directories among the kernel's groups of
// processes, where the tests' machine has a hierarchy for it to manage.
func (m *Machine) cgroups() (dirs []string) {
	for _, h := range []string{"unified", "systemd"} {
		if _, err := os.Stat(filepath.Join("/sys/fs/cgroup", h)); err == nil {
			dirs = append(dirs, filepath.Join("/sys/fs/cgroup", h, m.name))
		}
	}
	return dirs
}

// Start boots, and returns once everything is up.
func (m *Machine) Start() error {
	var script strings.Builder
	for _, c := range m.cgroups() {
		fmt.Fprintf(&script, "mkdir -p %s; echo $$ > %s/cgroup.procs; ", c, c)
	}
	script.WriteString(`exec "$@"`)
	args := []string{"-c", script.String(), "sh", "systemd-nspawn", "-q", "-b", "-D", m.root, "-M", m.name, "--register=no", "--keep-unit",
		"--private-network", "--capability=all", "--console=pipe",
		"--bind=" + filepath.Join(m.dir, "home") + ":/home", "--bind=" + filepath.Join(m.dir, "people") + ":/srv/people"}
	for inside, outside := range m.load {
		args = append(args, "--bind-ro="+outside+":"+inside)
	}
	console, err := os.Create(filepath.Join(m.dir, "console"))
	if err != nil {
		return err
	}
	defer console.Close()
	c := exec.Command("sh", append(args, "systemd.unit=multi-user.target")...)
	c.Stdout, c.Stderr = console, console
	// nspawn's own filter of system calls would refuse Landlock.
	c.Env = append(os.Environ(), "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1", "SYSTEMD_SECCOMP=0")
	if err := c.Start(); err != nil {
		return fmt.Errorf("starting a machine: %w", err)
	}
	m.nspawn, m.gone, m.leader = c, make(chan struct{}), 0
	go func() { c.Wait(); close(m.gone) }()
	return m.awaitRunning()
}

func (m *Machine) awaitRunning() error {
	const within = 60 * time.Second
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if m.leader == 0 {
			m.leader = m.findLeader()
			continue
		}
		switch r := m.Run("systemctl", "is-system-running", "--wait"); strings.TrimSpace(r.Out) {
		case "running", "degraded":
			return nil
		}
	}
	console, _ := os.ReadFile(filepath.Join(m.dir, "console"))
	return errors.Join(fmt.Errorf("the machine was not up within %v: %s", within, console), m.Cut())
}

// findLeader finds the machine's init among nspawn's children.
func (m *Machine) findLeader() int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", m.nspawn.Process.Pid))
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for _, pid := range strings.Fields(string(b)) {
			name, _ := os.ReadFile("/proc/" + pid + "/comm")
			if strings.TrimSpace(string(name)) == "systemd" {
				n, _ := strconv.Atoi(pid)
				return n
			}
		}
	}
	return 0
}

// Stop powers the machine off in order.
func (m *Machine) Stop() error {
	const powerOff = 34 + 4 // SIGRTMIN+4, to an init that is systemd
	return m.end(syscall.Signal(powerOff))
}

// Cut takes the power away: nothing in it runs any further.
func (m *Machine) Cut() error { return m.end(syscall.SIGKILL) }

func (m *Machine) end(s syscall.Signal) error {
	if m.nspawn == nil {
		return nil
	}
	defer func() { m.nspawn = nil }()
	if m.leader != 0 {
		syscall.Kill(m.leader, s)
	} else {
		m.nspawn.Process.Kill()
	}
	const within = 60 * time.Second
	select {
	case <-m.gone:
		return nil
	case <-time.After(within):
		syscall.Kill(m.leader, syscall.SIGKILL)
		m.nspawn.Process.Kill()
		return fmt.Errorf("the machine did not stop within %v", within)
	}
}

// Result is how a command in the machine ended.
type Result struct {
	Code     int
	Out, Err string
}

// Run runs a command in the machine as root.
func (m *Machine) Run(args ...string) Result { return m.command("", args...) }

// As runs a command in the machine as a user, with the user's groups and with
// input on its standard input.
func (m *Machine) As(user, input string, args ...string) Result {
	return m.command(input, append([]string{"setpriv", "--reuid", user, "--regid", user, "--init-groups", "--"}, args...)...)
}

func (m *Machine) command(input string, args ...string) Result {
	const within = 2 * time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	c := exec.CommandContext(ctx, "nsenter", append([]string{"-t", strconv.Itoa(m.leader), "-a"}, args...)...)
	c.Dir = "/"
	c.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", helperVariable + "=1"}
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr, c.WaitDelay = strings.NewReader(input), &out, &errs, time.Second
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return Result{Code: -1, Out: out.String(), Err: fmt.Sprint(errs.String(), err)}
	}
	return Result{Code: c.ProcessState.ExitCode(), Out: out.String(), Err: errs.String()}
}
