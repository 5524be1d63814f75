package facts

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/grant"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// T4: a file that links of the home lead to is found under their names too,
// through chains, directories and what does not exist yet; a link that leads
// elsewhere, or out of the home, gives none.
func TestAliases(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	tmp := t.TempDir()
	home := tmp + "/listed"
	must(t, os.MkdirAll(tmp+"/real/dot/config/fish", 0o755), os.MkdirAll(tmp+"/real/dot/nvim/lua", 0o755), os.MkdirAll(tmp+"/real/p", 0o755),
		os.MkdirAll(tmp+"/real/.local", 0o755), os.Symlink("real", home), os.WriteFile(tmp+"/real/dot/z", nil, 0o644))
	for link, to := range map[string]string{
		".zshrc": "dot/middle", "dot/middle": home + "/dot/z", ".gitconfig": tmp + "/real/dot/new/gitconfig", ".bashrc": "dot/b",
		".config": "dot/config", "dot/config/nvim": "../nvim", ".profile": "../elsewhere", ".vimrc": ".vimrc", "bin": "p/../dot/nvim",
	} {
		must(t, os.Symlink(to, tmp+"/real/"+link))
	}
	f := finder(home, grant.Grant{Root: home})
	f.Linked = []string{".zshrc", ".gitconfig", ".bashrc", ".config", ".config/fish", ".config/nvim", ".profile", ".vimrc", ".local", ".local/bin", "bin"}
	for path, want := range map[string]string{
		"dot/z": ".zshrc", "dot/b": ".bashrc", "dot/new/gitconfig": ".gitconfig", "dot/new/other": "", "dot/zz": "", "p/z": "",
		"dot/config/fish/a.fish": ".config/fish/a.fish", "dot/config/other": ".config/other",
		"dot/nvim/init.lua": ".config/nvim/init.lua bin/init.lua", "dot/nvim/lua/new/a": ".config/nvim/lua/new/a bin/lua/new/a", "elsewhere": "",
	} {
		before, err := look(f, grant.Write, home+"/"+path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var got []string
		for _, a := range before.Fact.Aliases {
			got = append(got, strings.TrimPrefix(string(a), home+"/"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for i := range action.MaxAliases + 1 {
		name := fmt.Sprintf(".many%d", i)
		must(t, os.Symlink("dot/many", tmp+"/real/"+name))
		f.Linked = append(f.Linked, name)
	}
	if _, err := look(f, grant.Write, home+"/dot/many"); !refusal.Is(err, refusal.Link) {
		t.Errorf("a place of more names than are told: %v", err)
	}
	if before, err := look(f, grant.Read, home+"/dot/z"); err != nil || len(before.Fact.Aliases) > 0 {
		t.Errorf("what is read is looked for nothing around: %v, %v", before.Fact.Aliases, err)
	}
}

// T4: what is beside or beneath a HEAD is part of a repository, wherever the
// directory stands beneath the home and whatever of it exists.
func TestRepository(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	tmp := t.TempDir()
	home := tmp + "/home"
	must(t, os.MkdirAll(home+"/p/bare/refs", 0o755), os.MkdirAll(home+"/p/linked", 0o755), os.MkdirAll(home+"/p/dir/HEAD", 0o755), os.MkdirAll(home+"/p/plain/a", 0o755),
		os.WriteFile(tmp+"/HEAD", nil, 0o644), os.WriteFile(home+"/p/bare/HEAD", nil, 0o644), os.Symlink("refs/heads/main", home+"/p/linked/HEAD"), os.WriteFile(home+"/p/plain/HEAD.md", nil, 0o644))
	f := finder(home, grant.Grant{Root: home + "/p"}, grant.Grant{Root: home + "/p/bare/refs"})
	for path, want := range map[string]bool{
		"p/bare/config": true, "p/bare/objects/ab/new": true, "p/bare/refs/heads/main": true, "p/linked/hooks/x": true, "p/bare/HEAD": true,
		"p/dir/a": false, "p/plain/a/b": false, "p/plain/new/HEAD": false, "p/config": false,
		"p/new/a/b/c/d": false,
	} {
		before, err := look(f, grant.Write, home+"/"+path)
		if err != nil || before.Fact.Repository != want {
			t.Errorf("%s: %v, %v", path, before.Fact.Repository, err)
		}
	}
	must(t, os.WriteFile(home+"/HEAD", nil, 0o644))
	if before, err := look(f, grant.Write, home+"/p/plain/a/b"); err != nil || !before.Fact.Repository {
		t.Errorf("a HEAD of the home itself: %v", err)
	}
}

// BenchmarkFind is what the reader and the scribe each do for a path that is to
// be written; x-alone is how many times what it takes with nothing looked at
// around it.
func BenchmarkFind(b *testing.B) {
	home := b.TempDir()
	if err := os.MkdirAll(home+"/projects/server/internal/store", 0o755); err != nil {
		b.Fatal(err)
	}
	path := action.Path(home + "/projects/server/internal/store/a.go")
	var linked []string
	for i := range 80 {
		linked = append(linked, ".config/n"+strings.Repeat("x", i%7))
	}
	for _, c := range []struct {
		name   string
		linked []string
	}{{"Alone", nil}, {"Linked", linked}} {
		b.Run(c.name, func(b *testing.B) {
			f := finder(home, grant.Grant{Root: home + "/projects"})
			f.Linked = c.linked
			for b.Loop() {
				found, err := f.Find(grant.Write, action.Target{Path: path})
				if err != nil {
					b.Fatal(err)
				}
				found.Close()
			}
		})
	}
}

// R3 T4: what the paths of one request have in common is looked at once: links
// of the home that come to be in the middle of it are seen by the next.
func TestOnce(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	must(t, os.Mkdir(home+"/dot", 0o755))
	f := finder(home, grant.Grant{Root: home})
	f.Linked = []string{".zshrc"}
	once := f.Once()
	aliases := func(f Finder, name string) int {
		t.Helper()
		before, err := look(f, grant.Write, home+"/"+name)
		must(t, err)
		return len(before.Fact.Aliases)
	}
	if n := aliases(once, "dot/z"); n != 0 {
		t.Fatalf("%d names lead there", n)
	}
	must(t, os.Symlink("dot/z", home+"/.zshrc"))
	if in, next, alone := aliases(once, "dot/z"), aliases(f.Once(), "dot/z"), aliases(f, "dot/z"); in != 0 || next != 1 || alone != 1 {
		t.Errorf("%d within the request, %d in the next, %d alone", in, next, alone)
	}
}
