package grant

import (
	"path"
	"slices"
	"strings"
	"testing"

	"countersign/internal/refusal"
)

// denied has, for each entry, paths it must hold; `~` is the home. Every
// pattern of the table is met by one of them.
func denied() map[string][]string {
	return map[string][]string{
		"ssh":   {"~/.ssh", "~/.ssh/id_work", "~/.SSH/config"},
		"gnupg": {"~/.gnupg/private-keys-v1.d/a.key"},
		"private-keys": {"~/p/id_rsa.old", "~/p/id_dsa.bak", "~/p/id_ecdsa.1", "~/p/id_ecdsa_sk.1", "~/p/id_ed25519.bak",
			"~/p/ID_ED25519_SK.OLD", "/srv/id_rsa.old"},
		"identity-files": {"~/p/id_rsa", "~/p/id_ed25519", "~/p/id_work", "~/p/ID_RSA"},
		"aws":            {"~/.aws/credentials"},
		"azure":          {"~/.azure/msal_token_cache.json"},
		"gcloud":         {"~/.config/gcloud/credentials.db", "~/.config/GCloud/x"},
		"clouds": {"~/.oci/config", "~/.config/doctl/config.yaml", "~/.config/hcloud/cli.toml", "~/.config/rclone/rclone.conf",
			"~/.vault-token", "~/.terraform.d/credentials.tfrc.json"},
		"kube":   {"~/.kube/config"},
		"docker": {"~/.docker/config.json", "~/.config/containers/auth.json"},
		"gh":     {"~/.config/gh/hosts.yml"},
		"hub":    {"~/.config/hub"},
		"glab":   {"~/.config/glab-cli/config.yml"},
		"git-credentials": {"~/.git-credentials", "~/.config/git/credentials",
			"~/.cache/git/credential/socket"},
		"netrc":  {"~/.netrc", "~/.authinfo", "~/.authinfo.gpg"},
		"pgpass": {"~/.pgpass", "~/.my.cnf", "~/.mylogin.cnf"},
		"keyrings": {"~/.local/share/keyrings/login.keyring", "~/.gnome2/keyrings/a", "~/.local/share/kwalletd/a.kwl",
			"~/.kde/share/apps/kwallet/a", "~/.pki/nssdb/key4.db"},
		"password-stores": {"~/.password-store/bank.gpg", "~/.local/share/password-store/a", "~/.local/share/gopass/a",
			"~/.config/Bitwarden CLI/data.json", "~/.config/1Password/a", "~/.config/keepassxc/keepassxc.ini",
			"~/.config/sops/age/keys.txt", "~/.config/age/key.txt", "~/docs/My.KDBX"},
		"browser-profiles": {"~/.mozilla/firefox/p/logins.json", "~/.config/mozilla/firefox/p", "~/.cache/mozilla/a", "~/.librewolf/a",
			"~/.waterfox/a", "~/.thunderbird/a", "~/.config/google-chrome/Default/Cookies", "~/.config/google-chrome-beta/a",
			"~/.cache/google-chrome/a", "~/.config/chromium/a", "~/.cache/chromium/a", "~/.config/BraveSoftware/a",
			"~/.cache/BraveSoftware/a", "~/.config/microsoft-edge/a", "~/.cache/microsoft-edge/a", "~/.config/vivaldi/a",
			"~/.config/opera/a", "~/.local/share/epiphany/a", "~/.local/share/qutebrowser/a", "~/.config/falkon/a",
			"~/.var/app/org.mozilla.firefox/a", "~/.var/app/com.google.Chrome/a", "~/.var/app/org.chromium.Chromium/a",
			"~/.var/app/com.brave.Browser/a", "~/.var/app/com.microsoft.Edge/a", "~/snap/firefox/common", "~/snap/chromium/a",
			"~/snap/thunderbird/a", "~/snap/brave/a"},
		"histories": {"~/.bash_history", "~/.psql_history", "~/.bash_history-01234.tmp", "~/.zsh_history.LOCK", "~/.history",
			"~/.zhistory", "~/.histfile", "~/.Rhistory", "~/.lesshst", "~/.viminfo", "~/.zsh_sessions/a", "~/.bash_sessions/a",
			"~/.local/share/fish/fish_history", "~/.config/fish/fish_history", "~/.local/share/zsh/history",
			"~/.local/state/zsh/history", "~/.local/state/bash/history", "~/.local/state/python_history",
			"~/.local/share/atuin/history.db", "~/.config/nushell/history.txt", "~/.local/state/nvim/shada/main.shada",
			"~/.ghc/ghci_history", "~/.julia/logs/repl_history.jl", "~/.ipython/profile_default/history.sqlite",
			"~/.config/ipython/profile_default/history.sqlite"},
		"env": {"~/p/.env", "~/p/.env.local", "~/p/.Env", "~/p/.env.production", "~/p/.env/db", "/srv/app/.env"},
	}
}

// R1: the deny list holds over every grant, for reading and for writing, in
// any case of letters, unless the owner takes that entry off.
func TestDenyList(t *testing.T) {
	cases := denied()
	met := map[string]bool{}
	for _, e := range DenyList() {
		if len(cases[e.Name]) == 0 || e.Why == "" {
			t.Errorf("entry %s has no case, or no reason", e.Name)
		}
		off, err := DenyExcept([]string{e.Name})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range cases[e.Name] {
			p = strings.Replace(p, "~", home, 1)
			s := Set{Home: home, Reads: []Grant{{Root: "/"}}, Writes: []Grant{{Root: "/"}}}
			for _, op := range []Op{Read, Write} {
				if _, err := s.Judge(op, p); !refusal.Is(err, refusal.Denied) {
					t.Errorf("%s: %s %s: %v", e.Name, op, p, err)
				}
			}
			got := s.Deny.covers(home, p)
			if got == nil || got.Name != e.Name {
				t.Errorf("%s is held by %v, not by %s", p, got, e.Name)
			}
			if other := off.covers(home, p); other != nil && other.Name == e.Name {
				t.Errorf("%s: still held with its entry off", p)
			}
			mark(met, e, p)
		}
		for _, p := range slices.Concat(e.Home, e.Names, e.Files) {
			if !met[e.Name+" "+p] {
				t.Errorf("entry %s: no case meets %s", e.Name, p)
			}
		}
	}
}

// mark notes which patterns of e meet the path p.
func mark(met map[string]bool, e Entry, p string) {
	for _, h := range e.Home {
		if rel, ok := strings.CutPrefix(p, home+"/"); ok && beneath(h, rel) {
			met[e.Name+" "+h] = true
		}
	}
	for _, n := range slices.Concat(e.Names, e.Files) {
		for seg := range strings.SplitSeq(p, "/") {
			if ok, _ := path.Match(n, fold(seg)); ok {
				met[e.Name+" "+n] = true
			}
		}
	}
}

// R1: a file made of nothing but beginnings of keys is walked through once: by
// looking to the end of the line from each, this one would take hours.
func TestDeniedByContentIsBounded(t *testing.T) {
	s := Set{Home: home}
	for _, piece := range []string{"-----BEGIN ", "BEGIN ", "BEGIN", " BEGIN PRIVATE KE"} {
		content := []byte(strings.Repeat(piece, 8<<20/len(piece)))
		if err := s.DeniedByContent(Read, "/srv/a.pem", content); err != nil {
			t.Errorf("%q: %v", piece, err)
		}
	}
	long := "-----BEGIN " + strings.Repeat("A", 40) + " PRIVATE KEY-----\n"
	if err := s.DeniedByContent(Read, "/srv/a.pem", []byte(long)); !refusal.Is(err, refusal.Denied) {
		t.Errorf("a long label: %v", err)
	}
}

// R1: what merely looks like a secret's place is not denied.
func TestNotDenied(t *testing.T) {
	for _, p := range []string{
		"~/.sshx", "~/p/.ssh/config", "~/ssh", "~/.config/ghostty/config", "~/.docker/daemon.json", "~/p/.aws/x",
		"~/p/id_rsa.pub", "~/p/id_ed25519.PUB", "~/p/id_map.go", "~/p/id_generator/main.go", "~/p/userid_x",
		"~/p/.env.example", "~/p/.env.sample", "~/p/.Env.Template", "~/p/.envrc", "~/p/.environment", "~/p/x.env",
		"~/p/cert.pem", "~/p/a.key", "~/p/.bash_history", "~/.bashrc", "~/snap/code/x", "/srv/.ssh/id.pub",
	} {
		p = strings.Replace(p, "~", home, 1)
		s := Set{Home: home, Reads: []Grant{{Root: "/"}}}
		if _, err := s.Judge(Read, p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// R1: private keys are denied by what a key file holds, and a certificate
// under the same name is not.
func TestDeniedByContent(t *testing.T) {
	const begin = "-----BEGIN "
	key := "Bag Attributes\n" + begin + "RSA PRIVATE KEY-----\nMII\n"
	for _, c := range []struct {
		path, content string
		want          bool
	}{
		{"~/p/server.pem", key, true},
		{"~/p/SERVER.KEY", begin + "PRIVATE KEY-----\r\nMII", true},
		{"~/p/AuthKey.p8", begin + "ENCRYPTED PRIVATE KEY-----\n", true},
		{"~/p/id_work.bak", begin + "OPENSSH PRIVATE KEY-----\n", true},
		{"~/p/a.key", begin + "PGP PRIVATE KEY BLOCK-----\n", true},
		{"~/p/a.key", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n", true},
		{"~/p/a.pem", begin + "CERTIFICATE-----\nMII\n" + begin + "EC PRIVATE KEY-----\n", true},
		{"~/p/a.pem", begin + "CERTIFICATE-----\nMII\n", false},
		{"~/p/a.pem", begin + "PUBLIC KEY-----\nPRIVATE KEY\n", false},
		{"~/p/a.pem", "BEGIN PRIVATE KEY", false},
		{"~/p/id_rsa.pub", key, false},
		{"~/p/pem_test.go", key, false},
	} {
		s := Set{Home: home}
		p := strings.Replace(c.path, "~", home, 1)
		if err := s.DeniedByContent(Read, p, []byte(c.content)); refusal.Is(err, refusal.Denied) != c.want {
			t.Errorf("%s holding %q: %v", c.path, c.content, err)
		}
		s.Deny, _ = DenyExcept([]string{"private-keys"})
		if err := s.DeniedByContent(Read, p, []byte(c.content)); err != nil {
			t.Errorf("%s with the entry off: %v", c.path, err)
		}
	}
}

// R1: an entry is taken off by its exact name, and an unknown one is an error.
func TestDenyExcept(t *testing.T) {
	for _, n := range []string{"SSH", "~/.ssh", "", "git"} {
		if _, err := DenyExcept([]string{"ssh", n}); err == nil {
			t.Errorf("%q is accepted", n)
		}
	}
}

// R1: the table is sound: stable names once each, lower-case patterns that
// parse, and a literal first byte where the index needs one.
func TestDenyTable(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range DenyList() {
		if seen[e.Name] {
			t.Errorf("entry %s stands twice", e.Name)
		}
		seen[e.Name] = true
		for _, p := range slices.Concat(e.Home, e.Names, e.Files, e.Except, e.Content) {
			if _, err := path.Match(p, ""); err != nil || p != fold(p) {
				t.Errorf("entry %s: pattern %s does not parse or is not lower case", e.Name, p)
			}
		}
		for _, p := range e.Home {
			if strings.ContainsAny(p[:1], `*?[\~/`) || strings.HasSuffix(p, "/") {
				t.Errorf("entry %s: pattern %s cannot be filed", e.Name, p)
			}
		}
		for _, p := range slices.Concat(e.Names, e.Files) {
			if strings.ContainsAny(p[:1], `?[\`) || strings.Contains(p, "/") {
				t.Errorf("entry %s: pattern %s cannot be filed", e.Name, p)
			}
		}
	}
}
