package road

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/protocol"
	"countersign/tests/lab"
)

func itoa(n int) string { return strconv.Itoa(n) }

// framed puts a length before an item.
func framed(item []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(item))), item...)
}

// T18: a peer that sends garbage, lengths that it does not mean, endless
// nesting or a million items gets no answer worth having and takes nothing
// from the others: the keeper goes on in bounded memory.
func TestHostilePeers(t *testing.T) {
	w := start(t)
	path := w.put("a.txt", "one\n", 0o644)
	keeper := w.PID("keeper")
	noise := make([]byte, 64<<10)
	rand.Read(noise)
	million := append([]byte{0x9a, 0x00, 0x0f, 0x42, 0x40}, make([]byte, 1_000_000)...)
	request := []byte{0xa3, 0x62, 'i', 'd', 0x01, 0x66, 'm', 'e', 't', 'h', 'o', 'd', 0x6a}
	request = append(append(request, protocol.Act...), 0x66, 'p', 'a', 'r', 'a', 'm', 's')
	for name, sent := range map[string][]byte{
		"garbage":            noise,
		"4 GiB":              {0xff, 0xff, 0xff, 0xff, 0x00},
		"an empty frame":     {0, 0, 0, 0},
		"nesting":            framed(bytes.Repeat([]byte{0x81}, 1<<20)),
		"nested maps":        framed(bytes.Repeat([]byte{0xa1, 0x00}, 1<<19)),
		"a million items":    framed(million),
		"a claim of items":   framed([]byte{0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
		"a claim of bytes":   framed([]byte{0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
		"nesting in params":  framed(append(bytes.Clone(request), bytes.Repeat([]byte{0x81}, 1<<20)...)),
		"a million in param": framed(append(bytes.Clone(request), million...)),
		"indefinite":         framed(append(bytes.Clone(request), 0xbf, 0xff)),
		"a tag":              framed(append(bytes.Clone(request), 0xc1, 0xa0)),
	} {
		c, err := w.raw(lab.Claude, "keeper/act")
		w.must(err)
		c.SetDeadline(time.Now().Add(10 * time.Second))
		c.Write(sent) // the keeper may hang up before it has all of it
		c.CloseWrite()
		answer, err := io.ReadAll(c)
		if err == nil && bytes.Contains(answer, []byte("landed")) {
			t.Errorf("%s: answered %q", name, answer)
		}
		c.Close()
		w.answers(name, path)
	}
	w.bounded(keeper)
}

// T18: peers that hold all the connections they may, each with a large frame
// half sent, hold up neither another agent nor an owner.
func TestSlowPeers(t *testing.T) {
	w := start(t)
	path := w.put("a.txt", "one\n", 0o644)
	keeper := w.PID("keeper")
	var held []*net.UnixConn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range 200 {
		wait.Go(func() {
			c, err := w.raw(lab.Claude, "keeper/act")
			if err != nil {
				return // it may be refused here, too
			}
			mu.Lock()
			held = append(held, c)
			mu.Unlock()
			c.SetWriteDeadline(time.Now().Add(2 * time.Second))
			c.Write([]byte{0x00, 0x80, 0x00, 0x00}) // 8 MiB are announced
			c.Write(make([]byte, 1<<20))
		})
	}
	wait.Wait()
	w.answers("200 connections", path)
	w.bounded(keeper)
}

// answers says that others are served as ever.
func (w *world) answers(what, path string) {
	w.t.Helper()
	before := time.Now()
	content := fmt.Sprintf("%s %d\n", what, before.UnixNano())
	w.propose(lab.Other, write(path, content), protocol.StateLanded)
	w.holds(path, content)
	w.status()
	if took := time.Since(before); took > 5*time.Second {
		w.t.Errorf("%s: the others waited %v", what, took)
	}
}

// bounded says that the keeper is the process it was, and how much memory it
// ever held.
func (w *world) bounded(keeper int) {
	w.t.Helper()
	const most = 256 << 10 // KiB
	if now := w.PID("keeper"); now != keeper {
		w.t.Errorf("the keeper died: pid %d, then %d", keeper, now)
	}
	for line := range strings.Lines(read(fmt.Sprintf("/proc/%d/status", keeper))) {
		if words := strings.Fields(line); words[0] == "VmHWM:" {
			peak, err := strconv.Atoi(words[1])
			w.must(err)
			w.t.Logf("the keeper's peak: %d KiB", peak)
			if peak > most {
				w.t.Errorf("the keeper held %d KiB", peak)
			}
			return
		}
	}
	w.t.Error("the keeper's memory is not known")
}
