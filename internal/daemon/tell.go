package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// How long a service manager may leave a word waiting: it must not miss that
// the daemon is ready, and no other word holds the daemon up.
const (
	readyWithin = time.Minute
	sayWithin   = time.Second
)

// teller tells whoever started the daemon how it fares: one line on a pipe, or
// the service manager's datagrams, over one connection that was opened before
// the walls. Without either it tells nobody.
type teller struct {
	pipe  *os.File
	conn  *net.UnixConn
	every time.Duration // between two signs of life; 0 where none is awaited
}

func tellPipe(fd int) (*teller, error) {
	f := os.NewFile(uintptr(fd), "ready")
	if f == nil {
		return nil, fmt.Errorf("handle %d is not open", fd)
	}
	return &teller{pipe: f}, nil
}

// tellManager connects to the service manager, as its variables say, and
// forgets them.
func tellManager() (*teller, error) {
	const socket, usec, pid = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"
	defer func() {
		for _, v := range []string{socket, usec, pid} {
			os.Unsetenv(v)
		}
	}()
	t := &teller{}
	path := os.Getenv(socket)
	if path == "" {
		return t, nil
	}
	var err error
	t.conn, err = net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: path})
	if err != nil {
		return nil, fmt.Errorf("connecting to the service manager: %w", err)
	}
	if p := os.Getenv(pid); p != "" && p != strconv.Itoa(os.Getpid()) {
		return t, nil
	}
	if n, err := strconv.ParseInt(os.Getenv(usec), 10, 64); err == nil && n > 0 {
		t.every = time.Duration(n) * time.Microsecond / 2
	}
	return t, nil
}

// handle gives the number of the connection to the service manager, -1 where
// there is none.
func (t *teller) handle() int {
	fd := -1
	if t.conn == nil {
		return fd
	}
	if rc, err := t.conn.SyscallConn(); err == nil {
		rc.Control(func(n uintptr) { fd = int(n) })
	}
	return fd
}

// ready says that callers are answered from now on, and status in a few words
// how.
func (t *teller) ready(status string) error {
	if t.pipe != nil {
		_, err := t.pipe.WriteString("ready\n")
		if err = errors.Join(err, t.pipe.Close()); err != nil {
			return fmt.Errorf("saying ready: %w", err)
		}
		return nil
	}
	return t.say(readyWithin, "READY=1", "STATUS="+oneLine(status))
}

func (t *teller) stopping() error { return t.say(sayWithin, "STOPPING=1") }

func (t *teller) say(within time.Duration, lines ...string) error {
	if t.conn == nil {
		return nil
	}
	t.conn.SetWriteDeadline(time.Now().Add(within))
	if _, err := t.conn.Write([]byte(strings.Join(lines, "\n"))); err != nil {
		return fmt.Errorf("telling the service manager: %w", err)
	}
	return nil
}

// live gives signs of life until ctx ends, where they are awaited.
func (t *teller) live(ctx context.Context) {
	if t.every == 0 {
		return
	}
	tick := time.NewTicker(t.every)
	defer tick.Stop()
	for {
		t.say(sayWithin, "WATCHDOG=1") // one that is lost is the manager's to judge
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// oneLine keeps a status from being read as further assignments.
func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }
