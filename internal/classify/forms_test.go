package classify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"countersign/internal/action"
)

// T4: configuration of git's is known by what it says, whatever the file is
// called: another configuration may include it.
func TestGitConfigByForm(t *testing.T) {
	for text, want := range map[string]bool{
		"[core]\n\tfsmonitor = /tmp/x\n":                      true,
		"[core]\n\thooksPath = hooks\n":                       true,
		"\xef\xbb\xbf# mine\n\n; too\n[CORE]\nSSHCommand=x\n": true,
		"[alias]\n\tst = !sh -c x\n":                          true,
		"[include]\n\tpath = other\n":                         true,
		"[includeIf \"gitdir:~/work/\"]\n\tpath = other\n":    true,
		"[filter \"a]b\\\"]c\"] clean = x\n":                  true,
		"[filter.lfs]\nprocess = x":                           true,
		"[diff \"x\"]\r\n\ttextconv = y\r\n":                  true,
		"[user]\n\tname = a\n[credential]\n\thelper = x\n":    true,
		"[user][alias] x = y\n":                               true,
		"[remote \"origin\"]\n\turl = ext::sh -c x\n":         true,
		"[user]\n\tname = Alice\n[color]\n\tui = auto\n":      false,
		"[core]\n\tautocrlf = input\n":                        false,
		"[tool.black]\nline-length = 100\n":                   false,
		"[[bin]]\nname = \"alias\"\npath = \"x\"\n":           false,
		"[package]\nname = \"core\"\neditor = 1\n":            false,
		"fsmonitor = x\n[core]\nfsmonitor = x\n":              false,
		"# [core]\n# fsmonitor = x\n":                         false,
		"text of [core]\nfsmonitor = x\n":                     false,
		"[":                                                   false,
		"[[":                                                  false,
		"[alias":                                              false,
		"":                                                    false,
	} {
		if got := isGitConfig([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	held := builtIn.holds("git-config", ptr(edit(put("[alias]\nst = status\n"))))
	took := builtIn.holds("git-config", ptr(edit(func(c *Change) { gone(c); c.OldContent = []byte("[alias]\nst = status\n") })))
	if !held || !took {
		t.Errorf("written %v, deleted %v", held, took)
	}
}

func ptr(c Change) *Change { return &c }

// T4: a modeline that an editor evaluates is known by its line, one that sets
// a width is not.
func TestModelines(t *testing.T) {
	body := strings.Repeat("line\n", 20)
	for text, want := range map[string]bool{
		"# vim: set foldexpr=system('x'):\n" + body:         true,
		body + "// vi:fde=feedkeys('x')\n":                  true,
		body + "# vim: set stl=%{system('x')}: ":            true,
		"one\n/* vim>700: tabline=%!x */\n" + body:          true,
		"-*- mode: c; eval: (shell-command \"x\") -*-\nx\n": true,
		"# vim: set ts=4 sw=4 et:\n" + body:                 false,
		"-*- mode: python -*-\n" + body:                     false,
		body + "# vim: fde=x\n" + body:                      false,
		"video = foldexpr=1\n":                              false,
		"":                                                  false,
		"\n\n":                                              false,
	} {
		if got := hasModeline([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// T4: of a package.json, what an install runs by itself asks, and what somebody
// runs by name does not.
func TestPackageHooks(t *testing.T) {
	for _, c := range []struct {
		name, old, now string
		want           bool
	}{
		{"a version", `{"version": "1"}`, `{"version": "2"}`, false},
		{"a script run by name", `{"scripts": {"test": "a"}}`, `{"scripts": {"test": "b", "build": "c"}}`, false},
		{"a dependency", `{"dependencies": {}}`, `{"dependencies": {"a": "1"}}`, false},
		{"a new install script", `{"scripts": {"test": "a"}}`, `{"scripts": {"test": "a", "postinstall": "x"}}`, true},
		{"another prepare", `{"scripts": {"prepare": "husky"}}`, `{"scripts": {"prepare": "husky && x"}}`, true},
		{"prepare as it was", `{"scripts": {"prepare": "husky"}}`, `{"scripts": { "prepare":  "husky" }, "version": "2"}`, false},
		{"prepare taken away", `{"scripts": {"prepare": "husky"}}`, `{}`, true},
		{"hooks of an installer", `{}`, `{"simple-git-hooks": {"pre-commit": "x"}}`, true},
		{"staged commands", `{"lint-staged": {"*": "a"}}`, `{"lint-staged": {"*": "b"}}`, true},
		{"the package manager", `{}`, `{"packageManager": "yarn@https://example.com/x"}`, true},
		{"whose scripts are trusted", `{}`, `{"trustedDependencies": ["a"]}`, true},
		{"a key twice", `{}`, `{"scripts": {}, "scripts": {"postinstall": "x"}}`, true},
		{"no JSON", `{}`, `{"scripts": `, true},
		{"a new file without any", "", `{"name": "a"}`, false},
		{"a new file with one", "", `{"scripts": {"install": "x"}}`, true},
	} {
		ch := edit(put(c.now))
		ch.Path, ch.Real, ch.OldContent = home+"/p/Package.json", home+"/p/Package.json", []byte(c.old)
		if got := builtIn.holds("package-hooks", &ch); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		ch.Path, ch.Real = home+"/p/a.json", home+"/p/a.json"
		if builtIn.holds("package-hooks", &ch) {
			t.Errorf("%s: in another file", c.name)
		}
	}
	gone := edit(gone)
	gone.Path, gone.OldContent = home+"/p/package.json", []byte(`{"scripts": {"install": "x"}}`)
	if builtIn.holds("package-hooks", &gone) {
		t.Error("a package.json that is deleted runs nothing")
	}
}

// T4: a link of the home makes what it leads to what its name says, so that a
// dotfiles repository's file asks by its own path; and what stands beside a
// HEAD is part of a repository.
func TestByWhatLeadsThere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Change)
		want   string
	}{
		"a file that a start-up file links to": {func(c *Change) {
			c.Path, c.Real = home+"/dot/z", home+"/dot/z"
			c.Aliases = []action.Path{home + "/.zshrc"}
		}, "shell-start"},
		"a file in a directory that a link leads to": {func(c *Change) {
			c.Path, c.Real = home+"/dot/n/init.lua", home+"/dot/n/init.lua"
			c.Aliases = []action.Path{home + "/n/init.lua", home + "/.config/nvim/init.lua"}
		}, "editor"},
		"beside a HEAD": {func(c *Change) { c.InRepository = true }, "git-layout"},
		"neither":       {func(*Change) {}, ""},
	} {
		got := Classify([]Change{edit(c.change)}, Limits{Large: 100})
		if c.want == "" && len(got.Reasons) == 0 {
			continue
		}
		if len(got.Reasons) != 1 || got.Reasons[0].Name != RunsLater || got.Reasons[0].Entry != c.want {
			t.Errorf("%s: %+v", name, got.Reasons)
		}
	}
}

// T4: a name that is looked at for links is one that the tables hold.
func TestLinkedIsHeld(t *testing.T) {
	for _, name := range builtIn.Linked() {
		if !builtIn.holds("home-hidden", at("~/"+name+"/x")) && builtIn.holding(at("~/"+name+"/x")) == (found{}) {
			t.Errorf("nothing holds %s", name)
		}
	}
}

// T4: the entry for every hidden place of the home speaks where no other of
// its reason does, and a secret in the file does not silence it.
func TestRestOfTheHome(t *testing.T) {
	for path, want := range map[string]string{
		"~/.unknownrc": "home-hidden", "~/.config/unknown/a": "home-hidden", "~/.bashrc": "shell-start",
		"~/.composer/auth.json": "home-hidden package-tokens", "~/p/.unknownrc": "", "~/unknownrc": "",
	} {
		var names []string
		f := builtIn.holding(at(path))
		for i, e := range builtIn.entries {
			if f.has(i) {
				names = append(names, e.Name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// T4: an owner adds to the tables and takes from them, by name; a name that no
// entry has is an error.
func TestOwnersTables(t *testing.T) {
	tables, err := New(Owner{
		Also: []string{"build-files"}, Except: []string{"ci", "executable", "github-token", "git-config"},
		Entries: []Entry{{Reason: Credentials, Name: "vault", Why: "the owner's policy names it", Patterns: []string{"**/Vault/*.yml"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	token := "gh" + "p_" + strings.Repeat("a1B2", 9)
	for name, c := range map[string]struct {
		change Change
		want   string
	}{
		"an entry that was quiet":        {edit(func(c *Change) { c.Path, c.Real = home+"/p/Makefile", "" }), "runs-later build-files"},
		"an entry of the owner's":        {edit(func(c *Change) { c.Path, c.Real = home+"/p/vault/a.yml", "" }), "credentials vault"},
		"an entry taken off":             {edit(func(c *Change) { c.Path, c.Real = home+"/p/.travis.yml", "" }), ""},
		"a form taken off":               {edit(func(c *Change) { c.Old.Mode, c.New.Mode = 0o755, 0o755 }), ""},
		"a mark taken off":               {edit(put(token)), ""},
		"a form and its places":          {edit(put("[alias]\na = b\n")), ""},
		"an entry that nobody spoke of":  {edit(func(c *Change) { c.Path, c.Real = home+"/p/.envrc", "" }), "runs-later directory-environment"},
		"one that is quiet still":        {edit(func(c *Change) { c.Path, c.Real = home+"/p/Dockerfile", "" }), ""},
		"without a policy it is as ever": {edit(func(c *Change) { c.Path, c.Real = home+"/p/Makefile2", "" }), ""},
	} {
		got := Classify([]Change{c.change}, Limits{Large: 100, Tables: tables})
		said := ""
		for _, r := range got.Reasons {
			said += string(r.Name) + " " + r.Entry
		}
		if said != c.want {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
	}
	var many []Entry
	for i := range MaxOwn {
		many = append(many, Entry{Reason: RunsLater, Name: fmt.Sprint("own", i), Patterns: []string{fmt.Sprintf("~/a%d/b/c/d/*", i)}})
	}
	if _, err := New(Owner{Entries: many}); err == nil {
		t.Error("more places of the home than are looked at for links are taken")
	}
	if got := tables.Linked(); !slices.Equal(got, builtIn.Linked()) {
		t.Errorf("a pattern of any depth makes %v", got)
	}
	own, err := New(Owner{Entries: []Entry{{Reason: RunsLater, Name: "own", Patterns: []string{"~/Deploy/now/*.sh", "~/Deploy/now/x"}}}})
	if err != nil || !slices.Equal(own.Linked()[len(builtIn.Linked()):], []string{"Deploy", "Deploy/now", "Deploy/now/x"}) {
		t.Errorf("%v, %v", own.Linked(), err)
	}
	for _, o := range []Owner{{Also: []string{"build-fils"}}, {Except: []string{""}}, {Entries: make([]Entry, MaxOwn+1)}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v: taken", o)
		}
	}
}

// T4: a pattern of an owner's own is one that could match a path, or is refused.
func TestCheckPattern(t *testing.T) {
	for pattern, want := range map[string]bool{
		"~/deploy/**": true, "**/deploy/*.sh": true, "**/{a,b{c,d}}": true, "~/[ab]c": true, "**/Deploy": true,
		"deploy/**": false, "/home/alice/x": false, "": false, "~": false, "~/": false, "**/": false, "~/../x": false, "**/a//b": false,
		"**/./a": false, "**/[a": false, "~/{a": false, "**/" + strings.Repeat("a", 1024): false,
	} {
		if got := CheckPattern(pattern) == ""; got != want {
			t.Errorf("%q: %v", pattern, got)
		}
	}
}
