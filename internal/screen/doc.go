// Package screen is the owner's terminal: what waits, exactly what each action
// does, and the keys that decide on it; and the same in lines, for a screen
// reader or a terminal that cannot be drawn on.
//
// # When a key counts
//
// An approval is Shift+A. It is no letter that a person who pages, searches or
// reads would hit, it takes two keys, and no other key does the same; Enter
// never approves, and neither does anything that is pasted. It counts when
//
//   - the rows on the screen are the very ones that were drawn last, the
//     terminal has answered that they stand there, and half a second has gone by
//     since then: whatever changes the text or its place starts that anew;
//   - the end of the account has stood on the screen, so that nothing of it was
//     out of reach: the key End goes there at once;
//   - no other character came just before it, and no other key comes within a
//     moment after it: an A among other letters is a word that was meant for
//     another window;
//   - no process of an agent's has this terminal, as far as this user may see
//     ([countersign/internal/terminal.Companions] says how far that is).
//
// What is then sent names the prefix that stands on the screen, and the keeper
// lands what that prefix names or nothing.
//
// # What reaches the terminal
//
// Names, texts and diffs go through package visible before they are laid out,
// and package terminal writes nothing else. What an agent chose stands in rows
// of its own, behind words of the machine's.
//
// It does NOT decide who may approve, or what happens then: the keeper does,
// for whoever the kernel says is calling.
package screen
