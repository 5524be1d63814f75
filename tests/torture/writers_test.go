package torture

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const lines = 40 // of a save

// text is the owner's save of a number, with a line that is the agent's to
// change. It says its number from its first line to its last.
func text(n int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "owner %d\nagent 0\n", n)
	for range lines {
		fmt.Fprintf(&b, "line %d\n", n)
	}
	fmt.Fprintf(&b, "end %d\n", n)
	return b.Bytes()
}

// number gives the number that a save begins with, and whether it is whole.
func number(b []byte) (n int, whole bool) {
	first, rest, _ := strings.Cut(string(b), "\n")
	n, err := strconv.Atoi(strings.TrimPrefix(first, "owner "))
	agents, rest, _ := strings.Cut(rest, "\n")
	want := strings.Repeat(fmt.Sprintf("line %d\n", n), lines) + fmt.Sprintf("end %d\n", n)
	return n, err == nil && strings.HasPrefix(agents, "agent ") && rest == want
}

// habit is a way in which programs save.
type habit struct {
	name string
	save func(path string, n int) error

	inPlace bool // writes into the file that is there, so that a reader may see half of a save
	appends bool // adds a line instead
	keeps   bool // leaves a backup
}

func habits() []habit {
	list := []habit{
		{name: "in place, O_TRUNC (VS Code, shells)", save: truncating, inPlace: true},
		{name: "in place, not truncated first", save: overwriting, inPlace: true},
		{name: "in place, truncate(2) first", save: emptying, inPlace: true},
		{name: "in place, through a mapping", save: mapping, inPlace: true},
		{name: "new file renamed over (gedit, kate)", save: renaming},
		{name: "new file exchanged, the old removed", save: exchanging},
		{name: "old one renamed away, new one, gone (vim)", save: vim, inPlace: true},
		{name: "old one renamed away and kept (emacs)", save: emacs, inPlace: true, keeps: true},
		{name: "a log, opened for each line", save: appending, appends: true},
		{name: "a log, held open for 50 lines", save: logging(), appends: true},
	}
	if _, err := exec.LookPath("sed"); err == nil {
		list = append(list, habit{name: "sed -i itself", save: sed})
	}
	return list
}

func writeWith(path string, flags int, b []byte) error {
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, half := range [][]byte{b[:len(b)/2], b[len(b)/2:]} { // as one that flushes its buffer twice
		if _, err := f.Write(half); err != nil {
			return err
		}
	}
	return f.Close()
}

func truncating(path string, n int) error { return writeWith(path, os.O_WRONLY|os.O_TRUNC, text(n)) }

func overwriting(path string, n int) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	b := text(n)
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Truncate(int64(len(b)))
}

func emptying(path string, n int) error {
	if err := os.Truncate(path, 0); err != nil {
		return err
	}
	return writeWith(path, os.O_WRONLY, text(n))
}

// mapping writes through memory, with its handle closed.
func mapping(path string, n int) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	b := text(n)
	err = f.Truncate(int64(len(b)))
	var m []byte
	if err == nil {
		m, err = unix.Mmap(int(f.Fd()), 0, len(b), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	f.Close()
	if err != nil {
		return err
	}
	copy(m, b)
	return unix.Munmap(m)
}

func renaming(path string, n int) error {
	own := path + ".save"
	if err := writeWith(own, os.O_WRONLY|os.O_CREATE|os.O_EXCL, text(n)); err != nil {
		return err
	}
	return os.Rename(own, path)
}

func exchanging(path string, n int) error {
	own := path + ".save"
	if err := writeWith(own, os.O_WRONLY|os.O_CREATE|os.O_EXCL, text(n)); err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, own, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE); err != nil {
		return err
	}
	return os.Remove(own)
}

func vim(path string, n int) error {
	if err := emacs(path, n); err != nil {
		return err
	}
	return os.Remove(path + "~")
}

func emacs(path string, n int) error {
	if err := os.Rename(path, path+"~"); err != nil {
		return err
	}
	return writeWith(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, text(n))
}

func appending(path string, n int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "entry %d\n", n)
	return err
}

func logging() func(path string, n int) error {
	var f *os.File
	return func(path string, n int) (err error) {
		if n%50 == 1 {
			f.Close() // nil is fine
			if f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(f, "entry %d\n", n)
		return err
	}
}

func sed(path string, n int) error {
	script := fmt.Sprintf("s/^\\(owner\\|line\\|end\\) .*/\\1 %d/", n)
	out, err := exec.Command("sed", "-i", script, filepath.Base(path)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
