package client

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/refusal"
)

// Config says which server is called, and how patiently.
type Config struct {
	// Path is the socket's absolute path.
	Path string
	// Timeout bounds connecting, and each call; 0 leaves that to ctx.
	Timeout time.Duration
	// FrameTimeout is how long the server may take to receive a request, and
	// to send a reply once that has begun. Default 30 s.
	FrameTimeout time.Duration
}

const defaultFrameTimeout = 30 * time.Second

// Dial connects to the server at cfg.Path. It refuses as not-permitted a
// socket that this user may not open, or whose directories another user could
// exchange, and as unavailable one where nobody answers.
func Dial(ctx context.Context, cfg Config) (*Client, error) {
	if cfg.FrameTimeout == 0 {
		cfg.FrameTimeout = defaultFrameTimeout
	}
	ctx, cancel := cfg.bound(ctx)
	defer cancel()
	if !filepath.IsAbs(cfg.Path) {
		return nil, untrusted(cfg.Path, "the path is not absolute")
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(cfg.Path))
	if err != nil {
		return nil, dialError(cfg.Path, err)
	}
	if err := trustDirs(cfg.Path, dir, uint32(os.Geteuid())); err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", filepath.Join(dir, filepath.Base(cfg.Path)))
	if err != nil {
		return nil, dialError(cfg.Path, err)
	}
	return &Client{cfg: cfg, uc: conn.(*net.UnixConn)}, nil
}

// bound adds the Timeout to a call's context.
func (cfg Config) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if cfg.Timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, cfg.Timeout)
}

// trustDirs walks from the socket's directory, which is free of links, up to
// the root. Only above the directory itself is a sticky one that others may
// write to good enough: its entries are renamed by their owners alone.
func trustDirs(socket, dir string, euid uint32) error {
	for at := dir; ; at = filepath.Dir(at) {
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			return dialError(socket, &os.PathError{Op: "lstat", Path: at, Err: err})
		}
		switch sticky := st.Mode&unix.S_ISVTX != 0 && at != dir; {
		case st.Mode&unix.S_IFMT != unix.S_IFDIR:
			return untrusted(socket, "%q is no directory", at)
		case st.Uid != 0 && st.Uid != euid:
			return untrusted(socket, "its directory %q belongs to uid %d, neither root nor this user", at, st.Uid)
		case st.Mode&0o022 != 0 && !sticky:
			return untrusted(socket, "others may write to its directory %q (mode %04o)", at, st.Mode&0o7777)
		}
		if at == "/" {
			return nil
		}
	}
}

func untrusted(socket, why string, args ...any) error {
	r := refusal.New(refusal.NotPermitted, "socket "+quoted(socket), why, args...)
	r.Fix = "use a socket whose directories belong to root, or to this user, alone"
	return r
}

// dialError makes a refusal of what stopped a connection from being made.
func dialError(socket string, err error) error {
	what := "socket " + quoted(socket)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, syscall.EACCES):
		return refusal.New(refusal.NotPermitted, what, "the kernel refused this user the socket")
	case errors.Is(err, syscall.EAGAIN):
		return refusal.New(refusal.Busy, what, "too many wait to connect")
	}
	return refusal.New(refusal.Unavailable, what, "%v", err)
}
