//go:build !amd64

package fault

import (
	"errors"
	"runtime"
)

// trace is nothing: how a call is made to fail is known for amd64 alone.
type trace struct {
	calls []call
	hit   *call
	done  chan struct{}
}

func hold(int, fault) (*trace, error) {
	return nil, errors.New("standing between a process and the kernel is not known on " + runtime.GOARCH)
}

func (*trace) letGo() {}
