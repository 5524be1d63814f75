package bench

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/tests/lab"
)

// repository gives a repository of alice's: a copy of the one that
// COUNTERSIGN_BENCH_REPO names, or one of 20,000 files.
func repository(b *testing.B, l *lab.Lab) string {
	b.Helper()
	root := filepath.Join(l.Home("alice"), "repo")
	var script string
	if from := os.Getenv("COUNTERSIGN_BENCH_REPO"); from != "" {
		script = fmt.Sprintf("git -c safe.directory='*' clone -q --no-hardlinks %q %q", from, root)
	} else {
		script = fmt.Sprintf(`mkdir %[1]q && cd %[1]q && git init -q -b main && for d in $(seq 200); do mkdir d$d; for f in $(seq 100); do echo "$d $f" > d$d/f$f; done; done &&
			git add -A && git -c user.name=n -c user.email=e commit -q -m first && for i in $(seq 300); do echo $i >> d1/f1; git -c user.name=n -c user.email=e commit -q -a -m $i; done`, root)
	}
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, lab.Alice, lab.Alice)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return root
}

// plainly runs plain git as alice.
func plainly(root string, args ...string) error {
	c := exec.Command("git", args...)
	c.Dir, c.Env = root, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(root), "LC_ALL=C"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: lab.Alice, Gid: lab.Alice}}
	return c.Run()
}

// BenchmarkGit is what an agent asks about a repository, through the confined
// reader, beside plain git on the same; x-git is how many times as long it
// takes, and more-ms how much longer.
func BenchmarkGit(b *testing.B) {
	l := start(b)
	defer stop(b, l)
	root := repository(b, l)
	file := most(b, root)
	c, err := l.Dial(lab.Claude, "readers/alice")
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	at := action.Path(root)
	call := func(method string, in, out any) error { return c.Call(context.Background(), method, in, out) }
	if err := plainly(root, "status"); err != nil { // and refresh the index for both
		b.Fatal(err)
	}
	for _, of := range []struct {
		name  string
		ours  func() error
		plain []string
	}{
		{"status", func() error {
			return call(protocol.GitStatus, protocol.GitStatusParams{Repository: at}, new(protocol.GitStatusResult))
		}, []string{"--no-optional-locks", "status", "--porcelain=v2", "--branch", "-z", "-uall", "--no-renames", "--no-ahead-behind"}},
		{"log", func() error {
			return call(protocol.GitLog, protocol.GitLogParams{Repository: at, Limit: 50}, new(protocol.GitLogResult))
		}, []string{"log", "-n", "50", "-z", "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B"}},
		{"blame", func() error {
			return call(protocol.GitBlame, protocol.GitBlameParams{Repository: at, Rev: "HEAD", Path: action.Path(file)}, new(protocol.GitBlameResult))
		}, []string{"blame", "--porcelain", "--root", "HEAD", "--", file}},
	} {
		b.Run(of.name, func(b *testing.B) {
			var ours, plain []time.Duration
			for b.Loop() {
				plain = append(plain, timed(func() error { return plainly(root, of.plain...) }, b))
				ours = append(ours, timed(of.ours, b))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(median(ours)), "p50-ms")
			b.ReportMetric(ms(median(plain)), "git-p50-ms")
			b.ReportMetric(float64(median(ours))/float64(median(plain)), "x-git")
			b.ReportMetric(ms(median(ours)-median(plain)), "more-ms")
		})
	}
}

// most names the file that was changed in most commits.
func most(b *testing.B, root string) string {
	b.Helper()
	out, err := exec.Command("git", "-c", "safe.directory=*", "-C", root, "log", "-n", "300", "--format=", "--name-only", "--diff-filter=M").Output()
	if err != nil {
		b.Fatal(err)
	}
	count := make(map[string]int)
	best := ""
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if count[name]++; name != "" && count[name] > count[best] {
			best = name
		}
	}
	return best
}
