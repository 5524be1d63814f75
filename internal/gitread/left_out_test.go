package gitread

import (
	"context"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
	"countersign/tests/gitlab"
)

const (
	secret = "hunter2"
	key    = "-----BEGIN PRIVATE KEY-----\n" + secret + "\n"
)

// kept builds a repository with what an agent must not see, in the work tree, in
// the index and in every commit, beside what it may.
func kept(t *testing.T) *gitlab.Builder {
	b := gitlab.New(t)
	b.Init()
	b.Write("seen.md", "one\n")
	for _, name := range []string{".env", "sub/.env.local", "id_rsa.old", "cert/server.pem"} {
		b.Write(name, key)
	}
	b.Write(".env", "E=1\n") // moved to another name below, it may be seen there
	b.Write("cert/public.pem", "-----BEGIN CERTIFICATE-----\nMII\n")
	b.Write("log.txt", "a\n")
	b.Commit("all of it")
	for _, name := range []string{"seen.md", ".env", "sub/.env.local", "id_rsa.old", "cert/server.pem", "cert/public.pem", "log.txt"} {
		b.Append(name, "more\n")
	}
	b.Commit("changed")
	b.Git("mv", ".env", "was-env.md")
	b.Commit("renamed")
	b.Write(".env", secret)
	b.Git("add", ".env")
	b.Append("cert/server.pem", "again\n")
	b.Append("seen.md", "again\n")
	b.Append("log.txt", "again\n")
	b.Write("deep/.env", secret)
	return b
}

// R1, R15: paths on the deny list, and files of other names that hold a private
// key, are in no answer about any commit, the index or the work tree; what stands
// beside them is.
func TestDenyListHolds(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	r := over(t, kept(t))
	for what, text := range everything(t, r) {
		for _, never := range []string{secret, ".env", "id_rsa", "server.pem"} {
			// What is denied for its content alone has a name that may be seen.
			if strings.Contains(text, never) && !(what == "status" && never == "server.pem") {
				t.Errorf("%s tells of %s:\n%s", what, never, text)
			}
		}
		if !strings.Contains(text, "seen.md") && !strings.Contains(text, "public.pem") && what != "log" {
			t.Errorf("%s lacks what may be seen:\n%s", what, text)
		}
	}
}

// everything gives the text of every answer that names files.
func everything(t *testing.T, r *reader) map[string]string {
	t.Helper()
	all := map[string]string{}
	st, err := r.status()
	must(t, err)
	all["status"] = statusText(st)
	for what, p := range map[string]protocol.GitDiffParams{
		"diff": {}, "diff since HEAD": {From: "HEAD"}, "diff between commits": {From: "HEAD~2", To: "HEAD~1"}, "diff from the first": {From: "HEAD~5", To: "HEAD"},
	} {
		res, err := r.diff(p)
		must(t, err)
		all[what] = text(res.Files)
		for _, f := range res.Files {
			all[what] += string(f.Path) + "\n"
		}
	}
	for _, rev := range []string{"HEAD~1", "HEAD~2"} {
		res, err := r.show(protocol.GitShowParams{Rev: rev})
		must(t, err)
		all["show "+rev] = text(res.Files)
	}
	for _, dir := range []string{"cert"} {
		res, err := r.show(protocol.GitShowParams{Rev: "HEAD", Path: action.Path(dir)})
		must(t, err)
		for _, e := range res.Entries {
			if e.Path != "cert/server.pem" { // a name is no secret: its content is
				all["tree"] += string(e.Path) + "\n"
			}
		}
	}
	return all
}

// R15: named in any spelling, what is left out is refused, as the file call
// refuses it; a commit, a tree or a blob by its hash opens no way around.
func TestNamedIsRefused(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	b := kept(t)
	r := over(t, b)
	blob := b.Git("rev-parse", "HEAD:cert/server.pem")
	tree := b.Git("rev-parse", "HEAD:cert")
	b.Git("tag", "of-blob", blob)
	for _, rev := range []string{"HEAD", "HEAD~1", "HEAD~2", "main"} {
		for path, want := range map[string]refusal.Code{
			".env": refusal.Denied, "sub/.env.local": refusal.Denied, "id_rsa.old": refusal.Denied, "cert/server.pem": refusal.Denied, ".ENV": refusal.Denied, ".env/x": refusal.Denied,
			"../r/.env": refusal.PathNotClean, "./.env": refusal.PathNotClean, "/etc/passwd": refusal.PathNotClean, "a//b": refusal.PathNotClean, "sub/": refusal.PathNotClean,
		} {
			if res, err := r.show(protocol.GitShowParams{Rev: rev, Path: action.Path(path)}); !refusal.Is(err, want) {
				t.Errorf("show %s %s: %v %+v", rev, path, err, res)
			}
			if res, err := r.blame(rev, path); !refusal.Is(err, want) {
				t.Errorf("blame %s %s: %v %+v", rev, path, err, res)
			}
			if want == refusal.Denied && path != "cert/server.pem" {
				if _, err := r.Log(context.Background(), protocol.GitLogParams{Repository: r.root(), Rev: rev, Paths: []action.Path{action.Path(path)}}); !refusal.Is(err, want) {
					t.Errorf("log %s %s: %v", rev, path, err)
				}
			}
		}
	}
	for _, rev := range []string{blob, tree, "of-blob", "HEAD:.env", "HEAD:cert/server.pem", ":.env", ":0:.env", ":/renamed", "HEAD^{tree}", "HEAD^{blob}", "none", "HEAD~99"} {
		if res, err := r.show(protocol.GitShowParams{Rev: rev}); !refusal.Is(err, refusal.GitRevision) {
			t.Errorf("show %s: %v %+v", rev, err, res)
		}
		if res, err := r.diff(protocol.GitDiffParams{From: rev}); !refusal.Is(err, refusal.GitRevision) {
			t.Errorf("diff %s: %v %+v", rev, err, res)
		}
	}
}

// R15: a revision that begins with a dash, or has the form of a range or an
// option, is refused before the repository is opened and before any program
// starts.
func TestDashIsRefused(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	b := gitlab.New(t)
	b.Init()
	r := over(t, b)
	r.Run.Close() // nothing could start now
	for _, rev := range []string{"--output=" + b.Away + "/x", "-", "--all", "-p", "^HEAD", "a..b", "a...b", "HEAD --", "a\nb", "--end-of-options"} {
		if _, err := r.show(protocol.GitShowParams{Rev: rev}); !refusal.Is(err, refusal.GitRevision) {
			t.Errorf("show %q: %v", rev, err)
		}
		if _, err := r.Log(context.Background(), protocol.GitLogParams{Repository: r.root(), Not: rev}); !refusal.Is(err, refusal.GitRevision) {
			t.Errorf("log %q: %v", rev, err)
		}
		if _, err := r.diff(protocol.GitDiffParams{From: "HEAD", To: rev}); !refusal.Is(err, refusal.GitRevision) {
			t.Errorf("diff %q: %v", rev, err)
		}
		if _, err := r.blame(rev, "a.txt"); !refusal.Is(err, refusal.GitRevision) {
			t.Errorf("blame %q: %v", rev, err)
		}
	}
}

// R1, R15: what an include or a nested grant leaves out is absent as well, and a
// repository whose root no grant covers is refused like a place that is not
// there.
func TestIncludeHolds(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	b := kept(t)
	b.Write("nested/x.md", "x\n")
	b.Write("nested/y.md", "y\n")
	r := over(t, b, grant.Grant{Root: b.Root, Include: []string{"**/*.md"}}, grant.Grant{Root: b.Root + "/nested", Include: []string{"y.md"}})
	for what, text := range everythingSeen(t, r) {
		for _, never := range []string{secret, "log.txt", "a.txt", "x.md", ".env"} {
			if strings.Contains(text, never) {
				t.Errorf("%s tells of %s:\n%s", what, never, text)
			}
		}
	}
	st, err := r.status()
	must(t, err)
	if got := statusText(st); !strings.Contains(got, "nested/y.md") || !strings.Contains(got, "seen.md") {
		t.Errorf("%s", got)
	}
	for _, path := range []string{"log.txt", "nested/x.md"} {
		if _, err := r.blame("HEAD", path); !refusal.Is(err, refusal.NotGranted) {
			t.Errorf("blame %s: %v", path, err)
		}
	}
	r = over(t, b, grant.Grant{Root: b.Home + "/other"})
	for _, at := range []action.Path{r.root(), r.root() + "/none"} {
		if _, err := r.Status(context.Background(), protocol.GitStatusParams{Repository: at}); !refusal.Is(err, refusal.NotGranted) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func everythingSeen(t *testing.T, r *reader) map[string]string {
	t.Helper()
	all := map[string]string{}
	st, err := r.status()
	must(t, err)
	all["status"] = statusText(st)
	res, err := r.diff(protocol.GitDiffParams{From: "HEAD~4", To: "HEAD~1"})
	must(t, err)
	all["diff"] = text(res.Files)
	show, err := r.show(protocol.GitShowParams{Rev: "HEAD~1"})
	must(t, err)
	all["show"] = text(show.Files)
	return all
}

// R15: answers come in pages that together are the whole, in one order.
func TestPages(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	b := gitlab.New(t)
	b.Init()
	names := []string{"e", "f", "g", "h", "i"}
	for _, n := range names {
		b.Write(n, n+"\n")
		b.Commit(n)
		b.Git("branch", "of-"+n)
	}
	for _, n := range names {
		b.Append(n, "more\n")
	}
	r := over(t, b)
	ctx := context.Background()
	whole, err := r.diff(protocol.GitDiffParams{})
	must(t, err)
	var paged []protocol.GitFile
	for skip, more := uint64(0), true; more; skip += 2 {
		part, err := r.diff(protocol.GitDiffParams{Skip: skip, Limit: 2})
		must(t, err)
		if uint64(len(whole.Files)) != skip+uint64(len(part.Files))+part.More {
			t.Errorf("after %d: %d and %d more of %d", skip, len(part.Files), part.More, len(whole.Files))
		}
		paged, more = append(paged, part.Files...), part.More > 0
	}
	if len(whole.Files) < 5 || text(paged) != text(whole.Files) {
		t.Errorf("%s\nand in pages\n%s", text(whole.Files), text(paged))
	}
	st, err := r.Status(ctx, protocol.GitStatusParams{Repository: r.root(), Skip: 1, Limit: 1})
	if err != nil || len(st.Entries) != 1 || st.More != uint64(len(whole.Files))-2 {
		t.Errorf("%+v, %v", st, err)
	}
	l, err := r.Log(ctx, protocol.GitLogParams{Repository: r.root(), Skip: 2, Limit: 3})
	if err != nil || len(l.Commits) != 3 || !l.More || l.Commits[0].Message != "g\n" {
		t.Errorf("%+v, %v", l, err)
	}
	l, err = r.Log(ctx, protocol.GitLogParams{Repository: r.root(), Not: "HEAD~2"})
	if err != nil || len(l.Commits) != 2 || l.More {
		t.Errorf("%+v, %v", l, err)
	}
	br, err := r.Branches(ctx, protocol.GitBranchesParams{Repository: r.root(), Skip: 1, Limit: 2})
	if err != nil || len(br.Branches) != 2 || br.More != 3 || br.Branches[0].Name != "refs/heads/of-e" {
		t.Errorf("%+v, %v", br, err)
	}
	bl, err := r.Blame(ctx, protocol.GitBlameParams{Repository: r.root(), Rev: "HEAD", Path: "a.txt", From: 2, Lines: 2})
	if err != nil || len(bl.Lines) != 2 || !bl.More || bl.Lines[0].Now != 2 {
		t.Errorf("%+v, %v", bl, err)
	}
}

// R15: every part of a repository lies in a granted place, or the repository is
// refused: in the home is not enough.
func TestPartsAreGranted(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for what, build := range map[string]func(b *gitlab.Builder){
		"git directory": func(b *gitlab.Builder) { b.Init("--separate-git-dir", b.Home+"/git") },
		"common directory": func(b *gitlab.Builder) {
			b.GitIn(b.Home, "init", "-q", "x")
			b.Init()
			b.Write(".git/commondir", "../../x/.git\n")
		},
		"objects": func(b *gitlab.Builder) {
			b.GitIn(b.Home, "init", "-q", "x")
			b.Init()
			b.Write(".git/objects/info/alternates", b.Home+"/x/.git/objects\n")
		},
		"include": func(b *gitlab.Builder) { b.Init(); b.Write(b.Home+"/c", ""); b.Config("[include]\n\tpath = ../../c\n") },
		"excludes": func(b *gitlab.Builder) {
			b.Init()
			b.Write(b.Home+"/i", "")
			b.Config("[core]\n\texcludesFile = ~/i\n")
		},
		"a link": func(b *gitlab.Builder) { b.Init(); b.Write(b.Home+"/o/x", ""); b.Link("../../o", ".git/other") },
	} {
		b := gitlab.New(t)
		build(b)
		r := over(t, b, grant.Grant{Root: b.Root})
		if res, err := r.status(); !refusal.Is(err, refusal.GitOutside) {
			t.Errorf("%s: %v %+v", what, err, res)
		} else if said := err.Error(); strings.Contains(said, b.Home+"/git") || strings.Contains(said, b.Home+"/x") {
			t.Errorf("%s: the refusal names where it leads: %s", what, said)
		}
		if _, err := over(t, b).status(); err != nil {
			t.Errorf("%s, with all of the home granted: %v", what, err)
		}
	}
}
