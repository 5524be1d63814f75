package classify

// credentialNames lists the files that hold secrets by their name. What is on
// the deny list as well stands here for an owner who took it off. It never changes while a program runs, and each pattern has a
// case in the package's tests.
var credentialNames = because(Credentials, []Entry{
	{Name: "package-tokens", Why: "tokens that publish packages", Patterns: []string{
		"**/.npmrc", "**/.yarnrc{,.yml}", "**/.pypirc", "**/.cargo/credentials{,.toml}", "**/.gem/credentials", "**/.m2/settings{,-security}.xml",
		"**/.nuget/nuget/nuget.config", "**/.bundle/config", "**/.composer/auth.json", "~/.config/{pypoetry,composer}/auth.*"},
		Note: "Such a file changes when somebody logs in or moves to another registry, seldom."},
	{Name: "infrastructure", Why: "secrets of machines and clouds", Patterns: []string{
		"**/*.tfstate{,.*}", "**/*.tfvars{,.json}", "**/.terraformrc", "**/{,*.}kubeconfig{,.*}", "**/.dockercfg", "**/.s3cfg", "**/.boto",
		"**/.vault{-,_}pass{,word}*", "**/credentials.json", "**/application_default_credentials.json", "**/service{-,_}account*.json",
		"**/client_secret*.json", "**/*firebase-adminsdk*.json"},
		Note: "State and variables of infrastructure hold passwords in clear."},
	{Name: "key-files", Why: "private keys and key stores", Patterns: []string{
		"**/*.{pfx,p12,jks,keystore,bks,ppk,p8,kdbx,pem,key}", "**/id_{rsa,dsa,ecdsa,ed25519}"},
		Note: "A certificate has the same endings as a key, and either is a matter for the owner."},
	{Name: "password-files", Why: "passwords", Patterns: []string{
		"**/.htpasswd", "**/.{netrc,pgpass,my.cnf,git-credentials}", "**/.env{,.local,.development,.test,.staging,.production}", "**/secrets.{yml,yaml,json,toml,env}", "**/*.secret{,s}", "**/master.key"},
		Note: "A project's `.env` is on the deny list besides; `.env.example` and its kin are in neither."},
	{Name: "agent-logins", Why: "an agent's own login", Patterns: []string{
		"~/.claude/.credentials.json", "~/.claude.json", "~/.codex/auth.json", "~/.gemini/oauth_creds.json", "~/.config/github-copilot/**",
		"~/.local/share/opencode/auth.json"},
		Note: "The login of an agent is the person's account with its maker."},
})
