// Package journal tests a journal against the checker that knows docs/journal.md
// and none of the keeper's code.
package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/journal"
)

const checker = "../../docs/journal-check"

// written makes a journal of several segments, and says what its own walk finds.
func written(t *testing.T) (dir string, report journal.Report, records []journal.Record) {
	t.Helper()
	dir = t.TempDir()
	j, _, err := journal.Open(journal.Config{Dir: dir, SegmentSize: 4 << 10}, func(journal.Record) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for n := range 60 {
		made, err := j.Commit(journal.Entry{Kind: "proposed", ID: "abc", Content: map[string]int{"n": n}, Bodies: []journal.Body{
			{Role: "action", Data: bytes.Repeat([]byte{byte(n)}, 7*n)},
			{Role: "detail", Data: []byte(fmt.Sprint(n))},
		}})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, made...)
	}
	if report, err = j.Verify(context.Background()); err != nil {
		t.Fatal(err)
	}
	return dir, report, records
}

// check runs the checker, and gives what it says and its exit code.
func check(t *testing.T, args ...string) (string, int) {
	t.Helper()
	out, err := exec.Command(checker, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, out)
	}
	if exit != nil {
		return string(out), exit.ExitCode()
	}
	return string(out), 0
}

// T15: somebody else's reading of the format agrees with the keeper's own walk:
// how many segments, records and bodies there are, and the head of the chain.
func TestAnotherReaderAgrees(t *testing.T) {
	dir, report, records := written(t)
	out, code := check(t, dir)
	want := fmt.Sprintf("segments %d  records %d  bodies %d", report.Segments, report.Records, report.Bodies)
	if code != 0 || !strings.HasPrefix(out, want) || !strings.Contains(out, "head "+report.Head.String()) || report.Segments < 3 {
		t.Errorf("%d: %s\nwanted %s and %s", code, out, want, report.Head)
	}
	mid := records[len(records)/2]
	if out, code := check(t, dir, strconv.FormatUint(mid.Seq, 10), mid.Hash.String()); code != 0 {
		t.Errorf("a witnessed head: %s", out)
	}
	other := action.HashOf([]byte("another"))
	if out, code := check(t, dir, strconv.FormatUint(mid.Seq, 10), other.String()); code != 1 {
		t.Errorf("a head that nobody wrote: %d %s", code, out)
	}
	if out, code := check(t, dir+"/none"); code != 2 {
		t.Errorf("no journal: %d %s", code, out)
	}
}

// T15: a byte that was changed anywhere is seen by both readers, and so is a
// segment that went; only the newest segment's torn tail is none of these.
func TestAnotherReaderSeesDamage(t *testing.T) {
	dir, _, _ := written(t)
	segments, err := filepath.Glob(dir + "/*.seg")
	if err != nil || len(segments) < 3 {
		t.Fatal(segments, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for try := range 20 {
		path := segments[random.IntN(len(segments)-1)] // not the newest
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		hurt := bytes.Clone(whole)
		at := random.IntN(len(hurt))
		hurt[at] ^= 1 << random.IntN(8)
		if err := os.WriteFile(path, hurt, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, code := check(t, dir); code != 1 {
			t.Errorf("try %d, %s byte %d: %d %s", try, filepath.Base(path), at, code, out)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	newest := segments[len(segments)-1]
	whole, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(newest, whole[:len(whole)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := check(t, dir); code != 0 || !strings.Contains(out, "torn tail") {
		t.Errorf("a torn tail: %d %s", code, out)
	}
	whole[110] ^= 1
	if err := os.WriteFile(newest, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := check(t, dir); code != 1 {
		t.Errorf("damage with records behind it: %d %s", code, out)
	}
	if err := os.Remove(segments[1]); err != nil {
		t.Fatal(err)
	}
	if out, code := check(t, dir); code != 1 {
		t.Errorf("a segment gone: %d %s", code, out)
	}
}
