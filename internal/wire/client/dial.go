package client

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"countersign/internal/refusal"
	"countersign/internal/trust"
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
	var bad *trust.Untrusted
	if err := trust.Way(dir, uint32(os.Geteuid())); errors.As(err, &bad) {
		return nil, untrusted(cfg.Path, "%v", bad)
	} else if err != nil {
		return nil, dialError(cfg.Path, err)
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
