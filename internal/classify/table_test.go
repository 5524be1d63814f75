package classify

import (
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"

	"countersign/internal/action"
)

// listedCases has, for each entry, paths that it holds; `~` is the home. Every
// pattern is met by one of them.
func listedCases() map[string]string {
	return map[string]string{
		"shell-start": `~/.bashrc ~/.BASHRC ~/p/.bash_aliases ~/.profile ~/.bashrc.d/10-x ~/.bash_completion ~/.zshrc ~/.zshenv ~/.zsh/a.zsh
			~/.zshrc.d/a ~/.oh-my-zsh/custom/a.zsh ~/.kshrc ~/.login ~/.config/fish/config.fish ~/dot/fish/conf.d/a.fish
			~/.zshrc.local ~/.config/zsh/.zshrc ~/.config/starship.toml ~/.local/share/bash-completion/completions/x ~/dotfiles/zshrc ~/dot/dot_bashrc`,
		"directory-environment": `~/p/.envrc ~/p/.envrc.local ~/p/mise.toml ~/p/.mise.local.toml ~/p/.mise/config.toml ~/.config/mise/config.toml
			~/p/.config/mise.toml ~/dot/mise/config.toml ~/p/.rtx.toml ~/p/.tool-versions ~/.config/direnv/direnvrc ~/p/.autoenv.zsh ~/p/devenv.nix ~/p/devbox.json`,
		"nix-shell": `~/p/flake.nix ~/p/shell.nix`,
		"login-session": `~/.config/autostart/a.desktop ~/.config/autostart-scripts/a ~/.config/plasma-workspace/env/a.sh ~/.config/environment.d/10.conf
			~/.config/mimeapps.list ~/.config/dconf/user ~/.xprofile ~/.pam_environment ~/.local/share/dbus-1/services/a ~/.config/sway/config ~/Desktop/a.desktop ~/.local/share/applications/mimeapps.list
			~/.local/share/gnome-shell/extensions/a/extension.js`,
		"systemd":        `~/.config/systemd/user/a.conf ~/.local/share/systemd/user/a ~/p/app.service ~/p/app.timer ~/p/app.path ~/p/app.service.d/override.conf`,
		"cron":           `~/p/crontab ~/p/backup.cron ~/p/cron.d/x ~/p/cron.daily/x`,
		"path-programs":  `~/bin/git ~/.local/bin/ls ~/.cargo/bin/x ~/go/bin/x ~/.bun/bin/x ~/.local/share/pnpm/x ~/.pyenv/shims/python ~/.dotnet/tools/x`,
		"installed-code": `~/p/v/lib/site-packages/a.pth ~/p/.venv/bin/python ~/p/node_modules/.bin/tsc ~/p/sitecustomize.py ~/.local/lib/python3.11/a.py`,
		"home-hidden":    `~/.somethingrc ~/.config/new/thing.conf ~/.local/state/a`,
		"git-config": `~/.config/git/ignore ~/dot/git/config ~/.gitconfig ~/.gitconfig-work ~/.gitconfig.local ~/dotfiles/gitconfig ~/p/.gitmodules ~/p/.lfsconfig
			~/.git-templates/hooks/x`,
		"git-attributes": `~/p/.gitattributes ~/p/a/b/.gitattributes`,
		"git-hooks": `~/p/.husky/pre-commit ~/p/.githooks/x ~/p/.pre-commit-config.yaml ~/p/.pre-commit-config.yml ~/p/lefthook.yml ~/p/.lefthook-local.yaml
			~/p/.huskyrc.json ~/p/.lintstagedrc.json ~/p/lint-staged.config.js ~/p/.overcommit.yml ~/p/prek.toml ~/p/.simple-git-hooks.json
			~/p/captainhook.json ~/p/.commitlintrc.yml ~/p/.trunk/trunk.yaml ~/p/tools/pre-commit ~/p/tools/pre-push ~/p/x/fsmonitor-watchman ~/p/hooks/update`,
		"git-layout":         `~/p/plain/HEAD ~/p/repo.git/config ~/p/repo.git/hooks/post-receive`,
		"other-repositories": `~/p/.hg/hgrc ~/p/.jj/repo/config.toml ~/.hgrc`,
		"editor": `~/p/.vscode/tasks.json ~/p/.vscode/launch.json ~/p/.vscode/settings.json ~/p/a.code-workspace ~/p/.devcontainer/devcontainer.json
			~/p/.devcontainer.json ~/p/.run/app.run.xml ~/p/.vs/tasks.vs.json ~/p/.externalToolBuilders/a.launch ~/p/.luarc.json ~/p/.kateproject
			~/p/.gitpod.yml ~/p/.idx/dev.nix ~/p/devfile.yaml ~/p/.idea/workspace.xml ~/p/.fleet/run.json ~/p/.zed/tasks.json ~/p/.helix/languages.toml ~/p/a.sublime-project
			~/p/.dir-locals.el ~/.vimrc ~/p/.exrc ~/p/.nvim.lua ~/.vim/plugin/a.vim ~/.emacs ~/.emacs.d/init.el ~/.config/nvim/init.lua
			~/.config/Code/User/settings.json ~/.vscode-server/x ~/.ideavimrc ~/.local/share/nvim/site/a.lua ~/.nanorc`,
		"agent-config": `~/p/.claude/settings.json ~/p/.cursor/mcp.json ~/.codex/config.toml ~/.claude.json ~/p/.mcp.json ~/p/mcp.json ~/p/.mcp/a.json ~/x/claude_desktop_config.json ~/p/gemini-extension.json ~/p/.cursorignore
			~/p/.roomodes ~/p/opencode.json
			~/p/.aider.conf.yml ~/.config/goose/config.yaml`,
		"agent-instructions": `~/p/AGENTS.md ~/p/skills/x/SKILL.md ~/p/CLAUDE.md ~/p/sub/Claude.local.md ~/p/GEMINI.md ~/p/.cursorrules ~/p/.clinerules/a.md
			~/p/.github/copilot-instructions.md ~/p/.github/prompts/a.md ~/p/.rules`,
		"ssh": `~/.ssh/config ~/dot/sshd_config.d/a.conf ~/.ssh/rc ~/keys/authorized_keys ~/.rhosts`,
		"program-start": `~/p/.gdbinit ~/p/.Rprofile ~/.pythonrc.py ~/.tmux.conf ~/.config/kitty/kitty.conf ~/.wezterm.lua
			~/.docker/cli-plugins/docker-x ~/.ipython/profile_default/startup/a.py ~/.jupyter/a.py ~/.local/share/nautilus/scripts/a`,
		"build-defaults": `~/.cargo/config.toml ~/.gradle/init.d/a.gradle ~/.gradle/gradle.properties ~/.npmrc ~/.pip/pip.conf ~/.config/pip/pip.conf
			~/.config/go/env ~/.m2/settings.xml ~/.sbt/1.0/a.sbt ~/.bazelrc`,
		"build-tools": `~/p/.cargo/config.toml ~/p/.yarnrc.yml ~/p/.yarn/releases/yarn.cjs ~/p/.pnpmfile.cjs ~/p/.mvn/extensions.xml
			~/p/gradle/wrapper/gradle-wrapper.properties ~/p/pip.conf ~/p/bunfig.toml ~/p/NuGet.Config ~/p/.bazelrc ~/p/.condarc`,
		"build-files": `~/p/Makefile ~/p/a.mk ~/p/CMakeLists.txt ~/p/meson.build ~/p/BUILD.bazel ~/p/justfile ~/p/Taskfile.yml
			~/p/Rakefile ~/p/build.gradle.kts ~/p/pom.xml ~/p/build.sbt ~/p/setup.py ~/p/setup.cfg ~/p/SConstruct ~/p/build.zig ~/p/configure.ac ~/p/mix.exs
			~/p/a.csproj ~/p/Directory.Build.props ~/p/gulpfile.js`,
		"build-scripts": `~/p/build.rs`,
		"package-files": `~/p/package.json ~/p/Cargo.toml ~/p/Gemfile ~/p/a.gemspec ~/p/go.mod ~/p/requirements-dev.txt ~/p/Pipfile`,
		"lock-files":    `~/p/package-lock.json ~/p/Cargo.lock ~/p/go.sum`,
		"tool-files":    `~/p/vite.config.ts ~/p/.eslintrc.cjs ~/p/conftest.py ~/p/.rspec`,
		"containers":    `~/p/Dockerfile ~/p/a.dockerfile ~/p/docker-compose.yml ~/p/Procfile`,
		"ci": `~/p/.github/workflows/ci.yml ~/p/.github/actions/a/action.yml ~/p/.forgejo/workflows/a.yml ~/p/.gitlab-ci.yml ~/p/.gitlab/ci/a.yml ~/p/.gitlab-ci/a.yml ~/p/.tekton/a.yaml ~/p/.zuul.yaml ~/p/netlify.toml ~/p/.goreleaser.yml
			~/p/.releaserc.json ~/p/release.config.js
			~/p/.circleci/config.yml ~/p/.buildkite/pipeline.yml ~/p/.travis.yml ~/p/.woodpecker.yaml ~/p/appveyor.yml ~/p/.woodpecker/a.yml
			~/p/.builds/a.yml ~/p/.semaphore/a.yml ~/p/azure-pipelines.yml ~/p/azure-pipelines-nightly.yml ~/p/.azure-pipelines/a.yml ~/p/.azuredevops/a.yml
			~/p/bitbucket-pipelines.yml ~/p/Jenkinsfile ~/p/Jenkinsfile.nightly ~/p/cloudbuild.yaml ~/p/buildspec.yml ~/p/.teamcity/settings.kts ~/p/.github/dependabot.yml`,

		"package-tokens": `~/.npmrc ~/p/.yarnrc.yml ~/.pypirc ~/.cargo/credentials.toml ~/.gem/credentials ~/.m2/settings.xml ~/.m2/settings-security.xml
			~/.nuget/NuGet/NuGet.Config ~/p/.bundle/config ~/.composer/auth.json ~/.config/pypoetry/auth.toml`,
		"infrastructure": `~/p/terraform.tfstate ~/p/terraform.tfstate.backup ~/p/prod.tfvars ~/p/prod.tfvars.json ~/.terraformrc ~/p/kubeconfig ~/p/prod.kubeconfig
			~/.dockercfg ~/.s3cfg ~/.boto ~/p/.vault_pass ~/p/.vault-password.txt ~/p/credentials.json ~/x/application_default_credentials.json
			~/p/service-account-prod.json ~/p/service_account.json ~/p/client_secret_1.json ~/p/x-firebase-adminsdk-1.json`,
		"key-files":      `~/p/a.pfx ~/p/a.P12 ~/p/a.jks ~/p/server.pem ~/p/server.key ~/p/id_rsa`,
		"password-files": `~/p/.htpasswd ~/.netrc ~/p/.env ~/p/.env.local ~/p/config/secrets.yml ~/p/a.secret ~/p/config/master.key`,
		"agent-logins": `~/.claude/.credentials.json ~/.claude.json ~/.codex/auth.json ~/.gemini/oauth_creds.json ~/.config/github-copilot/hosts.json
			~/.local/share/opencode/auth.json`,
	}
}

// everything is the tables with each quiet entry counting.
func everything(t testing.TB) *Tables {
	var o Owner
	for _, e := range Table() {
		if e.Quiet {
			o.Also = append(o.Also, e.Name)
		}
	}
	tables, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func at(path string) *Change {
	p := action.Path(strings.Replace(path, "~", home, 1))
	return &Change{Path: p, Home: home}
}

// holds says whether the entry of this name is among those that hold a change.
func (t *Tables) holds(name string, c *Change) bool {
	f, i := t.holding(c), t.entry(name)
	return i >= 0 && f.has(i)
}

// T4: each entry of the tables holds its places, in any case of letters, and
// has no pattern that nothing meets; one without a pattern says its form.
func TestTables(t *testing.T) {
	tables, seen := everything(t), map[string]bool{}
	for _, e := range Table() {
		cases := strings.Fields(listedCases()[e.Name])
		if seen[e.Name] || e.Why == "" || e.Form == "" && len(cases) == 0 || len(e.Patterns) == 0 && e.Form == "" {
			t.Errorf("entry %s stands twice, or has no reason, or no case", e.Name)
		}
		seen[e.Name] = true
		for _, c := range cases {
			if !tables.holds(e.Name, at(c)) {
				t.Errorf("%s does not hold %s", e.Name, c)
			}
		}
		for _, p := range e.Patterns {
			met := false
			for _, c := range cases {
				met = met || match(p, at(c))
			}
			if why := CheckPattern(p); !met || p != fold(p) || why != "" {
				t.Errorf("%s: pattern %s is met by no case, or is not a sound one: %s", e.Name, p, why)
			}
		}
	}
}

// match is what the index stands for: a pattern asked about a place by itself.
func match(pattern string, c *Change) bool {
	path := strings.TrimPrefix(fold(string(c.Path)), "/")
	rel, inHome := strings.CutPrefix(pattern, "~/")
	if inHome {
		var ok bool
		if path, ok = strings.CutPrefix("/"+path, c.Home+"/"); !ok {
			return false
		}
	}
	return doublestar.MatchUnvalidated(rel, path)
}

// T4: what is filed is found as each pattern by itself would find it, whatever
// the path: an index that forgot a pattern would let it land unasked.
func TestIndexIsEveryPattern(t *testing.T) {
	own := []Entry{
		{Reason: RunsLater, Name: "own-1", Patterns: []string{"**/deploy/**/run*.{sh,py}", "~/x/**", "**/[ab]?c/*", "**/**"[:3] + "{a,{b,c}}/d"}},
		{Reason: Credentials, Name: "own-2", Patterns: []string{"~/p/**/z", "**/*", "~/*/[!x]*"}},
	}
	everything := everything(t)
	tables := &Tables{}
	var names []string
	for _, e := range append(Table(), own...) {
		tables.entries = append(tables.entries, e)
		for _, p := range e.Patterns {
			tables.index.add(p, len(tables.entries)-1)
			for _, s := range braces(p) {
				for name := range strings.SplitSeq(strings.ReplaceAll(strings.ReplaceAll(s, "*", "x"), "~", "home/alice"), "/") {
					names = append(names, name)
				}
			}
		}
	}
	if everything.index.home.names == nil {
		t.Fatal("nothing is filed")
	}
	name := rapid.OneOf(rapid.SampledFrom(names), rapid.SampledFrom([]string{"home", "alice", "p", "deploy", "run.sh", "ab", "x", "\xff", "A", "axc"}))
	rapid.Check(t, func(t *rapid.T) {
		path := "/" + strings.Join(rapid.SliceOfN(name, 1, 6).Draw(t, "names"), "/")
		if rapid.Bool().Draw(t, "in the home") {
			path = home + path
		}
		if rapid.IntRange(0, 9).Draw(t, "case") == 0 {
			path = home + strings.ToUpper(strings.TrimPrefix(path, home))
		}
		c := &Change{Path: action.Path(path), Home: home}
		var f found
		tables.index.look(c, &f)
		for i, e := range tables.entries {
			want := false
			for _, p := range e.Patterns {
				want = want || match(p, c)
			}
			if f.has(i) != want {
				t.Fatalf("%s: %s is %v, and its patterns say %v", path, e.Name, f.has(i), want)
			}
		}
	})
}

// T4: what a directory's pattern holds is told by whole names.
func TestByWholeNames(t *testing.T) {
	tables := everything(t)
	for path, entry := range map[string]string{"~/.config/direnvx/a": "directory-environment", "~/p/.github/workflowsx/a": "ci", "~/p/x.git-templates/a": "git-config",
		"~x/.config/direnv/a": "directory-environment", "~/p/.config/gitx": "git-config", "~/binx/a": "path-programs"} {
		if tables.holds(entry, at(path)) {
			t.Errorf("%s holds %s", entry, path)
		}
	}
}

// T4: ordinary work has no reason: a prompt for every edit teaches people to
// approve without looking.
func TestOrdinaryWork(t *testing.T) {
	for _, path := range strings.Fields(`~/p/main.go ~/p/README.md ~/p/Makefile ~/p/package.json ~/p/Cargo.toml ~/p/go.mod ~/p/setup.py
		~/p/conftest.py ~/p/Dockerfile ~/p/.gitignore ~/p/.editorconfig ~/p/.github/CODEOWNERS ~/p/.eslintrc.json ~/p/src/head.go
		~/p/src/hooks/useThing.ts ~/p/bin/run.rb ~/p/config/app.yml ~/p/docs/agents/x.md ~/p/.env.example ~/p/locales/en/auth.json ~/p/profile.go
		~/p/id_rsa.pub ~/p/userservice.go ~/p/.config/git/x /srv/.config/autostart/a`) {
		c := edit(func(c *Change) {
			c.Path = action.Path(strings.Replace(path, "~", home, 1))
			c.Real = c.Path
			if strings.HasSuffix(path, ".json") {
				put("{}")(c)
			}
		})
		if got := Classify([]Change{c}, Limits{Large: 100}); len(got.Reasons) > 0 {
			t.Errorf("%s: %+v", path, got.Reasons)
		}
	}
}

// appears says whether now holds a secret of a form that old does not.
func appears(name string, old, now []byte) bool {
	var f found
	builtIn.marks.look(old, now, &f)
	return f.has(builtIn.entry(name))
}

// T4: a secret is known by its form in new text, and one that stood in the
// file before is not the action's doing.
func TestMarks(t *testing.T) {
	long := strings.Repeat("a1B2", 20)
	upper := strings.Repeat("A1B2", 5)
	cases := map[string]string{ // put together here so that no scanner takes them for lost keys
		"private-key":           "-----BEGIN " + "OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----",
		"age-key":               "AGE-SECRET-" + "KEY-1" + upper,
		"aws-key":               "AK" + "IA" + upper[:16],
		"aws-session-key":       "AS" + "IA" + upper[:16],
		"google-key":            "AI" + "za" + long[:35],
		"github-token":          "gh" + "p_" + long[:36],
		"github-fine-token":     "github" + "_pat_" + long[:22],
		"gitlab-token":          "gl" + "pat-" + long[:20],
		"slack-token":           "xo" + "xb-" + long[:12],
		"model-key":             "s" + "k-ant-api03-" + long[:30],
		"stripe-key":            "sk" + "_live_" + long[:24],
		"stripe-restricted-key": "rk" + "_live_" + long[:24],
		"npm-token":             "np" + "m_" + long[:36],
		"pypi-token":            "py" + "pi-AgE" + long[:60],
		"hugging-face-token":    "h" + "f_" + long[:34],
	}
	for _, e := range markEntries() {
		s := []byte(cases[e.Name])
		if len(s) == 0 || !appears(e.Name, nil, s) || !appears(e.Name, nil, []byte("key = \""+string(s)+"\"\n")) {
			t.Errorf("%s: not seen in %q", e.Name, s)
		}
		if appears(e.Name, []byte("was "+string(s)+" there"), s) {
			t.Errorf("%s: one that stood before counts", e.Name)
		}
		if appears(e.Name, nil, s[:len(s)/2]) && e.Name != "private-key" {
			t.Errorf("%s: half of one counts", e.Name)
		}
		got := Classify([]Change{edit(put("x " + string(s)))}, Limits{Large: 1000})
		if len(got.Reasons) != 1 || got.Reasons[0].Name != Credentials || got.Reasons[0].Entry != e.Name {
			t.Errorf("%s: %+v", e.Name, got.Reasons)
		}
	}
	plain := "BEGIN PRIVATE KEY sk-circle-fade-dot task-" + long[:24] + " xAKIA" + upper[:16] + " gh_x PRIVATE KEY PUBLIC KEY xoxb ghp_short"
	if got := Classify([]Change{edit(put(plain))}, Limits{Large: 1000}); len(got.Reasons) > 0 {
		t.Errorf("plain text: %+v", got.Reasons)
	}
}

// T4: a replaced private key counts as new though its first line is the old
// one's, and a file made of nothing but known secrets is not searched forever.
func TestMarksAgainstOld(t *testing.T) {
	key := func(body string) []byte {
		return []byte("-----BEGIN " + "PRIVATE KEY-----\n" + body + "\n-----END PRIVATE KEY-----\n")
	}
	if !appears(privateKey, key("old"), key("new")) || appears(privateKey, key("old"), append([]byte("# note\n"), key("old")...)) {
		t.Error("a private key is told by its whole block")
	}
	if !appears(privateKey, nil, key("new")[:40]) || !appears(privateKey, nil, append([]byte("x"), key("new")...)) {
		t.Error("an unfinished block, or one behind a letter, counts")
	}
	one := "AK" + "IA" + strings.Repeat("B", 16) + " "
	few, many := []byte(strings.Repeat(one, maxKnown)), []byte("x "+strings.Repeat(one, maxKnown)+"y "+one)
	if appears("aws-key", few, []byte("x "+string(few)+"y")) || !appears("aws-key", append(few, 'z'), many) {
		t.Error("more known secrets than are told apart must ask, and no fewer")
	}
}

// T4: a secret that an edit completes counts, whatever part of it stood there.
func TestMarksAcrossAnEdit(t *testing.T) {
	secret := "gh" + "p_" + strings.Repeat("a1B2", 10)
	for i := range len(secret) {
		for j := i + 1; j <= len(secret); j++ {
			old, now := "token = "+secret[:i]+secret[j:]+"\n", "token = "+secret+"\n"
			if j-i < 5 && j > 4 {
				continue // still one, and another
			}
			if !appears("github-token", []byte(old), []byte(now)) {
				t.Fatalf("from %q", old)
			}
		}
	}
}
