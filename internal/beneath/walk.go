package beneath

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Name is one name in a directory and what kind of file it is: a mode's type
// bits, or 0 where the filesystem does not say.
type Name struct {
	Name string
	Kind uint32
}

// Info is a file's stat as a listing needs it, and whether another filesystem
// is mounted there.
type Info struct {
	Mode    uint32 // type and permission bits
	Size    uint64
	Links   uint32
	UID     uint32
	GID     uint32
	Dev     uint64
	Ino     uint64
	Mtime   int64 // nanoseconds since 1970
	Ctime   int64
	Mounted bool
}

// Directory is one directory, held open. It is for one goroutine.
type Directory struct{ fd int }

// OpenDirectory opens a directory beneath the root by a clean relative path, ""
// being the root itself; no link on the way is followed. Errors are the
// kernel's: ELOOP a link, EXDEV a mount, and so on.
//
// Every directory of a walk is opened from the root anew: one that was moved
// out from beneath it meanwhile is not found, where a handle held on the way
// would lead there still.
func (r *Root) OpenDirectory(relative string, o Options) (*Directory, error) {
	fd, err := r.open(relative, o.how(unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK))
	if err != nil {
		return nil, fmt.Errorf("opening a directory: %w", err)
	}
	return &Directory{fd: fd}, nil
}

// Again gives the same root once more, to be closed by itself: for whoever may
// go on with it after the first was closed.
func (r *Root) Again() (*Root, error) {
	fd, err := unix.Openat(int(r.dir.Fd()), ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the root again: %w", err)
	}
	return &Root{Real: r.Real, listed: r.listed, dir: os.NewFile(uintptr(fd), "root"), id: r.id}, nil
}

// ErrNotRegular says that a file is no regular one.
var ErrNotRegular = errors.New("not a regular file")

func (r *Root) open(relative string, how *unix.OpenHow) (int, error) {
	if relative == "" {
		relative = "."
	}
	return openat2(int(r.dir.Fd()), relative, how)
}

// standsAt says whether an open file is at a path now. A filesystem that folds
// letters may spell it in others.
func standsAt(fd int, path string) bool {
	var buf [4096 + len(" (deleted)")]byte
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf[:])
	return err == nil && strings.EqualFold(string(buf[:n]), path)
}

// StandsAt says whether an open file is at the place now, by where the place
// was when it was found.
func (p *Place) StandsAt(f *os.File) bool { return standsAt(int(f.Fd()), p.Real) }

// StandsAt says whether the directory is now at a path beneath the root.
func (d *Directory) StandsAt(r *Root, relative string) bool {
	path := r.Real
	if relative != "" {
		path = strings.TrimSuffix(path, "/") + "/" + relative
	}
	return standsAt(d.fd, path)
}

// Close lets go of the directory.
func (d *Directory) Close() error { return unix.Close(d.fd) }

// Names gives the names in the directory, without `.` and `..`, in the order
// of disk: all of them or, where more is true, the first ones up to most. buf
// is room to read into, in bytes at least 4096. It ends with ctx between two
// system calls.
func (d *Directory) Names(ctx context.Context, buf []byte, most int) (names []Name, more bool, err error) {
	var text strings.Builder // one string holds all names
	var ends []int
	var kinds []uint32
	for {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		n, err := unix.Getdents(d.fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, false, fmt.Errorf("reading a directory: %w", err)
		}
		if n <= 0 {
			break
		}
		for b := buf[:n]; len(b) > direntName; {
			size := int(binary.NativeEndian.Uint16(b[direntSize:]))
			if size <= direntName || size > len(b) {
				return nil, false, errors.New("reading a directory: [unexpected] an entry of no size")
			}
			name, kind := b[direntName:size], b[direntKind]
			b = b[size:]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			if s := string(name); s == "" || s == "." || s == ".." {
				continue
			}
			if more = len(ends) == most; more {
				break
			}
			text.Write(name)
			ends, kinds = append(ends, text.Len()), append(kinds, uint32(kind)<<12)
		}
		if more {
			break
		}
	}
	names = make([]Name, len(ends))
	for i, from := 0, 0; i < len(ends); i++ {
		names[i] = Name{text.String()[from:ends[i]], kinds[i]}
		from = ends[i]
	}
	return names, more, nil
}

// Where the kernel's struct linux_dirent64 has its length, kind and name. The
// kind is a mode's type bits, shifted.
const direntSize, direntKind, direntName = 16, 18, 19

// Look stats a name without following a link, crossing into what is mounted
// there, or asking the server of a filesystem that keeps what it said before.
func (d *Directory) Look(name string) (Info, error) {
	const flags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_DONT_SYNC
	var st unix.Statx_t
	if err := unix.Statx(d.fd, name, flags, unix.STATX_BASIC_STATS, &st); err != nil {
		return Info{}, fmt.Errorf("statx: %w", err)
	}
	return Info{
		Mode: uint32(st.Mode), Size: st.Size, Links: st.Nlink, UID: st.Uid, GID: st.Gid,
		Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino,
		Mtime: nanoseconds(st.Mtime), Ctime: nanoseconds(st.Ctime), Mounted: st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0,
	}, nil
}

func nanoseconds(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

// ReadSmall reads a regular file in the directory that has at most limit
// bytes; nil where there is none, where it is a link, or where it is larger.
func (d *Directory) ReadSmall(name string, limit int) ([]byte, error) {
	fd, err := openat2(d.fd, name, Options{}.how(unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY))
	if err != nil {
		return nil, fmt.Errorf("opening a file: %w", err)
	}
	defer unix.Close(fd)
	var st Stat
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("fstat: %w", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > int64(limit) {
		return nil, nil
	}
	buf, have := make([]byte, st.Size+1), 0
	for have < len(buf) {
		n, err := unix.Read(fd, buf[have:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, fmt.Errorf("reading a file: %w", err)
		case n <= 0:
			return buf[:have], nil
		}
		have += n
	}
	return buf[:have], nil
}

// OnFUSE says whether the directory is on FUSE, whose server could make any
// read wait for ever.
func (d *Directory) OnFUSE() bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(d.fd, &fs) == nil && fs.Type == fuseMagic
}

// Path gives the directory's path, every link on the way resolved.
func (d *Directory) Path() (string, error) { return realPath(d.fd) }

// Follow gives a relative path beneath the root with the links on the way
// resolved, as Find does where it may follow them; "" is the root itself. The
// error is a refusal that names what, and says nothing of where a link leads.
func (r *Root) Follow(what, relative string, o Options) (string, error) {
	return r.expand(what, relative, o)
}
