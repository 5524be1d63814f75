package facts

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
)

// The attributes that are access control lists: a file's own, and the one that
// a directory gives to what is made in it.
const (
	AccessACL  = "system.posix_acl_access"
	defaultACL = "system.posix_acl_default"
)

// Attributes lists the extended attributes that a file put in this one's place
// is given too, by name, and names in words those that it would lack. Security
// labels that the kernel gives by itself are in neither list.
func Attributes(file *os.File) (kept []action.Attribute, lost []string, err error) {
	names, err := attributes(file)
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(names)
	room := action.Room{Left: action.MaxAttributes}
	for _, n := range names {
		if kernels(n) {
			continue
		}
		if n != AccessACL && !strings.HasPrefix(n, "user.") {
			lost = append(lost, "attribute "+action.Path(n).String())
			continue
		}
		value, err := attribute(file, n)
		if errors.Is(err, unix.ENODATA) {
			continue // it went in between: the file's ctime tells
		}
		if err != nil {
			return nil, nil, err
		}
		if !room.Take(uint64(len(n) + len(value))) {
			lost = append(lost, "attribute "+action.Path(n).String()+", for its size")
			continue
		}
		kept = append(kept, action.Attribute{Name: action.Path(n), Value: value})
	}
	return kept, lost, nil
}

// kernels says whether the kernel gives a file this attribute by itself.
func kernels(name string) bool {
	switch name {
	case "security.selinux", "security.apparmor", "security.ima", "security.evm":
		return true
	}
	return strings.HasPrefix(name, "security.SMACK64")
}

// attributes lists the names of a file's extended attributes; none where the
// filesystem has none.
func attributes(f *os.File) ([]string, error) {
	b, err := whole(func(b []byte) (int, error) { return unix.Flistxattr(int(f.Fd()), b) })
	if errors.Is(err, unix.ENOTSUP) || len(b) == 0 && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, os.NewSyscallError("flistxattr", err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00"), nil
}

func attribute(f *os.File, name string) ([]byte, error) {
	b, err := whole(func(b []byte) (int, error) { return unix.Fgetxattr(int(f.Fd()), name, b) })
	if err != nil {
		return nil, os.NewSyscallError("fgetxattr", err)
	}
	return b, nil
}

// whole calls get with a small buffer, and where that does not do with one of
// the kernel's own bound.
func whole(get func([]byte) (int, error)) ([]byte, error) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b := make([]byte, size)
		n, err := get(b)
		if !errors.Is(err, unix.ERANGE) {
			return b[:max(n, 0):max(n, 0)], err
		}
	}
	return nil, unix.ERANGE
}

// defaultOf gives the permissions in a directory's default access control list;
// nil where it has none.
func defaultOf(dir *os.File) (*uint32, error) {
	b, err := attribute(dir, defaultACL)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mode, ok := permissions(b)
	if !ok {
		return nil, os.NewSyscallError("fgetxattr", unix.EINVAL)
	}
	return &mode, nil
}

// permissions reads the permission bits out of an access control list as the
// kernel spells it: a version, then entries of a tag, permissions and an id
// (acl(5); linux/posix_acl_xattr.h). Where there is a mask, it stands for the
// group.
func permissions(acl []byte) (mode uint32, ok bool) {
	const (
		version                   = 2
		owner, group, mask, other = 0x01, 0x04, 0x10, 0x20
	)
	if len(acl) < 4 || len(acl)%8 != 4 || binary.LittleEndian.Uint32(acl) != version {
		return 0, false
	}
	masked := false
	for e := acl[4:]; len(e) > 0; e = e[8:] {
		perm := uint32(binary.LittleEndian.Uint16(e[2:])) & 7
		switch binary.LittleEndian.Uint16(e) {
		case owner:
			mode |= perm << 6
		case other:
			mode |= perm
		case mask:
			mode, masked = mode&^0o070|perm<<3, true
		case group:
			if !masked {
				mode |= perm << 3
			}
		}
	}
	return mode, true
}
