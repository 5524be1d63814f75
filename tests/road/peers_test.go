package road

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/protocol"
	"countersign/internal/wire"
	"countersign/tests/lab"
)

// frameOf is a request's frame.
func (w *world) frameOf(method string, params any) []byte {
	w.t.Helper()
	raw, err := canon.Encode(params)
	w.must(err)
	item, err := canon.Encode(wire.Request{ID: 1, Method: method, Params: raw})
	w.must(err)
	frame, err := wire.Frame(item)
	w.must(err)
	return frame
}

// T9: an agent that hangs up once its proposal is sent changes nothing: what
// asks waits for its owner, what is auto lands.
func TestHangingUpChangesNothing(t *testing.T) {
	w := start(t)
	runs, plain := w.put("run.sh", "one\n", 0o755), w.put("a.txt", "one\n", 0o644)
	for i, path := range []string{runs, plain} {
		c, err := w.raw(lab.Claude, "keeper/act")
		w.must(err)
		_, err = c.Write(w.frameOf(protocol.Act, protocol.ActParams{Nonce: protocol.Nonce{byte(i)}, Action: write(path, "two\n")}))
		w.must(err)
		w.must(c.Close())
	}
	w.eventually("both are taken up", func() bool {
		states := make(map[protocol.State]int)
		for _, tr := range w.log(lab.Claude, "keeper/act") {
			states[tr.State]++
		}
		return states[protocol.StateWaiting] == 1 && states[protocol.StateLanded] == 1
	})
	w.holds(plain, "two\n")
	w.holds(runs, "one\n")
}

// P2: peers that are turned away are journaled, and no more than one record
// in a minute however often they come.
func TestRefusedPeersAreJournaled(t *testing.T) {
	w := start(t)
	w.must(os.Chmod(w.Socket("keeper/act"), 0o666))
	records := func() uint64 {
		var v protocol.VerifyResult
		w.must(w.call(lab.Alice, "keeper/consent", protocol.Verify, struct{}{}, &v))
		return v.Records
	}
	before := records()
	knock := func() {
		for range 50 {
			w.refusedUnasked(lab.Stranger, "keeper/act")
		}
	}
	knock()
	w.eventually("they are journaled", func() bool { return records() > before })
	knock()
	w.must(w.Stop()) // what is still to be reported is reported then
	w.up()
	if now := records(); now != before+1 {
		t.Errorf("%d records of them", now-before)
	}
}

// T11: a reply with more handles than there may be is not believed, lands
// nothing, and leaves none of them open in the keeper.
func TestTooManyHandles(t *testing.T) {
	w := start(t)
	path := w.put("a.txt", "one\n", 0o644)
	socket := w.Socket("readers/alice")
	w.must(os.Remove(socket))
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: socket})
	w.must(err)
	defer listener.Close()
	w.must(os.Chmod(socket, 0o666))
	reply := w.honest(action.Path(path))
	go func() {
		for {
			c, err := listener.AcceptUnix()
			if err != nil {
				return
			}
			handOver(c, path, reply, wire.MaxHandles+1)
		}
	}()
	keeper := w.PID("keeper")
	before := openFiles(keeper)
	for range 5 {
		tr, err := w.act(lab.Claude, write(path, "two\n"))
		w.nothingLanded("too many handles", tr, err)
	}
	w.holds(path, "one\n")
	if now := openFiles(keeper); now > before+2 {
		t.Errorf("the keeper had %d files open, and has %d", before, now)
	}
}

// handOver answers one capture with n handles of a file.
func handOver(c *net.UnixConn, path string, reply protocol.CaptureResult, n int) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	var head [wire.HeadSize]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return
	}
	item := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(c, item); err != nil {
		return
	}
	var request wire.Request
	if err := canon.Decode(item, &request); err != nil {
		return
	}
	result, _ := canon.Encode(reply)
	answer, _ := canon.Encode(wire.Response{ID: request.ID, Result: result})
	frame, _ := wire.Frame(answer)
	fds := make([]int, n)
	for i := range fds {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		defer unix.Close(fd)
		fds[i] = fd
	}
	c.WriteMsgUnix(frame, unix.UnixRights(fds...), nil)
	c.CloseWrite()
	io.Copy(io.Discard, c)
}

// openFiles counts what a process has open.
func openFiles(pid int) int {
	names, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(names)
}
