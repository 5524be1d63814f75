package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Companion is a process that has a terminal.
type Companion struct {
	PID  int
	UID  uint32 // one of its uids, that was looked for
	Name string // as it calls itself
}

// Companions lists the processes, of the uids that are looked for, whose
// controlling terminal this is, or that have it open as far as this process may
// look. hidden says that the kernel shows this process no other users' ones
// (hidepid), so that there are none among them.
//
// What it cannot see besides: handles of another user's processes, so one that
// holds the terminal open and is controlled by another, or by none; and processes
// of another PID namespace than this one's and those beneath it.
func Companions(tty *os.File, of func(uid uint32) bool) (found []Companion, hidden bool, err error) {
	return companions("/proc", tty, of)
}

func companions(proc string, tty *os.File, of func(uid uint32) bool) (found []Companion, hidden bool, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(tty.Fd()), &st); err != nil {
		return nil, false, fmt.Errorf("looking at the terminal: %w", err)
	}
	if _, err := uidsOf(filepath.Join(proc, "1")); err != nil {
		hidden = true // the first process is another user's, and always there
	}
	dirs, err := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	if err != nil {
		return nil, hidden, err
	}
	for _, dir := range dirs {
		uids, err := uidsOf(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ESRCH): // it has ended
			continue
		case errors.Is(err, fs.ErrPermission):
			hidden = true
			continue
		case err != nil:
			return nil, hidden, err
		}
		for _, uid := range uids {
			if !of(uid) {
				continue
			}
			if name, has := hasTerminal(dir, st.Rdev); has {
				pid, _ := strconv.Atoi(filepath.Base(dir))
				found = append(found, Companion{PID: pid, UID: uid, Name: name})
			}
			break
		}
	}
	return found, hidden, nil
}

// uidsOf gives a process's real, effective, saved and filesystem uids.
func uidsOf(dir string) ([]uint32, error) {
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return nil, err
	}
	_, rest, _ := bytes.Cut(status, []byte("\nUid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	var uids []uint32
	for word := range strings.FieldsSeq(string(line)) {
		uid, err := strconv.ParseUint(word, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", dir, err)
		}
		uids = append(uids, uint32(uid))
	}
	return uids, nil
}

// hasTerminal says whether a device is a process's controlling terminal, or one
// of its handles that may be looked at.
func hasTerminal(dir string, device uint64) (name string, has bool) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return "", false
	}
	// The name stands in parentheses and may hold anything; behind it come
	// state, parent, group, session and terminal.
	end := bytes.LastIndexByte(stat, ')')
	begin := bytes.IndexByte(stat, '(')
	if begin < 0 || end < begin {
		return "", false
	}
	name = string(stat[begin+1 : end])
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) > 0 && (fields[0] == "Z" || fields[0] == "X") {
		return name, false // it has ended, and only waits to be counted
	}
	if len(fields) > 4 && fields[4] == strconv.Itoa(ttyNumber(device)) {
		return name, true
	}
	handles, _ := os.ReadDir(filepath.Join(dir, "fd")) // another user's are closed to this one
	for _, h := range handles {
		var st unix.Stat_t
		if unix.Stat(filepath.Join(dir, "fd", h.Name()), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == device {
			return name, true
		}
	}
	return name, false
}

// ttyNumber spells a device as the kernel does in a process's stat.
func ttyNumber(device uint64) int {
	major, minor := unix.Major(device), unix.Minor(device)
	return int(int32(minor&0xff | major<<8 | (minor&^0xff)<<12))
}
