//go:build !amd64

package boot

import (
	"errors"
	"runtime"
)

// borrowed are nobody's hands: how a process is made to call is known for
// amd64 alone.
type borrowed struct{ own }

func borrow(int) (*borrowed, error) {
	return nil, errors.New("borrowing the hands of a process is not known on " + runtime.GOARCH)
}

func (*borrowed) giveBack() error { return nil }
