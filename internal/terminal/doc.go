// Package terminal holds a person's terminal: it draws rows of text on it, reads
// keys from it, and knows when what was drawn stood there.
//
// It promises that nothing reaches the terminal but visible characters and
// control sequences of its own: what is drawn is [visible.Text], and every rune
// of it is looked at once more on its way out. A row is drawn where it belongs,
// by its number, with the terminal's own wrapping off, and each piece of it at
// its column: text that is wider than this package took it for covers other
// text of its own row, and moves none.
//
// After each drawing the terminal is asked where its cursor is, in its last
// column and row and in another place that changes from drawing to drawing. Its
// answer comes in line with the keys that are typed, so a key that is read
// behind the answer was typed after the terminal had drawn, however slow the
// way there is, and whatever was typed ahead was typed before it. A terminal
// that is smaller than it says, or that does not answer, is never said to have
// drawn.
//
// What is pasted is told apart from what is typed where the terminal can do so
// (bracketed paste). A terminal multiplexer, or a program that predicts what a
// distant terminal shows, answers for itself and not for the glass behind it.
//
// It does NOT know what the keys mean, and does not keep others from writing to
// the same terminal; [Companions] says who else has it.
package terminal
