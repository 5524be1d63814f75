// Package gitrun runs git, and nothing else, for a reader or a scribe.
//
// Two processes take part. The daemon, whose list of system calls lets it start
// no program, asks; the runner, which Start makes of the daemon's own program
// before the daemon's walls stand, starts git. The runner stands behind walls of
// its own (confine.GitRead or GitWrite): git and its loader are the only files it
// may run, and git, which inherits every one of those walls, can neither fork nor
// run anything that is not git.
//
// What git is told is put together in the runner, from tables: a vector, which is
// a fixed list of arguments with places for a few values; settings that overrule
// whatever a repository configures; and an environment of which nothing is
// inherited. A caller names a vector and gives the values, each of which is
// judged. So not even a daemon that somebody else steers gives git an argument
// of its own.
//
// Each git is narrowed by Landlock, before it starts, to the repository it is
// for: by handles, which the caller opened and judged, so that a path that leads
// elsewhere meanwhile opens nothing. What it prints goes to the caller through
// pipes, within bounds of time; it is killed when its caller goes away.
//
// The happy path of one run, in the runner: recvmsg, landlock_create_ruleset, a
// landlock_add_rule for each place, landlock_restrict_self, clone, wait4, write.
//
// It does NOT know what a repository is (package repo does), and it judges no
// answer of git's.
package gitrun
