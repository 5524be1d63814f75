// Package wire is how Countersign's processes talk: frames of canonical CBOR
// over Unix stream sockets, one static table of methods for each server.
//
// # Bytes
//
// A frame is a length, four bytes, big-endian, counting what follows; then
// exactly one CBOR item of that length in the form that package canon accepts.
//
//	request  = {"id": uint, "method": text, "params": any}
//	response = {"id": uint, "result": any} / {"id": uint, "refusal": refusal}
//	refusal  = {"code": text, "what": text, "why": text, ? "fix": text, "again": text}
//
// Ids are the client's choice and never 0: a response with id 0 is a refusal
// that answers no request, says that nothing sent since the last reply was
// carried out, and is the last thing on its connection. Handles ride as
// SCM_RIGHTS on the first byte of a response's frame. docs/wire.md has the
// whole of it, with an example in hexadecimal.
//
// # What it promises
//
// A peer's uid is asked of the kernel and judged before a byte of it is read,
// and again at every request. Parameters are decoded only once the method is
// in the server's table, the caller may call it, and they are within its
// limit. Memory follows the bytes that have arrived, never the length a peer
// announces, and frames over [SmallFrame] are held in bounded number. A request that
// was read whole runs to its end whatever becomes of its connection, unless
// its method is one that only reads. A panic ends one connection.
//
// # What it does NOT protect
//
// It does not encrypt, and does not know the peer beyond uid, gid and pid as
// they were when the peer connected: a socket handed to another process goes
// on speaking for the one that opened it, and a pid may be somebody else's by
// now, so nothing is decided on pids. It does not judge handles: who receives
// them does. It does not make the caller unable to spend its own uid's share
// of connections.
package wire
