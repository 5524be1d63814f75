// Package canon is the one CBOR spelling Countersign knows: core
// deterministic encoding (RFC 8949, section 4.2.1) in both directions.
//
// Encode always yields it; Decode accepts nothing else. A value that decodes
// encodes back to the very bytes it came from, so two parties that hold equal
// bytes hold equal values and the reverse, which is what digests, consent and
// the journal's chain rest on.
//
// Decode refuses duplicate keys, keys spelled in another case, unknown
// fields, missing fields, indefinite lengths, tags, floats where integers
// stand, invalid UTF-8, trailing bytes, nesting past MaxDepth and more than
// MaxItems data items, the last two before anything is allocated for them.
//
// It does NOT bound the length of its input: whoever reads bytes from a
// stranger does that first.
package canon

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

const (
	// MaxItems bounds the data items of one encoding, so that a frame full of
	// one-byte items cannot grow into structures many times its size.
	MaxItems = 1 << 18
	// MaxDepth bounds nesting.
	MaxDepth = 16
)

// ErrNotCanonical says that bytes decode, but are not the encoding of what
// they decode to.
var ErrNotCanonical = errors.New("not in canonical form")

// Raw is an encoded item that is carried without being looked at.
type Raw = cbor.RawMessage

// The modes are immutable once built; they are values of the package because
// building one costs more than using it.
var (
	encMode = must(encOptions().EncMode())
	decMode = must(decOptions().DecMode())
)

func encOptions() cbor.EncOptions {
	o := cbor.CoreDetEncOptions()
	o.NilContainers = cbor.NilContainerAsEmpty
	o.TagsMd = cbor.TagsForbidden
	return o
}

func decOptions() cbor.DecOptions {
	return cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		MaxNestedLevels:   MaxDepth,
		MaxArrayElements:  MaxItems,
		MaxMapPairs:       MaxItems,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		UTF8:              cbor.UTF8RejectInvalid,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		NaN:               cbor.NaNDecodeForbidden,
		Inf:               cbor.InfDecodeForbidden,
		BignumTag:         cbor.BignumTagForbidden,
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("[unexpected] cbor mode: %v", err))
	}
	return v
}

// Encode returns the canonical encoding of v.
func Encode(v any) ([]byte, error) {
	b, err := encMode.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	return b, nil
}

// Decode decodes the whole of data into v and checks that it is the canonical
// encoding of what v then holds.
func Decode(data []byte, v any) error {
	if err := bounded(data); err != nil {
		return err
	}
	if err := decMode.Unmarshal(data, v); err != nil {
		return fmt.Errorf("decoding %T: %w", v, err)
	}
	back, err := Encode(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(back, data) {
		return fmt.Errorf("decoding %T: %w", v, ErrNotCanonical)
	}
	return nil
}

// bounded walks the heads of data's items without allocating, and refuses
// more of them, or deeper ones, than a sound message holds.
func bounded(data []byte) error {
	var left [MaxDepth + 1]uint64 // items still due at each level
	level, items := 0, 0
	left[0] = 1
	for pos := 0; ; {
		for level > 0 && left[level] == 0 {
			level--
		}
		if left[level] == 0 {
			return nil
		}
		left[level]--
		if items++; items > MaxItems {
			return fmt.Errorf("more than %d data items", MaxItems)
		}
		major, arg, size, err := head(data[pos:])
		if err != nil {
			return err
		}
		pos += size
		switch major {
		case 2, 3:
			if arg > uint64(len(data)-pos) {
				return errShort
			}
			pos += int(arg)
		case 4, 5:
			if arg > uint64(len(data)) {
				return errShort
			}
			if level == MaxDepth {
				return fmt.Errorf("nested deeper than %d", MaxDepth)
			}
			level++
			left[level] = arg * (uint64(major) - 3)
		case 6:
			return errors.New("a tag")
		}
	}
}

var errShort = errors.New("data item longer than its message")

// head reads one item's initial bytes: its major type, its argument, and how
// many bytes both took.
func head(b []byte) (major byte, arg uint64, size int, err error) {
	if len(b) == 0 {
		return 0, 0, 0, errShort
	}
	major, info := b[0]>>5, b[0]&31
	if info < 24 {
		return major, uint64(info), 1, nil
	}
	if info > 27 {
		return 0, 0, 0, errors.New("indefinite length or reserved head")
	}
	n := 1 << (info - 24)
	if len(b) < 1+n {
		return 0, 0, 0, errShort
	}
	for _, c := range b[1 : 1+n] {
		arg = arg<<8 | uint64(c)
	}
	return major, arg, 1 + n, nil
}
