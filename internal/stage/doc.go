// Package stage is the scribe's hands: it lands a change of a file whole, or
// not at all, and says which.
//
// A file is replaced in these steps, every one through handles of the
// directory and the files; the names are the system calls.
//
//	openat2      the directory, beneath the grant's root (package beneath)
//	openat2      the old file; read, compared with the captured version
//	openat       the staged file beside it: O_CREAT|O_EXCL|O_NOFOLLOW, 0600
//	write
//	fchown       only where its group is not the old file's
//	fchmod
//	fsync        the staged file
//	openat2      the old file again by its name: bytes and stat as captured
//	newfstatat   the staged name: still the staged file
//	renameat2    RENAME_EXCHANGE
//	openat2      the displaced file: verified to be the captured one
//	unlinkat     the displaced file
//	fsync        the directory
//
// A new file goes by RENAME_NOREPLACE; a deleted one is moved to the staged
// name by RENAME_NOREPLACE, verified there, and unlinked.
//
// Where the displaced file is not the one that was captured, somebody wrote in
// between: the exchange is taken back and the change is refused. Where that
// cannot be done, because the name changed once more, their file stays under
// its staged name, and its handle travels with the answer. A displaced file
// that is not the captured one is never deleted.
//
// What was interrupted is settled from the intent and the staged name alone
// (Settle).
//
// It does NOT protect a writer who writes through a handle opened before the
// exchange, in the instant between the last comparison and the unlink.
//
// BUG: there are no read leases, so an in-place writer's save in that instant
// is lost to everybody but the vault's copy of what stood before it.
package stage
