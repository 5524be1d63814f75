package wire

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/internal/canon"
	"countersign/internal/refusal"
)

// notCanonical is params that no handler may ever see: a long-form integer.
var notCanonical = canon.Raw{0x18, 5}

func rawRequest(t testing.TB, id uint64, method string, params canon.Raw) []byte {
	t.Helper()
	item, err := canon.Encode(Request{ID: id, Method: method, Params: params})
	if err != nil {
		t.Fatal(err)
	}
	return frame(t, item)
}

// P3: the table and the caller's right come before the params, and the
// method's limit before they are decoded. None of it ends the connection.
func TestTableComesBeforeParams(t *testing.T) {
	r := serve(t, func(c *Config) {
		c.Methods["closed"] = Method{
			May:    func(Caller) error { return refusal.New(refusal.NotPermitted, "closed", "") },
			Handle: func(context.Context, Caller, canon.Raw) (Reply, error) { panic("reached") },
		}
		c.Methods["small"] = Method{May: anyone, Limit: 10, Handle: echoMethod().Handle}
	})
	uc := r.dial(t)
	long := canon.Raw(append([]byte{0x58, 9}, make([]byte, 9)...)) // 11 bytes
	for _, c := range []struct {
		method string
		params canon.Raw
		code   string
	}{
		{"executor.file-write", notCanonical, "unknown-method"},
		{"", notCanonical, "unknown-method"},
		{"Echo", notCanonical, "unknown-method"},
		{"closed", notCanonical, "not-permitted"},
		{"small", long, "too-large"},
		{"small", canon.Raw("\xa1\x64text\x63abc"), ""}, // 10 bytes
		{"echo", notCanonical, "bad-request"},
		{"echo", canon.Raw("\xa1\x64text\x78\x01x"), "bad-request"},
		{"echo", canon.Raw("\xa2\x64text\x61x\x64text\x61x"), "bad-request"},
		{"echo", canon.Raw("\xa2\x61z\x01\x64text\x61x"), "bad-request"},
		{"echo", canon.Raw("\xa1\x64TEXT\x61x"), "bad-request"},
		{"echo", canon.Raw("\xa0"), "bad-request"},
		{"echo", canon.Raw("\xf6"), "bad-request"},
	} {
		send(t, uc, rawRequest(t, 5, c.method, c.params))
		if resp := receive(t, uc); c.code != "" {
			wantCode(t, resp, 5, c.code)
		} else if resp.Refusal != nil {
			t.Errorf("%s with %x: %v", c.method, c.params, resp.Refusal)
		}
	}
	wantEcho(t, uc)
}

// P3: a method that the server does not have is named in the refusal, quoted
// and short.
func TestUnknownMethodIsQuoted(t *testing.T) {
	uc := serve(t, nil).dial(t)
	send(t, uc, requestFrame(t, 1, "\x1b[2J\u202e"+strings.Repeat("é", 1<<20), nil))
	resp := receive(t, uc)
	wantCode(t, resp, 1, "unknown-method")
	if what := resp.Refusal.What; len(what) > 400 || strings.ContainsAny(what, "\x1b\u202eé") {
		t.Errorf("%d bytes: %.500s", len(what), what)
	}
}

// P2: what a uid may is asked at every request, not at connect alone.
func TestRightsAreAskedAtEveryRequest(t *testing.T) {
	var may, admitted atomic.Bool
	may.Store(true)
	admitted.Store(true)
	no := func(yes *atomic.Bool) func(Caller) error {
		return func(Caller) error {
			if yes.Load() {
				return nil
			}
			return refusal.New(refusal.NotPermitted, "you", "")
		}
	}
	r := serve(t, func(c *Config) {
		c.Admit = no(&admitted)
		c.Methods["echo"] = Method{May: no(&may), Handle: echoMethod().Handle}
	})
	uc, idle := r.dial(t), r.dial(t)
	wantEcho(t, uc)
	wantEcho(t, idle)
	may.Store(false)
	send(t, uc, requestFrame(t, 2, "echo", echo{}))
	wantCode(t, receive(t, uc), 2, "not-permitted")
	may.Store(true)
	wantEcho(t, uc)
	r.Recheck()
	wantEcho(t, uc)

	admitted.Store(false)
	send(t, uc, requestFrame(t, 3, "echo", echo{}))
	wantCode(t, receive(t, uc), 3, "not-permitted")
	wantEnd(t, uc)
	r.Recheck()
	wantEnd(t, idle)
}

// T18: a fault's text goes to the log alone, where the refusal says to look.
func TestFaultsAreNotTold(t *testing.T) {
	r := serve(t, func(c *Config) {
		c.Methods["fail"] = Method{May: anyone, Handle: func(context.Context, Caller, canon.Raw) (Reply, error) {
			return Reply{}, errors.New("a file's content")
		}}
	})
	uc := r.dial(t)
	wantEcho(t, uc)
	send(t, uc, requestFrame(t, 2, "fail", nil))
	resp := receive(t, uc)
	wantCode(t, resp, 2, "internal")
	if strings.Contains(resp.Refusal.Error(), "content") {
		t.Errorf("told: %v", resp.Refusal)
	}
	where := "conn=1 request=2"
	if !strings.Contains(resp.Refusal.Why, where) || !strings.Contains(r.log.String(), where) || !strings.Contains(r.log.String(), "content") {
		t.Errorf("refusal %q, log %q", resp.Refusal.Why, r.log)
	}
	wantEcho(t, uc)
}

// P13: a panic ends one connection, with an answer and its stack in the log.
func TestPanicEndsOneConnection(t *testing.T) {
	r := serve(t, func(c *Config) {
		c.Methods["panic"] = Method{May: anyone, Handle: func(context.Context, Caller, canon.Raw) (Reply, error) { panic("at this") }}
		c.Methods["may"] = Method{May: func(Caller) error { panic("at that") }, Handle: echoMethod().Handle}
	})
	other := r.dial(t)
	wantEcho(t, other)
	for _, method := range []string{"panic", "may"} {
		uc := r.dial(t)
		send(t, uc, requestFrame(t, 1, method, nil))
		wantCode(t, receive(t, uc), 1, "internal")
		wantEnd(t, uc)
	}
	wantEcho(t, other)
	if log := r.log.String(); !strings.Contains(log, "at this") || !strings.Contains(log, "at that") || !strings.Contains(log, "method_test.go") {
		t.Errorf("log: %s", log)
	}
}

// T18: a reply too large for a frame is refused; the connection goes on.
func TestReplyTooLarge(t *testing.T) {
	r := serve(t, func(c *Config) {
		c.Methods["large"] = Method{May: anyone, Handle: func(context.Context, Caller, canon.Raw) (Reply, error) {
			return Reply{Result: make([]byte, MaxFrame)}, nil
		}}
	})
	uc := r.dial(t)
	send(t, uc, requestFrame(t, 1, "large", nil))
	wantCode(t, receive(t, uc), 1, "too-large")
	wantEcho(t, uc)
}

// P2: a server with a door that has no lock is not made.
func TestNewWantsEveryLock(t *testing.T) {
	sound := func() Config {
		return Config{Name: "n", Admit: anyone, Log: slog.New(slog.DiscardHandler), Methods: map[string]Method{"echo": echoMethod()}}
	}
	if _, err := New(sound()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"no name":   func(c *Config) { c.Name = "" },
		"no Admit":  func(c *Config) { c.Admit = nil },
		"no log":    func(c *Config) { c.Log = nil },
		"no May":    func(c *Config) { c.Methods["x"] = Method{Handle: echoMethod().Handle} },
		"no Handle": func(c *Config) { c.Methods["x"] = Method{May: anyone} },
		"limit": func(c *Config) {
			c.Methods["x"] = Method{May: anyone, Handle: echoMethod().Handle, Limit: MaxFrame + 1}
		},
	} {
		cfg := sound()
		spoil(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: made", name)
		}
	}
}

// T18: a refusal's texts are printable lines of bounded length when they
// arrive, whoever made them; a reply that holds others is not believed.
func TestRefusalTextIsClean(t *testing.T) {
	r := serve(t, func(c *Config) {
		c.Methods["rude"] = Method{May: anyone, Handle: func(context.Context, Caller, canon.Raw) (Reply, error) {
			return Reply{}, &refusal.Refusal{Code: refusal.Busy, What: "a\nb\x1b[2J\xff", Why: strings.Repeat("é\u202e", 1<<20), Again: refusal.Retry}
		}}
	})
	uc := r.dial(t)
	send(t, uc, requestFrame(t, 1, "rude", nil))
	resp := receive(t, uc) // DecodeResponse refuses what is not clean
	wantCode(t, resp, 1, "busy")
	if r := resp.Refusal; r.What != "a\ufffdb\ufffd[2J\ufffd" || len(r.Why) > maxText {
		t.Errorf("%q, %d bytes", r.What, len(r.Why))
	}
	for name, r := range map[string]refusal.Refusal{
		"escape":       {Code: refusal.Busy, What: "a", Why: "\x1b[2J", Again: refusal.Retry},
		"line end":     {Code: refusal.Busy, What: "a\nb", Again: refusal.Retry},
		"direction":    {Code: refusal.Busy, What: "a", Fix: "\u202e", Again: refusal.Retry},
		"long":         {Code: refusal.Busy, What: strings.Repeat("a", maxText+1), Again: refusal.Retry},
		"unknown code": {Code: "ok", Again: refusal.Retry},
		"unknown word": {Code: refusal.Busy, Again: "maybe"},
	} {
		item, err := canon.Encode(Response{ID: 1, Refusal: &r})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeResponse(item); err == nil {
			t.Errorf("%s: believed", name)
		}
	}
}

// T2: a response is exactly one of a result, which may be null, and a refusal.
func TestDecodeResponse(t *testing.T) {
	for item, ok := range map[string]bool{
		"\xa2\x62id\x01\x66result\xf6":          true,
		"\xa2\x62id\x01\x66result\xa0":          true,
		"\xa1\x62id\x01":                        false,
		"\xa2\x62id\x00\x66result\xa0":          false,
		"\xa2\x66result\xa0\x62id\x01":          false,
		"\xa2\x62id\x01\x67refusal\xf6":         false,
		"\xa2\x62id\x18\x01\x66result\xa0":      false,
		"\xa2\x62id\x01\x66result\xa0\x00":      false,
		"\xa3\x61z\x01\x62id\x01\x66result\x00": false,
	} {
		if _, err := DecodeResponse([]byte(item)); (err == nil) != ok {
			t.Errorf("%x: %v", item, err)
		}
	}
}
