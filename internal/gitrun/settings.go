package gitrun

// Setting is a key of git's configuration and its value.
type Setting struct{ Key, Value string }

// overruled are the settings that no repository has a say in. Those in the first
// part would run a program, reach a network or write; the others would change
// what a vector's answer looks like.
func overruled() []Setting {
	return []Setting{
		{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}, {"core.editor", ":"}, {"core.pager", "cat"},
		{"core.sshCommand", "/bin/false"}, {"core.gitProxy", ""}, {"core.askPass", "/bin/false"}, {"core.alternateRefsCommand", ""},
		{"sequence.editor", ":"}, {"credential.helper", ""}, {"diff.external", ""},
		{"gpg.program", "/bin/false"}, {"gpg.openpgp.program", "/bin/false"}, {"gpg.x509.program", "/bin/false"}, {"gpg.ssh.program", "/bin/false"},
		{"gpg.ssh.defaultKeyCommand", ""}, {"commit.gpgSign", "false"}, {"tag.gpgSign", "false"}, {"log.showSignature", "false"},
		{"commit.template", ""}, {"submodule.recurse", "false"}, {"gc.auto", "0"}, {"gc.autoDetach", "false"},
		{"maintenance.auto", "false"}, {"rerere.enabled", "false"}, {"protocol.allow", "never"}, {"core.untrackedCache", "keep"},
		{"trace2.normalTarget", "0"}, {"trace2.perfTarget", "0"}, {"trace2.eventTarget", "0"},

		{"mailmap.file", ""}, {"mailmap.blob", ""}, {"core.quotePath", "false"}, {"color.ui", "false"},
		{"diff.submodule", "short"}, {"diff.ignoreSubmodules", "dirty"}, {"diff.noprefix", "false"}, {"diff.mnemonicPrefix", "false"},
		{"diff.relative", "false"}, {"diff.wordRegex", ""}, {"log.follow", "false"}, {"log.diffMerges", "separate"}, {"log.showRoot", "true"},
		{"i18n.logOutputEncoding", "UTF-8"}, {"blame.ignoreRevsFile", ""}, {"status.showUntrackedFiles", "all"},
		{"status.submoduleSummary", "false"}, {"status.aheadBehind", "false"}, {"status.relativePaths", "false"},
		{"advice.graftFileDeprecated", "false"},

		// What is written is on disk, in the encoding that commits have.
		{"i18n.commitEncoding", "UTF-8"}, {"diff.orderFile", "/dev/null"}, {"core.fsync", "all"}, {"core.fsyncMethod", "fsync"}, {"core.logAllRefUpdates", "true"},
		{"core.safecrlf", "false"}, {"core.createObject", "rename"},
	}
}

// environment is all of git's environment but what names one repository. It is
// the same for every run: nothing of it comes from whoever started the daemon.
func environment() []string {
	return []string{
		"PATH=/nonexistent", "HOME=/nonexistent", "XDG_CONFIG_HOME=/nonexistent", "LC_ALL=C", "TZ=UTC",
		"GIT_EXEC_PATH=/nonexistent", "GIT_TEMPLATE_DIR=/nonexistent",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false", "GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "GIT_PAGER=cat",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1",
		"GIT_TRACE=0", "GIT_TRACE_SETUP=0", "GIT_TRACE2=0", "GIT_TRACE2_PERF=0", "GIT_TRACE2_EVENT=0",
	}
}
