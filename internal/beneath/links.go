package beneath

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/refusal"
)

const (
	maxLinks    = 40   // on one path, as the kernel bounds them
	maxExpanded = 4095 // bytes that links may make of a path, likewise
)

// expansion is a path on its way to one without links.
type expansion struct {
	root    *Root
	done    []string // reached without links
	rest    []string // still to be walked
	missing bool     // whether the last of done does not exist
}

// expand puts what links on the way point to in their place, until the path
// has none. A link that leads out of the root is refused without a word of
// where to. The path may end in names that do not exist.
func (r *Root) expand(what, relative string, o Options) (string, error) {
	x := expansion{root: r, rest: strings.Split(relative, "/")}
	for links := 0; len(x.rest) > 0; {
		name := x.rest[0]
		x.rest = x.rest[1:]
		if strings.Trim(name, ".") == "" && len(name) < 3 {
			if !x.dots(name) {
				return "", refusal.New(refusal.Link, what, "")
			}
			continue
		}
		x.done = append(x.done, name)
		if x.missing || o.Entry && len(x.rest) == 0 {
			continue
		}
		target, err := r.readLink(strings.Join(x.done, "/"), o)
		if errors.Is(err, unix.ENOENT) {
			x.missing = true
			continue
		}
		if err != nil {
			return "", refuseDirectory(what, err)
		}
		if target == "" {
			continue
		}
		if links++; links > maxLinks || !x.follow(target) {
			return "", refusal.New(refusal.Link, what, "")
		}
	}
	return strings.Join(x.done, "/"), nil
}

// dots walks an empty name, `.` or `..`, which only links bring in. It cannot
// climb over the root, nor out of what does not exist.
func (x *expansion) dots(name string) bool {
	if name != ".." {
		return true
	}
	if len(x.done) == 0 || x.missing {
		return false
	}
	x.done = x.done[:len(x.done)-1]
	return true
}

// follow walks on at what the last name, a link, points to.
func (x *expansion) follow(target string) bool {
	x.done = x.done[:len(x.done)-1]
	if strings.HasPrefix(target, "/") {
		in, ok := x.root.inside(target)
		if !ok {
			return false
		}
		target, x.done = in, nil
	}
	length := len(target)
	for _, name := range x.rest {
		length += 1 + len(name)
	}
	x.rest = append(strings.Split(target, "/"), x.rest...)
	return length <= maxExpanded
}

// inside gives an absolute path relative to the root, if it is spelled beneath
// the root as it was listed or as it is.
func (r *Root) inside(target string) (string, bool) {
	for _, root := range []string{r.Real, r.listed} {
		if in, ok := strings.CutPrefix(target+"/", strings.TrimSuffix(root, "/")+"/"); ok {
			return in, true
		}
	}
	return "", false
}

// readLink gives what the entry at a path without links points to; the empty
// string where it is no link.
func (r *Root) readLink(relative string, o Options) (string, error) {
	fd, err := openat2(int(r.dir.Fd()), relative, o.how(unix.O_PATH|unix.O_NOFOLLOW))
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", err
	}
	return readLinkAt(fd, "")
}

// readLinkAt reads a link, whose target is never empty.
func readLinkAt(dir int, name string) (string, error) {
	b := make([]byte, maxExpanded+1)
	n, err := unix.Readlinkat(dir, name, b)
	if err == nil && n > maxExpanded {
		err = unix.ENAMETOOLONG
	}
	return string(b[:max(n, 0)]), err
}

// IsLink says whether the name at a clean path beneath the root is a symbolic
// link. Links on the way to it are followed.
func (r *Root) IsLink(relative string) bool {
	var b [1]byte
	n, err := unix.Readlinkat(int(r.dir.Fd()), relative, b[:])
	return err == nil && n > 0
}

// Leads gives where a clean path beneath the root leads, relative to the root,
// with every link read and none followed by the kernel; the last names need not
// exist. It is not ok where that is out of the root, or cannot be told.
func (r *Root) Leads(relative string) (to string, ok bool) {
	to, err := r.expand("", relative, Options{CrossMounts: true})
	return to, err == nil && to != ""
}
