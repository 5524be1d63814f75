package gitread

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
	"countersign/tests/gitlab"
)

// same is what plain git is told besides, to be asked the same question.
func same(args ...string) []string {
	return append(append([]string{"-c", "core.quotePath=false", "-c", "color.ui=false", "-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false", "-c", "diff.orderFile=/dev/null",
		"-c", "log.showSignature=false", "-c", "diff.ignoreSubmodules=dirty", "--no-optional-locks", "--literal-pathspecs"}, args[0]), args[1:]...)
}

func patch(args ...string) []string {
	return same(slices.Concat(args[:1], []string{"--patch", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--submodule=short", "-O/dev/null"}, args[1:])...)
}

// R15, R16: about each kind of repository, status, log, diff, show and blame say
// what plain git says, or refuse it by the name that the table has; nothing in
// the home is changed by asking, not even an index that could be refreshed.
func TestMatrix(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	kinds := gitlab.Kinds()
	if len(kinds) < 60 {
		t.Errorf("%d kinds", len(kinds))
	}
	for _, k := range kinds {
		t.Run(k.Name, func(t *testing.T) {
			b := gitlab.New(t)
			k.Build(b)
			r := over(t, b)
			before := gitlab.Stamps(b.Home)
			got := ask(r)
			if after := gitlab.Stamps(b.Home); after != before {
				t.Errorf("something was written:\n%s", difference(before, after))
			}
			for _, a := range got {
				a.check(t, b, k)
			}
		})
	}
}

// answer is one of ours, and how plain git is asked the same.
type answer struct {
	what     string
	got      string
	err      error
	work     bool // it looks at the work tree's content
	commits  bool // it needs a commit
	patch    bool // it needs what a commit's files held
	plain    []string
	readable func(plain string) string // puts plain git's answer into the form of ours
}

// ask asks everything.
func ask(r *reader) []answer {
	var all []answer
	st, err := r.status()
	all = append(all, answer{what: "status", got: statusText(st), err: err, work: true,
		plain: same("status", "--porcelain=v2", "--branch", "-z", "-uall", "--no-renames", "--ignore-submodules=dirty"), readable: plainStatus})
	l, err := r.log()
	var hashes strings.Builder
	for _, c := range l.Commits {
		fmt.Fprintf(&hashes, "%s %s %s %s %q\n", c.Hash, strings.Join(c.Parents, " "), c.Author.Name, c.Author.Time, c.Message)
	}
	all = append(all, answer{what: "log", got: hashes.String(), err: err, commits: true, plain: same("log", "-z", "--no-mailmap", "--no-show-signature",
		"--encoding=UTF-8", "--no-color", "--no-decorate", "--no-notes", "--format=%H%x00%P%x00%an%x00%aI%x00%B"), readable: plainLog})
	diff := func(what string, p protocol.GitDiffParams, a answer) {
		res, err := r.diff(p)
		a.what, a.got, a.err = what, text(res.Files), err
		all = append(all, a)
	}
	diff("diff", protocol.GitDiffParams{}, answer{work: true, plain: patch("diff")})
	diff("diff of the index", protocol.GitDiffParams{Index: true}, answer{plain: patch("diff", "--cached")})
	diff("diff since HEAD", protocol.GitDiffParams{From: "HEAD"}, answer{work: true, commits: true, plain: patch("diff", "HEAD")})
	if _, err := r.b.Try(r.b.Root, "rev-parse", "--verify", "-q", "HEAD~1"); err == nil {
		diff("diff between commits", protocol.GitDiffParams{From: "HEAD~1", To: "HEAD"}, answer{commits: true, patch: true, plain: patch("diff", "HEAD~1", "HEAD")})
	}
	s, err := r.show(protocol.GitShowParams{})
	all = append(all, answer{what: "show", got: text(s.Files), err: err, commits: true, patch: true, plain: patch("show", "--format=", "HEAD")})
	names, _ := r.b.Try(r.b.Root, "ls-tree", "-r", "-z", "--name-only", "HEAD")
	for i, name := range strings.Split(strings.TrimSuffix(names, "\x00"), "\x00") {
		const most = 16
		if name == "" || i == most {
			break
		}
		for rev, work := range map[string]bool{"HEAD": false, "": true} {
			res, err := r.blame(rev, name)
			args := same("blame", "--porcelain", "--root", "--no-textconv", "--encoding=UTF-8")
			if rev != "" {
				args = append(args, rev)
			}
			all = append(all, answer{what: "blame of " + name + " in " + rev, got: blameText(res), err: err, work: work, commits: true, patch: true,
				plain: append(args, "--", name), readable: plainBlame})
		}
	}
	return all
}

// check holds an answer to plain git's.
func (a answer) check(t *testing.T, b *gitlab.Builder, k gitlab.Kind) {
	t.Helper()
	want := k.Refused
	switch {
	case want != "":
	case a.commits && k.Commits == refusal.GitRevision:
		want = refusal.GitRevision
	case a.patch && k.Commits == refusal.GitIncomplete && refusal.Is(a.err, refusal.GitIncomplete):
		return // what needs no missing object is answered
	case a.work && k.Blame != "" && strings.HasPrefix(a.what, "blame") && refusal.Is(a.err, k.Blame):
		return
	case a.work && k.Work != "" && (a.got == "" || refusal.As(a.err) != nil):
		want = k.Work
		if strings.HasPrefix(a.what, "blame") && refusal.As(a.err) == nil {
			want = ""
		}
	}
	if want != "" {
		if !refusal.Is(a.err, want) {
			t.Errorf("%s: %v, and not %s\n%s", a.what, a.err, want, a.got)
		}
		return
	}
	plain, err := b.Try(b.Root, a.plain...)
	if err != nil {
		if refusal.As(a.err) == nil {
			t.Errorf("%s: plain git fails, and ours does not: %v\n%s", a.what, err, a.got)
		}
		return
	}
	if a.readable != nil {
		plain = a.readable(plain)
	}
	if a.err != nil || a.got != plain {
		t.Errorf("%s: %v\n%s", a.what, a.err, difference(plain, a.got))
	}
}

func statusText(r protocol.GitStatusResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\n", r.Commit, r.Branch, r.Upstream)
	for _, e := range r.Entries {
		fmt.Fprintf(&b, "%s%s %q\n", e.Index, e.Work, string(e.Path))
	}
	return b.String()
}

func plainStatus(plain string) string {
	var commit, branch, upstream string
	var b strings.Builder
	for rec := range strings.SplitSeq(strings.TrimSuffix(plain, "\x00"), "\x00") {
		f := strings.SplitN(rec, " ", 9)
		switch {
		case strings.HasPrefix(rec, "# branch.oid ") && f[2] != "(initial)":
			commit = f[2]
		case strings.HasPrefix(rec, "# branch.head ") && f[2] != "(detached)":
			branch = f[2]
		case strings.HasPrefix(rec, "# branch.upstream "):
			upstream = f[2]
		case f[0] == "1":
			fmt.Fprintf(&b, "%s %q\n", f[1], f[8])
		case f[0] == "u":
			fmt.Fprintf(&b, "%s %q\n", f[1], strings.SplitN(f[8], " ", 3)[2])
		case f[0] == "?":
			fmt.Fprintf(&b, "?? %q\n", rec[2:])
		}
	}
	return fmt.Sprintf("%s %s %s\n", commit, branch, upstream) + b.String()
}

func plainLog(plain string) string {
	var b strings.Builder
	f := strings.Split(strings.TrimSuffix(plain, "\x00"), "\x00")
	for ; len(f) >= 5; f = f[5:] {
		fmt.Fprintf(&b, "%s %s %s %s %q\n", f[0], f[1], f[2], f[3], f[4])
	}
	return b.String()
}

func blameText(r protocol.GitBlameResult) string {
	var b strings.Builder
	for _, l := range r.Lines {
		fmt.Fprintf(&b, "%s %d %d %q\n", l.Commit, l.Then, l.Now, l.Text+string(l.Raw))
	}
	return b.String()
}

func plainBlame(plain string) string {
	var b strings.Builder
	var head []string
	for line := range strings.SplitSeq(strings.TrimSuffix(plain, "\n"), "\n") {
		f := strings.Split(line, " ")
		if text, ok := strings.CutPrefix(line, "\t"); ok && len(head) > 2 {
			fmt.Fprintf(&b, "%s %s %s %q\n", head[0], head[1], head[2], text)
		} else if len(f[0]) >= 40 && len(f) >= 3 {
			head = f
		}
	}
	return b.String()
}

// difference shows where two texts first differ.
func difference(want, got string) string {
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	for i := range max(len(w), len(g)) {
		at := func(s []string) string {
			if i < len(s) {
				return s[i]
			}
			return "(nothing)"
		}
		if at(w) != at(g) {
			return fmt.Sprintf("line %d: want %.300q\n        got  %.300q", i+1, at(w), at(g))
		}
	}
	return "they are the same"
}
