package client

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/refusal"
	"countersign/internal/testas"
	"countersign/internal/trust"
)

// P2: a socket is trusted only where every directory above it belongs to root
// or to the caller, and nobody else may exchange what is in it.
func TestDirectoriesAreTrusted(t *testing.T) {
	euid := uint32(os.Geteuid())
	for name, c := range map[string]struct {
		above, dir os.FileMode
		user       uint32 // who asks
		ok         bool
	}{
		"own":                       {0o755, 0o755, euid, true},
		"own alone":                 {0o755, 0o700, euid, true},
		"writable by others":        {0o755, 0o757, euid, false},
		"writable by the group":     {0o755, 0o775, euid, false},
		"sticky is no excuse":       {0o755, os.ModeSticky | 0o777, euid, false},
		"above, writable by others": {0o757, 0o755, euid, false},
		"above, writable by group":  {0o775, 0o755, euid, false},
		"above, sticky":             {os.ModeSticky | 0o777, 0o755, euid, true},
	} {
		t.Run(name, func(t *testing.T) {
			above := filepath.Join(t.TempDir(), "above")
			dir := filepath.Join(above, "dir")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Chmod(dir, c.dir), os.Chmod(above, c.above)); err != nil {
				t.Fatal(err)
			}
			socket := filepath.Join(dir, "s")
			listen(t, socket)
			client, err := Dial(t.Context(), Config{Path: socket})
			if (err == nil) != c.ok || err != nil && !refusal.Is(err, refusal.NotPermitted) {
				t.Errorf("%v", err)
			}
			if err == nil {
				client.Close()
			}
		})
	}
}

// P2: a directory of another user's is refused, at the socket and above it,
// and through a link too.
func TestForeignDirectories(t *testing.T) {
	testas.Root(t)
	tmp := t.TempDir()
	foreign, own := filepath.Join(tmp, "foreign"), filepath.Join(tmp, "foreign", "own")
	link := filepath.Join(tmp, "link")
	if err := errors.Join(os.MkdirAll(own, 0o755), os.Chown(foreign, 61234, 61234), os.Symlink(own, link)); err != nil {
		t.Fatal(err)
	}
	listen(t, filepath.Join(foreign, "s"))
	listen(t, filepath.Join(own, "s"))
	for _, dir := range []string{foreign, own, link} {
		if _, err := Dial(t.Context(), Config{Path: filepath.Join(dir, "s")}); !refusal.Is(err, refusal.NotPermitted) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	trusted := filepath.Join(tmp, "trusted")
	if err := os.Symlink(tmp, trusted); err != nil {
		t.Fatal(err)
	}
	listen(t, filepath.Join(tmp, "s"))
	if c, err := Dial(t.Context(), Config{Path: filepath.Join(trusted, "s")}); err != nil {
		t.Errorf("a link to a directory of one's own: %v", err)
	} else {
		c.Close()
	}
	if err := trust.Way(foreign, 61234); err != nil {
		t.Errorf("asked by its owner: %v", err)
	}
}

// P2: what stops a connection is told apart: nobody there, and not for you.
func TestDialErrors(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead")
	l := listen(t, dead)
	l.SetUnlinkOnClose(false)
	l.Close()
	for path, code := range map[string]refusal.Code{
		filepath.Join(dir, "absent"):      refusal.Unavailable,
		filepath.Join(dir, "absent", "s"): refusal.Unavailable,
		dead:                              refusal.Unavailable,
		"relative/s":                      refusal.NotPermitted,
	} {
		if _, err := Dial(t.Context(), Config{Path: path}); !refusal.Is(err, code) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// P2: a socket that the kernel does not let this user open is not-permitted.
func TestDialNotPermitted(t *testing.T) {
	testas.Root(t)
	dir, err := os.MkdirTemp("", "wire")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	listen(t, socket)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(socket, 0o600)); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its new uid
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 61234, 61234, 61234); errno != 0 {
			got <- errno
			return
		}
		_, err := Dial(t.Context(), Config{Path: socket})
		got <- err
	}()
	if err := <-got; !refusal.Is(err, refusal.NotPermitted) {
		t.Errorf("%v", err)
	}
}
