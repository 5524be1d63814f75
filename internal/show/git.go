package show

import (
	"io"
	"strings"

	"countersign/internal/protocol"
)

// short is how many digits of a hash are shown where a person only tells one
// from another.
const short = 12

func shortened(hash string) string { return hash[:min(len(hash), short)] }

// about opens an answer about a repository.
func (w Writer) about(a protocol.GitAbout) {
	for _, n := range a.Notes {
		w.line("note: %s", n)
	}
}

// GitStatus shows where a work tree stands.
func (w Writer) GitStatus(r protocol.GitStatusResult) {
	w.about(r.GitAbout)
	branch, commit := r.Branch, shortened(r.Commit)
	if branch == "" {
		branch = "(detached)"
	}
	if commit == "" {
		commit = "(no commit yet)"
	}
	w.line("branch: %s at %s", branch, commit)
	if r.Upstream != "" {
		w.line("upstream: %s", r.Upstream)
	}
	if len(r.Kinds) > 0 {
		w.line("kind: %s", strings.Join(r.Kinds, ", "))
	}
	if len(r.Doing) > 0 {
		w.line("under way: %s", strings.Join(r.Doing, ", "))
	}
	for _, e := range r.Entries {
		w.line("%s%s %s", e.Index, e.Work, e.Path)
	}
}

// GitLog lists commits.
func (w Writer) GitLog(r protocol.GitLogResult) {
	w.about(r.GitAbout)
	for _, c := range r.Commits {
		subject, _, _ := strings.Cut(c.Message, "\n")
		w.line("%s %s %s: %s", shortened(c.Hash), c.Author.Time, c.Author.Name, subject)
	}
}

// GitFiles shows changed files: their patches, exactly where nobody looks at a
// screen, or their names alone.
func (w Writer) GitFiles(files []protocol.GitFile, names bool) {
	for _, f := range files {
		patch := f.Patch + string(f.Raw)
		switch {
		case names || patch == "":
			w.line("%s %s %s", f.Status, f.Path, f.Left)
		case w.Screen:
			w.Text(patch)
		default:
			io.WriteString(w.Out, patch)
		}
	}
}

// GitShow shows a commit with its files, or what stood at a path.
func (w Writer) GitShow(r protocol.GitShowResult, names bool) {
	w.about(r.GitAbout)
	if c := r.Commit; c != nil {
		w.line("commit %s", c.Hash)
		w.line("author: %s <%s> %s", c.Author.Name, c.Author.Mail, c.Author.Time)
		w.line("committer: %s <%s> %s", c.Committer.Name, c.Committer.Mail, c.Committer.Time)
		w.Text(c.Message)
	}
	w.GitFiles(r.Files, names)
	for _, e := range r.Entries {
		w.line("%s %s %s %d %s", e.Mode, e.Type, shortened(e.Hash), e.Size, e.Path)
	}
	if text := r.Text + string(r.Raw); w.Screen {
		w.Text(text)
	} else {
		io.WriteString(w.Out, text)
	}
}

// GitBlame shows lines with the commits that they are from.
func (w Writer) GitBlame(r protocol.GitBlameResult) {
	w.about(r.GitAbout)
	of := make(map[string]protocol.GitBlameCommit, len(r.Commits))
	for _, c := range r.Commits {
		of[c.Hash] = c
	}
	for _, l := range r.Lines {
		w.line("%s %s %s %d: %s", shortened(l.Commit), of[l.Commit].Author.Time, of[l.Commit].Author.Name, l.Now, l.Text+string(l.Raw))
	}
}

// GitBranches lists branches.
func (w Writer) GitBranches(r protocol.GitBranchesResult) {
	w.about(r.GitAbout)
	for _, b := range r.Branches {
		mark := " "
		if b.Head {
			mark = "*"
		}
		w.line("%s %s %s %s", mark, b.Name, shortened(b.Hash), b.Subject)
	}
}
