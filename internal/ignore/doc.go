// Package ignore says what whole walks pass over: what a repository's own
// ignore files cover, and directories of dependencies, builds and caches that
// are known by name.
//
// Ignore files mean what they mean to git (gitignore(5)), case-sensitively:
// the last pattern of a file that matches decides, the file nearest to a path
// before those above it, .git/info/exclude last; beneath what is ignored
// nothing is let in again. The person's global list and core.excludesFile are
// never asked, so that a walk depends on the repository alone.
//
// It is pure: it sees content and names. Whatever it is given is hostile; a
// match takes time linear in pattern times path at worst.
//
// It does NOT read files, and knows nothing of what git tracks: a tracked file
// that a pattern covers is passed over too, as `git check-ignore --no-index`
// says.
package ignore
