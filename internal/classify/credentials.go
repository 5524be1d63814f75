package classify

import (
	"bytes"
	"regexp"
	"slices"
)

// CredentialTable gives the table of files that hold secrets by their name,
// for those who show it. The slice is the caller's; the patterns in it are not
// to be changed. What is on the deny list as well appears here for an owner
// who took it off.
func CredentialTable() []Entry { return slices.Clone(credentialNames) }

// credentialNames never changes while a program runs, and each pattern has a
// case in the package's tests.
var credentialNames = []Entry{
	{Name: "package-tokens", Why: "tokens that publish packages", Patterns: []string{
		"**/.npmrc", "**/.yarnrc{,.yml}", "**/.pypirc", "**/.cargo/credentials{,.toml}", "**/.gem/credentials", "**/.m2/settings{,-security}.xml",
		"**/.nuget/nuget/nuget.config", "**/.bundle/config", "**/.composer/auth.json", "~/.config/{pypoetry,composer}/auth.*"}},
	{Name: "infrastructure", Why: "secrets of machines and clouds", Patterns: []string{
		"**/*.tfstate{,.*}", "**/*.tfvars{,.json}", "**/.terraformrc", "**/{,*.}kubeconfig{,.*}", "**/.dockercfg", "**/.s3cfg", "**/.boto",
		"**/.vault{-,_}pass{,word}*", "**/credentials.json", "**/application_default_credentials.json", "**/service{-,_}account*.json",
		"**/client_secret*.json", "**/*firebase-adminsdk*.json"}},
	{Name: "key-files", Why: "private keys and key stores", Patterns: []string{
		"**/*.{pfx,p12,jks,keystore,bks,ppk,p8,kdbx,pem,key}", "**/id_{rsa,dsa,ecdsa,ed25519}"}},
	{Name: "password-files", Why: "passwords", Patterns: []string{
		"**/.htpasswd", "**/.{netrc,pgpass,my.cnf,git-credentials}", "**/.env{,.local,.development,.test,.staging,.production}", "**/secrets.{yml,yaml,json,toml,env}", "**/*.secret{,s}", "**/master.key"}},
	{Name: "agent-logins", Why: "an agent's own login", Patterns: []string{
		"~/.claude/.credentials.json", "~/.claude.json", "~/.codex/auth.json", "~/.gemini/oauth_creds.json", "~/.config/github-copilot/**",
		"~/.local/share/opencode/auth.json"}},
}

// Mark is a form by which a secret is known in text.
type Mark struct {
	Name string
	Why  string

	first string // bytes that every match has: looked for before the expression is run
	form  *regexp.Regexp
}

// MarkTable gives the secrets known by their form, for those who show them.
func MarkTable() []Mark { return slices.Clone(marks) }

// marks never changes while a program runs. Each expression begins with
// literal bytes, by which the regexp package skips most of a text; that no
// letter stands before them is checked apart for the same reason.
var marks = []Mark{
	mark("private-key", "a private key", "PRIVATE KEY", `(?s)----[ -]{0,2}BEGIN [A-Z0-9 ]*PRIVATE KEY.*?(?:---- ?END|$)`),
	mark("age-key", "a private key of age", "AGE-SECRET-KEY-", `AGE-SECRET-KEY-1[A-Z0-9]{20,}`),
	mark("aws-key", "an access key of AWS", "AKIA", `AKIA[A-Z0-9]{16,}`),
	mark("aws-session-key", "a session's access key of AWS", "ASIA", `ASIA[A-Z0-9]{16,}`),
	mark("google-key", "an API key of Google", "AIza", `AIza[A-Za-z0-9_-]{35,}`),
	mark("github-token", "a token of GitHub", "gh", `gh[pousr]_[A-Za-z0-9]{36,}`),
	mark("github-fine-token", "a token of GitHub", "github_pat_", `github_pat_[A-Za-z0-9_]{22,}`),
	mark("gitlab-token", "a token of GitLab", "glpat-", `glpat-[A-Za-z0-9_-]{20,}`),
	mark("slack-token", "a token of Slack", "xox", `xox[abeprs]-[A-Za-z0-9-]{10,}`),
	mark("model-key", "a key of a model provider", "sk-", `sk-(?:(?:proj|svcacct|admin|or-v1|ant-[a-z0-9]+)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{20,})`),
	mark("stripe-key", "a key of Stripe", "sk_live_", `sk_live_[A-Za-z0-9]{16,}`),
	mark("stripe-restricted-key", "a key of Stripe", "rk_live_", `rk_live_[A-Za-z0-9]{16,}`),
	mark("npm-token", "a token of npm", "npm_", `npm_[A-Za-z0-9]{36,}`),
	mark("pypi-token", "a token of PyPI", "pypi-AgE", `pypi-AgE[A-Za-z0-9_-]{50,}`),
	mark("hugging-face-token", "a token of Hugging Face", "hf_", `hf_[A-Za-z0-9]{30,}`),
}

func mark(name, why, first, form string) Mark {
	return Mark{Name: name, Why: why, first: first, form: regexp.MustCompile(form)}
}

// maxKnown bounds how many secrets that stood in a file before are told from
// new ones: telling each takes a search of the whole file, and an agent could
// have made it of nothing else.
const maxKnown = 64

// appears says whether now holds a secret of this form that old does not: one
// that stood there before is not the action's doing.
func (m Mark) appears(old, now []byte) bool {
	if !bytes.Contains(now, []byte(m.first)) {
		return false
	}
	known := 0
	for at := 0; at < len(now); {
		found := m.form.FindIndex(now[at:])
		if found == nil {
			return false
		}
		start, end := at+found[0], at+found[1]
		at = end
		if start > 0 && inWord(now[start-1]) && inWord(now[start]) {
			continue // the tail of a longer word
		}
		if known++; known > maxKnown || !bytes.Contains(old, now[start:end]) {
			return true
		}
	}
	return false
}

func inWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
