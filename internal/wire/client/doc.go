// Package client calls Countersign's servers, as docs/wire.md describes: one
// connection with [Dial], or kept ones with [Pool].
//
// It promises that a request it was asked to send is sent at most once, and
// that an error says what is known: where errors.Is(err, [ErrUnanswered]) the
// request went out whole and may have been carried out; where not, it was
// not, or the refusal in the error is the server's own answer to it. A reply
// is held to the same bounds and the same strictness as a request.
//
// Behind a socket that a service manager opened, the server's own uid cannot
// be seen, so Dial judges the way to the socket instead: every directory on it
// belongs to root or to this process's user, and no other may rename what is
// in it.
//
// It does NOT judge the handles it receives, beyond their number, and does not
// look at the permissions of the socket itself. Root, and in a user namespace
// whoever is mapped to root, is trusted.
package client
