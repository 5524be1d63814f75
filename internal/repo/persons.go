package repo

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"countersign/internal/gitrun"
	"countersign/internal/refusal"
)

// readPersons reads the person's own configuration, of which little is let in.
// It lies in the person's home; what of it cannot be read is noted, and does not
// count.
func (r *Repository) readPersons() error {
	for _, file := range []string{".config/git/config", ".gitconfig"} {
		r.includePersons(filepath.Join(r.judge.Home, file), maxIncludes)
	}
	return nil
}

func (r *Repository) includePersons(path string, depth int) {
	note := func(why string) {
		r.Notes = append(r.Notes, "the person's own configuration is not read whole: "+quoted(path)+" "+why)
	}
	if depth == 0 {
		note("is included too deeply")
		return
	}
	p, err := hold(path)
	if missing(err) {
		return
	}
	if err != nil {
		note("cannot be opened")
		return
	}
	defer p.file.Close()
	if _, in := r.judge.listed(p.real); !in || p.st.Uid != r.judge.UID {
		note("lies outside the home, or is somebody else's")
		return
	}
	text, err := r.judge.content(p, "it", maxConfig)
	if err != nil {
		note("cannot be read")
		return
	}
	entries, err := parse(text)
	if err != nil {
		note("cannot be followed: " + err.Error())
		return
	}
	for _, e := range entries {
		if e.section == "filter" && !slices.Contains(r.Filters, e.sub) {
			r.Filters = append(r.Filters, e.sub)
		}
		r.persons = append(r.persons, e)
		if e.key != "path" || e.value == "" {
			continue
		}
		if e.section == "include" || e.section == "includeif" && r.holds(e.sub, filepath.Dir(path)) {
			next, err := r.path(e)
			if err != nil {
				note("includes a file that cannot be named")
				continue
			}
			if !strings.HasPrefix(e.value, "/") && e.value[0] != '~' {
				next = absolute(filepath.Dir(path), e.value)
			}
			r.includePersons(next, depth-1)
		}
	}
}

// holds judges the condition of an include in the person's own configuration.
// One on a directory is judged; one on a branch or a remote counts as not met,
// and is noted.
func (r *Repository) holds(condition, dir string) bool {
	kind, pattern, _ := strings.Cut(condition, ":")
	if kind != "gitdir" && kind != "gitdir/i" {
		r.Notes = append(r.Notes, "the person's own configuration includes a file on the condition "+quoted(condition)+", which is not judged")
		return false
	}
	switch {
	case strings.HasPrefix(pattern, "~/"):
		pattern = r.judge.Home + pattern[1:]
	case strings.HasPrefix(pattern, "./"):
		pattern = dir + pattern[1:]
	case !strings.HasPrefix(pattern, "/"):
		pattern = "**/" + pattern
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	listed, _ := r.judge.listed(r.GitDir)
	for _, at := range []string{r.GitDir, listed} {
		if kind == "gitdir/i" {
			pattern, at = strings.ToLower(pattern), strings.ToLower(at)
		}
		if ok, err := doublestar.Match(pattern, at); err == nil && ok {
			return true
		}
	}
	return false
}

// chooseLists settles what the person's configuration adds: how line ends are
// kept, and the lists of what is ignored and of attributes.
func (r *Repository) chooseLists() error {
	for _, key := range []string{"autocrlf", "eol"} {
		if _, own := r.Config("core", "", key); own {
			continue // the repository's word holds over the person's
		}
		if v, ok := r.Persons("core", "", key); ok {
			if e, _ := last(r.persons, "core", "", key); e.bare {
				v = "true"
			}
			r.settings = append(r.settings, gitrun.Setting{Key: "core." + key, Value: v})
		}
	}
	for key, usual := range map[string]string{"excludesfile": ".config/git/ignore", "attributesfile": ".config/git/attributes"} {
		path := filepath.Join(r.judge.Home, usual)
		e, own := last(r.config, "core", "", key)
		set := own
		if !own {
			e, set = last(r.persons, "core", "", key)
		}
		var err error
		if set {
			if path, err = r.path(e); err != nil {
				return err
			}
		}
		if err := r.list(key, path, own); err != nil {
			return err
		}
	}
	return nil
}

// list lets git read one of the lists, if it is there: one that the repository
// names has to lie in a granted place, the person's own anywhere in the home
// that is not denied.
func (r *Repository) list(key, path string, own bool) error {
	none := gitrun.Setting{Key: "core." + key, Value: "/dev/null"}
	if path == "" {
		r.settings = append(r.settings, none)
		return nil
	}
	name := "the file that its core." + key + " names"
	p, err := hold(path)
	if missing(err) {
		r.settings = append(r.settings, none)
		return nil
	}
	if err != nil {
		return r.judge.trouble(name, err)
	}
	if own {
		if err = r.judge.judgePart(p, name); err != nil {
			p.file.Close()
			return err
		}
	} else if listed, in := r.judge.listed(p.real); !in || p.isDir() || p.st.Uid != r.judge.UID || r.judge.Grants.Forbidden(0, listed) != nil {
		p.file.Close()
		r.settings = append(r.settings, none)
		r.Notes = append(r.Notes, "the person's own core."+key+" lies outside the home, and does not count")
		return nil
	}
	if strings.ContainsAny(p.real, "\x00") {
		p.file.Close()
		return refusal.New(refusal.GitConfig, r.judge.what, "%s", name)
	}
	r.settings = append(r.settings, gitrun.Setting{Key: "core." + key, Value: p.real})
	r.keep(p)
	return nil
}
