package gitplan

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"countersign/internal/action"
	"countersign/internal/gitrun"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Modes of git's, and the letter of what is as it was.
const (
	modeFile, modeProgram, modeLink, modeGitlink = "100644", "100755", "120000", "160000"
	unchanged                                    = '.'
)

// entry is what an index or a tree holds at a path.
type entry struct{ mode, hash string }

// found is one path that differs from the last commit, or may.
type found struct {
	path string
	old  entry // of the last commit; empty where it has none
	now  entry // of the index, and later of what is to be committed
	work byte  // how the work tree differs from the index: a letter of git's
}

// commit plans a commit of everything.
func (w *Work) commit() error {
	finds, err := w.status()
	if err != nil {
		return err
	}
	if err := w.look(finds); err != nil {
		return err
	}
	var staged []*found
	for _, f := range finds {
		if f.old != f.now {
			staged = append(staged, f)
		}
		if f.work != unchanged {
			w.Plan.Stage = append(w.Plan.Stage, action.Path(f.path))
		}
	}
	what := w.Path.String()
	switch {
	case len(staged) == 0:
		return refusal.New(refusal.NoChange, what, "nothing to commit")
	case len(finds) > protocol.MaxGitStaged:
		return refusal.New(refusal.TooLarge, what, "%d paths would be committed, of at most %d", len(finds), protocol.MaxGitStaged)
	}
	if err := w.permitted(finds); err != nil {
		return err
	}
	if err := w.identify(); err != nil {
		return err
	}
	if w.Plan.Tree, err = w.tree(finds); err != nil {
		return err
	}
	w.Plan.Hooks = w.Repository.Hooks()
	w.Plan.Unsigned = w.Truth("commit", "gpgsign")
	return w.account(staged)
}

// status asks git for everything that is not as in the last commit.
func (w *Work) status() ([]*found, error) {
	byPath := make(map[string]*found)
	of := func(path string) *found {
		if byPath[path] == nil {
			byPath[path] = &found{path: path, work: unchanged}
		}
		return byPath[path]
	}
	err := w.git(gitrun.Status, gitrun.Values{}, nil, func(out io.Reader) error {
		return records(out, 0, func(rec []byte) error {
			s := string(rec)
			kind, rest, _ := strings.Cut(s, " ")
			switch kind {
			case "#":
				if hash, ok := strings.CutPrefix(rest, "branch.oid "); ok && hash != "(initial)" {
					w.Plan.Head = hash
				}
				return nil
			case "u":
				return refusal.New(refusal.GitDoing, w.Path.String(), "some of its paths are unmerged")
			case "?":
				if strings.HasSuffix(rest, "/") {
					return refusal.New(refusal.GitKind, w.Path.String(), "another repository lies in it: %s", action.Path(rest))
				}
				if !strings.HasPrefix(path.Base(rest), grant.StagedPrefix) {
					of(rest).work = '?'
				}
				return nil
			}
			// XY sub mH mI mW hH hI path
			parts := strings.SplitN(rest, " ", 8)
			if kind != "1" || len(parts) != 8 || len(parts[0]) != 2 || parts[1] == "" {
				return fmt.Errorf("[unexpected] git said %.200q", rec)
			}
			f := of(parts[7])
			f.old, f.now = entryOf(parts[2], parts[5]), entryOf(parts[3], parts[6])
			if f.work == unchanged {
				f.work = parts[0][1]
			}
			if parts[1][0] == 'S' && f.work != unchanged {
				return refusal.New(refusal.GitKind, w.Path.String(), "the submodule %s is at another commit", action.Path(f.path))
			}
			return nil
		})
	})
	finds := make([]*found, 0, len(byPath))
	for _, f := range byPath {
		finds = append(finds, f)
	}
	slices.SortFunc(finds, func(a, b *found) int { return strings.Compare(a.path, b.path) })
	return finds, err
}

func entryOf(mode, hash string) entry {
	if mode == "000000" {
		return entry{}
	}
	return entry{mode, hash}
}

// look finds what the work tree's paths are to become in the index.
func (w *Work) look(finds []*found) error {
	var files []*found
	for _, f := range finds {
		if f.work == unchanged {
			continue
		}
		if gitrun.CheckPath(f.path) != "" {
			return refusal.New(refusal.GitKind, w.Path.String(), "a path in it is not clean: %s", action.Path(f.path))
		}
		st, err := w.inside.stat(f.path)
		if err != nil {
			return err
		}
		switch {
		case st == nil || st.isDir: // a directory in a file's place holds files of its own
			f.now = entry{}
		case st.link:
			f.now = entry{modeLink, w.blobHash([]byte(st.target))}
		default:
			f.now = entry{w.modeOf(f, st.program), ""}
			files = append(files, f)
		}
	}
	if err := w.unfiltered(files); err != nil {
		return err
	}
	return w.hash(files)
}

// modeOf gives a regular file's mode as git records it.
func (w *Work) modeOf(f *found, program bool) string {
	if trusted, set := w.Flag("core", "filemode"); set && !trusted {
		if f.now.mode == modeProgram {
			return modeProgram
		}
		return modeFile
	}
	if program {
		return modeProgram
	}
	return modeFile
}

// unfiltered refuses what a filter would have to make.
func (w *Work) unfiltered(files []*found) error {
	if len(files) == 0 {
		return nil
	}
	var in bytes.Buffer
	for _, f := range files {
		in.WriteString(f.path + "\x00")
	}
	var of []string // path, attribute, value, and again
	return w.git(gitrun.Attributes, gitrun.Values{}, in.Bytes(), func(out io.Reader) error {
		return records(out, 0, func(rec []byte) error {
			if of = append(of, string(rec)); len(of) < 3 {
				return nil
			}
			path, value := of[0], of[2]
			of = of[:0]
			switch value {
			case "unspecified", "unset", "set":
				return nil
			}
			return refusal.New(refusal.GitFilter, action.Path(path).String(), "the filter %s", action.Path(value))
		})
	})
}

// hash has git hash the files as they would be stored.
func (w *Work) hash(files []*found) error {
	if len(files) == 0 {
		return nil
	}
	var in bytes.Buffer
	for _, f := range files {
		in.WriteString(quoteLine(f.path) + "\n")
	}
	i := 0
	err := w.git(gitrun.Hashes, gitrun.Values{}, in.Bytes(), func(out io.Reader) error {
		return records(out, '\n', func(rec []byte) error {
			if i >= len(files) || !gitrun.IsHash(string(rec)) {
				return fmt.Errorf("[unexpected] git said %.200q", rec)
			}
			files[i].now.hash = string(rec)
			i++
			return nil
		})
	})
	if err == nil && i != len(files) {
		err = fmt.Errorf("[unexpected] git hashed %d of %d files", i, len(files))
	}
	return err
}

// quoteLine spells a path as one line that git reads back as the path.
func quoteLine(path string) string {
	if path[0] != '"' && !strings.ContainsAny(path, "\n\r") {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(path) {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// permitted judges every path that would be committed.
func (w *Work) permitted(staged []*found) error {
	for _, f := range staged {
		if err := w.Judge(grant.Write, f.path); err != nil {
			return err
		}
		if f.now.mode != "" && f.now.mode != modeFile && f.now.mode != modeProgram && f.now.mode != modeLink && f.now.mode != modeGitlink {
			return refusal.New(refusal.GitKind, w.Path.String(), "%s has the mode %s", action.Path(f.path), f.now.mode)
		}
	}
	return nil
}
