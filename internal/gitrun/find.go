package gitrun

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MinVersion is the oldest git that is used: the first whose configuration can
// be overruled from the environment whatever the keys hold.
const MinVersion = "2.34"

// usual are where git is looked for when nobody says where it is.
func usual() []string {
	return []string{"/usr/bin/git", "/usr/local/bin/git", "/run/current-system/sw/bin/git"}
}

// program is a git and all that its loader opens to run it.
type program struct {
	path   string
	run    []string // git, and its loader
	files  []string // libraries
	tables []string // directories of the C library's character sets
}

// find finds git, at a path or in the usual places, and what it needs. Nobody
// but root may be able to change any of it.
func find(path string) (*program, error) {
	candidates := usual()
	if path != "" {
		candidates = []string{path}
	}
	for _, c := range candidates {
		real, err := filepath.EvalSymlinks(c)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking for git: %w", err)
		}
		p := &program{path: real, run: []string{real}}
		if err := p.needs(real); err != nil {
			return nil, err
		}
		for _, f := range slices.Concat(p.run, p.files, p.tables) {
			if err := rootsOwn(f); err != nil {
				return nil, err
			}
		}
		return p, nil
	}
	return nil, fmt.Errorf("there is no git at %s", strings.Join(candidates, ", "))
}

// needs adds what the loader opens for a program: itself, and libraries, those
// of libraries among them.
func (p *program) needs(path string) error {
	for todo := []string{path}; len(todo) > 0; todo = todo[1:] {
		loader, libraries, err := linked(todo[0])
		if err != nil {
			return fmt.Errorf("reading what %s is linked with: %w", todo[0], err)
		}
		if loader != "" && !slices.Contains(p.run, loader) {
			p.run = append(p.run, loader)
		}
		for _, l := range libraries {
			if slices.Contains(p.files, l) || slices.Contains(p.run, l) {
				continue
			}
			p.files, todo = append(p.files, l), append(todo, l)
			if tables := filepath.Join(filepath.Dir(l), "gconv"); strings.HasPrefix(filepath.Base(l), "libc.so") && isDir(tables) {
				p.tables = append(p.tables, tables)
			}
		}
	}
	return nil
}

// linked gives a program's loader, if it has one, and its libraries.
func linked(path string) (loader string, libraries []string, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	for _, s := range f.Progs {
		if s.Type == elf.PT_INTERP && s.Filesz < unix.PathMax {
			b := make([]byte, s.Filesz)
			if _, err := s.ReadAt(b, 0); err != nil {
				return "", nil, err
			}
			loader = strings.TrimRight(string(b), "\x00")
		}
	}
	names, err := f.ImportedLibraries()
	if err != nil {
		return "", nil, err
	}
	dirs, err := searched(f, filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	for _, n := range names {
		// The loader itself is a library of some programs, and is in no
		// directory that is searched.
		for _, d := range dirs {
			if lib := filepath.Join(d, n); exists(lib) {
				libraries = append(libraries, lib)
				break
			}
		}
	}
	return loader, libraries, nil
}

// searched gives the directories in which a program's libraries are looked for:
// its own, and the loader's. The loader's cache, which could name more, is not
// opened.
func searched(f *elf.File, origin string) (dirs []string, err error) {
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		lists, err := f.DynString(tag)
		if err != nil {
			return nil, err
		}
		for _, list := range lists {
			for d := range strings.SplitSeq(list, ":") {
				dirs = append(dirs, strings.ReplaceAll(strings.ReplaceAll(d, "${ORIGIN}", origin), "$ORIGIN", origin))
			}
		}
	}
	triplet := map[elf.Machine]string{elf.EM_X86_64: "x86_64-linux-gnu", elf.EM_AARCH64: "aarch64-linux-gnu", elf.EM_RISCV: "riscv64-linux-gnu"}[f.Machine]
	if triplet != "" {
		dirs = append(dirs, "/lib/"+triplet, "/usr/lib/"+triplet)
	}
	return append(dirs, "/lib64", "/usr/lib64", "/lib", "/usr/lib"), nil
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func isDir(path string) bool { info, err := os.Stat(path); return err == nil && info.IsDir() }

// rootsOwn refuses a file that somebody but root could change.
func rootsOwn(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return fmt.Errorf("looking at %s: %w", path, err)
	}
	if st.Uid != 0 || st.Mode&0o022 != 0 {
		return fmt.Errorf("%s belongs to uid %d and has mode %04o: others than root could change it", path, st.Uid, st.Mode&0o7777)
	}
	return nil
}

// versionOf reads what git says of its version, and refuses one that is too
// old.
func versionOf(said string) (string, error) {
	v, ok := strings.CutPrefix(strings.TrimSpace(said), "git version ")
	if !ok {
		return "", fmt.Errorf("git says %q of its version", said)
	}
	v, _, _ = strings.Cut(v, " ")
	if older(v, MinVersion) {
		return v, fmt.Errorf("git %s is too old: %s is needed", v, MinVersion)
	}
	return v, nil
}

// older compares versions number by number.
func older(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range bs {
		n := 0
		if i < len(as) {
			n, _ = strconv.Atoi(as[i]) // what is no number counts as 0
		}
		if m, _ := strconv.Atoi(bs[i]); n != m {
			return n < m
		}
	}
	return false
}
