// Package classify says what an action amounts to: the capability it uses,
// whether what it replaces can be put back and by what, and the reasons for
// which an owner might want to be asked.
//
// It is pure, and it takes nothing on the agent's word: everything is computed
// from paths, from images and bytes that the keeper planned itself, and from
// facts that reader and keeper established. The reasons are a closed list; the
// places and forms behind two of them are tables of named entries, which an
// owner's policy adds to and takes from, and docs/classification.md shows.
//
// A path is judged as it was given, as it lands, and by the names of the home
// from which links lead there, with ASCII case folded, so that neither a link
// nor another spelling makes a start-up file an ordinary one. What a change
// costs to judge is linear in its path and its content, whatever they hold.
//
// What it does NOT do: it decides nothing (package policy does), and it knows a
// secret or a program that runs later only by the tables. An entry too few is
// a change that policy may land unasked; it is still captured and undoable.
package classify
