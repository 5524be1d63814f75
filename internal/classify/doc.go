// Package classify says what an action amounts to: the capability it uses,
// whether what it replaces can be put back and by what, and the reasons for
// which an owner might want to be asked.
//
// It is pure, and it takes nothing on the agent's word: everything is computed
// from paths, from images and bytes that the keeper planned itself, and from
// facts that reader and keeper established. The reasons are a closed list, the
// places and forms behind them are three tables, which docs/policy.md shows.
//
// A path is judged as it was given and as it lands, with ASCII case folded, so
// that neither a link nor another spelling makes a start-up file an ordinary
// one.
//
// What it does NOT do: it decides nothing (package policy does), it does not
// follow an include from one configuration file to the next, and it knows a
// secret or a program that runs later only by the tables. An entry too few is
// a change that policy may land unasked; it is still captured and undoable.
package classify
