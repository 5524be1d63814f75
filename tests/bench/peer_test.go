package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/tests/lab"
)

// peer is @modelcontextprotocol/server-filesystem over its standard streams.
// COUNTERSIGN_BENCH_PEER is its program, as npm installs it.
type peer struct {
	b   *testing.B
	in  io.Writer
	out *bufio.Reader
	id  int
}

func newPeer(b *testing.B, dir string) *peer {
	b.Helper()
	program := os.Getenv("COUNTERSIGN_BENCH_PEER")
	if program == "" {
		b.Skip("COUNTERSIGN_BENCH_PEER names no server-filesystem")
	}
	cmd := exec.Command(program, dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	p := &peer{b: b, in: in, out: bufio.NewReader(out)}
	p.ask("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]string{"name": "bench", "version": "1"},
	})
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

// ask calls a method, and gives the length of its answer.
func (p *peer) ask(method string, params any) int {
	p.b.Helper()
	p.id++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": p.id, "method": method, "params": params})
	if err != nil {
		p.b.Fatal(err)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		p.b.Fatal(err)
	}
	for {
		answer, err := p.out.ReadBytes('\n')
		if err != nil {
			p.b.Fatal(err)
		}
		if bytes.Contains(answer, fmt.Appendf(nil, `"id":%d`, p.id)) {
			if bytes.Contains(answer, []byte(`"isError":true`)) || bytes.Contains(answer, []byte(`"error":`)) {
				p.b.Fatalf("%s", answer)
			}
			return len(answer)
		}
	}
}

func (p *peer) tool(name string, arguments map[string]string) int {
	p.b.Helper()
	return p.ask("tools/call", map[string]any{"name": name, "arguments": arguments})
}

// BenchmarkBesidePeer reads a file of 10 KiB and lists a directory of 1,000
// through the reader behind its walls, on a kept connection, beside the file
// server that agents are given elsewhere; x-… is how many times longer ours
// takes. Of its two listings the peer is asked for the one that tells sizes, as
// ours does.
func BenchmarkBesidePeer(b *testing.B) {
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
	file := filepath.Join(l.Home("alice"), "read.txt")
	if err := l.Put(lab.Alice, file, string(bytes.Repeat([]byte("a line of text\n"), size/15)), 0o644); err != nil {
		b.Fatal(err)
	}
	p := newPeer(b, l.Home("alice"))
	c, err := l.Dial(lab.Claude, "readers/alice")
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	var read, list, theirRead, theirList []time.Duration
	for b.Loop() {
		read = append(read, timed(func() error {
			var r protocol.ReadResult
			return c.Call(ctx, protocol.Read, protocol.ReadParams{Files: []protocol.ReadWanted{{Path: action.Path(file)}}}, &r)
		}, b))
		list = append(list, timed(func() error {
			var r protocol.Listing
			return c.Call(ctx, protocol.List, protocol.ListParams{Path: action.Path(at)}, &r)
		}, b))
		theirRead = append(theirRead, timed(func() error { p.tool("read_text_file", map[string]string{"path": file}); return nil }, b))
		theirList = append(theirList, timed(func() error { p.tool("list_directory_with_sizes", map[string]string{"path": at}); return nil }, b))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ms(median(read)), "read-p50-ms")
	b.ReportMetric(ms(median(theirRead)), "peer-read-p50-ms")
	b.ReportMetric(float64(median(read))/float64(median(theirRead)), "x-read")
	b.ReportMetric(ms(median(list)), "list-p50-ms")
	b.ReportMetric(ms(median(theirList)), "peer-list-p50-ms")
	b.ReportMetric(float64(median(list))/float64(median(theirList)), "x-list")
}
