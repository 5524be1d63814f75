package repo

import (
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/action"
	"countersign/internal/refusal"
)

// maxDeep is how deep git itself follows files that name one another.
const (
	maxIncludes  = 10
	maxBorrowing = 5
)

// readConfig reads the repository's configuration, with what it includes.
func (r *Repository) readConfig() error {
	if err := r.include(filepath.Join(r.CommonDir, "config"), "its configuration", maxIncludes); err != nil {
		return err
	}
	if own, _ := r.flag("extensions", "worktreeconfig"); own {
		return r.include(filepath.Join(r.GitDir, "config.worktree"), "its work tree's configuration", maxIncludes)
	}
	return nil
}

// include reads one file, and each that it names where it names it.
func (r *Repository) include(path, name string, depth int) error {
	j := r.judge
	if depth == 0 {
		return refusal.New(refusal.GitConfig, j.what, "files include one another too deeply")
	}
	text, p, err := j.optional(filepath.Dir(path), filepath.Base(path), name, maxConfig)
	if err != nil || p == nil {
		return err
	}
	r.keep(p)
	entries, err := parse(text)
	if err != nil {
		return refusal.New(refusal.GitConfig, j.what, "%s: %v", name, err)
	}
	for _, e := range entries {
		if e.section == "filter" && !slices.Contains(r.Filters, e.sub) {
			r.Filters = append(r.Filters, e.sub)
		}
		if e.key != "path" || e.section != "include" && e.section != "includeif" {
			r.config = append(r.config, e)
			continue
		}
		switch {
		case e.bare || e.value == "" || e.odd:
			return refusal.New(refusal.GitConfig, j.what, "it includes no file that can be named")
		case e.value[0] == '~' || strings.HasPrefix(e.value, "%("):
			return refusal.New(refusal.GitConfig, j.what, "it includes a file by `~` or `%%(`, which is another for another user")
		}
		// git puts the directory of the file's own path in front.
		if err := r.include(absolute(filepath.Dir(path), e.value), "a file that its configuration includes", depth-1); err != nil {
			return err
		}
	}
	return nil
}

// last gives the setting that holds: the last of its name.
func last(entries []entry, section, sub, key string) (e entry, ok bool) {
	for _, x := range entries {
		if x.section == section && x.sub == sub && x.key == key {
			e, ok = x, true
		}
	}
	return e, ok
}

// flag gives a boolean of the repository's; ok says that one is set and is one.
func (r *Repository) flag(section, key string) (value, ok bool) {
	e, set := last(r.config, section, "", key)
	if !set {
		return false, false
	}
	return e.truth()
}

// Config gives a setting of the repository's own configuration, by section,
// subsection and key.
func (r *Repository) Config(section, sub, key string) (value string, ok bool) {
	e, ok := last(r.config, section, sub, key)
	return e.value, ok
}

// Persons gives a setting of the person's own configuration.
func (r *Repository) Persons(section, sub, key string) (value string, ok bool) {
	e, ok := last(r.persons, section, sub, key)
	return e.value, ok
}

// findObjects judges where objects lie: the repository's own and those that it
// borrows.
func (r *Repository) findObjects() error {
	p, err := r.judge.part(filepath.Join(r.CommonDir, "objects"), "its objects")
	if err != nil {
		return r.judge.trouble("its objects", err)
	}
	dir := p.real
	r.keep(p)
	return r.borrow(dir, maxBorrowing)
}

func (r *Repository) borrow(objects string, depth int) error {
	const name = "objects that it borrows"
	j := r.judge
	text, p, err := j.optional(objects, "info/alternates", name, maxConfig)
	if err != nil || p == nil {
		return err
	}
	r.keep(p)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '"' || strings.Contains(line, "\x00"):
			return refusal.New(refusal.GitKind, j.what, "it names %s in quotes", name)
		case depth == 0:
			return refusal.New(refusal.GitKind, j.what, "%s are borrowed themselves, too many times", name)
		}
		p, err := j.part(absolute(objects, line), name)
		if missing(err) {
			continue // as git does, which only warns
		}
		if err != nil {
			return j.trouble(name, err)
		}
		r.keep(p)
		if err := r.borrow(p.real, depth-1); err != nil {
			return err
		}
	}
	r.Kinds = append(r.Kinds, "borrows objects")
	return nil
}

// path gives what a setting that names a file means to the person, or the empty
// string.
func (r *Repository) path(e entry) (string, error) {
	v := e.value
	switch {
	case e.bare || v == "":
		return "", nil
	case e.odd || strings.HasPrefix(v, "%("):
		return "", refusal.New(refusal.GitConfig, r.judge.what, "%s.%s is a path that is read in more ways than one", e.section, e.key)
	case v == "~":
		return r.judge.Home, nil
	case strings.HasPrefix(v, "~/"):
		return r.judge.Home + v[1:], nil
	case v[0] == '~':
		return "", refusal.New(refusal.GitConfig, r.judge.what, "%s.%s names another user's home", e.section, e.key)
	case !filepath.IsAbs(v):
		return absolute(r.Root, v), nil
	}
	return v, nil
}

// quoted shows a name of the repository's making.
func quoted(s string) string { return action.Path(s).String() }
