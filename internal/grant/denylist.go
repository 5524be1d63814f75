package grant

// denyTable is the deny list. It never changes while a program runs. Each
// pattern has a case in the package's tests, and docs/policy.md shows the
// table. A Home pattern begins with a literal byte, as the index needs.
var denyTable = []Entry{
	{Name: "ssh", Why: "keys, and the list of machines they open", Home: []string{".ssh"}},
	{Name: "gnupg", Why: "keys that sign and decrypt in the person's name", Home: []string{".gnupg"}},
	{Name: "private-keys", Why: "a private key under its usual name, and any in a key file",
		Files:   []string{"id_rsa.*", "id_dsa.*", "id_ecdsa.*", "id_ecdsa_sk.*", "id_ed25519.*", "id_ed25519_sk.*"},
		Except:  []string{"*.pub"},
		Content: []string{"id_*", "*.pem", "*.key", "*.p8"}},
	{Name: "identity-files", Why: "a private key under a name of the person's own; names with an extension are source code",
		Files: []string{"id_*"}, Except: []string{"*.*"}},

	{Name: "aws", Why: "cloud credentials and sessions", Home: []string{".aws"}},
	{Name: "azure", Why: "cloud credentials and sessions", Home: []string{".azure"}},
	{Name: "gcloud", Why: "cloud credentials and sessions", Home: []string{".config/gcloud"}},
	{Name: "clouds", Why: "credentials of smaller clouds and of their tools",
		Home: []string{".oci", ".config/doctl", ".config/hcloud", ".config/rclone", ".vault-token", ".terraform.d/credentials.tfrc.json"}},
	{Name: "kube", Why: "cluster credentials", Home: []string{".kube"}},
	{Name: "docker", Why: "registry credentials",
		Home: []string{".docker/config.json", ".config/containers/auth.json"}},

	{Name: "gh", Why: "a forge's token", Home: []string{".config/gh"}},
	{Name: "hub", Why: "a forge's token", Home: []string{".config/hub"}},
	{Name: "glab", Why: "a forge's token", Home: []string{".config/glab-cli"}},
	{Name: "git-credentials", Why: "passwords of git remotes",
		Home: []string{".git-credentials", ".config/git/credentials", ".cache/git/credential"}},
	{Name: "netrc", Why: "passwords by host", Home: []string{".netrc", ".authinfo", ".authinfo.gpg"}},
	{Name: "pgpass", Why: "database passwords", Home: []string{".pgpass", ".my.cnf", ".mylogin.cnf"}},

	{Name: "keyrings", Why: "the desktop's stored passwords and certificates",
		Home: []string{".local/share/keyrings", ".gnome2/keyrings", ".local/share/kwalletd", ".kde/share/apps/kwallet", ".pki"}},
	{Name: "password-stores", Why: "what a password manager keeps",
		Home: []string{".password-store", ".local/share/password-store", ".local/share/gopass", ".config/bitwarden*",
			".config/1password", ".config/keepassxc", ".config/sops/age", ".config/age"},
		Files: []string{"*.kdbx"}},
	{Name: "browser-profiles", Why: "cookies, stored passwords and history",
		Home: []string{".mozilla", ".config/mozilla", ".cache/mozilla", ".librewolf", ".waterfox", ".thunderbird",
			".config/google-chrome*", ".cache/google-chrome*", ".config/chromium*", ".cache/chromium*",
			".config/bravesoftware", ".cache/bravesoftware", ".config/microsoft-edge*", ".cache/microsoft-edge*",
			".config/vivaldi*", ".config/opera*", ".local/share/epiphany", ".local/share/qutebrowser", ".config/falkon",
			".var/app/org.mozilla.*", ".var/app/com.google.chrome*", ".var/app/org.chromium.*", ".var/app/com.brave.*",
			".var/app/com.microsoft.edge*", "snap/firefox", "snap/chromium", "snap/thunderbird", "snap/brave"}},

	{Name: "histories", Why: "commands and statements, with the secrets that were typed into them",
		Home: []string{".*_history", ".*_history-*", ".*_history.*", ".history", ".zhistory", ".histfile", ".rhistory", ".lesshst", ".viminfo",
			".zsh_sessions", ".bash_sessions", ".local/share/fish/fish_history*", ".config/fish/fish_history",
			".local/share/zsh/history", ".local/state/zsh/history", ".local/state/bash/history", ".local/state/*_history",
			".local/share/atuin", ".config/nushell/history.*", ".local/state/nvim/shada", ".ghc/ghci_history", ".julia/logs",
			".ipython/profile_*/history.sqlite", ".config/ipython/profile_*/history.sqlite"}},

	{Name: "env", Why: "a project's secrets",
		Names: []string{".env", ".env.*"}, Except: []string{".env.example", ".env.sample", ".env.template"}},
}
