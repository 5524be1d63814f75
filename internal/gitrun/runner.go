package gitrun

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/confine"
	"countersign/internal/protocol"
)

// RunnerArg is the only argument of a program that is to be a runner.
const RunnerArg = "run-git"

// IsRunner says whether a program was started to be a runner.
func IsRunner(args []string) bool { return len(args) == 1 && args[0] == RunnerArg }

// runnerSocket is the handle that a runner is started with.
const runnerSocket = 3

const (
	// atOnce bounds the gits of one runner that run at the same time.
	atOnce = 8
	// longest bounds how long one may run, whatever the daemon says.
	longest = 10 * time.Minute
)

// runner starts gits, each on a thread of its own.
type runner struct {
	conn *net.UnixConn
	open opened
	git  string

	places chan struct{} // one for each git that may run

	mu      sync.Mutex
	running map[uint64]*run
}

// run is a git that is asked for; it is no longer wanted once ended is closed.
type run struct {
	once  sync.Once
	ended chan struct{}
}

func newRun() *run { return &run{ended: make(chan struct{})} }

func (r *run) end() { r.once.Do(func() { close(r.ended) }) }

// opened is what every git needs, held by handles from before the walls.
type opened struct {
	run, files, tables []*os.File
	null               *os.File
}

// Serve is the whole life of a runner: it takes the socket it was started with,
// raises its walls, says which git there is, and starts gits until the daemon
// is gone. It does not stop on a signal that stops the daemon: what the daemon
// still finishes may need it.
func Serve() error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	unix.CloseOnExec(runnerSocket)
	conn, err := connOf(os.NewFile(runnerSocket, "daemon"))
	if err != nil {
		return err
	}
	r := &runner{conn: conn, places: make(chan struct{}, atOnce), running: make(map[uint64]*run)}
	buf := make([]byte, maxMessage)
	var h hello
	if _, err := receive(conn, buf, &h); err != nil {
		return fmt.Errorf("hearing what it is for: %w", err)
	}
	about := r.prepare(h)
	if err := send(conn, about); err != nil || about.Why != "" {
		return err
	}
	return r.serve(buf)
}

// prepare finds git and raises the walls. What it says of a failure goes to
// whoever asks for git later.
func (r *runner) prepare(h hello) protocol.GitRun {
	p, err := find(h.Program)
	if err != nil {
		return protocol.GitRun{Why: err.Error()}
	}
	r.git = p.path
	if h.Writes { // git names its temporary files by it
		p.files = append(p.files, "/dev/urandom")
	}
	if err := r.open.all(p); err != nil {
		return protocol.GitRun{Path: p.path, Why: err.Error()}
	}
	walls := confine.Walls{Calls: confine.GitRead, Notify: -1, Read: append(h.Read, p.tables...), Closed: h.Closed, Run: p.run, Files: p.files, Null: os.DevNull}
	if h.Writes {
		walls.Calls, walls.Change = confine.GitWrite, h.Trees
	}
	standing, err := confine.Enclose(walls)
	if err != nil {
		return protocol.GitRun{Path: p.path, Why: "enclosing what runs it: " + err.Error()}
	}
	said, err := r.version()
	if err != nil {
		return protocol.GitRun{Path: p.path, Why: err.Error()}
	}
	version, err := versionOf(said)
	about := protocol.GitRun{Path: p.path, Version: version, Walls: standing}
	if err != nil {
		about.Why = err.Error()
	}
	return about
}

func (o *opened) all(p *program) error {
	for _, list := range []struct {
		paths []string
		to    *[]*os.File
	}{{p.run, &o.run}, {p.files, &o.files}, {p.tables, &o.tables}} {
		for _, path := range list.paths {
			f, err := openPath(path)
			if err != nil {
				return err
			}
			*list.to = append(*list.to, f)
		}
	}
	var err error
	o.null, err = openPath(os.DevNull)
	return err
}

func openPath(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// version asks git which it is: the first time that it runs behind the walls.
func (r *runner) version() (string, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer from.Close()
	ended := make(chan reply, 1)
	go r.start(request{Vector: Version}, newRun(), []*os.File{to, to}, func(re reply) { ended <- re })
	out, err := io.ReadAll(io.LimitReader(from, 1<<10))
	re := <-ended
	if re.Failed != "" {
		err = errors.New(re.Failed)
	}
	if err == nil && re.Code != 0 {
		err = fmt.Errorf("exit code %d: %.200q", re.Code, out)
	}
	if err != nil {
		return "", fmt.Errorf("%s does not run: %w", r.git, err)
	}
	return string(out), nil
}

// serve takes requests until the daemon is gone, and then ends what still runs.
func (r *runner) serve(buf []byte) error {
	defer r.killAll()
	for {
		var q request
		handles, err := receive(r.conn, buf, &q)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("hearing what is asked: %w", err)
		}
		if q.Cancel {
			closeAll(handles)
			r.cancel(q.ID)
			continue
		}
		this := newRun()
		r.mu.Lock()
		r.running[q.ID] = this
		r.mu.Unlock()
		go r.queue(q, this, handles)
	}
}

// queue waits for a place, has git started, and says how it ended.
func (r *runner) queue(q request, this *run, handles []*os.File) {
	r.places <- struct{}{}
	timer := time.AfterFunc(longest, this.end)
	r.start(q, this, handles, func(re reply) {
		timer.Stop()
		<-r.places
		r.mu.Lock()
		delete(r.running, q.ID)
		r.mu.Unlock()
		send(r.conn, re) // a daemon that is gone hears nothing
	})
}

// start starts one git on a thread of its own, which is narrowed and lives as
// long as that git does. It closes the handles, and gives how git ended.
//
// Landlock has raised the walls on each thread by itself, and lets a thread
// signal what stands behind its own walls alone: so it is this thread that kills,
// while another waits.
func (r *runner) start(q request, this *run, handles []*os.File, then func(reply)) {
	runtime.LockOSThread() // and never unlocked: the thread, with its walls, ends with this
	re := reply{ID: q.ID}
	var pid int
	var err error
	select {
	case <-this.ended:
		err = errors.New("it was given up")
	default:
		pid, err = r.spawn(q, handles)
	}
	closeAll(handles)
	if err == nil {
		re.Code, err = await(this, pid)
	}
	if err != nil {
		re.Failed = err.Error()
	}
	then(re)
}

// await waits for git, and kills it once it is not wanted. Nobody else waits for
// it in the end, so its number is no other's until then.
func await(this *run, pid int) (code int, err error) {
	dead := make(chan struct{})
	go func() {
		defer close(dead)
		var info unix.Siginfo
		for unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}()
	select {
	case <-dead:
	case <-this.ended:
		unix.Kill(pid, unix.SIGKILL)
		<-dead
	}
	var status unix.WaitStatus
	for {
		if _, err = unix.Wait4(pid, &status, 0, nil); err != unix.EINTR {
			break
		}
	}
	switch {
	case err != nil:
		return -1, fmt.Errorf("waiting for git: %w", err)
	case status.Signaled():
		return -1, nil
	}
	return status.ExitStatus(), nil
}

// spawn starts git: its three streams come first among the handles, the places
// that it may open behind them.
func (r *runner) spawn(q request, handles []*os.File) (pid int, err error) {
	args, err := compose(q.Vector, q.values())
	if err != nil {
		return 0, err
	}
	env, err := variables(string(q.GitDir), string(q.WorkTree), q.values(), q.settings(), stringsOf(q.Filters))
	if err != nil {
		return 0, err
	}
	row := vectors()[q.Vector]
	streams := 2
	if q.Stdin {
		streams = 3
	}
	if row.stdin != q.Stdin || q.Read < 0 || q.Trees < 0 || len(handles) != streams+q.Read+q.Trees || q.Trees > 0 && !row.writes {
		return 0, errors.New("[unexpected] the handles are not those that the vector needs")
	}
	places := handles[streams:]
	err = confine.Narrow(confine.Narrowed{
		Read: append(places[:q.Read:q.Read], r.open.tables...), Trees: places[q.Read:], Run: r.open.run, Files: r.open.files, Null: r.open.null,
	})
	if err != nil {
		return 0, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	in := null.Fd()
	if q.Stdin {
		in = handles[2].Fd()
	}
	dir := string(q.WorkTree)
	if dir == "" {
		dir = "/"
	}
	attr := &syscall.ProcAttr{Dir: dir, Env: env, Files: []uintptr{in, handles[0].Fd(), handles[1].Fd()}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	pid, err = syscall.ForkExec(r.git, args, attr)
	if err != nil {
		return 0, fmt.Errorf("starting git: %w", err)
	}
	return pid, nil
}

func (r *runner) cancel(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if this := r.running[id]; this != nil {
		this.end()
	}
}

// killAll ends every git. What ends the runner ends them too, by the kernel's
// hand.
func (r *runner) killAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, this := range r.running {
		this.end()
	}
}
