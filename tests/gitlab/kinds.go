package gitlab

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/refusal"
)

// Kind is one kind of repository.
type Kind struct {
	Name  string
	Build func(b *Builder)

	Refused refusal.Code // of everything that is asked about it; empty is none
	Work    refusal.Code // of what looks at the content of the work tree
	Blame   refusal.Code // of lines in the work tree, of some file
	Commits refusal.Code // of what looks at commits
}

// Kinds is the table.
func Kinds() []Kind {
	return append(append(append(ordinary(), underWay()...), arranged()...), append(contents(), refused()...)...)
}

// ordinary are the states of a work tree and an index.
func ordinary() []Kind {
	with := func(change func(b *Builder)) func(b *Builder) { return func(b *Builder) { b.Init(); change(b) } }
	return []Kind{
		{Name: "clean", Build: with(func(b *Builder) {})},
		{Name: "changed", Build: with(func(b *Builder) { b.Append("a.txt", "more\n"); b.Append("dir/b.txt", "more\n") })},
		{Name: "staged", Build: with(func(b *Builder) { b.Append("a.txt", "more\n"); b.Git("add", "a.txt") })},
		{Name: "staged and changed again", Build: with(func(b *Builder) { b.Append("a.txt", "x\n"); b.Git("add", "a.txt"); b.Append("a.txt", "y\n") })},
		{Name: "touched", Build: with(func(b *Builder) {
			s, _ := os.ReadFile(b.Root + "/a.txt")
			b.Remove("a.txt")
			b.Write("a.txt", string(s))
		})},
		{Name: "deleted", Build: with(func(b *Builder) { b.Remove("a.txt") })},
		{Name: "deleted from the index", Build: with(func(b *Builder) { b.Git("rm", "-q", "--cached", "a.txt") })},
		{Name: "deleted in both", Build: with(func(b *Builder) { b.Git("rm", "-q", "a.txt") })},
		{Name: "added", Build: with(func(b *Builder) { b.Write("new.txt", "n\n"); b.Git("add", "new.txt") })},
		{Name: "untracked", Build: with(func(b *Builder) { b.Write("new.txt", "n\n"); b.Write("x/y/z", "z\n"); b.Write("dir/new", "n\n") })},
		{Name: "intent to add", Build: with(func(b *Builder) { b.Write("new.txt", "n\n"); b.Git("add", "-N", "new.txt") })},
		{Name: "skip-worktree", Build: with(func(b *Builder) { b.Git("update-index", "--skip-worktree", "a.txt"); b.Append("a.txt", "x\n") })},
		{Name: "assume-unchanged", Build: with(func(b *Builder) { b.Git("update-index", "--assume-unchanged", "a.txt"); b.Append("a.txt", "x\n") })},
		{Name: "unborn", Build: func(b *Builder) { b.Git("init", "-q", "-b", "main") }, Commits: refusal.GitRevision},
		{Name: "unborn with files", Build: func(b *Builder) {
			b.Git("init", "-q", "-b", "main")
			b.Write("a.txt", "a\n")
			b.Write("b.txt", "b\n")
			b.Git("add", "a.txt")
		}, Commits: refusal.GitRevision},
		{Name: "orphan branch", Build: with(func(b *Builder) { b.Git("checkout", "-q", "--orphan", "other") }), Commits: refusal.GitRevision},
		{Name: "detached", Build: with(func(b *Builder) { b.Git("checkout", "-q", "--detach", "HEAD~1") })},
		{Name: "ignored", Build: with(func(b *Builder) {
			b.Write(".gitignore", "*.o\n/build/\n!keep.o\n")
			many(b, "x.o", "build/y", "keep.o", "seen")
		})},
		{Name: "ignored in a directory", Build: with(func(b *Builder) { b.Write("dir/.gitignore", "*\n!.gitignore\n"); many(b, "dir/x", "dir/deep/y") })},
		{Name: "ignored by info/exclude", Build: with(func(b *Builder) { b.Append(".git/info/exclude", "*.o\n"); many(b, "x.o", "y") })},
		{Name: "tracked though ignored", Build: with(func(b *Builder) { b.Write(".gitignore", "a.txt\n"); b.Append("a.txt", "x\n") })},
		{Name: "empty commit", Build: with(func(b *Builder) { b.Commit("nothing") })},
		{Name: "executable", Build: with(func(b *Builder) { b.check(os.Chmod(b.Root+"/a.txt", 0o755)) })},
		{Name: "file modes do not count", Build: with(func(b *Builder) { b.Git("config", "core.fileMode", "false"); b.check(os.Chmod(b.Root+"/a.txt", 0o755)) })},
		{Name: "symbolic links", Build: with(func(b *Builder) { b.Link("a.txt", "l"); b.Commit("link"); b.Remove("l"); b.Link("/etc/passwd", "l") })},
		{Name: "a file becomes a link", Build: with(func(b *Builder) { b.Remove("a.txt"); b.Link("d.txt", "a.txt") })},
		{Name: "a file becomes a directory", Build: with(func(b *Builder) { b.Remove("a.txt"); b.Write("a.txt/inner", "x\n") })},
		{Name: "a directory becomes a file", Build: with(func(b *Builder) { b.Remove("dir"); b.Write("dir", "x\n"); b.Git("add", "-A") })},
		{Name: "renamed", Build: with(func(b *Builder) { b.Git("mv", "a.txt", "moved.txt") })},
		{Name: "renamed and committed", Build: with(func(b *Builder) { b.Git("mv", "a.txt", "moved.txt"); b.Append("moved.txt", "x\n"); b.Commit("moved") })},
		{Name: "a pipe", Build: with(func(b *Builder) { b.check(unix.Mkfifo(b.Root+"/pipe", 0o644)) })},
		{Name: "a file becomes a pipe", Build: with(func(b *Builder) { b.Remove("a.txt"); b.check(unix.Mkfifo(b.Root+"/a.txt", 0o644)) })},
		{Name: "a closed directory", Build: with(func(b *Builder) {
			b.Write("shut/x", "x")
			b.check(os.Chmod(b.Root+"/shut", 0))
			b.t.Cleanup(func() { os.Chmod(b.Root+"/shut", 0o755) })
		})},
		{Name: "a repository inside", Build: with(func(b *Builder) { b.GitIn(b.Root, "init", "-q", "inner"); b.Write("inner/x", "x") })},
		{Name: "a stash", Build: with(func(b *Builder) { b.Append("a.txt", "x\n"); b.Git("stash", "-q"); b.Append("d.txt", "y\n") })},
		{Name: "upstream", Build: with(func(b *Builder) {
			b.Git("clone", "-q", "--bare", ".", b.Home+"/up.git")
			b.Git("remote", "add", "origin", b.Home+"/up.git")
			b.Git("fetch", "-q", "origin")
			b.Git("branch", "-q", "-u", "origin/main")
			b.Append("a.txt", "x\n")
			b.Commit("ahead")
		})},
		{Name: "odd branch names", Build: with(func(b *Builder) { b.Git("checkout", "-q", "-b", "odd/ä-ü;$(x)"); b.Git("branch", "HEAD-x") })},
	}
}

func many(b *Builder, names ...string) {
	for _, n := range names {
		b.Write(n, n+"\n")
	}
}

// underWay are what was begun and is not finished.
func underWay() []Kind {
	sides := func(b *Builder) { // two branches that change one line
		b.Init()
		b.Git("checkout", "-q", "-b", "side")
		b.Write("a.txt", "one\nside\nthree\nfour\n")
		b.Commit("side")
		b.Git("checkout", "-q", "main")
		b.Write("a.txt", "one\nmain\nthree\nfour\n")
		b.Commit("main")
	}
	return []Kind{
		{Name: "merge with a conflict", Build: func(b *Builder) { sides(b); b.Fails("merge", "-q", "side") }},
		{Name: "merge that was settled", Build: func(b *Builder) {
			sides(b)
			b.Fails("merge", "-q", "side")
			b.Write("a.txt", "settled\n")
			b.Git("add", "a.txt")
		}},
		{Name: "merge without a commit", Build: func(b *Builder) { sides(b); b.Git("merge", "-q", "--no-commit", "-s", "ours", "side") }},
		{Name: "both added", Build: func(b *Builder) {
			b.Init()
			b.Git("checkout", "-q", "-b", "side")
			b.Write("n", "side\n")
			b.Commit("side")
			b.Git("checkout", "-q", "main")
			b.Write("n", "main\n")
			b.Commit("main")
			b.Fails("merge", "-q", "side")
		}},
		{Name: "deleted here and changed there", Build: func(b *Builder) {
			b.Init()
			b.Git("checkout", "-q", "-b", "side")
			b.Append("a.txt", "x\n")
			b.Commit("side")
			b.Git("checkout", "-q", "main")
			b.Git("rm", "-q", "a.txt")
			b.Commit("main")
			b.Fails("merge", "-q", "side")
		}},
		{Name: "cherry-pick", Build: func(b *Builder) { sides(b); b.Fails("cherry-pick", "side") }},
		{Name: "revert", Build: func(b *Builder) { sides(b); b.Fails("revert", "--no-edit", "HEAD~1") }},
		{Name: "rebase", Build: func(b *Builder) { sides(b); b.Fails("rebase", "-q", "side") }},
		{Name: "rebase by patches", Build: func(b *Builder) { sides(b); b.Fails("rebase", "-q", "--apply", "side") }},
		{Name: "bisect", Build: func(b *Builder) { b.Init(); b.Git("bisect", "start", "HEAD", "HEAD~2") }},
		{Name: "merged", Build: func(b *Builder) {
			sides(b)
			b.Fails("merge", "-q", "side")
			b.Write("a.txt", "one\nboth\nthree\nfour\n")
			b.Commit("merged")
		}},
		{Name: "octopus", Build: func(b *Builder) {
			b.Init()
			for _, n := range []string{"x", "y", "z"} {
				b.Git("checkout", "-q", "-b", n, "main")
				b.Write(n, n+"\n")
				b.Commit(n)
			}
			b.Git("checkout", "-q", "main")
			b.Git("merge", "-q", "-m", "octopus", "x", "y", "z")
		}},
	}
}

// arranged are repositories whose parts lie in other places or forms than
// usual.
func arranged() []Kind {
	origin := func(b *Builder) string { // a repository to clone from
		b.Init()
		at := b.Home + "/origin"
		b.check(os.Rename(b.Root, at))
		b.GitIn(at, "config", "uploadpack.allowFilter", "true")
		return at
	}
	changed := func(b *Builder) { b.Append("a.txt", "more\n"); b.Write("new", "n\n") }
	return []Kind{
		{Name: "linked work tree", Build: func(b *Builder) {
			b.Init()
			b.Git("worktree", "add", "-q", "-b", "linked", b.Home+"/linked")
			b.Root = b.Home + "/linked"
			changed(b)
		}},
		{Name: "work tree with a linked one", Build: func(b *Builder) { b.Init(); b.Git("worktree", "add", "-q", b.Home+"/linked"); changed(b) }},
		{Name: "linked work tree with its own configuration", Build: func(b *Builder) {
			b.Init()
			b.Git("config", "extensions.worktreeConfig", "true")
			b.Git("worktree", "add", "-q", "-b", "linked", b.Home+"/linked")
			b.Root = b.Home + "/linked"
			b.Git("config", "--worktree", "core.fileMode", "false")
			b.check(os.Chmod(b.Root+"/a.txt", 0o755))
		}},
		{Name: "submodule", Build: func(b *Builder) { submodule(b) }},
		{Name: "submodule that moved", Build: func(b *Builder) {
			submodule(b)
			b.Write("sub/new", "n\n")
			b.GitIn(b.Root+"/sub", "add", "-A")
			b.GitIn(b.Root+"/sub", "commit", "-q", "-m", "inside")
		}},
		{Name: "submodule that is dirty", Build: func(b *Builder) { submodule(b); b.Append("sub/a.txt", "x\n"); b.Write("sub/new", "n\n") }},
		{Name: "inside a submodule", Build: func(b *Builder) { submodule(b); b.Root += "/sub"; changed(b) }},
		{Name: "submodule that is not there", Build: func(b *Builder) { submodule(b); b.Git("submodule", "deinit", "-q", "-f", "sub") }},
		{Name: "sparse", Build: func(b *Builder) { b.Init(); b.Git("sparse-checkout", "set", "--cone", "dir"); b.Append("a.txt", "x\n") }},
		{Name: "sparse by patterns", Build: func(b *Builder) {
			b.Init()
			b.Git("sparse-checkout", "set", "--no-cone", "/*", "!/dir/")
			b.Write("new", "n\n")
		}},
		{Name: "sparse index", Build: func(b *Builder) {
			b.Init()
			b.Git("sparse-checkout", "set", "--cone", "--sparse-index", "nothing")
			b.Write("new", "n\n")
		}},
		{Name: "shallow", Build: func(b *Builder) {
			at := origin(b)
			b.GitIn(b.Home, "clone", "-q", "--depth", "2", "file://"+at, b.Root)
			changed(b)
		}},
		{Name: "partial", Build: func(b *Builder) {
			at := origin(b)
			b.GitIn(b.Home, "clone", "-q", "--filter=blob:none", "file://"+at, b.Root)
		}, Commits: refusal.GitIncomplete},
		{Name: "borrowed objects", Build: func(b *Builder) { at := origin(b); b.GitIn(b.Home, "clone", "-q", "--shared", at, b.Root); changed(b) }},
		{Name: "clone", Build: func(b *Builder) { at := origin(b); b.GitIn(b.Home, "clone", "-q", at, b.Root); changed(b) }},
		{Name: "git directory elsewhere", Build: func(b *Builder) { b.Init("--separate-git-dir", b.Home+"/elsewhere"); changed(b) }},
		{Name: "git directory by a link", Build: func(b *Builder) {
			b.Init()
			b.check(os.Rename(b.Root+"/.git", b.Home+"/elsewhere"))
			b.Link("../elsewhere", ".git")
			changed(b)
		}},
		{Name: "split index", Build: func(b *Builder) { b.Init(); b.Git("update-index", "--split-index"); changed(b); b.Git("add", "a.txt") }},
		{Name: "index of version 4", Build: func(b *Builder) { b.Init(); b.Git("update-index", "--index-version", "4"); changed(b) }},
		{Name: "untracked cache", Build: func(b *Builder) {
			b.Init()
			b.Git("update-index", "--force-untracked-cache")
			b.Git("status")
			changed(b)
		}},
		{Name: "sha256", Build: func(b *Builder) { b.Init("--object-format=sha256"); changed(b) }},
		{Name: "packed", Build: func(b *Builder) {
			b.Init()
			b.Git("gc", "-q")
			b.Git("commit-graph", "write", "--reachable")
			changed(b)
		}},
		{Name: "HEAD is a link", Build: func(b *Builder) { b.Init(); b.Remove(".git/HEAD"); b.Link("refs/heads/main", ".git/HEAD"); changed(b) }},
		{Name: "grafts", Build: func(b *Builder) { b.Init(); b.Write(".git/info/grafts", b.Git("rev-parse", "HEAD")+"\n"); changed(b) }},
		{Name: "includes a file of its own", Build: func(b *Builder) {
			b.Init()
			b.Write(".git/more", "[core]\n\tfileMode = false\n")
			b.Config("[include]\n\tpath = more\n")
			b.check(os.Chmod(b.Root+"/a.txt", 0o755))
		}},
		{Name: "includes a file that is not there", Build: func(b *Builder) { b.Init(); b.Config("[include]\n\tpath = none\n"); changed(b) }},
		{Name: "excludes by a file of its own", Build: func(b *Builder) {
			b.Init()
			b.Write(b.Home+"/ignore", "*.o\n")
			b.Config("[core]\n\texcludesFile = ~/ignore\n")
			many(b, "x.o", "y")
		}},
		{Name: "excludes by the person's file", Build: func(b *Builder) {
			b.Persons("[core]\n\texcludesFile = ~/ignore\n")
			b.Init()
			b.Write(b.Home+"/ignore", "*.o\n")
			many(b, "x.o", "y")
		}},
		{Name: "excludes by the person's usual file", Build: func(b *Builder) { b.Init(); b.Write(b.Home+"/.config/git/ignore", "*.o\n"); many(b, "x.o", "y") }},
		{Name: "the person includes by directory", Build: func(b *Builder) {
			b.Persons("[includeIf \"gitdir:~/r/\"]\n\tpath = of-r\n[includeIf \"gitdir:~/other/\"]\n\tpath = of-other\n")
			b.Write(b.Home+"/of-r", "[core]\n\texcludesFile = ~/ignore\n")
			b.Write(b.Home+"/of-other", "[core]\n\tautocrlf = true\n")
			b.Write(b.Home+"/ignore", "*.o\n")
			b.Init()
			many(b, "x.o", "y")
		}},
	}
}

func submodule(b *Builder) {
	b.Init()
	inner := b.Home + "/inner"
	b.GitIn(b.Home, "clone", "-q", b.Root, inner)
	b.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "sub")
	b.Commit("with a submodule")
}

// contents are files that are compared or shown in other ways than byte by
// byte, and names that are hard to tell.
func contents() []Kind {
	with := func(attributes, content string, more func(b *Builder)) func(b *Builder) {
		return func(b *Builder) {
			b.Init()
			b.Write(".gitattributes", attributes)
			b.Write("t.txt", content)
			b.Commit("with attributes")
			more(b)
		}
	}
	return []Kind{
		{Name: "line ends by attribute", Build: with("*.txt text eol=crlf\n", "a\r\nb\r\n", func(b *Builder) { b.Append("t.txt", "c\r\n") })},
		{Name: "line ends made anew", Build: with("*.txt text=auto\n", "a\nb\n", func(b *Builder) { b.Write("t.txt", "a\r\nb\r\n") })},
		{Name: "autocrlf", Build: func(b *Builder) {
			b.Init()
			b.Git("config", "core.autocrlf", "true")
			b.Write("a.txt", "one\r\n2\r\nthree\r\nfour\r\nx\r\n")
		}},
		{Name: "autocrlf of the person's", Build: func(b *Builder) {
			b.Init()
			b.Persons("[core]\n\tautocrlf\n")
			b.Write("a.txt", "one\r\n2\r\nthree\r\nfour\r\n")
		}},
		{Name: "autocrlf of both", Build: func(b *Builder) {
			b.Init()
			b.Persons("[core]\n\tautocrlf = true\n")
			b.Git("config", "core.autocrlf", "false")
			b.Write("a.txt", "one\r\n2\r\nthree\r\nfour\r\n")
		}},
		{Name: "another encoding", Build: with("t.txt working-tree-encoding=UTF-16LE-BOM\n", "\xff\xfea\x00\n\x00", func(b *Builder) { b.Write("t.txt", "\xff\xfeb\x00\n\x00") })},
		{Name: "ident", Build: with("t.txt ident\n", "$Id$\n", func(b *Builder) { b.Write("t.txt", "$Id: something $\nmore\n") })},
		{Name: "a converter for diffs", Build: with("*.txt diff=upper\n", "a\n", func(b *Builder) { b.Config("[diff \"upper\"]\n\ttextconv = tr a-z A-Z <\n"); b.Append("t.txt", "b\n") })},
		{Name: "not text by attribute", Build: with("*.txt -diff\n", "a\n", func(b *Builder) { b.Append("t.txt", "b\n") })},
		{Name: "binary", Build: with("", "a\x00b\n", func(b *Builder) { b.Append("t.txt", "b\n") })},
		{Name: "a filter, unchanged", Build: func(b *Builder) { filtered(b); b.Write("new", "n\n") }, Blame: refusal.GitFilter},
		{Name: "a filter, changed", Build: func(b *Builder) { filtered(b); b.Append("t.dat", "y\n") }, Work: refusal.GitFilter},
		{Name: "a filter, touched", Build: func(b *Builder) { filtered(b); b.Remove("t.dat"); b.Write("t.dat", "X\n") }, Work: refusal.GitFilter},
		{Name: "a filter that nobody configured", Build: with("*.txt filter=lfs\n", "pointer\n", func(b *Builder) { b.Append("t.txt", "x\n") }), Work: refusal.GitFilter},
		{Name: "no newline at the end", Build: with("", "a\nb", func(b *Builder) { b.Write("t.txt", "a\nc") })},
		{Name: "carriage returns", Build: with("", "a\r\nb\rc\n", func(b *Builder) { b.Append("t.txt", "d\r\n") })},
		{Name: "bytes that are not UTF-8", Build: with("", "caf\xe9\n", func(b *Builder) { b.Append("t.txt", "na\xefve\n") })},
		{Name: "lines that look like a patch's", Build: with("", "-- a/x\ndiff --git a/a.txt b/a.txt\n", func(b *Builder) { b.Append("t.txt", "diff --git a/d.txt b/d.txt\n@@ -1 +1 @@\n+++ b/x\n") })},
		{Name: "empty files", Build: with("", "", func(b *Builder) { b.Write("t.txt", "x"); b.Write("e", ""); b.Git("add", "e") })},
		{Name: "a long line", Build: with("", strings.Repeat("x", 300_000)+"\n", func(b *Builder) { b.Append("t.txt", "b\n") })},
		{Name: "a commit in another encoding", Build: func(b *Builder) {
			b.Init()
			b.Git("config", "i18n.commitEncoding", "ISO-8859-1")
			b.Git("commit", "-q", "--allow-empty", "-m", "caf\xe9")
		}},
		{Name: "odd names", Build: func(b *Builder) {
			b.Init()
			many(b, "with space", "-dash", "--output=x", "tab\there", "new\nline", "quote\"d", "back\\slash", "x b/x b/x", "\xff\xfe", "ünï", "*", ":(top)x", "~tilde", "#hash", " lead")
			b.Commit("odd")
			for _, n := range []string{"with space", "-dash", "--output=x", "tab\there", "new\nline", "quote\"d", "back\\slash", "x b/x b/x", "\xff\xfe", "ünï", "*", ":(top)x"} {
				b.Append(n, "more\n")
			}
			many(b, "-untracked", "un\ntracked", "\xfd")
		}},
		{Name: "names in other cases", Build: func(b *Builder) { b.Init(); many(b, "A.TXT", "Dir/x"); b.Git("config", "core.ignoreCase", "true") }},
		{Name: "notes and a mailmap", Build: with("", "t\n", func(b *Builder) {
			b.Write(".mailmap", "Somebody Else <else@example.org> <ann@example.org>\n")
			b.Git("notes", "add", "-m", "a note")
			b.Git("tag", "-a", "-m", "a tag", "v1")
		})},
		{Name: "settings that change what is shown", Build: func(b *Builder) {
			b.Init()
			b.Config("[diff]\n\tnoprefix = true\n\tmnemonicPrefix = true\n\trenames = copies\n\torderFile = none\n[log]\n\tfollow = true\n\tshowSignature = true\n\tdecorate = full\n" +
				"[status]\n\tshowUntrackedFiles = no\n\trelativePaths = true\n\tshort = true\n[color]\n\tui = always\n[core]\n\tquotePath = true\n\tabbrev = 5\n[blame]\n\tshowEmail = true\n")
			b.Append("a.txt", "more\n")
			b.Write("ü", "n\n")
		}},
	}
}

// filtered has a file that a filter makes, as it was checked out.
func filtered(b *Builder) {
	b.Init()
	b.Config("[filter \"case\"]\n\tclean = tr A-Z a-z\n\tsmudge = tr a-z A-Z\n")
	b.Write(".gitattributes", "*.dat filter=case\n")
	b.Write("t.dat", "X\n")
	b.Commit("with a filter")
	// Git compares a file's content that was changed in the second of the
	// index's own writing.
	b.check(os.Chtimes(b.Root+"/t.dat", old(), old()))
	b.Git("update-index", "--refresh")
}

// refused are the kinds that nothing is answered about.
func refused() []Kind {
	with := func(change func(b *Builder)) func(b *Builder) { return func(b *Builder) { b.Init(); change(b) } }
	return []Kind{
		{Name: "no repository", Build: func(b *Builder) { b.Write("x", "x") }, Refused: refusal.NotRepository},
		{Name: "a directory of a repository", Build: with(func(b *Builder) { b.Root += "/dir" }), Refused: refusal.NotRepository},
		{Name: "bare", Build: func(b *Builder) { b.Git("init", "-q", "--bare") }, Refused: refusal.GitKind},
		{Name: "bare by configuration", Build: with(func(b *Builder) { b.Git("config", "core.bare", "true") }), Refused: refusal.GitKind},
		{Name: "work tree elsewhere", Build: with(func(b *Builder) { b.Config("[core]\n\tworktree = " + b.Away + "\n") }), Refused: refusal.GitKind},
		{Name: "replaced objects", Build: with(func(b *Builder) { b.Git("replace", "HEAD~1", "HEAD~2") }), Refused: refusal.GitKind},
		{Name: "replaced objects, packed", Build: with(func(b *Builder) { b.Git("replace", "HEAD~1", "HEAD~2"); b.Git("pack-refs", "--all") }), Refused: refusal.GitKind},
		{Name: "an unknown extension", Build: with(func(b *Builder) { b.Config("[extensions]\n\tunheardOf = true\n") }), Refused: refusal.GitKind},
		{Name: "git directory outside", Build: func(b *Builder) { b.Init("--separate-git-dir", b.Away+"/git") }, Refused: refusal.GitOutside},
		{Name: "git directory by a link outside", Build: with(func(b *Builder) { b.check(os.Rename(b.Root+"/.git", b.Away+"/git")); b.Link(b.Away+"/git", ".git") }), Refused: refusal.GitOutside},
		{Name: "common directory outside", Build: func(b *Builder) {
			b.Git("init", "-q", b.Away+"/main")
			b.GitIn(b.Away+"/main", "commit", "-q", "--allow-empty", "-m", "x")
			b.Remove(b.Root)
			b.GitIn(b.Away+"/main", "worktree", "add", "-q", b.Root)
		}, Refused: refusal.GitOutside},
		{Name: "common directory that points out", Build: with(func(b *Builder) { b.GitIn(b.Away, "init", "-q", "x"); b.Write(".git/commondir", b.Away+"/x/.git\n") }), Refused: refusal.GitOutside},
		{Name: "borrowed objects outside", Build: with(func(b *Builder) {
			b.GitIn(b.Away, "init", "-q", "x")
			b.Write(".git/objects/info/alternates", b.Away+"/x/.git/objects\n")
		}), Refused: refusal.GitOutside},
		{Name: "borrowed objects outside, two steps on", Build: with(func(b *Builder) {
			b.GitIn(b.Home, "init", "-q", "near")
			b.GitIn(b.Away, "init", "-q", "far")
			b.Write(".git/objects/info/alternates", "../../../near/.git/objects\n")
			b.Write(b.Home+"/near/.git/objects/info/alternates", b.Away+"/far/.git/objects\n")
		}), Refused: refusal.GitOutside},
		{Name: "objects by a link outside", Build: with(func(b *Builder) {
			b.check(os.Rename(b.Root+"/.git/objects", b.Away+"/o"))
			b.Link(b.Away+"/o", ".git/objects")
		}), Refused: refusal.GitOutside},
		{Name: "configuration by a link outside", Build: with(func(b *Builder) {
			b.check(os.Rename(b.Root+"/.git/config", b.Away+"/c"))
			b.Link(b.Away+"/c", ".git/config")
		}), Refused: refusal.GitOutside},
		{Name: "includes a file outside", Build: with(func(b *Builder) { b.Write(b.Away+"/c", ""); b.Config("[include]\n\tpath = " + b.Away + "/c\n") }), Refused: refusal.GitOutside},
		{Name: "includes a file outside, on a condition", Build: with(func(b *Builder) {
			b.Write(b.Away+"/c", "")
			b.Config("[includeIf \"onbranch:x\"]\n\tpath = " + b.Away + "/c\n")
		}), Refused: refusal.GitOutside},
		{Name: "includes a secret", Build: with(func(b *Builder) {
			b.Write(b.Home+"/.ssh/config", "")
			b.Config("[include]\n\tpath = " + b.Home + "/.ssh/config\n")
		}), Refused: refusal.GitOutside},
		{Name: "includes a file of the home", Build: with(func(b *Builder) { b.Config("[include]\n\tpath = ~/x\n") }), Refused: refusal.GitConfig},
		{Name: "includes itself", Build: with(func(b *Builder) { b.Config("[include]\n\tpath = config\n") }), Refused: refusal.GitConfig},
		{Name: "a broken configuration", Build: with(func(b *Builder) { b.Config("[core\n") }), Refused: refusal.GitConfig},
		{Name: "excludes by a file outside", Build: with(func(b *Builder) { b.Write(b.Away+"/i", ""); b.Config("[core]\n\texcludesFile = " + b.Away + "/i\n") }), Refused: refusal.GitOutside},
		{Name: "attributes by a file outside", Build: with(func(b *Builder) { b.Write(b.Away+"/i", ""); b.Config("[core]\n\tattributesFile = " + b.Away + "/i\n") }), Refused: refusal.GitOutside},
	}
}
