package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/coreos/go-systemd/v22/activation"
)

// Handles are the numbers of the handles that `countersign up` passes: the
// listening sockets by their names, and the pipe that hears of readiness. All
// of them are negative under a service manager, which passes its own way.
type Handles struct {
	Sockets map[string]int
	Ready   int
}

// Passed is what a daemon was started with: listening sockets, and somebody to
// tell that it serves.
type Passed struct {
	Sockets map[string]*net.UnixListener
	// Managed says that a service manager started the daemon, and that it
	// stays where it may not serve.
	Managed bool
	Log     *slog.Logger

	tell *teller
}

// Take takes what was passed, and opens the one connection to the service
// manager. It is called before the walls stand, once: the process's
// environment no longer names any of it afterwards.
func Take(h Handles, log *slog.Logger) (*Passed, error) {
	p := &Passed{Sockets: make(map[string]*net.UnixListener), Log: log}
	given := 0
	for _, fd := range h.Sockets {
		if fd >= 0 {
			given++
		}
	}
	var err error
	switch {
	case given == 0 && h.Ready < 0:
		p.Managed = true
		err = p.takeActivated(h)
	case given == len(h.Sockets) && h.Ready >= 0:
		err = p.takeNumbered(h)
	default:
		err = errors.New("either every handle is given by its number or none is")
	}
	return p, err
}

// takeNumbered takes what `up` passed.
func (p *Passed) takeNumbered(h Handles) (err error) {
	for name, fd := range h.Sockets {
		if p.Sockets[name], err = Listener(fd); err != nil {
			return err
		}
	}
	p.tell, err = tellPipe(h.Ready)
	return err
}

// takeActivated takes what a service manager passed: the sockets by the names
// that its units gave them, or the only one whatever its name.
func (p *Passed) takeActivated(h Handles) (err error) {
	files := activation.Files(true)
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for name := range h.Sockets {
		for _, f := range files {
			if f.Name() != name && (len(h.Sockets) > 1 || len(files) > 1) {
				continue
			}
			if p.Sockets[name] != nil {
				return fmt.Errorf("two sockets were passed under the name %q", name)
			}
			if p.Sockets[name], err = listenerOf(f); err != nil {
				return err
			}
		}
		if p.Sockets[name] == nil {
			return fmt.Errorf("no socket was passed under the name %q: the service is started by its socket unit, or by `countersign up`", name)
		}
	}
	p.tell, err = tellManager()
	return err
}

// Listener takes the listening socket that was passed as a handle.
func Listener(fd int) (*net.UnixListener, error) {
	f := os.NewFile(uintptr(fd), "listener")
	if f == nil {
		return nil, fmt.Errorf("handle %d is not open", fd)
	}
	defer f.Close()
	l, err := listenerOf(f)
	if err != nil {
		return nil, fmt.Errorf("handle %d: %w", fd, err)
	}
	return l, nil
}

// listenerOf makes a listener of a passed handle, which stays the caller's. The
// socket's file is its maker's, and outlives the listener.
func listenerOf(f *os.File) (*net.UnixListener, error) {
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("taking a passed socket: %w", err)
	}
	ul, ok := l.(*net.UnixListener)
	if !ok {
		l.Close()
		return nil, errors.New("what was passed is no Unix socket")
	}
	ul.SetUnlinkOnClose(false)
	return ul, nil
}
