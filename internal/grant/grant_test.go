package grant

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/internal/refusal"
)

const home = "/home/alice"

// sample is the grants of most cases: the home may be read, projects written,
// and beneath them are nested grants that say otherwise.
func sample() Set {
	return Set{
		Home: home,
		Reads: []Grant{
			{Root: home, MaxFileSize: 1},
			{Root: home + "/notes", Include: []string{"**/*.md", "img/**"}},
			{Root: home + "/notes/private", Include: []string{"index.txt"}},
		},
		Writes: []Grant{
			{Root: home + "/projects", FollowLinks: true},
			{Root: home + "/projects/frozen", Include: []string{"CHANGES"}},
			{Root: home + "/notes", Include: []string{"**/*.md"}},
		},
	}
}

// R1: the longest root wins, by whole names, and what no grant covers is
// refused by name. S3: a nested grant that says otherwise holds, and a write
// is covered by the include. T5: a write needs a read grant and a write grant.
func TestJudge(t *testing.T) {
	const ok = refusal.Code("")
	for _, c := range []struct {
		op   Op
		path string
		want refusal.Code
		root string // of the grant that says so
	}{
		{Read, home + "/a.go", ok, home},
		{Read, home, ok, home},
		{Read, "/home/alice2/a.go", refusal.NotGranted, ""},
		{Read, "/etc/passwd", refusal.NotGranted, ""},
		{Read, "/home", refusal.NotGranted, ""},
		{Read, home + "/notesx/a.txt", ok, home},
		{Read, home + "/notes/a.md", ok, home + "/notes"},
		{Read, home + "/notes/A.MD", ok, home + "/notes"},
		{Read, home + "/notes/deep/down/a.md", ok, home + "/notes"},
		{Read, home + "/notes/a.txt", refusal.NotGranted, ""},
		{Read, home + "/notes/img/\xff.png", ok, home + "/notes"},
		{Read, home + "/notes/private/a.md", refusal.NotGranted, ""},
		{Read, home + "/notes/private/index.txt", ok, home + "/notes/private"},

		{Write, home + "/projects/a.go", ok, home + "/projects"},
		{Write, home + "/projects/frozen/a.go", refusal.NotGranted, ""},
		{Write, home + "/projects/frozen/changes", ok, home + "/projects/frozen"},
		{Write, home + "/a.go", refusal.NotGranted, ""},
		{Write, home + "/notes/a.md", ok, home + "/notes"},
		{Write, home + "/notes/img/a.png", refusal.NotGranted, ""},
		{Write, home + "/notes/private/a.md", refusal.NotGranted, ""},

		{Write, home + "/projects/.git/config", refusal.GitDirectory, ""},
		{Write, home + "/projects/vendor/sub/.GIT/hooks/pre-commit", refusal.GitDirectory, ""},
		{Write, home + "/projects/.git", refusal.GitDirectory, ""},
		{Write, home + "/projects/.gitignore", ok, home + "/projects"},
		{Read, home + "/projects/.git/config", ok, home},

		{Read, home + "/projects/.countersign-0123456789abcdef", refusal.NotGranted, ""},
		{Write, home + "/projects/.Countersign-0123456789ABCDEF", refusal.NotGranted, ""},
		{Write, home + "/projects/.countersign-0123456789abcdeg", ok, home + "/projects"},
		{Write, home + "/projects/.countersign-0123456789abcde", ok, home + "/projects"},

		{Read, home + "/../bob/a", refusal.PathNotClean, ""},
		{Read, home + "/./a", refusal.PathNotClean, ""},
		{Read, home + "//a", refusal.PathNotClean, ""},
		{Read, home + "/", refusal.PathNotClean, ""},
		{Read, home + "/a\x00b", refusal.PathNotClean, ""},
		{Read, "home/alice/a", refusal.PathNotClean, ""},
		{Read, "", refusal.PathNotClean, ""},
		{Read, "/", refusal.PathNotClean, ""},
	} {
		g, err := sample().Judge(c.op, c.path)
		if c.want == ok {
			if err != nil || g.Root != c.root {
				t.Errorf("%s %q: root %q, %v; want root %q", c.op, c.path, g.Root, err, c.root)
			}
		} else if !refusal.Is(err, c.want) {
			t.Errorf("%s %q: %v; want %s", c.op, c.path, err, c.want)
		}
	}
}

// T5: read and write lists are separate; a write grant alone opens nothing.
func TestWriteNeedsBoth(t *testing.T) {
	s := Set{Home: home, Writes: []Grant{{Root: home}}}
	if _, err := s.Judge(Write, home+"/a"); !refusal.Is(err, refusal.NotGranted) {
		t.Errorf("a write with no read grant: %v", err)
	}
	if _, err := s.Judge(Read, home+"/a"); !refusal.Is(err, refusal.NotGranted) {
		t.Errorf("a read with only a write grant: %v", err)
	}
	if _, err := (Set{Reads: []Grant{{}}}).Judge(Read, "/a"); !refusal.Is(err, refusal.NotGranted) {
		t.Errorf("a grant without a root: %v", err)
	}
}

// T6: a home is known by its listed path and by the directory it leads to,
// and the same grants hold there.
func TestResolved(t *testing.T) {
	s := sample().Resolved("/data/alice", map[string]string{
		home:               "/data/alice",
		home + "/notes":    "/data/shelf",
		home + "/projects": "/data/alice/projects",
		// projects/frozen cannot be looked at
	})
	for path, want := range map[string]string{
		"/data/alice/a.go":          "/data/alice",
		"/data/shelf/a.md":          "/data/shelf",
		home + "/a.go":              "",
		"/data/alice/.ssh/id":       "",
		"/data/alice/notes/x.t":     "/data/alice",
		"/data/alice/projects/a.go": "/data/alice",
	} {
		g, err := s.Judge(Read, path)
		if g.Root != want || (err == nil) != (want != "") {
			t.Errorf("%s: root %q, %v; want %q", path, g.Root, err, want)
		}
	}
	if _, err := s.Judge(Write, "/data/alice/projects/a"); err != nil {
		t.Errorf("under a root that was resolved: %v", err)
	}
	if _, err := s.Judge(Write, "/data/alice/projects/frozen/a"); !refusal.Is(err, refusal.NotGranted) {
		t.Errorf("a nested root that could not be looked at no longer holds: %v", err)
	}
	if got := sample().Reads[0].Root; got != home {
		t.Errorf("the listed set was changed: %s", got)
	}
}

// S3: where two listed roots lead to one directory, both must cover the path.
func TestOneDirectoryTwice(t *testing.T) {
	wide, narrow := Grant{Root: home}, Grant{Root: home, Include: []string{"*.md"}}
	for _, list := range [][]Grant{{wide, narrow}, {narrow, wide}} {
		s := Set{Home: home, Reads: list}
		if _, err := s.Judge(Read, home+"/a.txt"); !refusal.Is(err, refusal.NotGranted) {
			t.Errorf("include left out by one of two: %v", err)
		}
		if _, err := s.Judge(Read, home+"/a.md"); err != nil {
			t.Errorf("covered by both: %v", err)
		}
	}
}

// R1: the longest root wins, whatever the order of the list, compared name by
// name against a plain account of the rule.
func TestLongestRootProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "A", "b", "ab", "a b", "\xff"})
		tree := rapid.Map(rapid.SliceOfN(name, 1, 4), func(n []string) string { return "/" + strings.Join(n, "/") })
		roots := rapid.SliceOfNDistinct(tree, 1, 6, func(s string) string { return s }).Draw(t, "roots")
		path := tree.Draw(t, "path")
		var s Set
		want := ""
		for _, r := range roots {
			s.Reads = append(s.Reads, Grant{Root: r})
			if strings.HasPrefix(path+"/", r+"/") && len(r) > len(want) {
				want = r
			}
		}
		g, err := s.Judge(Read, path)
		if g.Root != want || (err == nil) != (want != "") {
			t.Fatalf("%q among %q: root %q, %v; want %q", path, roots, g.Root, err, want)
		}
	})
}

// R2: a refusal shows a hostile name in a quoted form that has no control
// byte, and a plain name as it is.
func TestRefusalQuotes(t *testing.T) {
	_, err := Set{}.Judge(Read, "/a\n\x1b[2K\u202e\"\\b")
	if got, want := refusal.As(err).What, `reading "/a\012\033[2K\342\200\256\"\\b"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err = Set{}.Judge(Write, "/a caf\u00e9")
	if got := refusal.As(err).What; got != "writing /a caf\u00e9" {
		t.Errorf("got %s", got)
	}
}

// T5: a pattern that could never match is found when the policy is read.
func TestCheckPattern(t *testing.T) {
	for _, p := range []string{"**/*.md", "dist/**", "{a,b}/*.go", "*~", "[a-z]*", "a/**/b"} {
		if why := CheckPattern(p); why != "" {
			t.Errorf("%q: %s", p, why)
		}
	}
	for _, p := range []string{"", "/a", "~/a", "a//b", "./a", "../a", "a/..", "a/", "[a", "{a", `a\`} {
		if CheckPattern(p) == "" {
			t.Errorf("%q is accepted", p)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	s := sample()
	for b.Loop() {
		if _, err := s.Judge(Read, home+"/projects/app/internal/server/handler.go"); err != nil {
			b.Fatal(err)
		}
	}
}
