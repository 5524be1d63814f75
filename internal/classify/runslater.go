package classify

// because gives entries their reason.
func because(n Name, entries []Entry) []Entry {
	for i := range entries {
		entries[i].Reason = n
	}
	return entries
}

// runsLater lists what runs, or steers what runs, without the person asking
// for it at that moment: on a login, on opening a directory or an editor, on a
// timer, on an install, on a commit, on a push. It never changes while a
// program runs, and each pattern has a case in the package's tests.
var runsLater = because(RunsLater, []Entry{
	{Name: "shell-start", Why: "a shell reads it when it starts", Patterns: []string{
		"**/.{bashrc,bash_profile,bash_login,bash_logout,bash_aliases,bash_env,profile,inputrc}", "**/.bashrc.d/**", "**/.bash_completion{,.d/**}",
		"**/.{zshrc,zshenv,zprofile,zlogin,zlogout,zsh_aliases}", "**/.zsh/**", "**/.zshrc.d/**", "**/.oh-my-zsh/**",
		"**/.{bashrc,bash_profile,zshrc,zshenv,zprofile,profile}.*",
		"**/.{kshrc,mkshrc,shrc,cshrc,tcshrc,login,logout,aliases,shinit,xonshrc}", "**/fish/{config.fish,conf.d/**,functions/**,completions/**}",
		"~/.config/{bash,zsh,fish,nushell,elvish,xonsh}/**", "~/.config/{starship.toml,powershell/**}", "~/.local/share/bash-completion/**",
		// Dotfile managers keep the same files without the dot, or spell it.
		"**/{,dot_,_}{bashrc,bash_profile,zshrc,zshenv,zprofile}"},
		Note: "The next shell runs it, and nobody reads it first. It changes seldom."},
	{Name: "directory-environment", Why: "entering the directory runs it", Patterns: []string{
		"**/.envrc", "**/.envrc.*", "**/{.,}mise{,.*}.toml", "**/.mise/**", "**/.config/mise/**", "**/.config/mise.toml", "**/mise/config{,.*}.toml",
		"**/.rtx.toml", "**/.tool-versions", "~/.config/direnv/**", "**/.autoenv{,.zsh}", "**/devenv.nix", "**/devbox.json"},
		Note: "A shell with direnv, mise or asdf runs it, or takes its programs from where it says, on entering the directory. It changes seldom."},
	{Name: "nix-shell", Why: "entering the directory evaluates it, where direnv has `use flake` or `use nix`", Patterns: []string{"**/{flake,shell}.nix"},
		Note: "Common among those who use Nix, and a shell hook in it runs on entering. A repository that is about Nix takes the entry off."},
	{Name: "login-session", Why: "the desktop runs it at login, or on a click or a key", Patterns: []string{
		"~/.config/autostart/**", "~/.config/autostart-scripts/**", "~/.config/plasma-workspace/**", "~/.config/environment.d/**", "~/.config/mimeapps.list",
		"~/.{pam_environment,xinitrc,xprofile,xsession,xsessionrc,xserverrc,gnomerc,dmrc,xmonad/**}", "~/.local/share/dbus-1/**", "~/.config/dconf/**",
		"~/.config/{sway,hypr,i3,river,niri,awesome,openbox,bspwm,sxhkd,labwc,xmonad,qtile,leftwm,waybar,polybar,eww,swayidle}/**", "**/*.desktop",
		"~/.local/share/applications/**", "~/.local/share/gnome-shell/extensions/**"},
		Note: "The session starts it. A desktop file looks like a document and runs a program; few repositories have one."},
	{Name: "systemd", Why: "the service manager runs it", Patterns: []string{
		"~/.config/systemd/**", "~/.local/share/systemd/**", "**/*.{service,timer,socket,path}", "**/*.{service,timer,socket,path}.d/**"},
		Note: "User units and their drop-ins, and units that a repository ships: they are linked into place."},
	{Name: "cron", Why: "it runs by the clock", Patterns: []string{
		"**/{crontab,anacrontab,.crontab}", "**/*.{cron,crontab}", "**/cron.{d,hourly,daily,weekly,monthly}/**"},
		Note: "It runs when nobody looks. It changes seldom."},
	{Name: "path-programs", Why: "a command of that name runs it", Patterns: []string{
		"~/bin/**", "~/.local/bin/**", "~/.cargo/bin/**", "~/go/bin/**", "~/.{bun,deno,volta,krew,yarn,npm-global}/bin/**", "~/.local/share/{pnpm,mise}/**",
		"~/.{pyenv,rbenv,nodenv,asdf,sdkman,nvm,rustup}/**", "~/.dotnet/tools/**"},
		Note: "A program in a directory of PATH stands in for the one a person means to run."},
	{Name: "installed-code", Why: "what was installed there runs it", Patterns: []string{
		"**/{site,dist}-packages/**", "**/{.venv,venv}/**", "**/node_modules/**", "**/{site,user}customize.py", "~/.local/lib/**"},
		Note: "Packages that were installed, and Python's start-up files. People do not edit them, reviews do not show them, and every program that imports them runs them."},
	{Name: "home-hidden", Why: "a hidden place of the home belongs to some program, which obeys or runs what it finds there", Rest: true, Patterns: []string{"~/.*/**"},
		Note: "Hundreds of programs keep their configuration there, and many of them a command in it. The entries around this one say what the best known do; this one is for the rest. Agents work in projects, so it costs little."},

	{Name: "git-config", Why: "git runs what its configuration names", Patterns: []string{
		"~/.config/git/**", "**/git/{config,attributes}", "**/.gitconfig{,.*,-*}", "**/{,dot_}gitconfig", "**/.gitmodules", "**/.lfsconfig", "**/.git-templates/**"},
		Form: "a file that begins with a section's header and sets a key by which git runs a program, reads another configuration or asks another remote: it may be one that a configuration includes, under any name",
		Note: "An alias, a pager, a filter or `core.fsmonitor` runs on the next command."},
	{Name: "git-attributes", Why: "git filters, merges and shows files as it says", Patterns: []string{"**/.gitattributes"},
		Note: "It switches on the filters that a configuration names, and off those that encrypt. It changes seldom."},
	{Name: "git-hooks", Why: "git runs it on a commit, a checkout or a push", Patterns: []string{
		"**/{.husky,.githooks,.git-hooks,githooks,git-hooks}/**", "**/.pre-commit-{config,hooks}.y{a,}ml", "**/prek.toml", "**/{.,}lefthook{,-local}.{yml,yaml,toml,json}",
		"**/.huskyrc{,.*}", "**/{.,}lint{-,}staged{rc,.config}{,.*}", "**/.overcommit.yml", "**/{.,}simple-git-hooks.*", "**/captainhook.json",
		"**/{.,}commitlint{rc,.config}{,.*}", "**/.trunk/**",
		"**/{applypatch-msg,pre-applypatch,post-applypatch,pre-commit,pre-merge-commit,prepare-commit-msg,commit-msg,post-commit,pre-rebase,post-checkout}",
		"**/{post-merge,pre-push,pre-receive,post-receive,post-update,reference-transaction,push-to-checkout,pre-auto-gc,post-rewrite,sendemail-validate}",
		"**/{fsmonitor-watchman,proc-receive,post-index-change}", "**/hooks/update"},
		Note: "A hook outside `.git` runs as soon as it is installed, and most are. Under `.git` nothing is written at all."},
	{Name: "git-layout", Why: "it makes a directory a repository of its own, whose configuration git obeys", Patterns: []string{
		"**/head", "**/*.git/**"},
		Form: "any file in a directory beneath the grant's root that has a `HEAD`, which git takes, or would with one file more, for a repository's own",
		Note: "A directory that holds `HEAD`, `objects`, `refs` and a `config` is a repository wherever it stands. There is none without `HEAD`, so that asks, and so does whatever is put beside one."},
	{Name: "other-repositories", Why: "another version control system obeys it", Patterns: []string{"**/.{hg,svn,jj,bzr,sl}/**", "**/.hgrc"},
		Note: "Their configuration and hooks lie inside them, as git's do. Nobody edits them by way of an agent."},

	{Name: "editor", Why: "an editor runs what it names when it opens the directory or the file", Patterns: []string{
		"**/.vscode/**", "**/*.code-workspace", "**/.devcontainer/**", "**/.devcontainer.json", "**/.idea/**", "**/.run/**", "**/.fleet/**", "**/.zed/**", "**/.vs/**",
		"**/.helix/**", "**/.externaltoolbuilders/**", "**/*.sublime-project", "**/.dir-locals{,-2}.el", "**/.{vimrc,gvimrc,exrc,nvimrc,nvim.lua,lvimrc,lazy.lua}",
		"**/.vim/**", "**/.luarc.json{,c}", "**/.kateproject", "**/.{gitpod,replit}{,.y{a,}ml}", "**/.idx/**", "**/{.,}devfile.y{a,}ml",
		"~/.{emacs,emacs.d/**,spacemacs,doom.d/**}", "~/.config/{nvim,vim,emacs,doom,helix,kak,micro,zed,code,codium,vscodium,cursor,jetbrains,sublime-text}/**",
		"~/.{vscode,vscode-server,vscode-oss,cursor-server}/**", "~/.ideavimrc", "~/.local/share/nvim/**", "**/.nanorc"},
		Note: "Tasks, launchers, language servers and development containers start on opening the directory, with the person's own rights. A `Dockerfile` elsewhere is built when somebody asks for that."},
	{Name: "modelines", Why: "an editor evaluates a line of it when it opens the file",
		Form: "one of the first or last five lines is Vim's and sets an option that is an expression, or the first five have Emacs's `-*-` and `eval:`",
		Note: "Editors ask or sandbox, and have been fooled. Lines that set a width or a mode are everywhere and do not count."},
	{Name: "agent-config", Why: "an agent runs what it names, or takes its permissions from it", Patterns: []string{
		"**/.{claude,claude-plugin,cursor,codex,gemini,windsurf,continue,roo,cline,opencode,aider,amp,kiro,junie,qwen,goose,crush,augment,factory,trae,kilocode,agents,agent,openhands,serena}/**",
		"**/.claude.json", "**/{.,}mcp.json", "**/.mcp/**", "**/claude_desktop_config.json", "**/opencode.json{,c}", "**/.aider.conf.y{a,}ml", "**/gemini-extension.json",
		"**/.{cursor,codeium,aider,gemini,copilot,ai,roo,cline}ignore", "**/.{roomodes,cursorindexingignore}",
		"~/.config/{claude,opencode,goose,amp,crush,github-copilot}/**"},
		Note: "An agent that writes its own permissions, or another's, has them at the next start."},
	{Name: "agent-instructions", Why: "every later agent takes it for the person's word", Patterns: []string{
		"**/{agents,claude,gemini,qwen,crush,warp}{,.local,.override}.md", "**/skill.md", "**/.{cursorrules,windsurfrules,clinerules,roorules,goosehints,augment-guidelines}",
		"**/.clinerules/**", "**/.github/copilot-instructions.md", "**/.github/{instructions,prompts,agents,chatmodes}/**", "**/.rules"},
		Note: "Later agents obey it, among them such as no keeper stands in front of. It changes seldom."},

	{Name: "ssh", Why: "it opens the account, or runs commands on a connection", Patterns: []string{
		"**/.ssh/**", "**/authorized_keys{,2}", "**/ssh{,d}_config{,.d/**}", "~/.{rhosts,shosts}"},
		Note: "`~/.ssh` is on the deny list besides; this holds for an owner who took it off, and for dotfiles repositories."},
	{Name: "program-start", Why: "a program runs it when it starts", Patterns: []string{
		"**/.{gdbinit,gdbearlyinit,lldbinit,rprofile,renviron,irbrc,pryrc,psqlrc,sqliterc,duckdbrc,mongorc.js,mongoshrc.js,pythonrc,pythonrc.py,pythonstartup,pdbrc,ghci,iex.exs,perldb,octaverc,erlang,byebugrc,ripgreprc}",
		"~/.{tmux.conf,screenrc,mailcap,mailrc,muttrc,forward,procmailrc,curlrc,wgetrc,lessfilter,xbindkeysrc,netrwhist}",
		"~/.config/{tmux,kitty,wezterm,alacritty,ghostty,ranger,lf,yazi,nnn,mpv,zellij,gdb,lazygit,neomutt}/**", "~/.wezterm.lua",
		"~/.ipython/profile_*/startup/**", "~/.jupyter/**", "~/.local/share/{nautilus,nemo}/scripts/**", "~/.docker/cli-plugins/**"},
		Note: "Debuggers and interpreters read theirs from the directory they start in, too."},
	{Name: "build-defaults", Why: "every build and install of the person takes it up", Patterns: []string{
		"~/.cargo/config{,.toml}", "~/.gradle/{init.d/**,init.gradle{,.kts},gradle.properties}", "~/.{npmrc,yarnrc,yarnrc.yml,bunfig.toml,pypirc,gemrc,condarc,pip/**}",
		"~/.config/{pip,uv,pypoetry,npm,go,nix,nixpkgs,home-manager,containers,ccache.conf}{,/**}", "~/.m2/**", "~/.sbt/**", "~/.{bazelrc,rpmmacros,ccacherc,gnumakefile}"},
		Note: "It reaches every project, not only the one at hand."},
	{Name: "build-tools", Why: "a build or an install takes its programs from where it says", Patterns: []string{
		"**/.cargo/config{,.toml}", "**/.yarnrc{,.yml}", "**/.yarn/{releases,plugins}/**", "**/.pnpmfile.{cjs,mjs}", "**/.mvn/**",
		"**/{gradle,maven}-wrapper.{properties,jar}", "**/pip.conf", "**/{,.}bunfig.toml", "**/nuget.config", "**/.bazelrc", "**/.condarc"},
		Note: "It puts another program in the place of the compiler, the package manager or the registry, in a file that few people read."},
	{Name: "build-scripts", Why: "a compiler runs it, and so does an editor that compiles when it opens the directory", Patterns: []string{"**/build.rs"},
		Note: "An editor with a language server builds on opening, so that nobody asks for it to run. It changes seldom."},
	{Name: "package-hooks", Why: "an install runs it, or puts hooks in place by it",
		Form: "a `package.json` whose `preinstall`, `install`, `postinstall`, `prepare`, `prepublish`, `dependencies` or `uninstall` script is new or another, or its keys of hook installers, of the package manager or of whose scripts are trusted; one that cannot be read, too",
		Note: "`npm install` is typed without a thought. The other scripts of the file run when somebody names them, and change every day."},
	{Name: "ci", Why: "a build server runs it on the next push, with its secrets", Patterns: []string{
		"**/.{github,gitea,forgejo}/{workflows,actions}/**", "**/.gitlab-ci.y{a,}ml", "**/.gitlab/ci/**", "**/.gitlab-ci/**", "**/.circleci/**", "**/.buildkite/**",
		"**/.{travis,drone,cirrus,appveyor,build,woodpecker}.y{a,}ml", "**/appveyor.yml", "**/.woodpecker/**", "**/.builds/**", "**/.semaphore/**", "**/.tekton/**",
		"**/azure-pipelines{,-*,.*}.y{a,}ml", "**/.azure-pipelines/**", "**/.azuredevops/**", "**/bitbucket-pipelines.y{a,}ml", "**/jenkinsfile{,.*}",
		"**/cloudbuild.{yaml,yml,json}", "**/buildspec.y{a,}ml", "**/.teamcity/**", "**/{.,}zuul.{yaml,d/**}", "**/.github/{dependabot.yml,action.yml}",
		"**/{netlify.toml,vercel.json}", "**/{.,}goreleaser.y{a,}ml", "**/.releaserc{,.*}", "**/release.config.{js,cjs,mjs,ts}"},
		Note: "It runs elsewhere, with credentials that the agent does not have, and a wrong line publishes them. It asks more often than all other entries together, and stays."},

	{Name: "made-program", Why: "the file becomes a program",
		Form: "a regular file that gets an execute bit, or is new and has one",
		Note: "From then on a word typed, a click or another program can run it. New programs are few."},
	{Name: "executable", Why: "the file is a program",
		Form: "a regular file that has an execute bit before the change",
		Note: "Whatever runs it already runs what is put there. It asks often in a repository of scripts, whose owner takes this entry off and keeps the others: a hook asks as a hook, a new program as a new one."},
})

// onRequest lists what a build, a test or a tool runs that somebody starts. It
// is not asked about unless a policy names the entry: such files change every
// day, the source beside them runs in the same build unasked, and a prompt each
// time teaches people to approve without looking.
var onRequest = because(RunsLater, []Entry{
	{Name: "build-files", Why: "a build runs it", Quiet: true, Patterns: []string{
		"**/{gnumakefile,makefile}{,.*}", "**/*.{mk,cmake,bzl}", "**/cmakelists.txt", "**/meson.build", "**/{build,workspace,module}.bazel",
		"**/{.,}justfile", "**/taskfile.y{a,}ml", "**/rakefile", "**/*.{gradle,gradle.kts}", "**/pom.xml", "**/build.sbt", "**/{setup,noxfile}.py", "**/{setup.cfg,tox.ini}",
		"**/{sconstruct,sconscript}", "**/build.zig", "**/configure.ac", "**/{mix.exs,dune,default.nix}", "**/*.{csproj,fsproj,vbproj}", "**/directory.build.*",
		"**/{gruntfile,gulpfile}.*"},
		Note: "It runs when somebody builds, and so does the source beside it."},
	{Name: "package-files", Why: "an install or a build goes by it", Quiet: true, Patterns: []string{
		"**/{package,composer,deno}.json{,c}", "**/{cargo,pyproject}.toml", "**/gemfile", "**/*.gemspec", "**/go.{mod,work}", "**/requirements{,-*,_*,.*}.txt", "**/pipfile"},
		Note: "Dependencies change every week, and a new one is visible in the diff that is kept. What an install runs from the file itself is `package-hooks`."},
	{Name: "lock-files", Why: "an install fetches what it names", Quiet: true, Patterns: []string{
		"**/{package-lock.json,npm-shrinkwrap.json,pnpm-lock.yaml,yarn.lock,bun.lock,deno.lock}", "**/{cargo,poetry,uv,pdm,pipfile,gemfile,composer,flake,mix}.lock", "**/go.sum"},
		Note: "Written by tools in long pieces that nobody can read in a prompt."},
	{Name: "tool-files", Why: "a tool or a test run loads it as a program", Quiet: true, Patterns: []string{
		"**/*.config.{js,cjs,mjs,ts,cts,mts}", "**/.{eslintrc,prettierrc,babelrc,mocharc}.{js,cjs,mjs}", "**/conftest.py", "**/.rspec"},
		Note: "Tests and linters load the source beside it all the same."},
	{Name: "containers", Why: "a container is built or started by it", Quiet: true, Patterns: []string{
		"**/{docker,container}file{,.*}", "**/*.{dockerfile,containerfile}", "**/{docker-,}compose{,.*,-*}.y{a,}ml", "**/{vagrantfile,procfile}"},
		Note: "It runs when somebody builds or starts it. One that an editor starts by itself is under `editor`."},
})
