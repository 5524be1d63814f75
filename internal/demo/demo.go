// Package demo shows the whole road in a temporary directory: it runs the real
// processes, as real users where it may, and plays agent and owner with the
// same commands that they would type.
package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"countersign/internal/prompt"
	"countersign/internal/protocol"
	"countersign/internal/up"
)

// Config says how to show it.
type Config struct {
	Self    string // this program
	Yes     bool   // approve in the owner's place
	Keep    bool   // leave the directory behind
	In, Out *os.File
	Colour  bool
}

// Exit codes of countersign that the story needs.
const (
	ok      = 0
	refused = 3
	waiting = 4
)

// player is one of the users in the play.
type player struct {
	name string
	uid  uint32
}

// tour is one showing.
type tour struct {
	Config
	dir, home     string
	alice, claude player
	keeper        uint32
	separated     bool
}

// Run shows it all, and cleans up.
func Run(ctx context.Context, c Config) (err error) {
	if !c.Yes && !prompt.Terminal(c.In, c.Out) {
		return errors.New("the demo asks its owner at a terminal, and there is none: give --yes")
	}
	t := &tour{Config: c, separated: os.Geteuid() == 0}
	if t.dir, err = os.MkdirTemp("", "countersign-demo-"); err != nil {
		return err
	}
	if !c.Keep {
		defer func() { err = errors.Join(err, os.RemoveAll(t.dir)) }()
	}
	if err := t.cast(); err != nil {
		return err
	}
	if err := t.furnish(ctx); err != nil {
		return err
	}
	stop, err := t.raise(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return t.play(ctx)
}

// cast gives the players their users: three that nobody on this machine has,
// or the caller for all of them.
func (t *tour) cast() error {
	uid := uint32(os.Geteuid())
	t.alice, t.claude, t.keeper = player{"alice", uid}, player{"claude", uid}, uid
	if !t.separated {
		return nil
	}
	free := up.FreeUIDs(3)
	if free == nil {
		return errors.New("there are no three free uids between 60100 and 60900")
	}
	t.alice.uid, t.claude.uid, t.keeper = free[0], free[1], free[2]
	return os.Chmod(t.dir, 0o755)
}

// furnish lays out a home with a small repository.
func (t *tour) furnish(ctx context.Context) error {
	t.say("A home with a small repository")
	t.home = filepath.Join(t.dir, "alice")
	project := filepath.Join(t.home, "project")
	if err := os.MkdirAll(project, 0o700); err != nil {
		return err
	}
	for name, f := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"README.md": {"# Greeter\n\nSays hello to the whole world.\n", 0o644},
		"greet.sh":  {"#!/bin/sh\necho hello\n", 0o755},
	} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(f.text), f.mode); err != nil {
			return err
		}
	}
	if t.separated {
		if err := chownAll(t.home, t.alice.uid); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "--all"},
		{"-c", "user.name=Alice", "-c", "user.email=alice@example.org", "commit", "--quiet", "--message", "A greeter"},
	} {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", project}, args...)...)
		cmd.Env = []string{"HOME=" + t.home, "PATH=" + os.Getenv("PATH")}
		cmd.SysProcAttr = t.as(t.alice)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	t.note("%s, alice's alone, is uid %d", project, t.alice.uid)
	return nil
}

func chownAll(dir string, uid uint32) error {
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(uid), int(uid))
	})
}

func (t *tour) as(p player) *syscall.SysProcAttr {
	if !t.separated {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: p.uid, Gid: p.uid}}
}

func (t *tour) root() string { return filepath.Join(t.dir, "countersign") }

// raise starts all processes and says which they are.
func (t *tour) raise(ctx context.Context) (stop func() error, err error) {
	t.say("Keeper, reader and scribe")
	log, err := os.Create(filepath.Join(t.dir, "daemons.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := []string{"up", "--json", "--root", t.root(),
		"--person", fmt.Sprintf("alice=%d:%s", t.alice.uid, t.home), "--agent", fmt.Sprintf("claude=%d", t.claude.uid)}
	if t.separated {
		args = append(args, "--keeper-uid", strconv.FormatUint(uint64(t.keeper), 10))
	}
	cmd := exec.Command(t.Self, args...)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() error {
		cmd.Process.Signal(syscall.SIGTERM)
		return cmd.Wait()
	}
	var running up.Running
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &running)
	}
	if err != nil {
		said, _ := os.ReadFile(log.Name())
		return nil, errors.Join(fmt.Errorf("it does not come up: %w: %s", err, said), stop())
	}
	for name, pid := range running.Processes {
		t.note("%-14s pid %-7d uid %s", name, pid, uidOf(pid))
	}
	if !t.separated {
		t.note("started without root: one user for everybody, so NOTHING SEPARATES the agent from alice")
	}
	return stop, nil
}

// uidOf asks the kernel whose process this is.
func uidOf(pid int) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "?"
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "Uid:" {
			return fields[2]
		}
	}
	return "?"
}

// command runs countersign as a player would, shows what it prints, and holds
// it to the exit code that the story needs.
func (t *tour) command(ctx context.Context, p player, want int, stdin string, args ...string) error {
	t.note("$ countersign %s   (as %s, uid %d)", strings.Join(args, " "), p.name, p.uid)
	return t.run(ctx, p, want, stdin, t.Out, args...)
}

func (t *tour) run(ctx context.Context, p player, want int, stdin string, out io.Writer, args ...string) error {
	// The program is executed by this process's own handle of it: the
	// directory it lies in may be closed to the player.
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Dir, cmd.Env = "/", []string{"COUNTERSIGN_ROOT=" + t.root()}
	if !t.Colour {
		cmd.Env = append(cmd.Env, "NO_COLOR=1")
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), out, t.Out
	cmd.SysProcAttr = t.as(p)
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return err
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		return fmt.Errorf("countersign %s ended with exit code %d, not %d", args[0], got, want)
	}
	return nil
}

// latest asks, as alice, for the newest transaction.
func (t *tour) latest(ctx context.Context) (protocol.Transaction, error) {
	var out bytes.Buffer
	if err := t.run(ctx, t.alice, ok, "", &out, "log", "--json", "--limit", "1"); err != nil {
		return protocol.Transaction{}, err
	}
	var list protocol.ListResult
	if err := json.Unmarshal(out.Bytes(), &list); err != nil || len(list.Transactions) != 1 {
		return protocol.Transaction{}, fmt.Errorf("reading the log: %v: %s", err, out.Bytes())
	}
	return list.Transactions[0], nil
}

func (t *tour) say(title string) { fmt.Fprintf(t.Out, "\n== %s\n", title) }

func (t *tour) note(format string, args ...any) { fmt.Fprintf(t.Out, "   "+format+"\n", args...) }
