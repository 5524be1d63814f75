package wire

import (
	"bytes"
	"encoding/hex"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"countersign/internal/canon"
	"countersign/internal/refusal"
)

func readDocs(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// T2: the example bytes of docs/wire.md are what this package sends.
func TestDocsExamples(t *testing.T) {
	raw, err := canon.Encode(echo{"hi"})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := encode(Response{ID: 7, Result: raw})
	if err != nil {
		t.Fatal(err)
	}
	no, err := encode(Response{Refusal: refusal.New(refusal.Busy, "the reader", "")})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"request": requestFrame(t, 7, "example.echo", echo{"hi"}), "reply": reply, "refusal": no}
	block := regexp.MustCompile("(?s)```hex ([a-z]+)\n(.*?)```")
	for _, m := range block.FindAllStringSubmatch(readDocs(t), -1) {
		var digits strings.Builder
		for line := range strings.Lines(m[2]) {
			line, _, _ = strings.Cut(line, ";")
			digits.WriteString(strings.Join(strings.Fields(line), ""))
		}
		got, err := hex.DecodeString(digits.String())
		if err != nil || !bytes.Equal(got, want[m[1]]) {
			t.Errorf("%s: docs say\n%x, %v; it is\n%x", m[1], got, err, want[m[1]])
		}
		delete(want, m[1])
	}
	for name := range want {
		t.Errorf("docs have no example %q", name)
	}
}

// T2: the limits that docs/wire.md gives are the ones in force.
func TestDocsLimits(t *testing.T) {
	docs := readDocs(t)
	for name, n := range map[string]int{
		"Item of a frame": MaxFrame, "Data items in a frame": canon.MaxItems, "Nesting": canon.MaxDepth,
		"Handles on a reply": MaxHandles, "Each text of a refusal": maxText, "Large frame": SmallFrame,
	} {
		if !strings.Contains(docs, "| "+name+" | "+strconv.Itoa(n)+" ") {
			t.Errorf("docs do not give %d for %q", n, name)
		}
	}
}
