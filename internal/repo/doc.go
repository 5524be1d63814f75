// Package repo says what must be known of a repository before git is started on
// it: where its parts lie, whose they are, what kind it is, and what its
// configuration would have run.
//
// It reads a few small files itself, runs nothing, and writes nothing. Every
// part (work tree, git directory, common directory, objects that are borrowed,
// configuration files that are included, lists of what is ignored) is opened
// once, judged where it really lies, and from then on held by a handle: git is
// given those handles and nothing else. A part that lies outside the granted
// places, belongs to somebody else, or says what git's answers could not be
// faithful to, refuses the repository by name.
//
// Configuration files are read by git's own grammar, in config.go, since a
// reading that differs from git's in any way would be a hole: what cannot be
// read exactly alike is refused. Conditions on includes are not judged; what one
// names counts as included.
//
// It does NOT look deeper than one level into a git directory for links that
// lead out: the walls around git are what holds there, and git then fails.
package repo
