package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/gitrun"
	"countersign/internal/grant"
	"countersign/internal/refusal"
)

// Repository is one that may be looked at, held open. Its paths are real ones.
type Repository struct {
	Path      action.Path // as it was asked for
	Root      string      // of the work tree
	GitDir    string
	CommonDir string // the same, but for a linked work tree

	Kinds []string // what is unusual about it, in words
	Doing []string // what was begun in it and not finished
	Notes []string // what of the person's own configuration could not be read

	Filters []string // drivers that its configuration or the person's names

	judge    *judge
	config   []entry // of the repository and what it includes
	persons  []entry // of the person's own configuration
	settings []gitrun.Setting
	parts    []*part
}

// Open finds out what must be known of the repository whose work tree has this
// root. op says what is to be done with it.
//
// The refusals are those of a path that is not granted, and not-a-repository,
// other-owner, git-outside, git-kind and git-config.
func (f Finder) Open(op grant.Op, path action.Path) (*Repository, error) {
	if err := path.Validate(); err != nil {
		return nil, err
	}
	j, err := f.judge(op, path.String())
	if err != nil {
		return nil, err
	}
	r := &Repository{Path: path, judge: j}
	if err := r.open(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Repository) open() error {
	root, err := r.judge.root(r.Path)
	if err != nil {
		return err
	}
	r.keep(root)
	r.Root = root.real
	for _, step := range []func() error{r.findGitDir, r.findCommonDir, r.followLinks, r.readConfig, r.findObjects, r.readPersons, r.chooseLists, r.checkKind, r.notice} {
		if err := step(); err != nil {
			return err
		}
	}
	const most = 48
	if n := len(r.outermost()); n > most {
		return refusal.New(refusal.GitKind, r.judge.what, "it has %d parts in as many places", n)
	}
	return nil
}

// Close lets go of everything held.
func (r *Repository) Close() {
	for _, p := range r.parts {
		p.file.Close()
	}
	r.parts = nil
}

func (r *Repository) keep(p *part) {
	if !slices.ContainsFunc(r.parts, func(have *part) bool { return have.real == p.real }) {
		r.parts = append(r.parts, p)
	} else {
		p.file.Close()
	}
}

// Place is what git is told of the repository, for reading. Its handles are the
// repository's.
func (r *Repository) Place() gitrun.Place {
	p := gitrun.Place{GitDir: r.GitDir, WorkTree: r.Root, Settings: r.settings, Filters: r.Filters}
	for _, part := range r.outermost() {
		p.Read = append(p.Read, part.file)
	}
	return p
}

// outermost gives the parts that lie in no other.
func (r *Repository) outermost() (out []*part) {
	for _, p := range r.parts {
		within := func(dir *part) bool {
			return dir.isDir() && strings.HasPrefix(p.real, strings.TrimSuffix(dir.real, "/")+"/")
		}
		if !slices.ContainsFunc(r.parts, within) {
			out = append(out, p)
		}
	}
	return out
}

// Judge judges a path in the work tree, relative and clean, by the grants and
// the deny list, as it was asked for and where it lies.
func (r *Repository) Judge(op grant.Op, relative string) error {
	if _, err := r.judge.Grants.Judge(op, string(r.Path)+"/"+relative); err != nil {
		return err
	}
	if _, err := r.judge.resolved.Judge(op, r.Root+"/"+relative); err != nil {
		return refusal.About(string(r.Path)+"/"+relative, err)
	}
	if listed, ok := r.judge.listed(r.Root + "/" + relative); ok {
		return refusal.About(string(r.Path)+"/"+relative, r.judge.Grants.Forbidden(grant.Read, listed))
	}
	return nil
}

// Covers judges a directory in the work tree as one that is gone through.
func (r *Repository) Covers(op grant.Op, relative string) error {
	if _, err := r.judge.Grants.Covers(op, string(r.Path)+"/"+relative); err != nil {
		return err
	}
	_, err := r.judge.resolved.Covers(op, r.Root+"/"+relative)
	return refusal.About(string(r.Path)+"/"+relative, err)
}

// Content judges what a path in the work tree holds, or held, by the deny list.
func (r *Repository) Content(relative string, content []byte) error {
	return refusal.About(string(r.Path)+"/"+relative, r.judge.Grants.DeniedByContent(grant.Read, r.Root+"/"+relative, content))
}

// MayHoldKey says whether Content can refuse a path.
func (r *Repository) MayHoldKey(relative string) bool {
	return r.judge.Grants.MayHoldKey(r.Root + "/" + relative)
}

// findGitDir finds the git directory: `.git` itself, or what a file of that
// name says.
func (r *Repository) findGitDir() error {
	j := r.judge
	at := filepath.Join(r.Root, ".git")
	var st unix.Stat_t
	if err := unix.Lstat(at, &st); err != nil {
		if missing(err) && isBare(r.Root) {
			return refusal.New(refusal.GitKind, j.what, "it is bare")
		}
		return refusal.New(refusal.NotRepository, j.what, "")
	}
	if st.Uid != j.UID {
		return refusal.New(refusal.OtherOwner, j.what, "its `.git` belongs to user %d", st.Uid)
	}
	p, err := j.part(at, "its git directory")
	if err != nil {
		return j.trouble("its git directory", err)
	}
	if !p.isDir() {
		said, err := j.content(p, "its `.git`", unix.PathMax+64)
		p.file.Close()
		if err != nil {
			return err
		}
		dir, ok := strings.CutPrefix(said, "gitdir: ")
		if dir = strings.TrimRight(dir, "\r\n"); !ok || dir == "" || strings.Contains(dir, "\x00") {
			return refusal.New(refusal.NotRepository, j.what, "its `.git` names no directory")
		}
		if p, err = j.part(absolute(r.Root, dir), "its git directory"); err != nil {
			return j.trouble("its git directory", err)
		}
	}
	r.keep(p)
	r.GitDir = p.real
	if unix.Lstat(filepath.Join(r.GitDir, "HEAD"), &st) != nil {
		return refusal.New(refusal.NotRepository, j.what, "its git directory has no HEAD")
	}
	return nil
}

func isBare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		var st unix.Stat_t
		if unix.Lstat(filepath.Join(dir, name), &st) != nil {
			return false
		}
	}
	return true
}

// absolute gives what a path means beside a directory.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + "/" + path // not cleaned: a .. behind a link leads elsewhere
}

// findCommonDir finds what a linked work tree shares with others.
func (r *Repository) findCommonDir() error {
	j := r.judge
	said, p, err := j.optional(r.GitDir, "commondir", "its common directory", unix.PathMax+1)
	if err != nil {
		return err
	}
	r.CommonDir = r.GitDir
	if p == nil {
		return nil
	}
	p.file.Close()
	common, err := j.part(absolute(r.GitDir, strings.TrimRight(said, "\r\n")), "its common directory")
	if err != nil {
		return j.trouble("its common directory", err)
	}
	r.keep(common)
	r.CommonDir = common.real
	return nil
}

// followLinks judges where links in the git directories lead: some tools share
// parts of one repository among several that way.
func (r *Repository) followLinks() error {
	dirs := []string{r.GitDir}
	if r.CommonDir != r.GitDir {
		dirs = append(dirs, r.CommonDir)
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return r.judge.trouble("its git directory", err)
		}
		for _, e := range entries {
			if e.Type()&os.ModeSymlink == 0 || e.Name() == "index.lock" { // a lock is looked for and never opened
				continue
			}
			p, err := r.judge.part(filepath.Join(dir, e.Name()), "a link in its git directory")
			if missing(err) {
				continue // a HEAD may be a link to a branch that is not there yet
			}
			if err != nil {
				return r.judge.trouble("a link in its git directory", err)
			}
			r.keep(p)
		}
	}
	return nil
}
