// Package vault holds what the keeper captured before anything was replaced:
// contents by their SHA-256, each person's apart from every other's.
//
// It is a view of the journal's store and no store of its own beside it. A
// capture of at most Inline bytes is a body of its intent's record, and on
// disk with it by the same sync; a larger one is a file of its own,
//
//	DIR/PERSON/HASH          mode 0600, HASH in lower-case hex
//
// which stands on disk, name and content, before Prepare gives it, and so
// before the intent that counts on it. The table of what is held where is
// never the truth: Open makes the files' part by listing them, and replaying
// the journal with Note makes the rest.
//
// Promises: what Get gives has the hash it was asked for; one person's hash
// finds nothing of another's; a capture is kept once a person, however often
// it is prepared; what Prepare calls held can be read after a power cut, as
// soon as the intent that follows it is on disk.
//
// # System calls of a large capture
//
//	mkdir DIR/PERSON, fsync DIR        (a person's first one only)
//	openat O_CREAT|O_EXCL TEMP, write, fsync, close
//	renameat TEMP HASH, fsync DIR/PERSON
//
// A failed write or sync removes TEMP and refuses; nothing counts on it. A
// crash leaves at most a TEMP, which the next Open removes, and it syncs every
// directory again, since a name that is seen need not be on disk.
//
// # What it does NOT do
//
// It keeps within a size a person and refuses past that; it does not yet
// remove anything by age, nor bodies from segments. It does not hide that two
// persons hold the same bytes from somebody who reads the keeper's disk, it
// encrypts nothing, and it does not read a held capture again to see whether
// the disk still has it before it calls a second one held: Get and the
// journal's Verify do.
package vault
