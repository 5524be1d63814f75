package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Lab is a directory with homes and the root of an `up`.
type Lab struct {
	Dir  string // everything lies beneath it
	Root string // of `up`
	UID  uint32 // who runs `up`: 0, unless it is tried without root

	// Ready is what `up` said once it served.
	Ready struct {
		Root        string
		Policy      string
		Unseparated bool
		Processes   map[string]int
		Open        []string
	}

	up   *exec.Cmd
	done chan struct{} // closed once up was waited for
}

// Config says what a lab is like.
type Config struct {
	Base string // where it is made; empty: the system's directory for such
	UID  uint32 // who runs `up`
}

// New makes the homes of alice and bob, 0700 and their own, and starts nothing.
func New(c Config) (*Lab, error) {
	dir, err := openTemp(c.Base)
	if err != nil {
		return nil, err
	}
	l := &Lab{Dir: dir, Root: filepath.Join(dir, "root"), UID: c.UID}
	if c.UID != 0 {
		return l, errors.Join(l.home("alice", c.UID), os.Chown(dir, int(c.UID), int(c.UID)))
	}
	return l, errors.Join(l.home("alice", Alice), l.home("bob", Bob))
}

func (l *Lab) home(name string, uid uint32) error {
	if err := os.Mkdir(l.Home(name), 0o700); err != nil {
		return err
	}
	return os.Chown(l.Home(name), int(uid), int(uid))
}

// Home gives a person's home.
func (l *Lab) Home(name string) string { return filepath.Join(l.Dir, name) }

// Put writes a file with its owner and mode, as if it had always been there.
func (l *Lab) Put(uid uint32, path, content string, mode os.FileMode) error {
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return err
	}
	return errors.Join(os.Chown(path, int(uid), int(uid)), os.Chmod(path, mode))
}

// MkdirAll makes directories beneath a home, all its person's own.
func (l *Lab) MkdirAll(uid uint32, path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := l.MkdirAll(uid, filepath.Dir(path)); err != nil {
		return err
	}
	return errors.Join(os.Mkdir(path, 0o755), os.Chown(path, int(uid), int(uid)))
}

// Flags gives the flags that describe the lab to `up`.
func (l *Lab) Flags() []string {
	if l.UID != 0 {
		return []string{"--person", l.person("alice", l.UID), "--agent", fmt.Sprintf("claude=%d", l.UID)}
	}
	return []string{
		"--person", l.person("alice", Alice), "--person", l.person("bob", Bob),
		"--agent", fmt.Sprintf("claude=%d", Claude), "--agent", fmt.Sprintf("other=%d", Other),
		"--keeper-uid", strconv.Itoa(Keeper),
	}
}

func (l *Lab) person(name string, uid uint32) string {
	return fmt.Sprintf("%s=%d:%s", name, uid, l.Home(name))
}

// Policy gives the text of the policy that Flags describe, with further lines
// behind it.
func (l *Lab) Policy(more string) string {
	var b strings.Builder
	b.WriteString("version = 1\nhomes = \"/\"\n")
	for name, uid := range map[string]uint32{"alice": Alice, "bob": Bob} {
		fmt.Fprintf(&b, "[persons.%s]\nuid = %d\nhome = %q\n", name, uid, l.Home(name))
		fmt.Fprintf(&b, "[[persons.%s.read]]\nroot = \"~\"\n[[persons.%s.write]]\nroot = \"~\"\n", name, name)
	}
	fmt.Fprintf(&b, "[agents.claude]\nuid = %d\npersons = [\"alice\", \"bob\"]\n", Claude)
	fmt.Fprintf(&b, "[agents.other]\nuid = %d\npersons = [\"alice\"]\n", Other)
	return b.String() + more
}

// UpWithPolicy starts everything with a policy of its own text.
func (l *Lab) UpWithPolicy(text string) error {
	file := filepath.Join(l.Dir, "policy.toml")
	if err := l.Put(l.UID, file, text, 0o644); err != nil {
		return err
	}
	return l.Up("--policy", file, "--keeper-uid", strconv.Itoa(Keeper))
}

// Up starts everything, with Flags where no others are given, and returns once
// all of it serves. The error of one that ends before that has its words.
func (l *Lab) Up(flags ...string) error {
	if len(flags) == 0 {
		flags = l.Flags()
	}
	log, err := os.OpenFile(l.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	before, _ := log.Seek(0, 2)
	c := exec.Command(program("countersign"), append([]string{"--root", l.Root, "up", "--json"}, flags...)...)
	c.Dir, c.Stderr, c.SysProcAttr = "/", log, credential(l.UID)
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &l.Ready)
	}
	l.up, l.done = c, make(chan struct{})
	go func() {
		c.Wait()
		close(l.done)
	}()
	if err != nil {
		<-l.done
		l.up = nil
		all, _ := os.ReadFile(l.logFile())
		return fmt.Errorf("up ended before it was ready: %s", all[min(int(before), len(all)):])
	}
	return nil
}

func (l *Lab) logFile() string { return filepath.Join(l.Dir, "up.log") }

// Log gives what the processes said on standard error, from the first start.
func (l *Lab) Log() string {
	b, _ := os.ReadFile(l.logFile())
	return string(b)
}

// PIDOfUp gives the process of `up` itself.
func (l *Lab) PIDOfUp() int { return l.up.Process.Pid }

// Stop asks everything to end, and waits. It is an error if that takes longer
// than it may, or if up did not end well.
func (l *Lab) Stop() error {
	if l.up == nil {
		return nil
	}
	l.up.Process.Signal(syscall.SIGTERM)
	return l.ended(true)
}

// Kill kills `up` alone, and waits for it.
func (l *Lab) Kill() error {
	l.up.Process.Kill()
	return l.ended(false)
}

func (l *Lab) ended(well bool) error {
	const within = 25 * time.Second
	defer func() { l.up = nil }()
	select {
	case <-l.done:
	case <-time.After(within):
		l.up.Process.Kill()
		return fmt.Errorf("up did not end within %v", within)
	}
	if state := l.up.ProcessState; well && state.ExitCode() != 0 {
		return fmt.Errorf("up ended with %s", state)
	}
	return nil
}

// Close ends what runs and removes the lab.
func (l *Lab) Close() error {
	return errors.Join(l.Stop(), os.RemoveAll(l.Dir))
}

// PID finds a running process of the lab by its name, such as "scribe@alice";
// 0 where there is none just now.
func (l *Lab) PID(name string) int {
	for _, pid := range l.children() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if arg0, _, _ := bytes.Cut(line, []byte{0}); string(arg0) == name {
			return pid
		}
	}
	return 0
}

// children lists the processes that `up` started and that still run.
func (l *Lab) children() []int {
	if l.up == nil {
		return nil
	}
	var pids []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", l.up.Process.Pid))
	for _, task := range tasks {
		b, _ := os.ReadFile(task)
		for _, word := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
