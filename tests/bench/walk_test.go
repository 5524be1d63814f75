package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/tests/lab"
)

// tree copies a tree into a home: COUNTERSIGN_BENCH_TREE or, where that is not
// set, the sources of Go and of the modules that this one was built with.
func tree(b *testing.B, l *lab.Lab) string {
	b.Helper()
	from := filepath.SplitList(os.Getenv("COUNTERSIGN_BENCH_TREE"))
	if len(from) == 0 {
		cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
		if err != nil {
			b.Fatal(err)
		}
		from = []string{filepath.Join(runtime.GOROOT(), "src"), strings.TrimSpace(string(cache))}
	}
	at := filepath.Join(l.Home("alice"), "tree")
	if err := os.Mkdir(at, 0o755); err != nil {
		b.Fatal(err)
	}
	for i, f := range from {
		if out, err := exec.Command("cp", "-r", f, fmt.Sprintf("%s/%d", at, i)).CombinedOutput(); err != nil {
			b.Fatalf("copying the tree: %v: %s", err, out)
		}
	}
	if out, err := exec.Command("sh", "-c", fmt.Sprintf("chmod -R u+rwX %s && chown -R %d:%d %s", at, lab.Alice, lab.Alice, at)).CombinedOutput(); err != nil {
		b.Fatalf("giving the tree away: %v: %s", err, out)
	}
	return at
}

// beside runs another program and counts its lines.
func beside(b *testing.B, name string, args ...string) (time.Duration, int) {
	b.Helper()
	begin := time.Now()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(begin), bytes.Count(out, []byte("\n"))
}

// all asks for page after page, and counts.
func all(ask func(after action.Path) (int, action.Path, error)) (n int, err error) {
	for after := action.Path(""); ; {
		k, next, err := ask(after)
		if n += k; err != nil || next == "" {
			return n, err
		}
		after = next
	}
}

// BenchmarkGlob finds the tests in a tree, through the reader behind its walls,
// beside find and, where it is installed, fd: x-find and x-fd are how many
// times longer it takes. Both pass over nothing.
func BenchmarkGlob(b *testing.B) {
	l := start(b)
	defer stop(b, l)
	at := tree(b, l)
	c, err := l.Dial(lab.Claude, "readers/alice")
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	glob := func() (int, error) {
		return all(func(after action.Path) (int, action.Path, error) {
			var r protocol.GlobResult
			err := c.Call(ctx, protocol.Glob, protocol.GlobParams{Pattern: "**/*_test.go", Path: action.Path(at), All: true, After: after}, &r)
			return len(r.Matches), r.Next, err
		})
	}
	fd, _ := exec.LookPath("fdfind")
	var ours, finds, fds []time.Duration
	for b.Loop() {
		var n int
		ours = append(ours, timed(func() (err error) { n, err = glob(); return err }, b))
		d, found := beside(b, "find", at, "-name", "*_test.go")
		if finds = append(finds, d); n != found {
			b.Fatalf("%d found, and find says %d", n, found)
		}
		if fd != "" {
			d, _ := beside(b, fd, "-uu", "-g", "*_test.go", at)
			fds = append(fds, d)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(peak(b, l.PID("reader@alice")), "reader-peak-MiB")
	report(b, ours, finds, "find")
	if fd != "" {
		report(b, ours, fds, "fd")
	}
}

// BenchmarkList lists the tree with every file's stat, beside find, which
// prints the same of each.
func BenchmarkList(b *testing.B) {
	l := start(b)
	defer stop(b, l)
	at := tree(b, l)
	c, err := l.Dial(lab.Claude, "readers/alice")
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	list := func() (int, error) {
		return all(func(after action.Path) (int, action.Path, error) {
			var r protocol.Listing
			err := c.Call(ctx, protocol.List, protocol.ListParams{Path: action.Path(at), Recursive: true, All: true, After: after}, &r)
			return len(r.Entries), r.Next, err
		})
	}
	var ours, finds []time.Duration
	for b.Loop() {
		var n int
		ours = append(ours, timed(func() (err error) { n, err = list(); return err }, b))
		d, found := beside(b, "find", at, "-mindepth", "1", "-printf", "%P %y %s %m %T@\n")
		if finds = append(finds, d); n != found {
			b.Fatalf("%d listed, and find says %d", n, found)
		}
	}
	b.ReportMetric(0, "ns/op")
	report(b, ours, finds, "find")
}

// BenchmarkListDirectory lists one directory of 1,000 files, beside find.
func BenchmarkListDirectory(b *testing.B) {
	l := start(b)
	defer stop(b, l)
	at := filepath.Join(l.Home("alice"), "many")
	if err := l.MkdirAll(lab.Alice, at); err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		if err := l.Put(lab.Alice, fmt.Sprintf("%s/file-%d.txt", at, i), "x", 0o644); err != nil {
			b.Fatal(err)
		}
	}
	c, err := l.Dial(lab.Claude, "readers/alice")
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	var ours, finds []time.Duration
	for b.Loop() {
		ours = append(ours, timed(func() error {
			var r protocol.Listing
			err := c.Call(context.Background(), protocol.List, protocol.ListParams{Path: action.Path(at)}, &r)
			if err == nil && len(r.Entries) != 1000 {
				err = fmt.Errorf("%d entries", len(r.Entries))
			}
			return err
		}, b))
		d, _ := beside(b, "find", at, "-mindepth", "1", "-printf", "%P %y %s %m %T@\n")
		finds = append(finds, d)
	}
	b.ReportMetric(0, "ns/op")
	report(b, ours, finds, "find")
}

// peak gives the most memory that a process ever had resident, in MiB.
func peak(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

// report gives both medians and how many times longer ours is.
func report(b *testing.B, ours, theirs []time.Duration, name string) {
	b.ReportMetric(ms(median(ours)), "ours-p50-ms")
	b.ReportMetric(ms(median(theirs)), name+"-p50-ms")
	b.ReportMetric(float64(median(ours))/float64(median(theirs)), "x-"+name)
}
