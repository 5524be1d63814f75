// Package search finds the lines of a text that match an expression.
//
// An expression is Go's (RE2 syntax) or a literal; it is tried on each line by
// itself, so `^` and `$` are a line's ends and nothing matches across lines. A
// line ends at LF; the CR of a CRLF is no part of it; what stands behind the
// last LF is a line where it is not empty. Bytes that are no UTF-8 stay what
// they are: each is one character that `.` and a negated class match and no
// letter does. `\w`, `\d`, `\s` and `\b` know ASCII alone, as in RE2; a whole
// word, and letters without their case, are Unicode's.
//
// An answer is exactly that of trying the expression on every line. It is fast
// because the expression is rarely tried: from its syntax follow literals one
// of which every match must hold, and only lines that hold one are looked at.
// Where none follows, as for `\d+`, every line is. Time is linear in the text
// and in the size of the expression, which is bounded.
//
// It is pure: it reads no file and keeps nothing of a text. It does NOT judge
// which files may be searched, and what it gives of a line is as hostile as
// the file.
package search
