package gitread

import (
	"bytes"
	"context"
	"io"
	"strings"

	"countersign/internal/action"
	"countersign/internal/gitrun"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// compared is what a diff is between: the vector that names the changed files,
// and the one that shows them.
type compared struct {
	names, patch gitrun.Vector
	values       gitrun.Values
	work         bool // one side is the work tree
	combined     bool // a merge against all its parents
}

// Diff shows changes of the work tree, of the index, or between two commits.
func (g *Git) Diff(ctx context.Context, p protocol.GitDiffParams) (protocol.GitDiffResult, error) {
	var c compared
	switch {
	case p.To != "" && (p.Index || p.From == ""):
		return protocol.GitDiffResult{}, refusal.New(refusal.BadRequest, "diff", "between two commits, and not with the index")
	case p.To != "":
		c = compared{names: gitrun.ChangedTrees, patch: gitrun.PatchTrees, values: gitrun.Values{From: p.From, Rev: p.To}}
	case p.Index:
		c = compared{names: gitrun.ChangedIndex, patch: gitrun.PatchIndex, values: gitrun.Values{Rev: p.From}}
	case p.From != "":
		c = compared{names: gitrun.ChangedSince, patch: gitrun.PatchSince, values: gitrun.Values{Rev: p.From}, work: true}
	default:
		c = compared{names: gitrun.ChangedInWork, patch: gitrun.PatchWork, work: true}
	}
	r, err := g.open(ctx, p.Repository, p.From, p.To)
	if err != nil {
		return protocol.GitDiffResult{}, err
	}
	defer r.Close()
	if c.values.Paths, err = r.named(p.Paths); err != nil {
		return protocol.GitDiffResult{}, err
	}
	res := protocol.GitDiffResult{GitAbout: r.about}
	res.Files, res.More, err = r.compare(c, newPage(p.Skip, p.Limit, protocol.MaxGitFiles), !p.Names)
	return res, err
}

// compare gives the changed files of a page, with their patches.
func (r *reading) compare(c compared, page *page, patches bool) ([]protocol.GitFile, uint64, error) {
	files, err := r.changed(c, page)
	if err != nil {
		return nil, 0, err
	}
	if c.work {
		var worked []string
		for _, f := range files {
			if f.NewMode != gone && f.NewMode != gitlink {
				worked = append(worked, string(f.Path))
			}
		}
		if err := r.unfiltered(worked); err != nil {
			return nil, 0, err
		}
	}
	if files, err = r.withoutKeys(c, files); err != nil {
		return nil, 0, err
	}
	if patches && len(files) > 0 {
		err = r.patches(c, files)
	}
	return files, page.more, err
}

const (
	gone    = "000000" // the mode of what is not there
	gitlink = "160000" // and of a submodule's commit
)

// maxNames bounds the names of one page, which git is given as arguments.
const maxNames = 48 << 10

// changed names the files of a page: those that the agent may see.
func (r *reading) changed(c compared, page *page) (files []protocol.GitFile, err error) {
	var head []byte
	size := 0
	err = r.git(c.names, c.values, nil, func(out io.Reader) error {
		return records(out, 0, func(rec []byte) error {
			if head == nil {
				head = bytes.Clone(rec)
				return nil
			}
			f, ok := rawFile(string(head), string(rec))
			if !ok {
				return errForm(head)
			}
			head = nil
			if !r.sees(string(f.Path)) {
				return nil
			}
			if size += len(rec); size > maxNames {
				page.limit = 0
			}
			if page.takes() {
				files = append(files, f)
			}
			return nil
		})
	})
	return files, err
}

// rawFile reads one entry of git's raw form: a colon for each parent, modes,
// hashes and letters, and then the path.
func rawFile(head, path string) (f protocol.GitFile, ok bool) {
	parents := len(head) - len(strings.TrimLeft(head, ":"))
	parts := strings.Split(head[parents:], " ")
	if parents == 0 || len(parts) != 2*(parents+1)+1 {
		return f, false
	}
	return protocol.GitFile{
		Path: action.Path(path), Status: parts[len(parts)-1], OldMode: parts[0], NewMode: parts[parents],
		Old: parts[parents+1], New: parts[2*parents+1],
	}, true
}

// withoutKeys leaves out files under names that private keys have, where either
// side holds one.
func (r *reading) withoutKeys(c compared, files []protocol.GitFile) ([]protocol.GitFile, error) {
	kept := files[:0]
	for _, f := range files {
		if r.MayHoldKey(string(f.Path)) {
			shown, err := r.holdsNoKey(c, f)
			if err != nil {
				return nil, err
			}
			if !shown {
				continue
			}
		}
		kept = append(kept, f)
	}
	return kept, nil
}

// holdsNoKey looks at both sides of a file whole. What cannot be looked at is
// not shown.
func (r *reading) holdsNoKey(c compared, f protocol.GitFile) (bool, error) {
	if c.combined {
		return false, nil
	}
	for i, hash := range []string{f.Old, f.New} {
		mode := []string{f.OldMode, f.NewMode}[i]
		if mode == gone || mode == gitlink {
			continue
		}
		var content []byte
		var err error
		if strings.Trim(hash, "0") == "" {
			content, err = r.workContent(string(f.Path))
		} else {
			content, err = r.blob(hash)
		}
		if err != nil {
			return false, err
		}
		if content == nil || r.Content(string(f.Path), content) != nil {
			return false, nil
		}
	}
	return true, nil
}

// blob reads a blob; nil where it is over what is shown of one.
func (r *reading) blob(hash string) (content []byte, err error) {
	err = r.git(gitrun.Object, gitrun.Values{Blob: hash}, nil, func(out io.Reader) error {
		b, err := io.ReadAll(io.LimitReader(out, protocol.MaxGitPatch+1))
		if err == nil && len(b) > protocol.MaxGitPatch {
			return gitrun.ErrEnough
		}
		content = append([]byte{}, b...)
		return err
	})
	return content, err
}

// patches adds patches to files.
func (r *reading) patches(c compared, files []protocol.GitFile) error {
	by := make(map[string]*protocol.GitFile, len(files))
	values := c.values
	values.Paths = nil
	for i := range files {
		by[string(files[i].Path)] = &files[i]
		values.Paths = append(values.Paths, string(files[i].Path))
	}
	left := protocol.MaxGitText
	return r.git(c.patch, values, nil, func(out io.Reader) error {
		return sections(out, func(name string, patch []byte, whole bool) {
			f := by[name]
			switch {
			case f == nil: // beneath a directory that has a file's old name
			case !whole || len(patch) > left:
				f.Patch, f.Raw, f.Left = "", nil, "the patch is too large"
			case f.Left == "":
				left -= len(patch)
				patch = append(append([]byte(f.Patch), f.Raw...), patch...) // a changed kind has two
				f.Patch, f.Raw = split(patch)
			}
		})
	})
}
