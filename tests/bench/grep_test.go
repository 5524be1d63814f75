package bench

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/wire/client"
	"countersign/tests/lab"
)

// searches are what is searched for: text, an expression with text in it, text
// in either case, and an expression that begins with what is everywhere.
func searches() map[string]protocol.GrepParams {
	return map[string]protocol.GrepParams{
		"literal": {Pattern: "DeadlineExceeded"},
		"method":  {Pattern: `func \(\w+ \*?[A-Z]\w+\) Close\(\) error`},
		"case":    {Pattern: "deadlineexceeded", IgnoreCase: true},
		"suffix":  {Pattern: `[A-Z]\w+Timeout\b`},
	}
}

// grep asks for every part of an answer and counts the lines.
func grep(c *client.Client, in protocol.GrepParams) (lines int, err error) {
	for {
		var r protocol.GrepResult
		if err := c.Call(context.Background(), protocol.Grep, in, &r); err != nil {
			return lines, err
		}
		lines += int(r.Matches)
		if in.After, in.AfterLine = r.Next, r.NextLine; r.Next == "" {
			return lines, nil
		}
	}
}

// BenchmarkGrep searches a tree through the reader behind its walls, beside
// ripgrep and `git grep`, which are behind none: x-rg and x-git are how many
// times longer it takes. All pass over nothing. The first line that is logged
// says how many lines each found.
func BenchmarkGrep(b *testing.B) {
	l := start(b)
	defer stop(b, l)
	at := tree(b, l)
	rg, err := exec.LookPath("rg")
	if err != nil {
		b.Skip("ripgrep is not installed")
	}
	git := tracked(b, l, at)
	c := dialReader(b, l)
	defer c.Close()
	for name, in := range searches() {
		b.Run(name, func(b *testing.B) {
			in.Path, in.All = action.Path(at), true
			expr := in.Pattern
			if in.IgnoreCase {
				expr = "(?i)" + expr
			}
			var ours, rgs, gits []time.Duration
			for b.Loop() {
				n := 0
				ours = append(ours, timed(func() (err error) { n, err = grep(c, in); return err }, b))
				d, found := beside(b, rg, "-n", "-uu", "--no-messages", expr, at)
				rgs = append(rgs, d)
				d, tracked := beside(b, "git", slices.Concat(git, []string{"grep", "-n", "-P", expr})...)
				gits = append(gits, d)
				if len(ours) == 1 {
					b.Logf("%s: %d lines, ripgrep %d, git grep %d", name, n, found, tracked)
				}
			}
			b.ReportMetric(0, "ns/op")
			report(b, ours, rgs, "rg")
			report(b, ours, gits, "git")
		})
	}
}

// BenchmarkGrepBeside is 32 clients that search the whole tree at once, and a
// small file that is read meanwhile: how long that takes, beside how long it
// takes alone, and the most memory that the reader has had.
func BenchmarkGrepBeside(b *testing.B) {
	l := start(b)
	defer stop(b, l)
	at := tree(b, l)
	small := filepath.Join(l.Home("alice"), "small.txt")
	if err := l.Put(lab.Alice, small, strings.Repeat("a line of text\n", 700), 0o644); err != nil {
		b.Fatal(err)
	}
	c := dialReader(b, l)
	defer c.Close()
	read := func() error {
		var r protocol.ReadResult
		return c.Call(context.Background(), protocol.Read, protocol.ReadParams{Files: []protocol.ReadWanted{{Path: action.Path(small)}}}, &r)
	}
	in := protocol.GrepParams{Path: action.Path(at), Pattern: `[A-Z]\w+Timeout\b`, All: true}
	for _, clients := range []int{0, 1, 32} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			var reads []time.Duration
			for b.Loop() {
				var searching sync.WaitGroup
				ended := make(chan struct{})
				for range clients {
					searching.Go(func() {
						s := dialReader(b, l)
						defer s.Close()
						if _, err := grep(s, in); err != nil {
							b.Error(err)
						}
					})
				}
				go func() {
					searching.Wait()
					close(ended)
				}()
				for on := true; on; {
					reads = append(reads, timed(read, b))
					select {
					case <-ended:
						on = clients == 0 && len(reads)%1000 > 0
					case <-time.After(time.Millisecond):
					}
				}
			}
			slices.Sort(reads)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(reads[len(reads)/2]), "read-p50-ms")
			b.ReportMetric(ms(reads[len(reads)*99/100]), "read-p99-ms")
			b.ReportMetric(peak(b, l.PID("reader@alice")), "reader-peak-MiB")
		})
	}
}

// tracked puts a tree into a repository beside it, and gives how git is called
// to look at it.
func tracked(b *testing.B, l *lab.Lab, at string) []string {
	b.Helper()
	git := []string{"-C", at, "--git-dir=" + filepath.Join(l.Dir, "tracked.git"), "--work-tree=" + at, "-c", "safe.directory=*"}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A", "-f", "."}} {
		if out, err := exec.Command("git", slices.Concat(git, args)...).CombinedOutput(); err != nil {
			b.Fatalf("git %s: %v: %s", args[0], err, out)
		}
	}
	return git
}

func dialReader(b *testing.B, l *lab.Lab) *client.Client {
	b.Helper()
	c, err := l.Dial(lab.Claude, "readers/alice")
	if err != nil {
		b.Fatal(err)
	}
	return c
}
