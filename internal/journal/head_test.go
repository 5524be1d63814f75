package journal

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"countersign/internal/action"
	"countersign/internal/canon"
)

// wireHead and wireBody are a head as package canon spells it.
type wireHead struct {
	_       struct{} `cbor:",toarray"`
	Seq     uint64
	Time    int64
	Prev    action.Hash
	Durable int64
	Kind    string
	ID      string
	Content []byte
	Bodies  []wireBody
}

type wireBody struct {
	_    struct{} `cbor:",toarray"`
	Role string
	Hash action.Hash
	Size int64
}

func drawHead(t *rapid.T) head {
	word := rapid.StringMatching(`[a-z-]{1,64}`)
	h := head{
		seq:     rapid.Uint64Max(1<<63-1).Draw(t, "seq"),
		time:    rapid.Int64Min(0).Draw(t, "time"),
		prev:    action.HashOf(rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "prev")),
		durable: rapid.Int64Min(0).Draw(t, "durable"),
		kind:    word.Draw(t, "kind"),
		id:      rapid.StringN(0, -1, maxWord).Draw(t, "id"),
		content: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "content"),
	}
	for range rapid.IntRange(0, 30).Draw(t, "bodies") {
		h.bodies = append(h.bodies, Ref{
			Role: word.Draw(t, "role"), Hash: action.HashOf([]byte{1}), Size: rapid.Int64Range(0, MaxBody).Draw(t, "size"),
		})
	}
	return h
}

// T14: a head is core deterministic CBOR, byte for byte what the general
// encoder writes, and reads back as it was.
func TestHeadIsCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHead(t)
		got := h.appendTo(nil)
		wire := wireHead{
			Seq: h.seq, Time: h.time, Prev: h.prev, Durable: h.durable,
			Kind: h.kind, ID: h.id, Content: h.content,
		}
		for _, b := range h.bodies {
			wire.Bodies = append(wire.Bodies, wireBody{Role: b.Role, Hash: b.Hash, Size: b.Size})
		}
		want, err := canon.Encode(wire)
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Fatalf("encoded\n%x, want\n%x", got, want)
		}
		back, err := decodeHead(got)
		must(t, err)
		if !bytes.Equal(back.appendTo(nil), got) {
			t.Fatalf("%+v came back as %+v", h, back)
		}
	})
}

// T14: a head has one spelling. What decodes encodes to the same bytes, and
// nothing else decodes.
func FuzzHead(f *testing.F) {
	h := head{seq: 300, time: 1 << 60, kind: "intent", id: "abc", content: canon.Raw{0xa0}, durable: 104}
	f.Add(h.appendTo(nil))
	h.bodies = []Ref{{Role: "capture", Size: 70000}, {Role: "detail", Size: 23}}
	f.Add(h.appendTo(nil))
	f.Add([]byte{0x88, 0x18, 0x01}) // a long form
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHead(b)
		if err == nil && !bytes.Equal(h.appendTo(nil), b) {
			t.Fatalf("%x decodes, and encodes to %x", b, h.appendTo(nil))
		}
	})
}

// T14: every other spelling of a head is refused.
func TestHeadHasOneSpelling(t *testing.T) {
	h := head{seq: 5, time: 6, kind: "intent", content: canon.Raw{0xa0}}
	b := h.appendTo(nil)
	at := func(i int, with ...byte) []byte {
		return append(append(bytes.Clone(b[:i]), with...), b[i+1:]...)
	}
	for name, bad := range map[string][]byte{
		"long form":    at(1, 0x18, 5),
		"longer form":  at(1, 0x1b, 0, 0, 0, 0, 0, 0, 0, 5),
		"indefinite":   at(0, 0x9f),
		"seven items":  at(0, 0x87),
		"negative":     at(1, 0x25),
		"huge":         at(1, 0x1b, 0xff, 0, 0, 0, 0, 0, 0, 0),
		"trailing":     append(bytes.Clone(b), 0),
		"short":        b[:len(b)-1],
		"empty":        nil,
		"many bodies":  at(len(b)-1, 0x9b, 0, 0, 1, 0, 0, 0, 0, 0),
		"upper case":   bytes.Replace(b, []byte("intent"), []byte("Intent"), 1),
		"tagged":       at(1, 0xc0, 5),
		"bad hash":     at(4, 0x1f),
		"float":        at(1, 0xf9, 0x45, 0),
		"bytes kind":   bytes.Replace(b, []byte("\x66intent"), []byte("\x46intent"), 1),
		"long content": bytes.Replace(b, []byte{0x41, 0xa0}, []byte{0x5a, 0xff, 0xff, 0xff, 0xff, 0xa0}, 1),
	} {
		if h, err := decodeHead(bad); err == nil {
			t.Errorf("%s: %+v", name, h)
		}
	}
}
