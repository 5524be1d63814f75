package grant

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// R1: a walk is judged as each path by itself would be: a file is shown exactly
// where it may be read, by the same grant, and every directory on its way is
// shown. Deny list, includes, nested grants and staged names all hold.
func TestUnderIsJudge(t *testing.T) {
	names := []string{"a", "B", ".env", ".ssh", ".config", "gh", "id_rsa", "id_x", "x.kdbx", "k.pem", ".countersign-0123456789abcdef",
		"h", "home", "google-chrome-beta", ".x_history", "notes", "n.md", "\xff", "google-CHROME"}
	name := rapid.SampledFrom(names)
	paths := rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(name, 1, 5).Draw(t, "names"), "/")
	})
	includes := rapid.SampledFrom([]string{"**", "**/*.md", "*", "a/**", "{a,b}/*", "notes/**/n.md", "*/*", "**/{a/b,notes}/*", "B/h", "[ab]/?"})
	rapid.Check(t, func(t *rapid.T) {
		s := Set{Home: rapid.SampledFrom([]string{"/home/h", "/home", "/", "", "/a"}).Draw(t, "home")}
		for range rapid.IntRange(1, 4).Draw(t, "grants") {
			g := Grant{Root: rapid.OneOf(paths, rapid.Just("/"), rapid.Just("/home/h")).Draw(t, "root")}
			if rapid.Bool().Draw(t, "included") {
				g.Include = rapid.SliceOfN(includes, 1, 2).Draw(t, "include")
			}
			s.Reads = append(s.Reads, g)
		}
		s.Deny, _ = DenyExcept(rapid.SliceOfN(rapid.SampledFrom([]string{"ssh", "env"}), 0, 1).Draw(t, "off"))
		base := rapid.OneOf(rapid.Just("/home/h"), rapid.Just("/")).Draw(t, "base")
		if base == "/" {
			base = ""
		}
		p := base + paths.Draw(t, "path")
		want, err := s.Judge(Read, p)
		u, hidden := s.Under("/"), ""
		segments := strings.Split(p[1:], "/")
		for i, n := range segments[:len(segments)-1] {
			if u.Judge(n, true) == nil && hidden == "" && u.Grant() != nil {
				hidden = "/" + strings.Join(segments[:i+1], "/")
			}
			u = u.Enter(n)
		}
		got := u.Judge(segments[len(segments)-1], false)
		if hidden != "" {
			got = nil // a walk does not come here
		}
		if (err == nil) != (got != nil) || got != nil && got.Root != want.Root {
			t.Fatalf("%q: Judge says %v, %v; a walk shows it by %v; %q was hidden", p, want.Root, err, got, hidden)
		}
	})
}

// R1: a directory that an include cannot match in is not shown, and one on the
// way to a nested grant is.
func TestUnderDirectories(t *testing.T) {
	s := Set{Home: "/h", Reads: []Grant{{Root: "/h", Include: []string{"src/*.go", "docs/**/*.md"}}, {Root: "/h/x/notes"}}}
	for dir, want := range map[string]string{
		"/h/src": "/h", "/h/other": "", "/h/src/deep": "", "/h/docs/a/b": "/h", "/h/x": "/h", "/h/x/notes": "/h/x/notes", "/h/x/notes/a": "/h/x/notes", "/h/x/other": "",
	} {
		i := strings.LastIndexByte(dir, '/')
		got := ""
		if g := s.Under(dir[:i]).Judge(dir[i+1:], true); g != nil {
			got = g.Root
		}
		if got != want {
			t.Errorf("%s: shown by %q, want %q", dir, got, want)
		}
	}
}
