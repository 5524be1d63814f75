package wire

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Caller is the peer of a connection as the kernel recorded it at connect. It
// does not follow later changes of the peer, so what a uid may do is looked up
// at every request. PID is for logs only.
type Caller struct {
	UID, GID uint32
	PID      int32
}

// callerOf asks the kernel who connected.
func callerOf(uc *net.UnixConn) (Caller, error) {
	rc, err := uc.SyscallConn()
	if err != nil {
		return Caller{}, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := rc.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return Caller{}, err
	}
	if credErr != nil {
		return Caller{}, fmt.Errorf("asking for the peer's uid: %w", credErr)
	}
	return Caller{UID: cred.Uid, GID: cred.Gid, PID: cred.Pid}, nil
}
