package confine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"countersign/internal/testas"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// places makes what the processes below are walled from, all of it the
// person's and open to every mode bit: a home with two places in it, another
// home, and a directory of state.
func places(t *testing.T) string {
	dir := testas.Dir(t)
	for _, d := range []string{"home", "home/work", "home/other", "home/work/sub", "home/empty", "second", "state", "state/sub"} {
		must(t, os.Mkdir(dir+"/"+d, 0o755))
		must(t, os.WriteFile(dir+"/"+d+"/f", []byte("text"), 0o644), os.WriteFile(dir+"/"+d+"/g", []byte("text"), 0o644))
		for _, name := range []string{"", "/f", "/g"} {
			must(t, os.Chown(dir+"/"+d+name, testas.Person, testas.Person))
		}
	}
	return dir
}

// walled runs a test in a process of the person's, behind the walls of Landlock
// alone: they hold without the list of calls.
func walled(t *testing.T, walls func(dir string) Walls, before, behind func(dir string)) {
	t.Helper()
	dir, ok := testas.Prepared(t, testas.Person, func() string { return places(t) })
	if !ok {
		return
	}
	before(dir)
	_, err := walls(dir).files()
	must(t, err, unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	behind(dir)
}

// attempts is what a process may try on a directory and the files f and g in
// it, each leaving things so that the next can be tried.
func attempts(d string) map[string]func() error {
	open := func(flags int) func() error {
		return func() error {
			fd, err := unix.Open(d+"/f", flags, 0o644)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}
	}
	both := func(do, undo error) error { return errors.Join(do, undo) }
	return map[string]func() error{
		"read":            open(unix.O_RDONLY),
		"list":            func() error { _, err := os.ReadDir(d); return err },
		"write":           open(unix.O_WRONLY),
		"read and write":  open(unix.O_RDWR),
		"append":          open(unix.O_WRONLY | unix.O_APPEND),
		"truncating open": open(unix.O_RDONLY | unix.O_TRUNC),
		"unnamed":         func() error { return openAt(d, unix.O_TMPFILE|unix.O_RDWR) },
		"truncate":        func() error { return unix.Truncate(d+"/f", 4) },
		"create and unlink": func() error {
			return both(openAt(d+"/new", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY), ifThere(d+"/new", unix.Unlink))
		},
		"rename": func() error {
			return both(unix.Rename(d+"/f", d+"/h"), ifThere(d+"/h", func(p string) error { return unix.Rename(p, d+"/f") }))
		},
		"exchange": func() error {
			return unix.Renameat2(unix.AT_FDCWD, d+"/f", unix.AT_FDCWD, d+"/g", unix.RENAME_EXCHANGE)
		},
		"link":    func() error { return both(unix.Link(d+"/f", d+"/l"), ifThere(d+"/l", unix.Unlink)) },
		"mkdir":   func() error { return both(unix.Mkdir(d+"/d", 0o755), ifThere(d+"/d", unix.Rmdir)) },
		"symlink": func() error { return both(unix.Symlink("f", d+"/s"), ifThere(d+"/s", unix.Unlink)) },
		"pipe":    func() error { return both(unix.Mkfifo(d+"/p", 0o644), ifThere(d+"/p", unix.Unlink)) },
		"socket":  func() error { return both(unix.Mknod(d+"/k", unix.S_IFSOCK|0o644, 0), ifThere(d+"/k", unix.Unlink)) },
	}
}

func openAt(path string, flags int) error {
	fd, err := unix.Open(path, flags, 0o644)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func ifThere(path string, do func(string) error) error {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return nil
	}
	return do(path)
}

// held tries everything on a directory: what is not named as open must be
// refused with EACCES.
func held(t *testing.T, dir string, open ...string) {
	t.Helper()
	for name, try := range attempts(dir) {
		err := try()
		if slices.Contains(open, name) {
			if err != nil {
				t.Errorf("%s in %s: %v", name, dir, err)
			}
		} else if !errors.Is(err, unix.EACCES) {
			t.Errorf("%s in %s: %v, wanted EACCES", name, dir, err)
		}
	}
}

// everything is possible before the walls: what is refused behind them is
// refused by them.
func everything(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		for name, try := range attempts(dir) {
			if err := try(); err != nil {
				t.Errorf("without walls, %s in %s: %v", name, dir, err)
			}
		}
	}
}

// P4: the reader, as the person, reads the home and can change nothing in it,
// nor read anything beside it, whatever mode bits would let it; from no thread
// of its own, older than the walls or not.
func TestReaderWalls(t *testing.T) {
	var pipe struct{ ask, answer chan error }
	pipe.ask, pipe.answer = make(chan error), make(chan error)
	walled(t, func(dir string) Walls { return Walls{Read: []string{dir + "/home"}} }, func(dir string) {
		everything(t, dir+"/home", dir+"/home/work", dir+"/second")
		for range 4 {
			go func() {
				runtime.LockOSThread()
				<-pipe.ask
				pipe.answer <- unix.Truncate(dir+"/home/f", 4)
			}()
		}
	}, func(dir string) {
		held(t, dir+"/home", "read", "list")
		held(t, dir+"/home/work", "read", "list")
		held(t, dir+"/second")
		for range 4 {
			pipe.ask <- nil
			if err := <-pipe.answer; !errors.Is(err, unix.EACCES) {
				t.Errorf("from a thread older than the walls: %v", err)
			}
		}
		for _, p := range []string{"/etc/passwd", "/proc/self/maps", "/dev/null"} {
			if err := openAt(p, unix.O_RDONLY); !errors.Is(err, unix.EACCES) {
				t.Errorf("%s: %v", p, err)
			}
		}
		if err := unix.Rename(dir+"/home/work/f", dir+"/home/other/f"); !errors.Is(err, unix.EACCES) {
			t.Errorf("rename across: %v", err)
		}
		if err := exec.Command("/bin/true").Run(); !errors.Is(err, unix.EACCES) {
			t.Errorf("running a program: %v", err)
		}
	})
}

// P4: the scribe creates, exchanges and removes regular files in the places
// that may be written, makes directories and links there and nothing else, and reaches nothing outside
// them, in the same home either; a file cannot be carried from one to another.
func TestScribeWalls(t *testing.T) {
	walled(t, func(dir string) Walls { return Walls{Change: []string{dir + "/home/work", dir + "/home/other"}} }, func(dir string) {
		everything(t, dir+"/home", dir+"/home/work", dir+"/home/other", dir+"/second")
	}, func(dir string) {
		files := []string{"read", "list", "write", "read and write", "append", "truncating open", "truncate", "unnamed", "create and unlink", "rename", "exchange", "link",
			"mkdir", "symlink"}
		held(t, dir+"/home/work", files...)
		held(t, dir+"/home/work/sub", files...)
		held(t, dir+"/home")
		held(t, dir+"/home/empty")
		held(t, dir+"/second")
		if err := unix.Rename(dir+"/home/work/f", dir+"/home/other/f"); !errors.Is(err, unix.EXDEV) {
			t.Errorf("rename across: %v", err)
		}
		if err := unix.Link(dir+"/home/work/f", dir+"/home/other/l"); !errors.Is(err, unix.EXDEV) {
			t.Errorf("link across: %v", err)
		}
		if err := unix.Rename(dir+"/home/work/f", dir+"/home/x"); !errors.Is(err, unix.EACCES) {
			t.Errorf("rename out: %v", err)
		}
	})
}

// P4: the keeper has its state and opens nothing of a home by its path, though
// mode bits would let it; a handle that it was passed is another matter.
func TestKeeperWalls(t *testing.T) {
	var handle *os.File
	walled(t, func(dir string) Walls { return Walls{State: []string{dir + "/state"}} }, func(dir string) {
		everything(t, dir+"/home", dir+"/state")
		must(t, os.WriteFile(dir+"/home/f", []byte("text"), 0o644))
		var err error
		handle, err = os.Open(dir + "/home/f")
		must(t, err)
	}, func(dir string) {
		own := []string{"read", "list", "write", "read and write", "append", "truncating open", "truncate", "unnamed",
			"create and unlink", "rename", "exchange", "link", "mkdir"}
		held(t, dir+"/state", own...)
		held(t, dir+"/state/sub", own...)
		held(t, dir+"/home")
		held(t, dir+"/home/work")
		if err := unix.Rename(dir+"/state/f", dir+"/state/sub/h"); !errors.Is(err, unix.EXDEV) {
			t.Errorf("rename between directories of state: %v", err)
		}
		if _, err := handle.ReadAt(make([]byte, 4), 0); err != nil {
			t.Errorf("a passed handle: %v", err)
		}
	})
}

// P4: behind the walls there is no TCP, no signal to a process outside and no
// abstract socket, where the kernel has these rights; P12: nobody of the same
// uid reads or traces the process.
func TestOtherWalls(t *testing.T) {
	abi, err := ll.LandlockGetABIVersion()
	must(t, err)
	var tcp net.Listener
	var abstract *net.UnixListener
	var outside *spy
	walled(t, func(dir string) Walls { return Walls{Read: []string{dir + "/home"}} }, func(dir string) {
		if got := newSpy(t).looks(); got != "memory environment" {
			t.Errorf("without walls a process of the same uid sees %q", got)
		}
		outside = newSpy(t)
		must(t, outside.Process.Signal(unix.Signal(0)))
		var err, err2 error
		tcp, err = net.Listen("tcp", "127.0.0.1:0")
		abstract, err2 = net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("@walls-%d", os.Getpid()), Net: "unix"})
		must(t, err, err2)
	}, func(dir string) {
		if _, err := net.Dial("tcp", tcp.Addr().String()); abi >= 4 && !errors.Is(err, unix.EACCES) {
			t.Errorf("TCP: %v", err)
		}
		if err := outside.Process.Signal(unix.Signal(0)); abi >= 6 && !errors.Is(err, unix.EPERM) {
			t.Errorf("signal: %v", err)
		}
		// The socket is this process's, and older than the walls.
		if _, err := net.DialUnix("unix", nil, abstract.Addr().(*net.UnixAddr)); abi >= 6 && !errors.Is(err, unix.EPERM) {
			t.Errorf("abstract socket: %v", err)
		}
		if got := outside.looks(); got != "" {
			t.Errorf("behind the walls a process of the same uid sees %q", got)
		}
	})
}

// spy is a process of the same uid that tries to read this one, once it is told
// to.
type spy struct {
	*exec.Cmd
	t    *testing.T
	tell io.WriteCloser
	said strings.Builder
}

func newSpy(t *testing.T) *spy {
	t.Helper()
	proc := fmt.Sprintf("/proc/%d", os.Getpid())
	s := &spy{t: t, Cmd: exec.Command("sh", "-c", "read go; (: <"+proc+"/mem) && echo memory; head -c 1 "+proc+"/environ >/dev/null && echo environment; :")}
	s.Stdout = &s.said
	var err error
	s.tell, err = s.StdinPipe()
	must(t, err, s.Start())
	return s
}

func (s *spy) looks() string {
	s.t.Helper()
	must(s.t, s.tell.Close(), s.Wait())
	return strings.Join(strings.Fields(s.said.String()), " ")
}

// P12: Landlock by itself lets these through, and the list of calls is what
// holds them. When Landlock closes one, this test says so.
func TestLeftOpen(t *testing.T) {
	var socket *net.UnixListener
	var old *os.File
	walled(t, func(dir string) Walls { return Walls{Read: []string{dir + "/home"}} }, func(dir string) {
		var err, err2 error
		socket, err = net.ListenUnix("unix", &net.UnixAddr{Name: dir + "/second/socket", Net: "unix"})
		old, err2 = os.OpenFile(dir+"/home/f", os.O_RDWR, 0)
		must(t, err, err2)
	}, func(dir string) {
		f := dir + "/home/f"
		for name, try := range map[string]func() error{
			"chmod":  func() error { return unix.Chmod(f, 0o600) },
			"chown":  func() error { return unix.Chown(f, -1, int(testas.Group(testas.Person))) },
			"utimes": func() error { return unix.Utimes(f, make([]unix.Timeval, 2)) },
			"xattr":  func() error { return unix.Setxattr(f, "user.note", []byte("x"), 0) },
			"connect": func() error {
				c, err := net.DialUnix("unix", nil, socket.Addr().(*net.UnixAddr))
				if err == nil {
					c.Close()
				}
				return err
			},
			"an old handle":       func() error { _, err := old.WriteAt([]byte("x"), 0); return err },
			"truncating by it":    func() error { return old.Truncate(0) },
			"stat of other homes": func() error { _, err := os.Stat(dir + "/second/f"); return err },
		} {
			if err := try(); err != nil {
				t.Errorf("%s is closed now: %v", name, err)
			}
		}
	})
}

// P12: a kernel whose Landlock lacks the truncate right is an error, and each
// later one is used for what it holds: there is no best effort.
func TestABI(t *testing.T) {
	for abi := -1; abi < MinABI; abi++ {
		if c, err := configOf(abi); err == nil {
			t.Errorf("ABI %d: %v", abi, c)
		}
	}
	for abi, want := range map[int]landlock.Config{3: landlock.V3, 4: landlock.V4, 5: landlock.V5, 6: landlock.V6, 7: landlock.V6, 99: landlock.V6} {
		if c, err := configOf(abi); err != nil || c.String() != want.String() {
			t.Errorf("ABI %d: %v, %v", abi, c, err)
		}
	}
}

// P12: walls around a directory that is not there are an error, not fewer
// walls.
func TestMissingDirectory(t *testing.T) {
	dir, ok := testas.Prepared(t, testas.Person, func() string { return places(t) })
	if !ok {
		return
	}
	for _, w := range []Walls{{Read: []string{dir + "/gone"}}, {Change: []string{dir + "/home", dir + "/gone"}}, {State: []string{dir + "/gone"}}} {
		if standing, err := w.files(); err == nil {
			t.Errorf("%v stand around %+v", standing, w)
		}
	}
}
