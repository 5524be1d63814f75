// Package journal is the keeper's memory: an append-only chain of records,
// each followed by its bodies, in segments on disk.
//
// It knows nothing of what records mean; their content is a canonical item
// that its callers encode and decode. docs/journal.md has the byte format for
// somebody who writes another reader; in short:
//
//	segment  NNNNNNNNNNNNNNNN.seg, named by the seq of its first record:
//	         header, then records back to back
//	header   magic "countersign-seg\n" | version u32 | zero u32 | first seq u64
//	         | hash before it [32] | marker [8] | SHA-256 of those 72 bytes
//	record   marker [8] | length of head u32 | head | SHA-256 of head | bodies
//	head     CBOR array: seq, time, hash of the head before, durable, kind, id,
//	         content as a byte string, bodies as [role, hash, size]
//
// Integers outside the head are big-endian. The SHA-256 of a head is the
// chain's value; it covers the bodies by their hashes. durable is how much of
// the segment was known to be on disk when the record was written.
//
// # What it promises
//
// Commit returns once the records and all before them are on disk. Open
// replays every such record, in order, or refuses. What it replays is on disk
// when it returns.
//
// # What counts as torn, and what as broken
//
// Only the newest segment can have lost what was written to it, and only
// behind the last sync, in any pattern: cut short, zeros, old blocks, a page
// missing in the middle. There, the first record that does not hold (its
// marker, length, head or a body) is cut off with all that follows, unless a
// record whose head still holds, however far behind, has a durable past it:
// then a sync had covered what is damaged now, and that is Broken, as is
// damage in any older segment, and a head that holds but does not chain.
// Nothing is ever cut from a Broken journal. A newest segment with no whole
// header and no more than that is the trace of an interrupted rotation and is
// made anew.
//
// # System calls
//
//	Append      pwrite
//	Commit      pwrite, fdatasync (one for all that wait at that moment)
//	rotation    fdatasync of the full segment if it needs one, openat O_EXCL,
//	            pwrite, fdatasync, fsync of the directory
//	Open        reads; then pwrite and fdatasync of the tail, fsync of the
//	            directory; with something torn ftruncate before, and a commit
//
// Space is not allocated ahead: an allocated extent still costs the filesystem
// a log write when it is first written, unless it was filled with zeros before,
// which doubles what is written.
//
// The sad ones: after a failed write or sync nothing is tried again. What
// nobody was told stands is cut off by ftruncate, best effort, and every call
// from then on is ErrFailed. A sync that is tried again would report success
// for pages that the kernel has given up; for the same reason Open writes the
// tail over itself before it syncs.
//
// # What it does NOT protect
//
// The last records before a crash carry no later record's word that they were
// on disk: bytes of theirs that rot while nobody writes look like a torn tail,
// and are cut, and said. Records removed from the end together with all trace
// of them leave a sound, shorter journal, and somebody who can write the files
// can make another chain altogether: Head is told to a witness for that. Bodies
// of older records are read by ReadBody and Verify, not by Open. Nothing is
// encrypted, and nothing removes old segments.
package journal
