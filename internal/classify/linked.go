package classify

import (
	"path"
	"slices"
	"strings"
)

// linked lists the places of a home that people link into a repository of their
// configuration. It is shorter than the tables: it is looked at for every file
// that is written, and what such a repository holds is linked file by file or
// by one of these directories.
var linked = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".bashrc.d", ".profile", ".inputrc",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zsh", ".oh-my-zsh", ".gitconfig", ".gitignore_global", ".git-templates",
	".vimrc", ".vim", ".emacs", ".emacs.d", ".doom.d", ".tmux.conf", ".screenrc", ".ssh", ".ssh/config", ".ssh/authorized_keys",
	".claude", ".claude/settings.json", ".claude/CLAUDE.md", ".claude.json", ".codex", ".cursor", ".gemini", ".mcp.json",
	".xprofile", ".xinitrc", ".xsession", ".gdbinit", ".psqlrc", ".npmrc", ".cargo", ".cargo/config.toml", ".vscode", ".idea",
	".config", ".config/fish", ".config/zsh", ".config/git", ".config/nvim", ".config/systemd", ".config/systemd/user", ".config/autostart",
	".config/environment.d", ".config/direnv", ".config/mise", ".config/sway", ".config/hypr", ".config/i3", ".config/tmux", ".config/kitty",
	".config/alacritty", ".config/ghostty", ".config/wezterm", ".config/zed", ".config/Code", ".config/emacs", ".config/doom", ".config/helix",
	".config/opencode", ".config/starship.toml", ".config/home-manager", ".config/nix",
	".local", ".local/bin", ".local/share", ".local/share/applications", "bin",
}

// MaxLinked bounds what Linked gives.
const MaxLinked = 256

// Linked gives the names in a home, relative to it, from which a link may lead
// to a file and make it what the tables say of the name: those that people link,
// and those that an owner's own entries name, each directory of them, as far as
// they have no wildcard. The slice is not to be changed.
func (t *Tables) Linked() []string { return t.linked }

func linkedWith(own []Entry) []string {
	out := slices.Clone(linked)
	for _, e := range own {
		for _, p := range e.Patterns {
			rest, inHome := strings.CutPrefix(p, "~/")
			at := ""
			for name := range strings.SplitSeq(rest, "/") {
				if !inHome || strings.ContainsAny(name, `*?[{\`) {
					break
				}
				if at = path.Join(at, name); !slices.Contains(out, at) {
					out = append(out, at)
				}
			}
		}
	}
	return out
}
