package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/gitrun"
	"countersign/internal/refusal"
)

// Head gives the whole name of the branch that HEAD names; none where it is
// detached.
func (r *Repository) Head() (branch string, err error) {
	said, p, err := r.judge.optional(r.GitDir, "HEAD", "its HEAD", unix.PathMax)
	if err != nil {
		return "", err
	}
	if p == nil {
		return "", refusal.New(refusal.NotRepository, r.judge.what, "its HEAD is not there")
	}
	p.file.Close()
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(r.GitDir, "HEAD"), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return "", refusal.New(refusal.GitKind, r.judge.what, "its HEAD is a symbolic link")
	}
	name, attached := strings.CutPrefix(strings.TrimRight(said, "\n"), "ref: ")
	switch {
	case !attached && gitrun.IsHash(name):
		return "", nil
	case !attached || !gitrun.IsBranch(name):
		return "", refusal.New(refusal.GitKind, r.judge.what, "its HEAD names no branch and no commit")
	}
	return name, nil
}

// Common gives the directory in which references and objects are, spelled from
// the home as it is listed.
func (r *Repository) Common() string {
	listed, _ := r.judge.listed(r.CommonDir)
	return listed
}

// Flag gives a boolean of the repository's own configuration; ok says that one is
// set and is one.
func (r *Repository) Flag(section, key string) (value, ok bool) { return r.flag(section, key) }

// Truth gives a boolean of the repository's configuration or else the person's.
func (r *Repository) Truth(section, key string) bool {
	e, ok := last(r.config, section, "", key)
	if !ok {
		e, ok = last(r.persons, section, "", key)
	}
	value, sound := e.truth()
	return ok && sound && value
}

// Hooks lists the hooks of a commit that git would run if it ran any: by name, and
// only where a file of that name may be executed.
func (r *Repository) Hooks() (names []string) {
	dir := filepath.Join(r.CommonDir, "hooks")
	if e, ok := last(slices.Concat(r.persons, r.config), "core", "", "hookspath"); ok {
		path, err := r.path(e)
		if err != nil || path == "" {
			return nil
		}
		dir = path
	}
	for _, name := range []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction", "post-index-change"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			names = append(names, name)
		}
	}
	return names
}

// WritePlace is what git is told of the repository where it is to change it: the
// git directory and what references and objects lie in may be changed, and not
// the work tree.
func (r *Repository) WritePlace() gitrun.Place {
	p := r.Place()
	for _, part := range r.parts {
		if part.real == r.GitDir || part.real == r.CommonDir {
			p.Trees = append(p.Trees, part.file)
		}
	}
	return p
}

// GitDirectory is the handle of the git directory, of O_PATH.
func (r *Repository) GitDirectory() *os.File {
	for _, part := range r.parts {
		if part.real == r.GitDir {
			return part.file
		}
	}
	return nil
}
