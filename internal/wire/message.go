package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"countersign/internal/canon"
	"countersign/internal/refusal"
)

const (
	maxText   = 4096 // bytes of each text in a refusal
	maxQuoted = 64   // bytes of a name that a peer chose, when it is quoted back
)

// Request is one call. Params stay encoded until the server's table has let
// the call through.
type Request struct {
	ID     uint64    `cbor:"id"`
	Method string    `cbor:"method"`
	Params canon.Raw `cbor:"params"`
}

// Response answers the request with its ID, or with ID 0 refuses the
// connection. Exactly one of Result and Refusal is set.
type Response struct {
	ID      uint64           `cbor:"id"`
	Result  canon.Raw        `cbor:"result,omitempty"`
	Refusal *refusal.Refusal `cbor:"refusal,omitempty"`
}

// decodeRequest decodes a frame's item as a request, its params undecoded. The
// error is a bad-request refusal.
func decodeRequest(item []byte) (Request, error) {
	var req Request
	if err := canon.Decode(item, &req); err != nil {
		return Request{}, refusal.New(refusal.BadRequest, "a request", "%v", err)
	}
	if req.ID == 0 {
		return Request{}, refusal.New(refusal.BadRequest, "a request", "its id is 0")
	}
	return req, nil
}

// DecodeResponse decodes a frame's item as a response, its result undecoded. A
// refusal outside the closed set of codes, or with text that a terminal could
// take for anything but text, is an error: servers of ours send neither.
func DecodeResponse(item []byte) (Response, error) {
	var resp Response
	if err := canon.Decode(item, &resp); err != nil {
		return Response{}, err
	}
	if (resp.Result == nil) == (resp.Refusal == nil) {
		return Response{}, errors.New("a response needs exactly one of result and refusal")
	}
	if resp.ID == 0 && resp.Refusal == nil {
		return Response{}, errors.New("a result with id 0")
	}
	if r := resp.Refusal; r != nil && *r != *Clean(r) {
		return Response{}, errors.New("a refusal with control characters or too long a text")
	} else if r != nil && !(refusal.Known(r.Code) && knownAgain(r.Again)) {
		return Response{}, fmt.Errorf("a refusal of no known kind: %s, %s", quoted(string(r.Code)), quoted(string(r.Again)))
	}
	return resp, nil
}

func knownAgain(a refusal.Again) bool {
	return a == refusal.Never || a == refusal.Retry || a == refusal.After
}

// Clean returns r as it may travel: every text one bounded printable line.
func Clean(r *refusal.Refusal) *refusal.Refusal {
	c := *r
	c.What, c.Why, c.Fix = oneLine(r.What), oneLine(r.Why), oneLine(r.Fix)
	return &c
}

// oneLine replaces what does not print, line ends and direction marks among
// it, by U+FFFD and cuts at maxText bytes. It is idempotent.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, cut(s, maxText))
	return cut(s, maxText)
}

// quoted is a name that a peer chose, fit for a sentence.
func quoted(s string) string {
	if short := cut(s, maxQuoted); short != s {
		return strconv.QuoteToASCII(short) + " and more"
	}
	return strconv.QuoteToASCII(s)
}

// cut returns at most n bytes of s, and no part of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
