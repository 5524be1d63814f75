package repo

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/refusal"
)

// extensions are those of the repository format that git's answers are known to
// be faithful with.
func extensions() map[string]bool {
	return map[string]bool{"noop": true, "noop-v1": true, "preciousobjects": true, "partialclone": true, "worktreeconfig": true, "objectformat": true,
		"compatobjectformat": false, "refstorage": true, "relativeworktrees": true}
}

// checkKind refuses what git could not answer for as it is run here.
func (r *Repository) checkKind() error {
	refuse := func(format string, args ...any) error {
		return refusal.New(refusal.GitKind, r.judge.what, format, args...)
	}
	linked := r.CommonDir != r.GitDir
	for _, e := range r.config {
		switch {
		case e.section == "extensions" && e.sub == "" && !extensions()[e.key]:
			return refuse("it has the extension %s", quoted(e.key))
		case e.section == "extensions" && e.key == "objectformat" && e.value != "sha1" && e.value != "sha256":
			return refuse("its objects have the format %s", quoted(e.value))
		case e.section == "extensions" && e.key == "refstorage" && e.value != "files":
			return refuse("its references are stored as %s", quoted(e.value))
		}
	}
	if bare, ok := r.flag("core", "bare"); ok && bare && !linked {
		return refuse("it is bare")
	}
	if e, ok := last(r.config, "core", "", "worktree"); ok && !linked {
		at, err := hold(absolute(r.GitDir, e.value))
		if err != nil {
			return refuse("its work tree is elsewhere")
		}
		defer at.file.Close()
		if at.real != r.Root {
			return refuse("its work tree is elsewhere")
		}
	}
	replaced, err := r.hasReplaced()
	if err != nil {
		return err
	}
	if replaced {
		return refuse("some of its objects are replaced by others")
	}
	return nil
}

// hasReplaced says whether there are references that make git show one object
// for another, which is turned off where it is run here.
func (r *Repository) hasReplaced() (bool, error) {
	const within = "refs/replace/"
	if names, err := readNames(filepath.Join(r.CommonDir, "refs/replace")); err == nil && len(names) > 0 {
		return true, nil
	}
	const maxPacked = 64 << 20
	text, p, err := r.judge.optional(r.CommonDir, "packed-refs", "its references", maxPacked)
	if err != nil || p == nil {
		return false, err
	}
	p.file.Close()
	return strings.Contains(text, " "+within), nil
}

// notice names what is unusual about the repository, and what was begun in it.
func (r *Repository) notice() error {
	has := func(dir, name string) bool {
		var st unix.Stat_t
		return unix.Lstat(filepath.Join(dir, name), &st) == nil
	}
	kind := func(is bool, name string) {
		if is {
			r.Kinds = append(r.Kinds, name)
		}
	}
	format, _ := r.Config("extensions", "", "objectformat")
	sparse, _ := r.flag("core", "sparsecheckout")
	kind(r.CommonDir != r.GitDir, "linked work tree")
	kind(r.CommonDir == r.GitDir && r.GitDir != r.Root+"/.git", "git directory elsewhere")
	kind(has(r.CommonDir, "shallow"), "shallow")
	kind(r.partial(), "partial")
	kind(sparse, "sparse")
	kind(format == "sha256", "sha256")
	kind(has(r.CommonDir, "info/grafts"), "grafts")
	for name, words := range map[string]string{"MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert",
		"BISECT_LOG": "bisect", "rebase-merge": "rebase", "rebase-apply": "rebase"} {
		if has(r.GitDir, name) {
			r.Doing = append(r.Doing, words)
		}
	}
	return nil
}

// partial says whether some of the repository's objects are elsewhere.
func (r *Repository) partial() bool {
	for _, e := range r.config {
		if e.section == "extensions" && e.key == "partialclone" || e.section == "remote" && (e.key == "promisor" || e.key == "partialclonefilter") {
			return true
		}
	}
	return false
}

// Partial says whether objects may be missing since they are elsewhere.
func (r *Repository) Partial() bool { return r.partial() }
