package gitrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/refusal"
	"countersign/internal/testas"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == RunnerArg {
		if err := Serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// repository makes one with a commit, in a place of its own, and a directory
// beside it.
func repository(t testing.TB) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err, os.Mkdir(dir+"/r", 0o755), os.Mkdir(dir+"/beside", 0o755), os.WriteFile(dir+"/beside/f", []byte("x"), 0o644))
	must(t, os.WriteFile(dir+"/r/f", []byte("one\ntwo\n"), 0o644))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		c := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-C", dir + "/r"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// start starts a runner for a directory, as a daemon would.
func start(t testing.TB, c Config) *Git {
	t.Helper()
	g, err := Start(c)
	must(t, err)
	t.Cleanup(g.Close)
	if why := g.About().Why; why != "" {
		t.Fatal(why)
	}
	return g
}

func handle(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := openPath(path)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func place(t testing.TB, root string) Place {
	return Place{GitDir: root + "/.git", WorkTree: root, Read: []*os.File{handle(t, root)}}
}

func output(g *Git, c Call) (string, error) {
	var out bytes.Buffer
	err := g.Run(context.Background(), c, func(r io.Reader) error {
		_, err := out.ReadFrom(r)
		return err
	})
	return out.String(), err
}

// R15: git runs behind the walls, and answers.
func TestRuns(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	dir := repository(t)
	g := start(t, Config{Read: []string{dir}})
	if a := g.About(); a.Path == "" || a.Version == "" || len(a.Walls) == 0 {
		t.Errorf("%+v", a)
	}
	must(t, os.WriteFile(dir+"/r/new", nil, 0o644))
	out, err := output(g, Call{Vector: Status, Place: place(t, dir+"/r")})
	if err != nil || !strings.Contains(out, "? new\x00") {
		t.Errorf("%q, %v", out, err)
	}
	out, err = output(g, Call{Vector: Log, Values: Values{Rev: "main", Count: 5}, Place: place(t, dir+"/r")})
	if err != nil || strings.Count(out, "\x00") != LogFields || !strings.Contains(out, "first") {
		t.Errorf("%q, %v", out, err)
	}
	out, err = output(g, Call{Vector: Attributes, Input: []byte("f\x00"), Place: place(t, dir+"/r")})
	if err != nil || out != "f\x00filter\x00unspecified\x00" {
		t.Errorf("%q, %v", out, err)
	}
	var failed *Failed
	if _, err := output(g, Call{Vector: Log, Values: Values{Rev: "none"}, Place: place(t, dir+"/r")}); !errors.As(err, &failed) || failed.Stderr == "" {
		t.Error(err)
	}
}

// R15: each git is narrowed to what it was given: another place that the runner
// may read is closed to it, whatever path it is told.
func TestNarrowed(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	dir, other := repository(t), repository(t)
	g := start(t, Config{Read: []string{dir, other}})
	call := Call{Vector: Log, Values: Values{Rev: "main", Count: 5}, Place: place(t, dir+"/r")}
	if _, err := output(g, call); err != nil {
		t.Error(err)
	}
	call.Place.GitDir, call.Place.WorkTree = other+"/r/.git", other+"/r"
	var failed *Failed
	if out, err := output(g, call); !errors.As(err, &failed) {
		t.Errorf("the other repository: %q, %v", out, err)
	}
}

// R15: a git whose caller goes away, or that takes too long, is killed, and one
// of whose output its reader has enough ends without a failure.
func TestEnds(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	dir := repository(t)
	g := start(t, Config{Read: []string{dir}})
	long := strings.Repeat("n", 200)
	for i := range 1000 {
		must(t, os.WriteFile(fmt.Sprintf("%s/r/%s%d", dir, long, i), nil, 0o644)) // more than a pipe holds
	}
	waits := Call{Vector: Status, Place: place(t, dir+"/r")}
	read := func(r io.Reader) error {
		time.Sleep(time.Second) // git waits for its reader, and is killed meanwhile
		_, err := io.Copy(io.Discard, r)
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { time.Sleep(100 * time.Millisecond); cancel() }()
	if err := g.Run(ctx, waits, read); !errors.Is(err, context.Canceled) {
		t.Errorf("its caller went away: %v", err)
	}
	waits.Within = 50 * time.Millisecond
	if err := g.Run(context.Background(), waits, read); !refusal.Is(err, refusal.TooLarge) {
		t.Errorf("it took too long: %v", err)
	}
	must(t, g.Run(context.Background(), Call{Vector: Status, Place: place(t, dir+"/r")}, func(io.Reader) error { return ErrEnough }))
	mine := errors.New("mine")
	if err := g.Run(context.Background(), Call{Vector: Status, Place: place(t, dir+"/r")}, func(io.Reader) error { return mine }); !errors.Is(err, mine) {
		t.Error(err)
	}
}

// R15: values are judged before git starts: what begins with a dash, names a
// file by its place in a commit, climbs, or is no hash reaches no git.
func TestValuesAreJudged(t *testing.T) {
	for _, v := range []Values{
		{Rev: "--output=/tmp/x"}, {Rev: "-n1"}, {Rev: "HEAD:.env"}, {Rev: ":0:f"}, {Rev: ":/first"}, {Rev: "a..b"}, {Rev: "^a"}, {Rev: "a b"},
		{Rev: "a\nb"}, {Rev: "a\x00b"}, {Rev: strings.Repeat("a", 2000)}, {From: "-x"}, {Not: "-x"},
		{Paths: []string{"/etc/passwd"}}, {Paths: []string{"a/../b"}}, {Paths: []string{""}}, {Paths: []string{"a\x00b"}}, {Paths: []string{"./a"}},
		{Blob: "HEAD"}, {Blob: "--batch"}, {Blob: strings.Repeat("a", 39)},
	} {
		for name := range vectors() {
			if args, err := compose(name, v); err == nil {
				t.Errorf("%s %+v: %q", name, v, args)
			}
		}
	}
	if _, err := compose("gc", Values{}); err == nil {
		t.Error("a vector that is none")
	}
	for _, s := range []Setting{{"core.sshCommand", "x"}, {"alias.status", "!x"}, {"core.hooksPath", "x"}, {"core.eol", "a\x00b"}} {
		if _, err := variables("/r/.git", "/r", Values{}, []Setting{s}, nil); err == nil {
			t.Errorf("the setting %v", s)
		}
	}
}

// R15: no vector lets a value stand where an option could: paths stand behind
// two dashes, revisions bear what makes them commits, and every other argument
// is the table's own.
func TestPlaces(t *testing.T) {
	v := Values{Rev: "R", From: "F", Not: "N", Blob: strings.Repeat("b", 40), Paths: []string{"-p", ":(top)x"}, Count: 1, Skip: 2, First: 3, Last: 4}
	for name, row := range vectors() {
		args, err := compose(name, v)
		must(t, err)
		behind := false
		for _, a := range args[1+len(always())+2*len(overruled()):] {
			switch {
			case a == "--":
				behind = true
			case a == "-p" || a == ":(top)x":
				if !behind {
					t.Errorf("%s: a path stands before --: %q", name, args)
				}
			case strings.HasPrefix(a, "-L3"), a == "--max-count=1", a == "--skip=2", a == v.Blob, strings.HasSuffix(a, "^{commit}"), strings.HasSuffix(a, "^{tree}"):
			default:
				if !strings.Contains(strings.Join(row.args, "\x00"), a) {
					t.Errorf("%s: %q is nobody's", name, a)
				}
			}
		}
	}
}

// R15: git's environment is the table's and the repository's, and nothing of
// whoever started the daemon.
func TestEnvironmentIsReplaced(t *testing.T) {
	t.Setenv("GIT_SSH_COMMAND", "canary")
	t.Setenv("LD_PRELOAD", "canary")
	env, err := variables("/g", "/w", Values{}, []Setting{{"core.autocrlf", "true"}}, []string{"a=b", ""})
	must(t, err)
	all := strings.Join(env, "\n")
	for _, want := range []string{"HOME=/nonexistent", "GIT_DIR=/g", "GIT_WORK_TREE=/w", "GIT_CEILING_DIRECTORIES=/w", "GIT_CONFIG_NOSYSTEM=1",
		"=filter.a=b.clean", "=filter.a=b.smudge", "=filter.a=b.process", "=filter.a=b.required", "=filter..clean", "=core.autocrlf"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(all, "canary") {
		t.Error("something is inherited")
	}
}

// R15: a git that is too old, or that others than root could change, is refused
// by name.
func TestWhichGit(t *testing.T) {
	for said, want := range map[string]bool{
		"git version 2.39.5\n": true, "git version 2.34.0": true, "git version 2.47.3 (Debian)": true, "git version 3.0": true, "git version 2.100.0.rc1": true,
		"git version 2.33.9": false, "git version 1.99": false, "git version 2": false, "hub version 2.40": false, "": false,
	} {
		if v, err := versionOf(said); (err == nil) != want {
			t.Errorf("%q: %q, %v", said, v, err)
		}
	}
	own := filepath.Join(t.TempDir(), "git")
	b, err := os.ReadFile("/usr/bin/git")
	must(t, err, os.WriteFile(own, b, 0o777), os.Chmod(own, 0o777))
	for _, path := range []string{own, "/nonexistent/git", "/etc/passwd"} {
		g, err := Start(Config{Program: path})
		must(t, err)
		if err := g.Run(context.Background(), Call{Vector: Status}, nil); !refusal.Is(err, refusal.NoGit) || g.About().Why == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// P12: a runner that is killed is noticed: callers that wait hear of it, and
// its daemon can be started anew.
func TestRunnerIsKilled(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	dir := repository(t)
	g := start(t, Config{Read: []string{dir}})
	lists, err := filepath.Glob("/proc/self/task/*/children")
	must(t, err)
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for _, pid := range strings.Fields(string(children)) {
			n, err := strconv.Atoi(pid)
			must(t, err, unix.Kill(n, unix.SIGKILL))
		}
	}
	select {
	case <-g.Gone():
	case <-time.After(10 * time.Second):
		t.Fatal("nobody noticed")
	}
	if _, err := output(g, Call{Vector: Status, Place: place(t, dir+"/r")}); !refusal.Is(err, refusal.Unavailable) {
		t.Error(err)
	}
}
