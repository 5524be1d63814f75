package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/wire/client"
)

// Result is how a command ended.
type Result struct {
	Code   int
	Stdout string
	Stderr string
}

// Run runs `countersign` as a user, with input on its standard input.
func (l *Lab) Run(uid uint32, input string, args ...string) Result {
	const within = 60 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	c := l.Command(ctx, uid, args...)
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader([]byte(input)), &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Result{Code: -1, Stderr: err.Error()}
	}
	return Result{Code: c.ProcessState.ExitCode(), Stdout: out.String(), Stderr: errs.String()}
}

// Command prepares `countersign` as a user. ctx kills it.
func (l *Lab) Command(ctx context.Context, uid uint32, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, program("countersign"), args...)
	c.Dir, c.Env, c.SysProcAttr = "/", []string{"COUNTERSIGN_ROOT=" + l.Root}, credential(uid)
	return c
}

// Program gives the path of `countersign`, for a shell.
func (l *Lab) Program() string { return program("countersign") }

// As runs f on a thread that the kernel takes for another user's, without its
// own groups and capabilities. What f starts on other threads is not.
func As(uid uint32, f func() error) error {
	if uint32(os.Geteuid()) == uid {
		return f()
	}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		failed <- become(uid, f)
	}()
	return <-failed
}

func become(uid uint32, f func() error) error {
	id := uintptr(uid)
	if _, _, e := syscall.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
		return fmt.Errorf("setgroups: %w", e)
	}
	if _, _, e := syscall.RawSyscall(unix.SYS_SETRESGID, id, id, id); e != 0 {
		return fmt.Errorf("setresgid: %w", e)
	}
	if _, _, e := syscall.RawSyscall(unix.SYS_SETRESUID, id, id, id); e != 0 {
		return fmt.Errorf("setresuid: %w", e)
	}
	return f()
}

// Socket gives the path of a socket, such as "keeper/act" or "scribes/alice".
func (l *Lab) Socket(name string) string {
	return filepath.Join(l.Root, "run", name+".sock")
}

// Dial connects to a socket as a user. The connection is that user's for as
// long as it lasts, whoever calls.
func (l *Lab) Dial(uid uint32, socket string) (c *client.Client, err error) {
	err = As(uid, func() error {
		c, err = client.Dial(context.Background(), client.Config{Path: l.Socket(socket), Timeout: time.Minute})
		return err
	})
	return c, err
}

// Call asks a socket something as a user, over a connection of its own.
func (l *Lab) Call(uid uint32, socket, method string, params, result any) error {
	c, err := l.Dial(uid, socket)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Call(context.Background(), method, params, result)
}

// Leftovers lists what a scribe staged and left, beneath a directory.
func Leftovers(dir string) (names []string) {
	filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if ok, _ := filepath.Match(".countersign-*", filepath.Base(path)); ok {
			names = append(names, path)
		}
		return nil
	})
	return names
}
