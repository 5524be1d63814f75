package wire

import (
	"context"
	"errors"
	"fmt"
	"os"

	"countersign/internal/canon"
	"countersign/internal/refusal"
)

// Method is one row of a server's table. Its functions are called from many
// connections at once.
type Method struct {
	// May is asked at every request, before the params are decoded, and says
	// no with a *refusal.Refusal. It must not block.
	May func(Caller) error
	// Limit bounds the params in bytes; 0 leaves only MaxFrame.
	Limit int
	// Cancel lets the caller's hanging up, and the server's stopping, end the
	// handler's context: for methods that only read or wait. Shutting down the
	// sending half counts as hanging up. A caller that sends its next request
	// before the reply to this one gives up being noticed.
	Cancel bool
	// Large says that a reply may be over SmallFrame though its request is
	// not: the request takes a place for large frames until its reply was
	// taken, so that asking costs no more memory than sending.
	Large bool
	// Handle carries the request out. Unless Cancel is set its context never
	// ends: a request that was read runs to its end.
	Handle Handler
}

// Handler carries out one request. An error that is a *refusal.Refusal is sent
// as it is; any other is logged and sent as internal, without its text. The
// handles of a Reply are the server's to close from then on, beside an error
// too.
type Handler func(ctx context.Context, c Caller, params canon.Raw) (Reply, error)

// Reply is what a request comes to.
type Reply struct {
	Result  any        // encoded by canon.Encode
	Handles []*os.File // at most MaxHandles, in the order the result names them
}

// Typed makes a handler of a function with typed params and result. Params
// that are not P's canonical encoding are refused as bad-request.
func Typed[P, R any](f func(context.Context, Caller, P) (R, error)) Handler {
	return TypedHandles(func(ctx context.Context, c Caller, p P) (R, []*os.File, error) {
		r, err := f(ctx, c, p)
		return r, nil, err
	})
}

// TypedHandles is Typed for a function whose reply carries handles.
func TypedHandles[P, R any](f func(context.Context, Caller, P) (R, []*os.File, error)) Handler {
	return func(ctx context.Context, c Caller, params canon.Raw) (Reply, error) {
		var p P
		if err := canon.Decode(params, &p); err != nil {
			return Reply{}, refusal.New(refusal.BadRequest, "the params", "%v", err)
		}
		r, handles, err := f(ctx, c, p)
		return Reply{Result: r, Handles: handles}, err
	}
}

// check says what a table's row lacks.
func (m Method) check() error {
	switch {
	case m.May == nil:
		return errors.New("no May")
	case m.Handle == nil:
		return errors.New("no Handle")
	case m.Limit < 0 || m.Limit > MaxFrame:
		return fmt.Errorf("a limit of %d bytes", m.Limit)
	}
	return nil
}

func closeAll(handles []*os.File) {
	for _, f := range handles {
		f.Close()
	}
}
