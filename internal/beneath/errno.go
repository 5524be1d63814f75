package beneath

import (
	"errors"

	"golang.org/x/sys/unix"

	"countersign/internal/refusal"
)

// Refuse puts a system call's error into words: permission in permission
// words, what a person can mend by name, the rest by the error's own name.
func Refuse(what string, err error) error {
	if r := refusal.As(err); r != nil {
		return r
	}
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return refusal.New(refusal.DiskError, what, "%v", err)
	}
	code, ok := map[unix.Errno]refusal.Code{
		unix.EACCES:       refusal.PermissionNo,
		unix.EPERM:        refusal.Immutable,
		unix.ENOSPC:       refusal.DiskFull,
		unix.EDQUOT:       refusal.Quota,
		unix.EROFS:        refusal.ReadOnly,
		unix.ENAMETOOLONG: refusal.NameTooLong,
		unix.EBUSY:        refusal.MountedFile,
		unix.ELOOP:        refusal.Link,
		unix.ENOENT:       refusal.NotFound,
	}[errno]
	if ok {
		return refusal.New(code, what, "")
	}
	return refusal.New(refusal.DiskError, what, "%s (%v)", unix.ErrnoName(errno), errno)
}

// refuseDirectory puts into words why a directory on the way did not open.
func refuseDirectory(what string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return refusal.New(refusal.MissingParent, what, "")
	case errors.Is(err, unix.EXDEV):
		return refusal.New(refusal.MountCrossing, what, "")
	case errors.Is(err, unix.ENOTDIR):
		return refusal.New(refusal.MissingParent, what, "a name on the way is no directory")
	}
	return Refuse(what, err)
}

// Reason gives the kernel's own name for an error, and no path.
func Reason(err error) string {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	return "an error of no name"
}
