package boot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// own are a process's own hands.
type own struct{ kept [][]byte }

func (o *own) put(b []byte) (uintptr, error) {
	o.kept = append(o.kept, b)
	return uintptr(unsafe.Pointer(&b[0])), nil
}

func (o *own) clear() { o.kept = nil }

func (o *own) call(nr uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	runtime.KeepAlive(o)
	if errno != 0 {
		return -uintptr(errno), nil
	}
	return r, nil
}

// helperVariable makes the test binary answer questions instead of testing.
const helperVariable = "COUNTERSIGN_BOOT_HELPER"

// question is what the helper is asked on its standard input.
type question struct {
	PID      int // whose hands; 0: its own
	Attempts []attempt
}

// help answers a question with the result of each attempt, in order. It is
// what the test binary does inside a machine.
func help(in io.Reader, out io.Writer) (err error) {
	var q question
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		return fmt.Errorf("reading what is to be tried: %w", err)
	}
	var h hands = new(own)
	if q.PID != 0 {
		b, err := borrow(q.PID)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.giveBack()) }()
		h = b
	}
	results := make([]string, len(q.Attempts))
	for i, a := range q.Attempts {
		results[i] = try(h, a)
	}
	return json.NewEncoder(out).Encode(results)
}
