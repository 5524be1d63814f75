package wire

import (
	"encoding/binary"
	"fmt"
	"io"

	"countersign/internal/refusal"
)

const (
	// MaxFrame bounds the item of one frame, in bytes, without its length.
	MaxFrame = 9 << 20
	// SmallFrame is the size in bytes up to which a frame is read without
	// asking for one of the places that bound large ones.
	SmallFrame = 64 << 10
	// MaxHandles bounds the handles of one reply.
	MaxHandles = 64
	// HeadSize is how many bytes announce a frame.
	HeadSize = 4
)

// Size reads a frame's head: how many bytes its item has. A frame without an
// item is refused as bad-request, one over MaxFrame as too-large.
func Size(head [HeadSize]byte) (int, error) {
	n := binary.BigEndian.Uint32(head[:])
	switch {
	case n == 0:
		return 0, refusal.New(refusal.BadRequest, "a frame", "it is empty")
	case n > MaxFrame:
		return 0, refusal.New(refusal.TooLarge, "a frame", "%d bytes are announced, %d are allowed", n, MaxFrame)
	}
	return int(n), nil
}

// ReadItem reads the size bytes of a frame's item. The buffer doubles as bytes
// arrive, so that what is allocated stays under SmallFrame plus four times
// what was sent. Once SmallFrame bytes of a larger item are there, grow is
// asked whether to go on; nil is always. A stream that ends early gives
// io.ErrUnexpectedEOF.
func ReadItem(r io.Reader, size int, grow func() error) ([]byte, error) {
	item := make([]byte, min(size, SmallFrame))
	for have := 0; ; {
		n, err := io.ReadFull(r, item[have:])
		have += n
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		if have == size {
			return item, nil
		}
		if have == SmallFrame && grow != nil {
			if err := grow(); err != nil {
				return nil, err
			}
		}
		grown := make([]byte, min(size, 2*have))
		copy(grown, item)
		item = grown
	}
}

// Frame puts an item's length before it. An item over MaxFrame is refused as
// too-large.
func Frame(item []byte) ([]byte, error) {
	if len(item) == 0 {
		return nil, fmt.Errorf("framing: [unexpected] empty item")
	}
	if len(item) > MaxFrame {
		return nil, refusal.New(refusal.TooLarge, "a frame", "it has %d bytes, %d are allowed", len(item), MaxFrame)
	}
	frame := make([]byte, HeadSize, HeadSize+len(item))
	binary.BigEndian.PutUint32(frame, uint32(len(item)))
	return append(frame, item...), nil
}
