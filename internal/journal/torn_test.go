package journal

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// checkTorn opens a journal whose second batch was damaged, and holds it to
// the rule: the first batch whole, of the second the records in front of the
// damage or fewer, the loss said and recorded, and a journal that goes on.
func checkTorn(t *testing.T, dir string, first, second []Record, damaged bool) {
	t.Helper()
	j, rec, got := reopen(t, testConfig(dir))
	kept := got
	if rec.Cut != nil {
		kept = got[:len(got)-1]
		last := got[len(got)-1]
		if last.Kind != KindCut || rec.Cut.First != uint64(len(kept)+1) || rec.Cut.Last < rec.Cut.First || rec.Cut.Bytes == 0 {
			t.Fatalf("cut %+v recorded as %+v", rec.Cut, last)
		}
	}
	if len(kept) < len(first) || len(kept) > len(first)+len(second) {
		t.Fatalf("%d records kept", len(kept))
	}
	must(t, same(kept, append(append([]Record(nil), first...), second...)[:len(kept)]))
	if damaged && rec.Cut == nil || !damaged && len(kept) != len(first)+len(second) {
		t.Fatalf("damaged %v, recovery %+v, %d kept", damaged, rec, len(kept))
	}
	for _, r := range kept {
		for _, b := range r.Bodies {
			if _, err := j.ReadBody(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	more := commit(t, j, entry(9, 9))
	crash(t, j)
	j, again, recs := reopen(t, testConfig(dir))
	if again.Cut != nil {
		t.Fatalf("a second start cuts again: %+v", again.Cut)
	}
	must(t, same(recs, append(got, more...)))
	must(t, j.Close())
}

// ends gives the offsets at which a record of the segment begins or ends.
func ends(start int, recs []Record, size int) map[int]bool {
	at := map[int]bool{start: true, size: true}
	for _, r := range recs {
		if n := len(r.Bodies); n > 0 {
			at[int(r.Bodies[n-1].offset+r.Bodies[n-1].Size)] = true
		}
	}
	return at
}

// T15: a tail cut short at any byte is cut off and said so; what an earlier
// sync covered is all there.
func TestTornShort(t *testing.T) {
	dir, first, second, start := twoBatches(t)
	whole := readFile(t, dir, 1)
	clean := ends(start, second, len(whole))
	for n := start; n <= len(whole); n++ {
		writeFile(t, dir, 1, whole[:n])
		j, rec, got := reopen(t, testConfig(dir))
		j.Close()
		if (rec.Cut == nil) != (clean[n] || endsBodiless(whole, second, n)) || len(got) < len(first) {
			t.Fatalf("cut at %d: %+v, %d records", n, rec.Cut, len(got))
		}
		writeFile(t, dir, 1, whole[:n])
		if rec.Cut != nil {
			checkTorn(t, dir, first, second, true)
		}
	}
}

// endsBodiless says whether n is the end of a record without bodies, found by
// the marker of the next.
func endsBodiless(whole []byte, recs []Record, n int) bool {
	return n < len(whole) && bytes.HasPrefix(whole[n:], whole[64:64+markerSize])
}

// T15: a tail of zeros or of old blocks from any byte on is cut off and said
// so, whether or not the file's length got to disk.
func TestTornFilled(t *testing.T) {
	dir, first, second, start := twoBatches(t)
	whole := readFile(t, dir, 1)
	random := rand.New(rand.NewPCG(1, 2))
	for n := start; n < len(whole); n++ {
		for _, fill := range []string{"zeros", "garbage", "earlier"} {
			torn := bytes.Clone(whole)
			switch fill {
			case "zeros":
				clear(torn[n:])
			case "garbage":
				for i := n; i < len(torn); i++ {
					torn[i] = byte(random.Uint32())
				}
			case "earlier": // sound records of this very segment, out of place
				copy(torn[n:], whole[headerSize:start])
			}
			if bytes.Equal(torn, whole) {
				continue
			}
			if fill == "earlier" && endsBodiless(whole, second, n) {
				continue // sound where one may stand: a chain break, not a tear
			}
			writeFile(t, dir, 1, torn)
			checkTorn(t, dir, first, second, true)
		}
	}
}

// T15: a page lost from the middle of a batch is torn too: records behind it
// that hold were covered by no sync either.
func TestTornMiddle(t *testing.T) {
	dir, first, second, start := twoBatches(t)
	whole := readFile(t, dir, 1)
	for _, size := range []int{1, 16, 64} {
		for n := start; n < len(whole); n += 3 {
			torn := bytes.Clone(whole)
			clear(torn[n:min(n+size, len(torn))])
			if bytes.Equal(torn, whole) {
				continue
			}
			writeFile(t, dir, 1, torn)
			checkTorn(t, dir, first, second, true)
		}
	}
}

// T15: garbage behind a whole journal, as a grown file leaves it, is cut off.
func TestTornGrown(t *testing.T) {
	dir, first, second, _ := twoBatches(t)
	whole := readFile(t, dir, 1)
	for _, n := range []int{1, markerSize, 4096, 3 * chunkSize} {
		writeFile(t, dir, 1, append(bytes.Clone(whole), make([]byte, n)...))
		checkTorn(t, dir, first, second, true)
	}
}

// T15: a newest segment that a crash met in its making is made anew: it held
// no record.
func TestTornCreation(t *testing.T) {
	for _, segs := range []int{1, 3} {
		cfg := testConfig(t.TempDir())
		cfg.SegmentSize = 1
		j, _, _ := reopen(t, cfg)
		var want []Record
		for n := range segs - 1 {
			want = append(want, commit(t, j, entry(n, 10))...)
		}
		if segs > 1 {
			j.mu.Lock()
			must(t, j.rotate())
			j.mu.Unlock()
		}
		must(t, j.Close())
		newest := uint64(len(want) + 1)
		whole := readFile(t, cfg.Dir, newest)
		if len(whole) != headerSize {
			t.Fatalf("the newest segment has %d bytes", len(whole))
		}
		for n := 0; n <= headerSize; n++ {
			for _, b := range [][]byte{whole[:n], make([]byte, n)} {
				writeFile(t, cfg.Dir, newest, b)
				j, rec, got := reopen(t, cfg)
				must(t, same(got, want))
				if sound := n == headerSize && b[0] != 0; (rec.Discarded == "") != sound || rec.Cut != nil {
					t.Fatalf("%d bytes: %+v", n, rec)
				}
				crash(t, j)
			}
		}
		// Behind it, the segment before was synced whole: it is not a tail.
		if segs > 1 {
			writeFile(t, cfg.Dir, newest, nil)
			before := readFile(t, cfg.Dir, newest-1)
			writeFile(t, cfg.Dir, newest-1, before[:len(before)-1])
			if _, _, err := Open(cfg, nil); !isBroken(err) {
				t.Fatalf("a short older segment: %v", err)
			}
		}
	}
}

// T15: what a sync covered is never cut: any byte of it that differs is a
// break, and the file is left as it is.
func TestDamageToWhatWasSyncedIsBroken(t *testing.T) {
	dir, first, _, start := twoBatches(t)
	whole := readFile(t, dir, 1)
	j, _, _ := reopen(t, testConfig(dir))
	must(t, j.Close())
	inBody := map[int]bool{}
	for _, r := range first {
		for _, b := range r.Bodies {
			for i := range b.Size {
				inBody[int(b.offset+i)] = true
			}
		}
	}
	for n := range start {
		for _, bit := range []byte{0x01, 0x80, 0xff} {
			bad := bytes.Clone(whole)
			bad[n] ^= bit
			writeFile(t, dir, 1, bad)
			j, rec, err := Open(testConfig(dir), nil)
			if inBody[n] {
				// Open does not read it: the chain names it, and Verify and
				// ReadBody find it.
				must(t, err)
				if _, err := j.Verify(t.Context()); !isBroken(err) {
					t.Fatalf("byte %d of a body: verify says %v", n, err)
				}
				must(t, j.Close())
			} else if err == nil || !isBroken(err) && n >= 20 {
				t.Fatalf("byte %d differs: %v, %+v", n, err, rec)
			}
			if !bytes.Equal(readFile(t, dir, 1), bad) {
				t.Fatalf("byte %d differs: the file was changed", n)
			}
		}
	}
	// The whole of it gone is no different from a byte.
	for n := headerSize; n < start; n += 7 {
		bad := bytes.Clone(whole)
		clear(bad[n:start])
		writeFile(t, dir, 1, bad)
		if _, _, err := Open(testConfig(dir), nil); !isBroken(err) && !bytes.Equal(bad, whole) && !inBody[n] {
			t.Fatalf("zeros from %d: %v", n, err)
		}
	}
}

// T15: a segment that has another behind it holds to its last byte.
func TestDamageToAnOlderSegmentIsBroken(t *testing.T) {
	cfg := testConfig(t.TempDir())
	cfg.SegmentSize = 1
	j, _, _ := reopen(t, cfg)
	commit(t, j, entry(1, 5))
	commit(t, j, entry(2))
	must(t, j.Close())
	whole := readFile(t, cfg.Dir, 1)
	for n := range len(whole) {
		writeFile(t, cfg.Dir, 1, whole[:n])
		if _, _, err := Open(cfg, nil); !isBroken(err) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if st, err := os.Stat(filepath.Join(cfg.Dir, segmentName(1))); err != nil || st.Size() != int64(n) {
			t.Fatalf("cut at %d: the file was changed", n)
		}
	}
}

// T15: a record that is whole and names another before it is a break wherever
// it stands: no crash writes one.
func TestChainBreakIsBroken(t *testing.T) {
	dir, _, second, start := twoBatches(t)
	whole := readFile(t, dir, 1)
	j, _, _ := reopen(t, testConfig(dir))
	must(t, j.Close())
	end := int(second[0].Bodies[1].offset + second[0].Bodies[1].Size)
	for name, b := range map[string][]byte{
		"repeated": append(bytes.Clone(whole), whole[start:]...),
		"left out": append(bytes.Clone(whole[:start]), whole[end:]...),
	} {
		writeFile(t, dir, 1, b)
		if _, _, err := Open(testConfig(dir), nil); !isBroken(err) {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// T15: bytes an agent chose for a body cannot make a torn tail look broken,
// nor damage look torn: no record begins without the segment's marker.
func TestBodyCannotPassForARecord(t *testing.T) {
	dir, _, _, _ := twoBatches(t)
	forged := readFile(t, dir, 1)[headerSize:] // sound records, of another journal
	dir = t.TempDir()
	j, _, _ := reopen(t, testConfig(dir))
	first := commit(t, j, entry(1))
	start := j.size
	second := commit(t, j, entry(2), Entry{Kind: "intent", Bodies: []Body{{Role: "action", Data: forged}}})
	must(t, j.Close())
	torn := readFile(t, dir, 1)
	torn[start] ^= 1
	writeFile(t, dir, 1, torn)
	checkTorn(t, dir, first, second, true)
}

// T15: of several writes that no sync covered, a crash may keep a later one and
// lose an earlier: that is torn, since nobody was told that either stands.
func TestTornBetweenAppends(t *testing.T) {
	cfg := testConfig(t.TempDir())
	j, _, _ := reopen(t, cfg)
	first := commit(t, j, entry(1, 10))
	var second []Record
	start := j.size
	for n := range 3 {
		recs, err := j.Append(entry(n+2, 10))
		must(t, err)
		second = append(second, recs...)
	}
	crash(t, j)
	torn := readFile(t, cfg.Dir, 1)
	torn[start+20] ^= 1
	writeFile(t, cfg.Dir, 1, torn)
	j, rec, got := reopen(t, cfg)
	must(t, j.Close())
	if rec.Cut == nil || rec.Cut.First != 2 || rec.Cut.Last != 4 || len(got) != 2 {
		t.Fatalf("%+v, %d records", rec.Cut, len(got))
	}
	writeFile(t, cfg.Dir, 1, torn)
	checkTorn(t, cfg.Dir, first, second, true)
}
