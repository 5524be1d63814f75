package canon

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"runtime"
	"testing"
)

// sample has a field of every kind that messages are made of.
type sample struct {
	N    uint64            `cbor:"n"`
	I    int64             `cbor:"i"`
	Text string            `cbor:"text"`
	Data []byte            `cbor:"data"`
	List []uint64          `cbor:"list"`
	Map  map[string]uint64 `cbor:"map"`
	Opt  string            `cbor:"opt,omitempty"`
}

type one struct {
	A any `cbor:"a"`
}

type two struct {
	A uint64 `cbor:"a"`
	B uint64 `cbor:"b,omitempty"`
}

// T2: there is one encoding, and what it makes decodes to the same value.
func TestEncodeDecode(t *testing.T) {
	want := sample{N: math.MaxUint64, I: math.MinInt64, Text: "é", Data: []byte{0}, List: []uint64{1, 24}, Map: map[string]uint64{"b": 1, "aa": 2}}
	b, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	var got sample
	if err := Decode(b, &got); err != nil {
		t.Fatal(err)
	}
	again, err := Encode(got)
	if err != nil || !bytes.Equal(b, again) {
		t.Errorf("encoded again: %x, %v; want %x", again, err, b)
	}
}

// T2: nothing is an empty list, not a second spelling of one.
func TestNilIsEmpty(t *testing.T) {
	a, errA := Encode(sample{})
	b, errB := Encode(sample{Data: []byte{}, List: []uint64{}, Map: map[string]uint64{}})
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("nil encodes as %x (%v), empty as %x (%v)", a, errA, b, errB)
	}
}

// T2: a decoder refuses duplicate keys, indefinite lengths, tags, unknown
// fields, trailing bytes, deep nesting and every second spelling of a value.
func TestDecodeIsStrict(t *testing.T) {
	cases := []struct {
		name, hex string
		into      any
		ok        bool
	}{
		{"the canonical form", "a161611818", &two{}, true},
		{"an optional field", "a2616101616202", &two{}, true},
		{"nothing", "", &two{}, false},
		{"cut off", "a16161", &two{}, false},
		{"trailing byte", "a16161181800", &two{}, false},
		{"long-form integer", "a161611805", &two{}, false},
		{"longer-form integer", "a161611b0000000000000005", &two{}, false},
		{"long-form key", "a178016105", &two{}, false},
		{"long-form map head", "b8016161181818", &two{}, false},
		{"unsorted keys", "a2616202616101", &two{}, false},
		{"duplicate key", "a2616101616101", &two{}, false},
		{"unknown field", "a2616101616302", &two{}, false},
		{"key in another case", "a1614105", &two{}, false},
		{"missing field", "a0", &two{}, false},
		{"optional field spelled out empty", "a2616101616200", &two{}, false},
		{"null for an integer", "a16161f6", &two{}, false},
		{"undefined", "a16161f7", &two{}, false},
		{"float for an integer", "a16161f93c00", &two{}, false},
		{"negative for unsigned", "a1616120", &two{}, false},
		{"text for an integer", "a161616131", &two{}, false},
		{"array for a map", "8101", &two{}, false},
		{"integer key", "a10105", &two{}, false},
		{"tagged value", "a16161c105", &two{}, false},
		{"tagged message", "d9d9f7a1616105", &two{}, false},
		{"big number", "a16161c24105", &two{}, false},
		{"tag in what is undecoded", "a16161c105", &one{}, false},
		{"indefinite map", "bf616105ff", &two{}, false},
		{"indefinite array", "a161619f01ff", &one{}, false},
		{"indefinite text", "a161617f6161ff", &one{}, false},
		{"reserved head", "a161611c", &two{}, false},
		{"break alone", "ff", new(any), false},
		{"not a number", "a16161f97e00", &one{}, false},
		{"infinity", "a16161f97c00", &one{}, false},
		{"wide float", "a16161fb3ff0000000000000", &one{}, false},
		{"invalid UTF-8", "a1616161ff", &one{}, false},
		{"bytes for text", "a161614161", &struct {
			A string `cbor:"a"`
		}{}, false},
		{"duplicate key below", "a16161a2616101616101", &one{}, false},
		{"simple value below 32 in two bytes", "a16161f810", &one{}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			data, err := hex.DecodeString(c.hex)
			if err != nil {
				t.Fatal(err)
			}
			if err := Decode(data, c.into); (err == nil) != c.ok {
				t.Errorf("Decode(%x) into %+v: %v", data, c.into, err)
			}
		})
	}
}

// T2: what only differs in form is told apart by ErrNotCanonical.
func TestNotCanonical(t *testing.T) {
	if err := Decode([]byte{0xa1, 0x61, 'a', 0x18, 5}, &two{}); !errors.Is(err, ErrNotCanonical) {
		t.Errorf("a long-form integer: %v", err)
	}
}

// T2: undecoded items travel byte for byte, and are checked once decoded.
func TestRawIsUntouched(t *testing.T) {
	var m struct {
		A Raw `cbor:"a"`
	}
	if err := Decode([]byte{0xa1, 0x61, 'a', 0x18, 5}, &m); err != nil {
		t.Fatalf("around an undecoded item: %v", err)
	}
	if !bytes.Equal(m.A, []byte{0x18, 5}) {
		t.Errorf("undecoded item: %x", m.A)
	}
	var n uint64
	if err := Decode(m.A, &n); !errors.Is(err, ErrNotCanonical) {
		t.Errorf("the item itself: %v", err)
	}
}

// nest is n arrays around a 0.
func nest(n int) []byte { return append(bytes.Repeat([]byte{0x81}, n), 0) }

// list is an array of n zeros, the array itself being one item more.
func list(n int) []byte {
	return append([]byte{0x9a, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, make([]byte, n)...)
}

// T2: items and depth are bounded exactly, in every place an item can stand.
func TestBounded(t *testing.T) {
	cases := []struct {
		name string
		data []byte
		ok   bool
	}{
		{"one item", []byte{0}, true},
		{"no item", nil, false},
		{"deepest", nest(MaxDepth), true},
		{"too deep", nest(MaxDepth + 1), false},
		{"too deep in a map's value", append(bytes.Repeat([]byte{0xa1, 0}, MaxDepth+1), 0), false},
		{"too deep in a map's key", append(bytes.Repeat([]byte{0xa1}, MaxDepth+1), make([]byte, MaxDepth+2)...), false},
		{"most items", list(MaxItems - 1), true},
		{"too many items", list(MaxItems), false},
		{"too many pairs", append([]byte{0xba, 0, 2, 0, 0}, make([]byte, 2<<17)...), false},
		{"text past the end", []byte{0x62, 'a'}, false},
		{"text of 2^64-1", []byte{0x7b, 255, 255, 255, 255, 255, 255, 255, 255}, false},
		{"array of 2^64-1", []byte{0x9b, 255, 255, 255, 255, 255, 255, 255, 255}, false},
		{"map of 2^63, twice which is 0", []byte{0xbb, 128, 0, 0, 0, 0, 0, 0, 0}, false},
		{"head cut off", []byte{0x1b, 0, 0}, false},
		{"a tag", []byte{0xc0, 0}, false},
		{"empty containers do not nest", append([]byte{0x83}, 0x80, 0xa0, 0x80), true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := bounded(c.data); (err == nil) != c.ok {
				t.Errorf("bounded: %v", err)
			}
		})
	}
}

// T2: what is over a bound is refused before anything is allocated for it.
func TestBoundsComeBeforeAllocation(t *testing.T) {
	for name, data := range map[string][]byte{
		"many items":  list(9 << 20),
		"many lists":  append([]byte{0x98, 150}, bytes.Repeat(list(60_000), 150)...),
		"an announce": {0x9b, 0, 0, 0, 0, 0x7f, 255, 255, 255},
		"deep":        nest(9 << 20),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var v any
		err := Decode(data, &v)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: decoded", name)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<10 {
			t.Errorf("%s: %d bytes allocated", name, took)
		}
	}
}

// T2: what cannot be decoded again is not encoded either.
func TestEncodeRefusesWhatHasNoForm(t *testing.T) {
	if b, err := Encode(make(chan int)); err == nil {
		t.Errorf("a channel: %x", b)
	}
}

// T2: whatever decodes is the encoding of what it decodes to.
func FuzzDecode(f *testing.F) {
	for _, v := range []any{sample{}, sample{N: 1, Text: "x", Data: []byte("y"), List: []uint64{3}, Map: map[string]uint64{"k": 1}, Opt: "o"}, one{A: "z"}, two{A: 7}} {
		b, err := Encode(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(nest(MaxDepth))
	f.Add([]byte{0xbf, 0x61, 'a', 5, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{&sample{}, &two{}, &one{}} {
			if Decode(data, v) != nil {
				continue
			}
			if back, err := Encode(v); err != nil || !bytes.Equal(back, data) {
				t.Errorf("%x decodes to %+v, which encodes to %x, %v", data, v, back, err)
			}
		}
	})
}
