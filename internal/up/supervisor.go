package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/protocol"
)

// supervisor keeps processes running.
type supervisor struct {
	log    *slog.Logger
	stderr *os.File
}

const (
	readyWithin = 10 * time.Second // how long a process may take until it serves
	stopWithin  = 10 * time.Second // and to end, once asked to
	restarts    = 5                // how often one may die within restartTime
	restartTime = 10 * time.Second // and be started again at once
	pause       = 2 * time.Second  // before it is started again otherwise
)

// process is one that runs.
type process struct {
	spec
	cmd    *exec.Cmd
	died   chan struct{} // closed once it was waited for
	deaths []time.Time
}

// run starts the processes in their order, calls ready with their pids, and
// restarts those that die until ctx ends. Whoever may call a process can try
// to make it die, so that is never a reason to end the others: one that dies
// in a row is started again after a pause. They are stopped in the reverse
// order.
func (s *supervisor) run(ctx context.Context, specs []spec, ready func(map[string]int)) (err error) {
	var running []*process
	defer func() {
		for i := len(running) - 1; i >= 0; i-- {
			err = errors.Join(err, s.stop(running[i]))
		}
	}()
	pids := make(map[string]int)
	deaths := make(chan *process)
	for _, spec := range specs {
		p := &process{spec: spec}
		if err := s.start(ctx, p, deaths); err != nil {
			return err
		}
		running = append(running, p)
		pids[p.name] = p.cmd.Process.Pid
	}
	ready(pids)
	s.restart(ctx, deaths)
	return nil
}

// restart starts what dies again until ctx ends.
func (s *supervisor) restart(ctx context.Context, deaths chan *process) {
	due := make(chan *process)
	later := func(p *process, wait time.Duration) {
		time.AfterFunc(wait, func() {
			select {
			case due <- p:
			case <-ctx.Done():
			}
		})
	}
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-deaths:
			if p.cmd.ProcessState.ExitCode() == protocol.ExitAgain {
				s.log.Info("out of date; starting it again", "process", p.name)
				later(p, 0)
				continue
			}
			wait := p.dies(time.Now())
			s.log.Error("died; restarting", "process", p.name, "error", p.cmd.ProcessState.String(), "in", wait)
			later(p, wait)
		case p := <-due:
			if err := s.start(ctx, p, deaths); err != nil && ctx.Err() == nil {
				s.log.Error("restarting", "process", p.name, "error", err, "again in", pause)
				later(p, pause)
			}
		}
	}
}

// dies notes a death, and gives how long to wait before the next start.
func (p *process) dies(now time.Time) time.Duration {
	p.deaths = append(p.deaths, now)
	if len(p.deaths) <= restarts {
		return 0
	}
	p.deaths = p.deaths[1:]
	if now.Sub(p.deaths[0]) < restartTime {
		return pause
	}
	return 0
}

// start starts a process and waits until it says that it serves.
func (s *supervisor) start(ctx context.Context, p *process, deaths chan *process) error {
	hear, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer hear.Close()
	cmd := exec.Command("/proc/self/fd/" + strconv.Itoa(int(p.program.Fd())))
	cmd.Args = append([]string{p.name}, p.args...)
	cmd.Dir, cmd.Env, cmd.Stderr = "/", []string{}, s.stderr
	cmd.ExtraFiles = append(append([]*os.File{}, p.handles...), tell)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.credential, Setpgid: true, Pdeathsig: syscall.SIGTERM}
	died := make(chan struct{})
	err = s.spawn(p.spec, cmd, died)
	tell.Close()
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	p.cmd, p.died = cmd, died
	if err := awaitReady(ctx, hear); err != nil {
		s.stop(p)
		return fmt.Errorf("%s does not serve: %w", p.name, err)
	}
	go func() {
		<-died
		select {
		case deaths <- p:
		case <-ctx.Done():
		}
	}()
	return nil
}

// spawn starts a process from a thread of its own, which lives until the
// process has died and was waited for, which closes died: by the death of that thread the process
// would be told of its parent's, and its view of the filesystem is that
// thread's, which nothing else may run on.
func (s *supervisor) spawn(p spec, cmd *exec.Cmd, died chan struct{}) error {
	started := make(chan error)
	onThread(func() {
		if err := s.enter(p); err != nil {
			started <- err
			return
		}
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
			close(died)
		}
	})
	return <-started
}

// enter takes on a process's view, or says that it cannot be had.
func (s *supervisor) enter(p spec) error {
	if p.view == nil {
		return nil
	}
	err := p.view.enter()
	if errors.Is(err, errNoMounts) {
		s.log.Warn("no mounts of its own keep homes apart; Landlock does", "process", p.name, "error", err)
		return nil
	}
	return err
}

// onThread runs f on a thread that ends with it. The first thread of a process
// never ends, and would show f's view as the whole process's: it is kept busy
// until f has another.
func onThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		other := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(other)
			f()
		}()
		<-other
		runtime.UnlockOSThread()
	}()
}

// awaitReady waits for the line that a daemon says once it serves.
func awaitReady(ctx context.Context, hear *os.File) error {
	heard := make(chan error, 1)
	go func() {
		line := make([]byte, 6)
		if _, err := io.ReadFull(hear, line); err != nil || string(line) != "ready\n" {
			heard <- errors.New("it ended before it was ready; its log says why")
			return
		}
		heard <- nil
	}()
	select {
	case err := <-heard:
		return err
	case <-time.After(readyWithin):
		return fmt.Errorf("it was not ready within %v", readyWithin)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop asks a process to end, and makes it.
func (s *supervisor) stop(p *process) error {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.died:
		return nil
	case <-time.After(stopWithin):
		p.cmd.Process.Kill()
		<-p.died
		return fmt.Errorf("%s did not stop within %v and was killed", p.name, stopWithin)
	}
}
