package wire

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"countersign/internal/canon"
	"countersign/internal/refusal"
)

// P3: no bytes reach a handler but canonical params of a method in the table
// that the caller may call, within its limit.
func FuzzRequest(f *testing.F) {
	const limit = 32
	cfg := Config{Name: "n", Admit: anyone, Log: slog.New(slog.DiscardHandler)}
	f.Add(requestFrame(f, 1, "echo", echo{"x"})[HeadSize:])
	f.Add(requestFrame(f, 1<<63, "echo", echo{strings.Repeat("y", 40)})[HeadSize:])
	f.Add(requestFrame(f, 2, "closed", echo{})[HeadSize:])
	f.Add(requestFrame(f, 3, "executor.settle", nil)[HeadSize:])
	f.Add(rawRequest(f, 4, "echo", notCanonical)[HeadSize:])
	f.Add([]byte("\xa2\x62id\x01\x66method\x64echo"))
	f.Fuzz(func(t *testing.T, item []byte) {
		var reached *echo
		cfg.Methods = map[string]Method{
			"echo": {May: anyone, Limit: limit, Handle: Typed(func(_ context.Context, _ Caller, p echo) (echo, error) {
				reached = &p
				return p, nil
			})},
			"closed": {May: func(Caller) error { return refusal.New(refusal.NotPermitted, "x", "") }, Handle: func(context.Context, Caller, canon.Raw) (Reply, error) {
				t.Fatal("a closed method was reached")
				return Reply{}, nil
			}},
		}
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		req, err := decodeRequest(item)
		if err != nil {
			if !refusal.Is(err, refusal.BadRequest) {
				t.Fatalf("no bad-request: %v", err)
			}
			return
		}
		if back, err := canon.Encode(req); err != nil || !bytes.Equal(back, item) {
			t.Fatalf("%x is read as %+v, which is %x, %v", item, req, back, err)
		}
		result, _, err := (&conn{s: s}).perform(context.Background(), req)
		if err != nil && refusal.As(err) == nil {
			t.Fatalf("a fault: %v", err)
		}
		if (err == nil) != (reached != nil) {
			t.Fatalf("error %v, reached %v", err, reached)
		}
		if reached == nil {
			return
		}
		if req.Method != "echo" || len(req.Params) > limit || !bytes.Equal(result, req.Params) {
			t.Fatalf("%q was reached with %x and answered %x", req.Method, req.Params, result)
		}
	})
}
