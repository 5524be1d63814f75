package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// model drives a journal and remembers what it must hold.
type model struct {
	cfg    Config
	j      *Journal
	all    []Record // in the file
	synced int      // of them, acknowledged as on disk
}

func (m *model) add(t *rapid.T) {
	var entries []Entry
	for range rapid.IntRange(1, 3).Draw(t, "entries") {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 200), 0, 3).Draw(t, "bodies")
		entries = append(entries, entry(len(m.all)+len(entries), sizes...))
	}
	add, synced := m.j.Append, m.synced
	if rapid.Bool().Draw(t, "commit") {
		add, synced = m.j.Commit, len(m.all)+len(entries)
	}
	recs, err := add(entries...)
	must(t, err)
	m.all, m.synced = append(m.all, recs...), synced
}

func (m *model) verify(t *rapid.T) {
	report, err := m.j.Verify(t.Context())
	must(t, err)
	if report.Records != uint64(len(m.all)) {
		t.Fatalf("verify counts %d, want %d", report.Records, len(m.all))
	}
	if n := len(m.all); n > 0 {
		for _, b := range m.all[n-1].Bodies {
			if _, err := m.j.ReadBody(b); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (m *model) reopen(t *rapid.T) {
	must(t, m.j.Close())
	var rec Recovery
	var got []Record
	m.j, rec, got = reopen(t, m.cfg)
	if rec.Cut != nil || rec.Discarded != "" {
		t.Fatalf("recovery of a closed journal: %+v", rec)
	}
	must(t, same(got, m.all))
	m.synced = len(m.all)
}

// tear crashes, and takes from the newest segment what no sync had covered,
// from some byte on.
func (m *model) tear(t *rapid.T) {
	safe, first := m.j.durable, m.j.head.first
	crash(t, m.j)
	name := filepath.Join(m.cfg.Dir, segmentName(first))
	b, err := os.ReadFile(name)
	must(t, err)
	at := rapid.Int64Range(safe, int64(len(b))).Draw(t, "at")
	if rapid.Bool().Draw(t, "zeros") {
		clear(b[at:])
	} else {
		b = b[:at]
	}
	must(t, os.WriteFile(name, b, 0o600))
	var rec Recovery
	var got []Record
	m.j, rec, got = reopen(t, m.cfg)
	kept := len(got)
	if rec.Cut != nil {
		kept--
	}
	if kept < m.synced || kept > len(m.all) {
		t.Fatalf("%d records kept, %d acknowledged, %d written", kept, m.synced, len(m.all))
	}
	must(t, same(got[:kept], m.all[:kept]))
	m.all, m.synced = got, len(got)
}

// T14, T15: over any run of appends, commits, restarts and crashes, what was
// acknowledged stays, in order, and a crash takes only from the end.
func TestAnyRunKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "journal")
		must(t, err)
		defer os.RemoveAll(dir)
		m := &model{cfg: testConfig(dir)}
		m.cfg.SegmentSize = rapid.Int64Range(1, 3000).Draw(t, "segment size")
		m.j, _, _ = reopen(t, m.cfg)
		defer func() { m.j.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"add": m.add, "verify": m.verify, "reopen": m.reopen, "tear": m.tear,
		})
	})
}

// T15: whatever a segment's bytes are, Open refuses and changes nothing, or
// recovers for good: what it replayed once it replays again, with no second
// cut.
func FuzzSegment(f *testing.F) {
	dir := f.TempDir()
	j, _, _ := reopen(f, testConfig(dir))
	commit(f, j, entry(1, 40), entry(2))
	commit(f, j, entry(3, 5, 0))
	must(f, j.Close())
	whole := readFile(f, dir, 1)
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add(whole[:headerSize])
	f.Add(append(bytes.Clone(whole), whole[headerSize:]...))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		writeFile(t, dir, 1, b)
		var got []Record
		j, rec, err := Open(testConfig(dir), func(r Record) error { got = append(got, r); return nil })
		if err != nil {
			if !isBroken(err) && !errors.Is(err, ErrVersion) {
				t.Fatal(err)
			}
			if !bytes.Equal(readFile(t, dir, 1), b) {
				t.Fatalf("refused with %v, and changed", err)
			}
			return
		}
		if rec.Records != uint64(len(got)) {
			t.Fatalf("%+v, and %d records", rec, len(got))
		}
		crash(t, j)
		j, rec, again := reopen(t, testConfig(dir))
		defer j.Close()
		if rec.Cut != nil || rec.Discarded != "" {
			t.Fatalf("a second recovery: %+v", rec)
		}
		must(t, same(again, got))
	})
}
