package refusal

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"countersign/internal/canon"
)

// declared reads the codes that the source declares, by their names.
func declared(t *testing.T) map[string]Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "refusal.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]Code{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "Code" {
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes[v.Names[0].Name] = Code(text)
		}
		return true
	})
	if len(codes) < 40 {
		t.Fatalf("the source declares %d codes only", len(codes))
	}
	return codes
}

// O7: the codes are a closed set: what is declared and what the table holds are
// the same, each code once, and each has a why and says whether the same call
// can succeed later; what can, after somebody changed something or as it is,
// is told apart from what cannot.
func TestTheSetIsClosed(t *testing.T) {
	form := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	byCode := map[Code]string{}
	for name, code := range declared(t) {
		if other, twice := byCode[code]; twice {
			t.Errorf("%s and %s are both %q", name, other, code)
		}
		byCode[code] = name
		if !Known(code) {
			t.Errorf("%s is not in the table", name)
		}
		if !form.MatchString(string(code)) {
			t.Errorf("%s has the code %q", name, code)
		}
	}
	for code, e := range table {
		if byCode[code] == "" {
			t.Errorf("%q stands in the table and has no name", code)
		}
		if e.why == "" {
			t.Errorf("%q does not say why", code)
		}
		if e.again != Never && e.again != Retry && e.again != After {
			t.Errorf("%q: again is %q", code, e.again)
		}
	}
	if Known("") || Known("no-such-code") {
		t.Error("a code that is none is known")
	}
}

// O7: every refusal reads as one sentence in one voice: what, why, the
// particulars, the fix, and its code; lower case, one line, no full stop.
func TestOneVoice(t *testing.T) {
	for code, e := range table {
		for _, s := range []string{e.why, e.fix} {
			if strings.ContainsAny(s, "\n\t!") || strings.HasSuffix(s, ".") || strings.TrimSpace(s) != s || strings.Contains(s, "  ") {
				t.Errorf("%q: %q", code, s)
			}
			if first := strings.SplitN(s, " ", 2)[0]; first != strings.ToLower(first) && !strings.HasPrefix(s, "Countersign") {
				t.Errorf("%q begins in upper case: %q", code, s)
			}
		}
		want := "write of /a: " + e.why + ": 5 bytes"
		if e.fix != "" {
			want += "; " + e.fix
		}
		want += " [" + string(code) + "]"
		if got := New(code, "write of /a", "%d bytes", 5).Error(); got != want {
			t.Errorf("%q reads %q, want %q", code, got, want)
		}
		if got := New(code, "x", "").Why; got != e.why {
			t.Errorf("%q without particulars: %q", code, got)
		}
	}
}

// O7: what disk or the agent put into a refusal's particulars is no format.
func TestParticularsAreNoFormat(t *testing.T) {
	if got := New(BadAction, "%s%n", "%s", "%d%!").Error(); !strings.HasPrefix(got, "%s%n: ") || !strings.Contains(got, ": %d%! [") {
		t.Errorf("%s", got)
	}
}

// O7: a code that is not in the set is a fault of the caller's, never a refusal.
func TestUnknownCodePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a refusal of no known code was made")
		}
	}()
	_ = New("no-such-code", "x", "")
}

// O7: a refusal is found through whatever wraps it, and nothing else is one.
func TestAsAndIs(t *testing.T) {
	r := New(NotFound, "x", "")
	wrapped := fmt.Errorf("reading: %w", r)
	joined := errors.Join(io.EOF, wrapped)
	for _, err := range []error{r, wrapped, joined} {
		if As(err) != r || !Is(err, NotFound) || Is(err, NoMatch) {
			t.Errorf("%v: %v", err, As(err))
		}
	}
	for _, err := range []error{nil, io.EOF} {
		if As(err) != nil || Is(err, NotFound) || Is(err, "") {
			t.Errorf("%v is taken for a refusal", err)
		}
	}
}

// O7: wire, journal and JSON carry a refusal whole.
func TestRefusalTravels(t *testing.T) {
	for code := range table {
		want := *New(code, "write of /a", "%q", "\x1b")
		b, err := canon.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Refusal
		if err := canon.Decode(b, &got); err != nil || got != want {
			t.Errorf("%q through CBOR: %+v, %v", code, got, err)
		}
		if b, err = json.Marshal(want); err != nil {
			t.Fatal(err)
		}
		got = Refusal{}
		if err := json.Unmarshal(b, &got); err != nil || got != want {
			t.Errorf("%q through JSON: %+v, %v", code, got, err)
		}
	}
}
