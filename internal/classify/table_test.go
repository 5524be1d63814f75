package classify

import (
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"countersign/internal/action"
)

// listedCases has, for each entry, paths that it holds; `~` is the home. Every
// pattern is met by one of them.
func listedCases() map[string]string {
	return map[string]string{
		"shell-start": `~/.bashrc ~/.BASHRC ~/p/.bash_aliases ~/.profile ~/.bashrc.d/10-x ~/.bash_completion ~/.zshrc ~/.zshenv ~/.zsh/a.zsh
			~/.zshrc.d/a ~/.oh-my-zsh/custom/a.zsh ~/.kshrc ~/.login ~/.config/fish/config.fish ~/dot/fish/conf.d/a.fish
			~/.config/zsh/.zshrc ~/.config/starship.toml ~/.local/share/bash-completion/completions/x ~/dotfiles/zshrc ~/dot/dot_bashrc`,
		"directory-environment": `~/p/.envrc ~/p/mise.toml ~/p/.mise.local.toml ~/p/.mise/config.toml ~/.config/mise/config.toml ~/.config/direnv/direnvrc ~/p/.autoenv.zsh`,
		"login-session": `~/.config/autostart/a.desktop ~/.config/autostart-scripts/a ~/.config/plasma-workspace/env/a.sh ~/.config/environment.d/10.conf
			~/.xprofile ~/.pam_environment ~/.local/share/dbus-1/services/a ~/.config/sway/config ~/Desktop/a.desktop ~/.local/share/applications/mimeapps.list
			~/.local/share/gnome-shell/extensions/a/extension.js`,
		"systemd":       `~/.config/systemd/user/a.conf ~/.local/share/systemd/user/a ~/p/app.service ~/p/app.timer ~/p/app.service.d/override.conf`,
		"cron":          `~/p/crontab ~/p/backup.cron ~/p/cron.d/x ~/p/cron.daily/x`,
		"path-programs": `~/bin/git ~/.local/bin/ls ~/.cargo/bin/x ~/go/bin/x`,
		"git-config": `~/.config/git/ignore ~/.gitconfig ~/.gitconfig-work ~/.gitconfig.local ~/dotfiles/gitconfig ~/p/.gitmodules ~/p/.lfsconfig
			~/.git-templates/hooks/x`,
		"git-hooks": `~/p/.husky/pre-commit ~/p/.githooks/x ~/p/.pre-commit-config.yaml ~/p/.pre-commit-config.yml ~/p/lefthook.yml ~/p/.lefthook-local.yaml
			~/p/.huskyrc.json ~/p/.lintstagedrc.json ~/p/lint-staged.config.js ~/p/.overcommit.yml`,
		"git-layout": `~/p/plain/HEAD ~/p/repo.git/config ~/p/repo.git/hooks/post-receive`,
		"editor": `~/p/.vscode/tasks.json ~/p/.vscode/launch.json ~/p/.vscode/settings.json ~/p/a.code-workspace ~/p/.devcontainer/devcontainer.json
			~/p/.devcontainer.json ~/p/.idea/workspace.xml ~/p/.fleet/run.json ~/p/.zed/tasks.json ~/p/.helix/languages.toml ~/p/a.sublime-project
			~/p/.dir-locals.el ~/.vimrc ~/p/.exrc ~/p/.nvim.lua ~/.vim/plugin/a.vim ~/.emacs ~/.emacs.d/init.el ~/.config/nvim/init.lua
			~/.config/Code/User/settings.json ~/.vscode-server/x ~/.ideavimrc ~/.local/share/nvim/site/a.lua ~/.nanorc`,
		"agent-config": `~/p/.claude/settings.json ~/p/.cursor/mcp.json ~/.codex/config.toml ~/.claude.json ~/p/.mcp.json ~/p/mcp.json ~/p/opencode.json
			~/p/.aider.conf.yml ~/.config/goose/config.yaml`,
		"agent-instructions": `~/p/AGENTS.md ~/p/CLAUDE.md ~/p/sub/Claude.local.md ~/p/GEMINI.md ~/p/.cursorrules ~/p/.clinerules/a.md
			~/p/.github/copilot-instructions.md ~/p/.github/prompts/a.md ~/p/.rules`,
		"ssh": `~/.ssh/config ~/.ssh/rc ~/keys/authorized_keys ~/.rhosts`,
		"program-start": `~/p/.gdbinit ~/p/.Rprofile ~/.pythonrc.py ~/.tmux.conf ~/.config/kitty/kitty.conf ~/.wezterm.lua ~/p/sitecustomize.py
			~/p/v/lib/site-packages/a.pth ~/.ipython/profile_default/startup/a.py ~/.jupyter/a.py ~/.local/share/nautilus/scripts/a`,
		"build-defaults": `~/.cargo/config.toml ~/.gradle/init.d/a.gradle ~/.gradle/gradle.properties ~/.npmrc ~/.pip/pip.conf ~/.config/pip/pip.conf
			~/.config/go/env ~/.m2/settings.xml ~/.sbt/1.0/a.sbt ~/.bazelrc`,
		"ci": `~/p/.github/workflows/ci.yml ~/p/.github/actions/a/action.yml ~/p/.forgejo/workflows/a.yml ~/p/.gitlab-ci.yml ~/p/.gitlab/ci/a.yml
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

func placesAt(path string) places {
	p := action.Path(strings.Replace(path, "~", home, 1))
	return placesOf(&Change{Path: p, Home: home})
}

// T4: each entry of the tables holds its places, in any case of letters, and
// has no pattern that nothing meets.
func TestTables(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range append(RunsLaterTable(), CredentialTable()...) {
		cases := strings.Fields(listedCases()[e.Name])
		if seen[e.Name] || e.Why == "" || len(cases) == 0 {
			t.Errorf("entry %s stands twice, or has no reason, or no case", e.Name)
		}
		seen[e.Name] = true
		for _, c := range cases {
			if !e.holds(placesAt(c)) {
				t.Errorf("%s does not hold %s", e.Name, c)
			}
		}
		for _, p := range e.Patterns {
			met := false
			for _, c := range cases {
				met = met || match(p, placesAt(c))
			}
			if !met || p != fold(p) || !doublestar.ValidatePattern(p) || !(strings.HasPrefix(p, "~/") || strings.HasPrefix(p, "**/")) {
				t.Errorf("%s: pattern %s is met by no case, or is not a sound one", e.Name, p)
			}
		}
	}
}

// T4: ordinary work has no reason: a prompt for every edit teaches people to
// approve without looking.
func TestOrdinaryWork(t *testing.T) {
	for _, path := range strings.Fields(`~/p/main.go ~/p/README.md ~/p/Makefile ~/p/package.json ~/p/Cargo.toml ~/p/go.mod ~/p/build.rs ~/p/setup.py
		~/p/conftest.py ~/p/Dockerfile ~/p/flake.nix ~/p/.gitignore ~/p/.editorconfig ~/p/.github/CODEOWNERS ~/p/.eslintrc.json ~/p/src/head.go
		~/p/src/hooks/useThing.ts ~/p/bin/run.rb ~/p/config/app.yml ~/p/docs/agents/x.md ~/p/.env.example ~/p/locales/en/auth.json ~/p/profile.go
		~/p/id_rsa.pub ~/p/userservice.go ~/p/.config/git/x /srv/.config/autostart/a`) {
		c := edit(func(c *Change) {
			c.Path = action.Path(strings.Replace(path, "~", home, 1))
			c.Real = c.Path
		})
		if got := Classify([]Change{c}, Limits{Large: 100}); len(got.Reasons) > 0 {
			t.Errorf("%s: %+v", path, got.Reasons)
		}
	}
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
	for _, m := range MarkTable() {
		s := []byte(cases[m.Name])
		if len(s) == 0 || !m.appears(nil, s) || !m.appears(nil, []byte("key = \""+string(s)+"\"\n")) {
			t.Errorf("%s: not seen in %q", m.Name, s)
		}
		if m.appears([]byte("was "+string(s)+" there"), s) {
			t.Errorf("%s: one that stood before counts", m.Name)
		}
		if m.appears(nil, s[:len(s)/2]) && m.Name != "private-key" {
			t.Errorf("%s: half of one counts", m.Name)
		}
		got := Classify([]Change{edit(put("x " + string(s)))}, Limits{Large: 1000})
		if len(got.Reasons) != 1 || got.Reasons[0].Name != Credentials || got.Reasons[0].Entry != m.Name {
			t.Errorf("%s: %+v", m.Name, got.Reasons)
		}
	}
	plain := "sk-circle-fade-dot task-" + long[:24] + " xAKIA" + upper[:16] + " gh_x PRIVATE KEY PUBLIC KEY xoxb ghp_short"
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
	m := marks[0]
	if !m.appears(key("old"), key("new")) || m.appears(key("old"), append([]byte("# note\n"), key("old")...)) {
		t.Error("a private key is told by its whole block")
	}
	if !m.appears(nil, key("new")[:40]) || !m.appears(nil, append([]byte("x"), key("new")...)) {
		t.Error("an unfinished block, or one behind a letter, counts")
	}
	many := []byte(strings.Repeat("AK"+"IA"+strings.Repeat("B", 16)+" ", maxKnown+1))
	if !marks[2].appears(many, many) {
		t.Error("more known secrets than are told apart must ask")
	}
}
