// Package broker is the keeper's one ordered road for an action, from proposal
// to undo, and the only place that sees policy, journal, vault, reader and
// scribe together.
//
// In order: what stands at the action's paths is captured through the person's
// reader; the change is planned; it is classified; the policy decides; where it
// asks, the action waits for an owner; what would be replaced goes into the
// vault and the intent into the journal, on disk; only then the person's
// scribe hears of it; the outcome is journaled.
//
// Promises. An owner's approval names a prefix of what was shown, and nothing
// lands whose preview, made again at that moment, has another. No intent is
// sent twice. An intent without an outcome is settled by looking at disk,
// never by repeating it. A record that cannot be written is an act that is not
// carried out, and ends the keeper.
//
// It does NOT resolve a path or open a file of anybody's: it reads handles
// that a reader passed, and judges those first.
package broker
