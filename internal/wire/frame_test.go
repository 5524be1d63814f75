package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"runtime"
	"testing"
	"time"

	"countersign/internal/canon"
	"countersign/internal/refusal"
)

func head(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// T2: a frame over the limit, or without an item, is refused by its head.
func TestSize(t *testing.T) {
	for n, code := range map[uint32]refusal.Code{0: refusal.BadRequest, 1: "", MaxFrame: "", MaxFrame + 1: refusal.TooLarge, 1<<32 - 1: refusal.TooLarge} {
		got, err := Size([HeadSize]byte(head(n)))
		if code == "" && (err != nil || got != int(n)) || code != "" && !refusal.Is(err, code) {
			t.Errorf("Size(%d) = %d, %v; want refusal %q", n, got, err, code)
		}
	}
	if _, err := Frame(make([]byte, MaxFrame+1)); !refusal.Is(err, refusal.TooLarge) {
		t.Errorf("Frame of MaxFrame+1 bytes: %v", err)
	}
}

// allocated is how many bytes f allocates, by every goroutine.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// T2: memory follows the bytes that arrived, whatever was announced.
func TestReadItemAllocates(t *testing.T) {
	for _, sent := range []int{0, 1, SmallFrame, SmallFrame + 1, 1 << 20, MaxFrame - 1} {
		data := make([]byte, sent)
		var err error
		took := allocated(func() { _, err = ReadItem(bytes.NewReader(data), MaxFrame, nil) })
		if err != io.ErrUnexpectedEOF {
			t.Errorf("%d bytes of %d: %v", sent, MaxFrame, err)
		}
		if bound := uint64(SmallFrame + 4*sent + 16<<10); took > bound {
			t.Errorf("%d bytes sent, %d allocated, want at most %d", sent, took, bound)
		}
	}
}

// T2: a server that is sent only heads holds next to nothing for them, and a
// frame full of items is refused before they become anything.
func TestServerAllocates(t *testing.T) {
	r := serve(t, nil)
	wantEcho(t, r.dial(t))
	took := allocated(func() {
		for range 50 {
			send(t, r.dial(t), head(MaxFrame))
		}
		time.Sleep(100 * time.Millisecond)
	})
	if took > 50*(SmallFrame+32<<10) {
		t.Errorf("50 heads made the server allocate %d bytes", took)
	}

	items := make([]byte, MaxFrame)
	copy(items, []byte{0x9a, 0, 0x90, 0, 0})
	hostile, uc := frame(t, items), r.dial(t)
	took = allocated(func() {
		send(t, uc, hostile)
		wantCode(t, receive(t, uc), 0, "bad-request")
	})
	if took > 3*MaxFrame+1<<20 {
		t.Errorf("a frame of one-byte items made the server allocate %d bytes", took)
	}
	wantEnd(t, uc)
}

// T2: an unsound frame is answered once, with id 0, and ends its connection.
func TestUnsoundFrames(t *testing.T) {
	sound := requestFrame(t, 1, "echo", echo{"x"})
	item := sound[HeadSize:]
	spelled := func(old, new string) []byte {
		return frame(t, bytes.Replace(item, []byte(old), []byte(new), 1))
	}
	cases := map[string]struct {
		frame []byte
		code  string
	}{
		"empty":              {head(0), "bad-request"},
		"over the limit":     {head(MaxFrame + 1), "too-large"},
		"trailing bytes":     {frame(t, append(bytes.Clone(item), 0)), "bad-request"},
		"cut off":            {frame(t, item[:len(item)-1]), "bad-request"},
		"long-form id":       {spelled("\x62id\x01", "\x62id\x18\x01"), "bad-request"},
		"tagged id":          {spelled("\x62id\x01", "\x62id\xc1\x01"), "bad-request"},
		"negative id":        {spelled("\x62id\x01", "\x62id\x20"), "bad-request"},
		"id 0":               {spelled("\x62id\x01", "\x62id\x00"), "bad-request"},
		"duplicate id":       {spelled("\xa3\x62id\x01", "\xa4\x62id\x01\x62id\x01"), "bad-request"},
		"duplicate escape":   {frame(t, []byte("\xa2\x61\x1b\x01\x61\x1b\x01")), "bad-request"},
		"key in upper case":  {spelled("\x62id", "\x62ID"), "bad-request"},
		"unknown field":      {spelled("\xa3\x62id\x01", "\xa4\x61z\x01\x62id\x01"), "bad-request"},
		"indefinite map":     {frame(t, append(append([]byte{0xbf}, item[1:]...), 0xff)), "bad-request"},
		"no params":          {frame(t, []byte("\xa2\x62id\x01\x66method\x64echo")), "bad-request"},
		"unsorted keys":      {frame(t, []byte("\xa3\x66method\x64echo\x62id\x01\x66params\xa0")), "bad-request"},
		"method not UTF-8":   {spelled("\x64echo", "\x64ech\xff"), "bad-request"},
		"a list":             {frame(t, []byte{0x80}), "bad-request"},
		"tag in the params":  {spelled("\xa1\x64text", "\xc1\xa1\x64text"), "bad-request"},
		"params nest deeply": {frame(t, append([]byte("\xa3\x62id\x01\x66method\x64echo\x66params"), append(bytes.Repeat([]byte{0x81}, canon.MaxDepth), 0)...)), "bad-request"},
	}
	r := serve(t, nil)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			uc := r.dial(t)
			send(t, uc, c.frame)
			wantCode(t, receive(t, uc), 0, c.code)
			wantEnd(t, uc)
		})
	}
	wantEcho(t, r.dial(t))
}

// T18: a peer that begins a frame and stalls is let go; one that is silent
// between frames is not.
func TestSlowPeer(t *testing.T) {
	r := serve(t, func(c *Config) { c.FrameTimeout = 50 * time.Millisecond })
	idle := r.dial(t)
	time.Sleep(150 * time.Millisecond)
	wantEcho(t, idle)
	time.Sleep(150 * time.Millisecond)
	wantEcho(t, idle)
	whole := requestFrame(t, 1, "echo", echo{"x"})
	for _, begun := range []int{1, HeadSize, len(whole) - 1} {
		uc := r.dial(t)
		send(t, uc, whole[:begun])
		wantCode(t, receive(t, uc), 0, "bad-request")
		wantEnd(t, uc)
	}
}

// T18: a peer that does not take its reply is let go.
func TestPeerThatDoesNotRead(t *testing.T) {
	r := serve(t, func(c *Config) {
		c.FrameTimeout = 50 * time.Millisecond
		c.Methods["large"] = Method{May: anyone, Handle: func(context.Context, Caller, canon.Raw) (Reply, error) {
			return Reply{Result: make([]byte, 8<<20)}, nil
		}}
	})
	send(t, r.dial(t), requestFrame(t, 1, "large", nil))
	eventually(t, "a connection", func() bool { return r.held() == 1 })
	eventually(t, "its end", func() bool { return r.held() == 0 })
}

// T2: a frame's reader takes what it is announced, no byte more, or nothing.
func FuzzReadItem(f *testing.F) {
	f.Add([]byte{}, uint8(1))
	f.Add(head(0), uint8(1))
	f.Add(head(MaxFrame), uint8(3))
	f.Add(head(1<<32-1), uint8(1))
	f.Add(requestFrame(f, 1, "echo", echo{"x"}), uint8(1))
	f.Add(append(requestFrame(f, 1, "echo", echo{"x"}), 1, 2, 3), uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		r := &stepReader{data: data, step: int(step) + 1}
		var h [HeadSize]byte
		if _, err := io.ReadFull(r, h[:]); err != nil {
			return
		}
		size, err := Size(h)
		if err != nil {
			return
		}
		item, err := ReadItem(r, size, nil)
		if err != nil {
			if len(data) >= HeadSize+size {
				t.Fatalf("a whole frame of %d bytes: %v", size, err)
			}
			return
		}
		back, err := Frame(item)
		if err != nil || !bytes.Equal(back, data[:HeadSize+size]) || len(r.data) != len(data)-HeadSize-size {
			t.Fatalf("read %x of %x, %d bytes left, %v", item, data, len(r.data), err)
		}
	})
}

// stepReader gives a few bytes at a time, as a socket may.
type stepReader struct {
	data []byte
	step int
}

func (r *stepReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.data[:min(r.step, len(r.data))])
	r.data = r.data[n:]
	return n, nil
}
