package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/testas"
	"countersign/internal/wire/client"
	"countersign/tests/lab"
)

// BenchmarkScreen is how long the owner's screen takes from a key to the last
// byte of what it draws, in a terminal of 160 by 50: in a list of 1,000 actions
// that wait, and in a diff of 64 KiB. ms is per key.
func BenchmarkScreen(b *testing.B) {
	testas.Root(b)
	l, err := lab.New(lab.Config{Base: os.Getenv("COUNTERSIGN_BENCH_DIR")})
	if err == nil {
		err = l.UpWithPolicy(l.Policy("[consent]\npending_per_agent = 1000\n"))
	}
	if err != nil {
		b.Fatal(err)
	}
	defer stop(b, l)
	furnish(b, l)
	s := sit(b, l)
	var list, diff []time.Duration
	s.key(b, "\x1b[H")
	s.key(b, "\r") // the first one, which has the long diff
	s.until(b, "agent says")
	for b.Loop() {
		for _, k := range []string{" ", "\x1b[F", "b", "j", "\x1b[H"} {
			diff = append(diff, s.key(b, k))
		}
	}
	s.key(b, "\x1b[D")
	s.until(b, "what waits")
	s.key(b, "/")
	s.key(b, "999.sh")
	s.key(b, "\r") // which shows all of them
	for range b.N {
		for _, k := range []string{"k", "b", "\x1b[H", "j", "\x1b[F"} {
			list = append(list, s.key(b, k))
		}
	}
	slices.Sort(diff)
	slices.Sort(list)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ms(median(list)), "list-p50-ms")
	b.ReportMetric(ms(list[len(list)*95/100]), "list-p95-ms")
	b.ReportMetric(ms(median(diff)), "diff-p50-ms")
	b.ReportMetric(ms(diff[len(diff)*95/100]), "diff-p95-ms")
}

// many is how many actions wait.
const many = 1000

// furnish has 1,000 actions wait, the first of them with a diff of 64 KiB.
func furnish(b *testing.B, l *lab.Lab) {
	var agents []*client.Client // each may propose so many a minute
	for _, uid := range []uint32{lab.Claude, lab.Other} {
		c, err := l.Dial(uid, "keeper/act")
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		agents = append(agents, c)
	}
	long := []byte(strings.Repeat("a line of a program that is neither short nor long\n", 64<<10/51))
	for i := range many {
		content := []byte("echo\n")
		if i == 0 {
			content = long
		}
		in := protocol.ActParams{Sentence: "s", Action: action.Action{FileWrite: &action.FileWrite{Changes: []action.Change{{
			Path: action.Path(filepath.Join(l.Home("alice"), fmt.Sprintf("%d.sh", i))), Write: &action.Write{Content: content, Mode: 0o755},
		}}}}}
		in.Nonce[0], in.Nonce[1] = byte(i), byte(i>>8)
		var t protocol.Transaction
		if err := agents[2*i/many].Call(context.Background(), protocol.Act, in, &t); err != nil || t.State != protocol.StateWaiting {
			b.Fatalf("%s, %v", t.State, err)
		}
	}
}

// seat is a person at a terminal that answers where its cursor is.
type seat struct {
	hand *os.File
	came chan []byte
	all  bytes.Buffer
}

func sit(b *testing.B, l *lab.Lab) *seat {
	hand, prog := testas.Terminal(b)
	if err := unix.IoctlSetWinsize(int(hand.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 160}); err != nil {
		b.Fatal(err)
	}
	c := l.Command(context.Background(), lab.Alice)
	c.Env = append(c.Env, "TERM=screen")
	c.Stdin, c.Stdout, c.Stderr = prog, prog, prog
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	s := &seat{hand: hand, came: make(chan []byte, 1000)}
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := hand.Read(buf)
			if err != nil {
				return
			}
			s.came <- bytes.Clone(buf[:n])
		}
	}()
	b.Cleanup(func() {
		hand.WriteString("\x03")
		c.Wait()
	})
	s.until(b, "1000 waiting")
	return s
}

// quiet is how long nothing comes when all has come.
const quiet = 30 * time.Millisecond

// key presses a key, and says when the last of what it led to came.
func (s *seat) key(b *testing.B, k string) time.Duration {
	begin := time.Now()
	if _, err := s.hand.WriteString(k); err != nil {
		b.Fatal(err)
	}
	last := begin
	for {
		select {
		case p := <-s.came:
			last = time.Now()
			s.all.Write(p)
		case <-time.After(quiet):
			if last != begin || time.Since(begin) > time.Second {
				return last.Sub(begin)
			}
		}
	}
}

func (s *seat) until(b *testing.B, text string) {
	b.Helper()
	for end := time.After(20 * time.Second); !bytes.Contains(s.all.Bytes(), []byte(text)); {
		select {
		case p := <-s.came:
			s.all.Write(p)
		case <-end:
			b.Fatalf("%q does not come: %q", text, s.all.Bytes()[max(0, s.all.Len()-2000):])
		}
	}
	s.all.Reset()
	time.Sleep(2 * quiet)
}
