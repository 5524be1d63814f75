// Package beneath finds files below a directory and says which they are.
//
// A root is opened once, where it leads now; everything beneath it is resolved
// by the kernel in one step (openat2 with RESOLVE_BENEATH and
// RESOLVE_NO_MAGICLINKS, and without following a link or crossing a mount
// unless asked to), and from then on held by handles: a path that was resolved
// is never spelled again. A directory swapped for a link between two steps
// changes nothing that is held.
//
// It only reads. It does NOT judge whether a place may be read or changed, and
// a Version is what was found at one instant: whoever acts on it looks again.
package beneath
