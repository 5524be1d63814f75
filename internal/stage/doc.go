// Package stage is the scribe's hands: it lands a change of one or many files
// whole, or not at all, and says of each path which.
//
// A file is replaced in these steps, every one through handles of the directory
// and the files; the names are the system calls. Those of one step are made for
// every file before any of the next is made, but for the exchange: each file is
// verified right behind it.
//
//	find      openat2, fstat, readlinkat   the directory, beneath the grant's root (package beneath)
//	look      openat2, fgetxattr,          the old file: read, compared with the captured version,
//	          flistxattr, pread64          and planned on
//	          faccessat2, newfstatat       whether the person may; whether the root still stands
//	stage     openat                       the new file beside it: O_CREAT|O_EXCL|O_NOFOLLOW, 0600
//	          write, fchown                the group only where it is not the old file's
//	          fremovexattr, fsetxattr      what the directory gave and the old file had not, and what it had
//	          fchmod, fsync, fstat
//	hold      openat2, fcntl               the old file, and a read lease on it (F_SETLEASE)
//	          fstat, pread64               it is as it was captured
//	          openat2, close, fcntl        the new file anew, for reading, and a lease on that
//	exchange  newfstatat, fstat, fcntl     still the staged file and the old one; no lease broken (F_GETLEASE)
//	          renameat2                    RENAME_EXCHANGE
//	          newfstatat, fcntl            what was displaced is the old file, and no lease is broken
//	decide    fcntl                        no lease on any old file is broken
//	finish    close                        the new file's lease
//	          newfstatat, fcntl, unlinkat  the displaced file, looked at once more
//	          close                        the old file's lease
//	          fsync                        the directory
//
// A new file goes by RENAME_NOREPLACE, in directories that mkdirat makes first;
// a deleted one, or a link, is moved to the staged name by RENAME_NOREPLACE. A
// link that an undo puts back is made by symlinkat. Where several directories
// are changed each is synced before any old file is removed, with no lease held
// meanwhile, and the displaced files are then leased and read again. An undo
// takes away, by unlinkat, the directories that the action had made, if they are
// empty.
//
// Whatever fails before the decision takes everything back, the last file
// first: exchanged files are exchanged again and verified, staged ones are
// removed if their whole identity is theirs, and directories that were made are
// removed if they are empty. What fails behind it is told with the outcome and
// does not undo it. A failed fsync is told too and never taken for done by one
// that succeeds later.
//
// Where the displaced file is not the one that was captured, or somebody waits
// to write to it, the exchange is taken back and the change is refused. Where
// that cannot be done, because the name changed once more, their file stays
// under its staged name, and its handle travels with the answer. A displaced
// file that is not the captured one is never deleted.
//
// Leases are held for less than Config.Hold. A file that is open for writing
// already is tried a few times and then refused. Where there are no leases the
// outcome says so (NoLease), the displaced file is read again behind the
// exchange, and only that stands between two writers.
//
// What was interrupted is settled from the intent, the target and the staged
// name (Settle): all its files together are finished or taken back.
//
// It does NOT keep the owner from renaming over a file in the instant between
// an exchange and its taking back; such a save is kept aside and told.
//
// BUG: a program that looked a name up before the exchange and opens the file
// for writing only after the lease on it was let go of writes into the file that
// was removed. The kernel gives no way to see it between the two.
//
// BUG: without leases, what is written through a handle from before the exchange
// between the last look and the unlink is lost to everybody but the vault's copy
// of what stood before it.
//
// BUG: a change of extended attributes alone in the instant between the last look
// and the exchange is not seen: only the ctime tells of it, which the exchange
// sets too.
//
// BUG: whether an empty directory was made by an interrupted change or by
// somebody else since cannot be told; Settle removes it in either case.
package stage
