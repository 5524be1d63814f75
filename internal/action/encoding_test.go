package action

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"countersign/internal/canon"
)

// golden holds, a line each, a sample's name, its digest and its encoding.
// Journals, approvals and other people's clients rest on these bytes: a line
// is added for a new sample, and none is ever changed.
const golden = "testdata/encodings.txt"

// T2: an action has one encoding, and these are its bytes and digests, for
// good.
func TestGoldenEncodings(t *testing.T) {
	raw, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		want[name] = rest
	}
	for _, s := range samples() {
		b, err := Encode(s.a)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := s.a.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if digest != HashOf(b) {
			t.Errorf("%s: the digest is not the SHA-256 of the encoding", s.name)
		}
		if got := fmt.Sprintf("%s %x", digest, b); got != want[s.name] {
			t.Errorf("encoding changed; is:\n%s %s\nmust be:\n%s %s", s.name, got, s.name, want[s.name])
		}
		delete(want, s.name)
	}
	for name := range want {
		t.Errorf("%s: golden bytes of no sample", name)
	}
}

// T2: golden bytes decode to the sample they came from.
func TestGoldenDecodes(t *testing.T) {
	for _, s := range samples() {
		b, err := Encode(s.a)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if again, err := Encode(a); err != nil || !bytes.Equal(b, again) {
			t.Errorf("%s: encodes again to %x, %v", s.name, again, err)
		}
	}
}

// T2: a decoder refuses unknown, repeated and missing fields, keys in another
// case, long-form integers, optional fields spelled out empty, texts for paths
// and short hashes.
func TestDecodeIsStrict(t *testing.T) {
	enc := func(v any) string {
		b, err := canon.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	obj := func(pairs ...string) string {
		return string([]byte{byte(0xa0 + len(pairs)/2)}) + strings.Join(pairs, "")
	}
	list := func(items ...string) string {
		return string([]byte{byte(0x80 + len(items))}) + strings.Join(items, "")
	}
	path := enc("path") + enc([]byte("/a"))
	body := enc("write") + obj(enc("content"), enc([]byte("x")))
	whole := func(change string) string {
		return obj(enc("file-write"), obj(enc("changes"), list(change)))
	}
	raw := func(pairs ...string) string { // a map of counted pairs
		return string([]byte{byte(0xa0 + len(pairs))}) + strings.Join(pairs, "")
	}
	replacement := func(s string) string {
		return whole(raw(enc("edit")+obj(enc("edits"), list(s)), path))
	}
	plain := raw(enc("new")+"\x41y", enc("old")+"\x41x")
	for _, c := range []struct {
		name, data string
		ok         bool
	}{
		{"a write", whole(raw(path, body)), true},
		{"an edit", replacement(plain), true},
		{"a count", replacement(raw(enc("new")+"\x41y", enc("old")+"\x41x", enc("count")+"\x02")), true},
		{"nothing", "", false},
		{"an empty map", "\xa0", false},
		{"trailing byte", whole(raw(path, body)) + "\x00", false},
		{"unsorted keys", whole(raw(body, path)), false},
		{"a key twice", whole(raw(path, path, body)), false},
		{"an unknown kind", obj(enc("shell"), enc("rm -rf /")), false},
		{"an unknown field", whole(raw(path, body, enc("zz")+"\x00")), false},
		{"no path", whole(raw(body)), false},
		{"a kind in another case", obj(enc("File-Write"), obj(enc("changes"), list(raw(path, body)))), false},
		{"a key in another case", whole(raw(enc("Path")+enc([]byte("/a")), body)), false},
		{"a text for a path", whole(raw(enc("path")+enc("/a"), body)), false},
		{"a null for a path", whole(raw(enc("path")+"\xf6", body)), false},
		{"a null for a write", whole(raw(path, enc("write")+"\xf6")), false},
		{"a text for content", whole(raw(path, enc("write")+obj(enc("content"), enc("x")))), false},
		{"no content", whole(raw(path, enc("write")+"\xa0")), false},
		{"an empty type spelled out", whole(raw(path, enc("write")+raw(enc("type")+"\x60", enc("content")+"\x41x"))), false},
		{"a long-form mode", whole(raw(path, enc("write")+raw(enc("mode")+"\x1a\x00\x00\x01\xa4", enc("content")+"\x41x"))), false},
		{"a count of none spelled out", replacement(raw(enc("new")+"\x41y", enc("old")+"\x41x", enc("count")+"\x00")), false},
		{"a long-form count", replacement(raw(enc("new")+"\x41y", enc("old")+"\x41x", enc("count")+"\x18\x02")), false},
		{"a negative count", replacement(raw(enc("new")+"\x41y", enc("old")+"\x41x", enc("count")+"\x21")), false},
		{"missing new text", replacement(raw(enc("old") + "\x41x")), false},
		{"a short hash", whole(raw(path, body, enc("expect")+obj(enc("hash"), enc(make([]byte, 31))))), false},
		{"a long hash", whole(raw(path, body, enc("expect")+obj(enc("hash"), enc(make([]byte, 33))))), false},
		{"a whole hash", whole(raw(path, body, enc("expect")+obj(enc("hash"), enc(make([]byte, 32))))), true},
		{"absent, said no", whole(raw(path, body, enc("expect")+obj(enc("absent"), "\xf4"))), false},
		{"a message that is no UTF-8", obj(enc("git-write"), obj(enc("commit"), obj(enc("root"), enc([]byte("/r")), enc("message"), "\x61\xff"))), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode([]byte(c.data))
			if (err == nil) != c.ok {
				t.Errorf("%x: %v", c.data, err)
			}
			codeOf(t, err)
		})
	}
}

// T2: whatever decodes is valid and encodes back to the very bytes it came
// from, and nothing makes the decoder panic.
func FuzzDecode(f *testing.F) {
	for _, s := range samples() {
		b, err := Encode(s.a)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Decode(data)
		if err != nil {
			codeOf(t, err)
			return
		}
		if back, err := Encode(a); err != nil || !bytes.Equal(back, data) {
			t.Errorf("%s encodes back to %x, %v", hex.EncodeToString(data), back, err)
		}
		_ = a.CarriedOut()
		_ = a.Capability()
		if len(a.Paths()) == 0 || a.NewText() < 0 {
			t.Errorf("%x: paths %v, new text %d", data, a.Paths(), a.NewText())
		}
	})
}
