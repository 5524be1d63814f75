package gitplan

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"countersign/internal/action"
	"countersign/internal/gitrun"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// maxContent bounds the content that an account is made from: of each side of
// all paths together, and of one path. What is beyond is named by size and hash.
const maxContent = 8 << 20

// account says what a commit holds, path by path.
func (w *Work) account(staged []*found) error {
	olds, err := w.blobs(staged)
	if err != nil {
		return err
	}
	var plans []action.Planned
	var odd []int // of which no content is compared
	left := int64(maxContent)
	for i, f := range staged {
		at := action.Path(string(w.Path) + "/" + f.path)
		p := action.Planned{Fact: action.Fact{Path: at, Real: at}, Result: action.Image{Absent: true}, Does: action.Replaces}
		if f.old.mode == "" {
			p.Does = action.Creates
		} else {
			p.Fact.Base.Version, p.Old = f.old.version(olds[i])
		}
		one := protocol.GitStaged{Path: action.Path(f.path), OldMode: f.old.mode, Old: f.old.hash, NewMode: f.now.mode, New: f.now.hash}
		whole := f.old.mode == "" || olds[i].whole
		if f.now.mode == "" {
			p.Does = action.Deletes
		} else {
			v, content, shown, err := w.now(f, &left)
			if err != nil {
				return err
			}
			p.Result, p.New = (action.Fact{Base: action.Base{Version: &v}}).Image(), content
			whole = whole && shown
			if f.now.mode != modeGitlink {
				one.Content = p.Result.Hash
			}
		}
		if !whole || f.old.mode == modeGitlink || f.now.mode == modeGitlink {
			odd = append(odd, i)
			p.Old, p.New = nil, nil
		}
		w.Plan.Files, plans = append(w.Plan.Files, one), append(plans, p)
	}
	w.Detail = action.DetailOf(plans)
	for _, i := range odd {
		c := &w.Detail.Changes[i]
		c.Diff, c.NoDiff = "", "its content is over the size limit and is not shown"
		if staged[i].old.mode == modeGitlink || staged[i].now.mode == modeGitlink {
			c.NoDiff = fmt.Sprintf("a submodule's commit: %s becomes %s", orNone(staged[i].old.hash), orNone(staged[i].now.hash))
		}
	}
	w.Detail.Git = w.about()
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// about is the account of the commit itself.
func (w *Work) about() *action.GitDetail {
	ident := func(i protocol.GitIdent) string { return i.Name + " <" + i.Email + ">" }
	d := &action.GitDetail{
		Does: "commit", Repository: w.Path, Branch: w.Plan.Branch, Head: w.Plan.Head, Tree: w.Plan.Tree,
		Author: ident(w.Plan.Author), Message: w.action.GitWrite.Commit.Message,
	}
	if w.Plan.Committer != w.Plan.Author {
		d.Committer = ident(w.Plan.Committer)
	}
	if w.Plan.Foreign {
		d.Notes = append(d.Notes, "the repository's own configuration says who it is by")
	}
	if w.Plan.Unsigned {
		d.Notes = append(d.Notes, "it is not signed, though the configuration asks for that")
	}
	if len(w.Plan.Hooks) > 0 {
		d.Notes = append(d.Notes, "hooks that are not run: "+strings.Join(w.Plan.Hooks, ", "))
	}
	return d
}

// version makes up the version of a file in a commit, which has no place on
// disk.
func (e entry) version(b blob) (*action.Version, []byte) {
	v := action.Version{Hash: action.HashOf(b.content), Size: b.size, Mode: 0o644, Links: 1}
	switch e.mode {
	case modeProgram:
		v.Mode = 0o755
	case modeLink:
		v.Kind = action.Symlink
	}
	return &v, b.content
}

// now gives what is to be committed at a path, from the work tree or, where the
// work tree is as the index, from the index.
func (w *Work) now(f *found, left *int64) (v action.Version, content []byte, whole bool, err error) {
	name := f.path
	st, err := w.inside.stat(name)
	if err != nil {
		return v, nil, false, err
	}
	fromIndex := f.work == unchanged && (st == nil || st.isDir)
	switch {
	case f.now.mode == modeGitlink:
		return action.Version{Mode: 0o644, Links: 1}, nil, true, nil
	case fromIndex: // sparse, or removed in the meantime
		b, err := w.blobs([]*found{{path: name, old: f.now}})
		if err != nil {
			return v, nil, false, err
		}
		version, content := f.now.version(b[0])
		return *version, content, b[0].whole, nil
	case st == nil || st.isDir:
		return v, nil, false, refusal.New(refusal.Changed, w.Path.String(), "")
	case st.link:
		content = []byte(st.target)
		v = action.Version{Kind: action.Symlink, Hash: action.HashOf(content), Size: uint64(len(content)), Mode: 0o777, Links: 1}
		return v, content, true, nil
	}
	v = action.Version{Size: st.size, Mode: st.mode, Links: 1}
	if content, v.Hash, err = w.inside.content(name, *left); err != nil {
		return v, nil, false, err
	}
	*left -= int64(len(content))
	if content != nil {
		if err := w.Content(name, content); err != nil {
			return v, nil, false, err
		}
	} else if w.MayHoldKey(name) {
		return v, nil, false, refusal.New(refusal.Denied, action.Path(name).String(), "it may hold a private key, and is too long to be looked at")
	}
	return v, content, content != nil, w.Judge(grant.Write, name)
}

// blob is the content of an object, as far as it is kept.
type blob struct {
	content []byte
	size    uint64
	whole   bool
}

// blobs reads what stood at paths in the last commit.
func (w *Work) blobs(of []*found) ([]blob, error) {
	out := make([]blob, len(of))
	var in bytes.Buffer
	var asked []int
	for i, f := range of {
		if f.old.mode != "" && f.old.mode != modeGitlink {
			in.WriteString(f.old.hash + "\n")
			asked = append(asked, i)
		}
	}
	if len(asked) == 0 {
		return out, nil
	}
	left := int64(maxContent)
	return out, w.git(gitrun.Objects, gitrun.Values{}, in.Bytes(), func(r io.Reader) error {
		b := bufio.NewReader(r)
		for _, i := range asked {
			if err := out[i].read(b, &left); err != nil {
				return err
			}
		}
		return nil
	})
}

// read reads one object of a batch: hash, type and size in a line, the content,
// and a newline.
func (o *blob) read(b *bufio.Reader, left *int64) error {
	line, err := b.ReadString('\n')
	if err != nil {
		return err
	}
	parts := strings.Fields(line)
	if len(parts) == 2 && parts[1] == "missing" {
		return refusal.New(refusal.GitIncomplete, "an object", "%s", parts[0])
	}
	if len(parts) != 3 || parts[1] != "blob" {
		return fmt.Errorf("[unexpected] git said %.200q", line)
	}
	size, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return err
	}
	o.size = uint64(size)
	if size <= *left {
		*left -= size
		o.whole, o.content = true, make([]byte, size)
		if _, err = io.ReadFull(b, o.content); err != nil {
			return err
		}
	} else if _, err = io.CopyN(io.Discard, b, size); err != nil {
		return err
	}
	_, err = b.Discard(1)
	return err
}
