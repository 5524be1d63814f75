package classify

import "slices"

// RunsLaterTable gives the table behind the reason runs-later, for those who show
// it. The slice is the caller's; the patterns in it are not to be changed.
func RunsLaterTable() []Entry { return slices.Clone(runsLater) }

// runsLater lists what runs, or steers what runs, without the person asking
// for it at that moment: on a login, on opening a directory or an editor, on a
// timer, on a commit, on a push. A build that the person starts is not here;
// docs/policy.md says why. It never changes while a program runs, and each
// pattern has a case in the package's tests.
var runsLater = []Entry{
	{Name: "shell-start", Why: "a shell reads it when it starts", Patterns: []string{
		"**/.{bashrc,bash_profile,bash_login,bash_logout,bash_aliases,profile,inputrc}", "**/.bashrc.d/**", "**/.bash_completion{,.d/**}",
		"**/.{zshrc,zshenv,zprofile,zlogin,zlogout,zsh_aliases}", "**/.zsh/**", "**/.zshrc.d/**", "**/.oh-my-zsh/**",
		"**/.{kshrc,mkshrc,shrc,cshrc,tcshrc,login,logout,aliases,shinit}", "**/fish/{config.fish,conf.d/**,functions/**,completions/**}",
		"~/.config/{bash,zsh,fish,nushell}/**", "~/.config/{starship.toml,powershell/**}", "~/.local/share/bash-completion/**",
		// Dotfile managers keep the same files without the dot, or spell it.
		"**/{,dot_,_}{bashrc,bash_profile,zshrc,zshenv,zprofile}",
	}},
	{Name: "directory-environment", Why: "entering the directory runs it", Patterns: []string{
		"**/.envrc", "**/{.,}mise{,.local}.toml", "**/.mise/**", "~/.config/mise/**", "~/.config/direnv/**", "**/.autoenv{,.zsh}"}},
	{Name: "login-session", Why: "the desktop runs it at login", Patterns: []string{
		"~/.config/autostart/**", "~/.config/autostart-scripts/**", "~/.config/plasma-workspace/**", "~/.config/environment.d/**",
		"~/.{pam_environment,xinitrc,xprofile,xsession,xsessionrc,xserverrc,gnomerc,dmrc}", "~/.local/share/dbus-1/**",
		"~/.config/{sway,hypr,i3,river,niri,awesome,openbox,bspwm,sxhkd,labwc}/**", "**/*.desktop", "~/.local/share/applications/**",
		"~/.local/share/gnome-shell/extensions/**"}},
	{Name: "systemd", Why: "the service manager runs it", Patterns: []string{
		"~/.config/systemd/**", "~/.local/share/systemd/**", "**/*.{service,timer,socket}", "**/*.{service,timer,socket}.d/**"}},
	{Name: "cron", Why: "it runs by the clock", Patterns: []string{
		"**/{crontab,anacrontab,.crontab}", "**/*.cron", "**/cron.{d,hourly,daily,weekly,monthly}/**"}},
	{Name: "path-programs", Why: "a command of that name runs it", Patterns: []string{"~/bin/**", "~/.local/bin/**", "~/.cargo/bin/**", "~/go/bin/**"}},

	{Name: "git-config", Why: "git runs what its configuration names", Patterns: []string{
		"~/.config/git/**", "**/.gitconfig{,.*,-*}", "**/{,dot_}gitconfig", "**/.gitmodules", "**/.lfsconfig", "~/.git-templates/**"}},
	{Name: "git-hooks", Why: "git runs it on a commit, a checkout or a push", Patterns: []string{
		"**/{.husky,.githooks,.git-hooks,githooks,git-hooks}/**", "**/.pre-commit-config.y{a,}ml", "**/{.,}lefthook{,-local}.{yml,yaml,toml,json}",
		"**/.huskyrc{,.*}", "**/{.,}lint{-,}staged{rc,.config}{,.*}", "**/.overcommit.yml"}},
	{Name: "git-layout", Why: "it makes a directory a repository of its own, whose configuration git obeys", Patterns: []string{
		"**/head", "**/*.git/{config,config.worktree,commondir,hooks/**}"}},

	{Name: "editor", Why: "an editor runs what it names when it opens the directory or the file", Patterns: []string{
		"**/.vscode/**", "**/*.code-workspace", "**/.devcontainer/**", "**/.devcontainer.json", "**/.idea/**", "**/.fleet/**", "**/.zed/**",
		"**/.helix/**", "**/*.sublime-project", "**/.dir-locals{,-2}.el", "**/.{vimrc,gvimrc,exrc,nvimrc,nvim.lua,lvimrc}", "**/.vim/**",
		"~/.{emacs,emacs.d/**,spacemacs,doom.d/**}", "~/.config/{nvim,vim,emacs,doom,helix,kak,micro,zed,code,codium,vscodium,cursor,jetbrains,sublime-text}/**",
		"~/.{vscode,vscode-server,vscode-oss,cursor-server}/**", "~/.ideavimrc", "~/.local/share/nvim/**", "**/.nanorc"}},
	{Name: "agent-config", Why: "an agent runs what it names, or takes its permissions from it", Patterns: []string{
		"**/.{claude,cursor,codex,gemini,windsurf,continue,roo,cline,opencode,aider,amp,kiro,junie,qwen,goose}/**",
		"**/.claude.json", "**/.mcp.json", "**/mcp.json", "**/opencode.json{,c}", "**/.aider.conf.y{a,}ml",
		"~/.config/{claude,opencode,goose,amp,crush,github-copilot}/**"}},
	{Name: "agent-instructions", Why: "every later agent takes it for the person's word", Patterns: []string{
		"**/{agents,claude,claude.local,gemini,qwen,crush}.md", "**/.{cursorrules,windsurfrules,clinerules,goosehints}", "**/.clinerules/**",
		"**/.github/copilot-instructions.md", "**/.github/{instructions,prompts,agents}/**", "**/.rules"}},

	{Name: "ssh", Why: "it opens the account, or runs commands on a connection", Patterns: []string{
		"**/.ssh/**", "**/authorized_keys{,2}", "~/.{rhosts,shosts}"}},
	{Name: "program-start", Why: "a program runs it when it starts", Patterns: []string{
		"**/.{gdbinit,lldbinit,rprofile,renviron,irbrc,pryrc,psqlrc,sqliterc,pythonrc,pythonrc.py,pythonstartup,pdbrc,ghci,iex.exs,perldb}",
		"~/.{tmux.conf,screenrc,mailcap,mailrc,muttrc,forward,procmailrc,curlrc,wgetrc,lessfilter,xbindkeysrc,netrwhist}",
		"~/.config/{tmux,kitty,wezterm,ranger,lf,yazi,nnn,mpv,zellij,gdb,lazygit,neomutt}/**", "~/.wezterm.lua",
		"**/{site,user}customize.py", "**/site-packages/*.pth", "~/.ipython/profile_*/startup/**", "~/.jupyter/**", "~/.local/share/nautilus/scripts/**"}},
	{Name: "build-defaults", Why: "every build and install of the person takes it up", Patterns: []string{
		"~/.cargo/config{,.toml}", "~/.gradle/{init.d/**,init.gradle{,.kts},gradle.properties}", "~/.{npmrc,yarnrc,yarnrc.yml,bunfig.toml,pypirc,gemrc,condarc,pip/**}",
		"~/.config/{pip,uv,pypoetry,npm,go,nix,nixpkgs,home-manager,containers,ccache.conf}{,/**}", "~/.m2/**", "~/.sbt/**", "~/.{bazelrc,rpmmacros,ccacherc,gnumakefile}"}},
	{Name: "ci", Why: "a build server runs it on the next push, with its secrets", Patterns: []string{
		"**/.{github,gitea,forgejo}/{workflows,actions}/**", "**/.gitlab-ci.y{a,}ml", "**/.gitlab/ci/**", "**/.circleci/**", "**/.buildkite/**",
		"**/.{travis,drone,cirrus,appveyor,build,woodpecker}.y{a,}ml", "**/appveyor.yml", "**/.woodpecker/**", "**/.builds/**", "**/.semaphore/**",
		"**/azure-pipelines{,-*,.*}.y{a,}ml", "**/.azure-pipelines/**", "**/.azuredevops/**", "**/bitbucket-pipelines.y{a,}ml", "**/jenkinsfile{,.*}",
		"**/cloudbuild.{yaml,yml,json}", "**/buildspec.y{a,}ml", "**/.teamcity/**", "**/.github/{dependabot.yml,action.yml}"}},
}
