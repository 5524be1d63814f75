package gitrun

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Values fill the places of a vector. The zero value of each leaves its place
// out.
type Values struct {
	Rev   string   // a revision that names a commit
	From  string   // another
	Not   string   // another, whose ancestors are left out
	Blob  string   // a whole hash
	Paths []string // in the work tree, relative and clean
	Count uint64
	Skip  uint64
	First uint64 // a line, from 1
	Last  uint64

	// Of those that change a repository.
	Tree   string // a whole hash
	Parent string // a whole hash; none of a first commit
	Ref    string // a whole name of a branch, or HEAD
	New    string // what the reference is to hold: a whole hash
	Old    string // what it must hold: a whole hash, of zeros where there is none
	Index  string // path of the index to work on; empty is the repository's own

	Author, Committer Ident
}

// Ident is who made a commit, and when: in seconds since 1970, as UTC.
type Ident struct {
	Name, Email string
	When        int64
}

// Place says which repository git is to look at: the paths are what git is told,
// the handles are what it may open.
type Place struct {
	GitDir   string
	WorkTree string

	Read  []*os.File // directories and files; of O_PATH
	Trees []*os.File // directories that may change, in a scribe's runner

	// Settings is what the person's own configuration adds to the
	// repository's, of the few keys that are let in; Filters are the drivers
	// that any configuration names, each of which is blanked.
	Settings []Setting
	Filters  []string
}

// adds are the keys that a caller may set: what they name is read, and nothing
// is run by them.
func adds() []string {
	return []string{"core.excludesfile", "core.attributesfile", "core.autocrlf", "core.eol", "core.worktree"}
}

// CheckRevision says why a revision cannot be given to git, or gives the empty
// string: one that begins with a dash is an option, one with a colon names a
// file or an entry of the index, which is judged elsewhere, and one with a space
// or a byte that shows as nothing is no revision.
func CheckRevision(rev string) string {
	const longest = 1024
	odd := func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xfffd }
	switch {
	case rev == "":
		return "it is empty"
	case len(rev) > longest:
		return fmt.Sprintf("it is longer than %d bytes", longest)
	case rev[0] == '-':
		return "it begins with a dash"
	case rev[0] == '^':
		return "it leaves a commit out"
	case strings.Contains(rev, ":"):
		return "it has a colon"
	case strings.Contains(rev, ".."):
		return "it is a range"
	case strings.ContainsFunc(rev, odd):
		return "it has a space or a control character"
	}
	return ""
}

// CheckPath says why a path cannot be one in a work tree, or gives the empty
// string.
func CheckPath(path string) string {
	if path == "" || path[0] == '/' || strings.Contains(path, "\x00") {
		return "it is no relative path"
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." {
			return "it is not clean"
		}
	}
	return ""
}

// compose puts git's arguments together.
func compose(name Vector, v Values) ([]string, error) {
	row, ok := vectors()[name]
	if !ok {
		return nil, fmt.Errorf("[unexpected] no vector %q", string(name))
	}
	if err := v.check(); err != nil {
		return nil, err
	}
	args := append([]string{"git"}, always()...)
	for _, s := range overruled() {
		args = append(args, "-c", s.Key+"="+s.Value)
	}
	for _, a := range row.args {
		if a[0] == '{' {
			args = append(args, v.fill(a)...)
		} else {
			args = append(args, a)
		}
	}
	return args, nil
}

func (v Values) check() error {
	for _, rev := range []string{v.Rev, v.From, v.Not} {
		if why := CheckRevision(rev); rev != "" && why != "" {
			return fmt.Errorf("[unexpected] the revision %q: %s", rev, why)
		}
	}
	for _, p := range v.Paths {
		if why := CheckPath(strings.TrimSuffix(p, "/")); why != "" {
			return fmt.Errorf("[unexpected] the path %q: %s", p, why)
		}
	}
	for _, hash := range []string{v.Blob, v.Tree, v.Parent, v.New, v.Old} {
		if hash != "" && !IsHash(hash) {
			return fmt.Errorf("[unexpected] the object %q", hash)
		}
	}
	if v.Ref != "" && !IsBranch(v.Ref) && v.Ref != "HEAD" {
		return fmt.Errorf("[unexpected] the reference %q", v.Ref)
	}
	return nil
}

// IsHash says whether s is a whole hash, as git spells one.
func IsHash(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == "" && (len(s) == 40 || len(s) == 64)
}

// IsBranch says whether s is the whole name of a branch: what git itself says of
// its form is left to git.
func IsBranch(s string) bool {
	name, ok := strings.CutPrefix(s, "refs/heads/")
	return ok && name != "" && len(s) <= 1024 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) && !strings.Contains(s, "..")
}

// fill gives the arguments that take a place.
func (v Values) fill(place string) []string {
	commit := func(prefix, rev string) []string {
		if rev == "" {
			return nil
		}
		return []string{prefix + rev + "^{commit}"}
	}
	number := func(flag string, n uint64) []string {
		if n == 0 {
			return nil
		}
		return []string{flag + strconv.FormatUint(n, 10)}
	}
	switch place {
	case placeRev:
		return commit("", v.Rev)
	case placeFrom:
		return commit("", v.From)
	case placeNot:
		return commit("^", v.Not)
	case placeTree:
		return []string{v.Rev + "^{commit}^{tree}"}
	case placeBlob:
		return []string{v.Blob}
	case placeCount:
		return number("--max-count=", v.Count)
	case placeSkip:
		return number("--skip=", v.Skip)
	case placeLines:
		if v.First == 0 {
			return nil
		}
		return []string{fmt.Sprintf("-L%d,%d", v.First, max(v.First, v.Last))}
	case placeNewTree:
		return []string{v.Tree}
	case placeParent:
		if v.Parent == "" {
			return nil
		}
		return []string{"-p", v.Parent}
	case placeRef:
		return []string{v.Ref}
	case placeNew:
		return []string{v.New}
	case placeOld:
		return []string{v.Old}
	case placePaths:
		return append([]string{"--"}, v.Paths...)
	}
	return nil
}

// variables puts git's environment together. What a call adds to the settings
// goes through it and not through arguments, since a driver's name may hold an
// equals sign.
func variables(gitDir, workTree string, v Values, settings []Setting, filters []string) ([]string, error) {
	env := append(environment(), v.variables()...)
	for name, value := range map[string]string{"GIT_DIR": gitDir, "GIT_WORK_TREE": workTree, "GIT_CEILING_DIRECTORIES": workTree} {
		if value == "" {
			value = "/nonexistent"
		}
		env = append(env, name+"="+value)
	}
	var all []Setting
	for _, s := range settings {
		if !slices.Contains(adds(), strings.ToLower(s.Key)) {
			return nil, fmt.Errorf("[unexpected] the setting %q", s.Key)
		}
		all = append(all, s)
	}
	for _, driver := range filters {
		for _, key := range []string{"clean", "smudge", "process", "required"} {
			all = append(all, Setting{"filter." + driver + "." + key, ""})
		}
	}
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(all)))
	for i, s := range all {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.Key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.Value))
	}
	for _, e := range env {
		if strings.Contains(e, "\x00") {
			return nil, fmt.Errorf("[unexpected] a zero byte in %q", e)
		}
	}
	return env, nil
}

// variables gives what values say by git's environment.
func (v Values) variables() (env []string) {
	if v.Index != "" {
		env = append(env, "GIT_INDEX_FILE="+v.Index)
	}
	for who, i := range map[string]Ident{"AUTHOR": v.Author, "COMMITTER": v.Committer} {
		if i != (Ident{}) {
			env = append(env, "GIT_"+who+"_NAME="+i.Name, "GIT_"+who+"_EMAIL="+i.Email, fmt.Sprintf("GIT_%s_DATE=@%d +0000", who, i.When))
		}
	}
	return env
}
