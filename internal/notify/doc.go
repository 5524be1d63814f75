// Package notify tells an owner at their desktop that actions wait for them:
// one notification, which sums up what waits, is made true as that changes,
// and is closed once nothing waits any more.
//
// It promises that what is shown is the machine's own words: the names that
// policy gives to agents and persons, the kind of action, how many, and IDs.
// Nothing that an agent chose is among them, no path, no sentence, no content:
// a screen that is locked, shared or photographed shows notifications, and a
// file's name is as good a place for a lie as any. Text is plain, and what a
// server could take for markup is escaped. The owner hears of new actions at
// most once every few seconds.
//
// It does NOT decide anything, and has no button that would: an approval needs
// a preview that was seen. It does NOT promise that the owner has seen a
// notification, and trusts the session's bus and whoever serves notifications
// on it, which are the owner's own.
package notify
