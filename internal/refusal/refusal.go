// Package refusal holds every answer that says no, in one voice.
//
// A refusal is an answer, not a fault: it names what was refused, why, whether
// the same call can succeed later, and who must change what first. The codes
// are a closed set with one table; wire, journal and screen carry the same
// value. What an agent chose (a path, a pattern) reaches a refusal only
// through quoted forms that its callers make.
package refusal

import (
	"errors"
	"fmt"
)

// Code names a kind of refusal. Codes are stable: programs branch on them.
type Code string

// Again says whether the same call can succeed later.
type Again string

const (
	Never Again = "never" // not without being changed
	Retry Again = "retry" // as it is, later
	After Again = "after" // once somebody changed what Fix names
)

// Refusal is an error that its caller is meant to read and act on.
type Refusal struct {
	Code  Code   `cbor:"code" json:"code"`
	What  string `cbor:"what" json:"what"`                   // what was refused
	Why   string `cbor:"why" json:"why"`                     // why, with the particulars
	Fix   string `cbor:"fix,omitempty" json:"fix,omitempty"` // who must change what first
	Again Again  `cbor:"again" json:"again"`
}

// Error gives the whole refusal in one line.
func (r *Refusal) Error() string {
	s := r.What + ": " + r.Why
	if r.Fix != "" {
		s += "; " + r.Fix
	}
	return s + " [" + string(r.Code) + "]"
}

// New makes the refusal of a code. what names what was refused; the detail, a
// format, is put behind the code's own sentence.
func New(code Code, what, detail string, args ...any) *Refusal {
	e, ok := table[code]
	if !ok {
		panic(fmt.Sprintf("[unexpected] no such refusal: %s", code))
	}
	why := e.why
	if detail != "" {
		why += ": " + fmt.Sprintf(detail, args...)
	}
	return &Refusal{Code: code, What: what, Why: why, Fix: e.fix, Again: e.again}
}

// About gives a refusal of another path under the name that was asked for: a
// caller learns nothing of where a link leads. Other errors stay as they are.
func About(what string, err error) error {
	r := As(err)
	if r == nil {
		return err
	}
	said := *r
	said.What = what
	return &said
}

// As returns err's refusal, or nil where err is none.
func As(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

// Is reports whether err is a refusal with this code.
func Is(err error, code Code) bool {
	r := As(err)
	return r != nil && r.Code == code
}

// Known reports whether code is in the closed set.
func Known(code Code) bool { _, ok := table[code]; return ok }

// The closed set, by who says no.
const (
	// The wire and the processes.
	BadRequest     Code = "bad-request"
	UnknownMethod  Code = "unknown-method"
	NotPermitted   Code = "not-permitted"
	PolicyDiffers  Code = "policy-differs"
	Busy           Code = "busy"
	TooLarge       Code = "too-large"
	Unavailable    Code = "unavailable"
	Internal       Code = "internal"
	HandleRejected Code = "handle-rejected"

	// The vocabulary.
	BadAction    Code = "bad-action"
	PathNotClean Code = "path-not-clean"
	BadPattern   Code = "bad-pattern"
	NoHands      Code = "no-hands"
	NotYet       Code = "not-yet"

	// Places.
	NobodysHome   Code = "nobodys-home"
	SeveralHomes  Code = "several-homes"
	NotGranted    Code = "not-granted"
	Denied        Code = "denied-place"
	GitDirectory  Code = "git-directory"
	Link          Code = "link"
	MountCrossing Code = "mount-crossing"
	MissingParent Code = "missing-parent"
	RootReplaced  Code = "root-replaced"
	SamePlace     Code = "same-place"

	// Files.
	NotFound    Code = "not-found"
	NotRegular  Code = "not-regular"
	NotText     Code = "not-text"
	NotImage    Code = "not-image"
	OtherOwner  Code = "other-owner"
	SetID       Code = "set-id"
	NotWritable Code = "not-writable"
	NotKept     Code = "not-kept"
	FileTooBig  Code = "file-too-big"

	// Repositories.
	NoGit         Code = "no-git"
	NotRepository Code = "not-a-repository"
	GitOutside    Code = "git-outside"
	GitKind       Code = "git-kind"
	GitConfig     Code = "git-config"
	GitFilter     Code = "git-filter"
	GitIncomplete Code = "git-incomplete"
	GitRevision   Code = "git-revision"
	GitFailed     Code = "git-failed"
	GitDoing      Code = "git-in-progress"
	GitIdentity   Code = "git-identity"
	GitUntracked  Code = "git-untracked"

	// Matches and versions.
	NoMatch    Code = "no-match"
	MatchCount Code = "match-count"
	NoChange   Code = "no-change"
	Outdated   Code = "outdated"
	Changed    Code = "changed"
	InUse      Code = "in-use"
	Stale      Code = "stale"
	Conflict   Code = "conflict"
	Differs    Code = "differs"

	// Disk.
	DiskFull     Code = "disk-full"
	Quota        Code = "quota"
	ReadOnly     Code = "read-only"
	NameTooLong  Code = "name-too-long"
	MountedFile  Code = "mounted-file"
	Immutable    Code = "immutable"
	NoExchange   Code = "no-exchange"
	PermissionNo Code = "permission"
	DiskError    Code = "disk-error"

	// Decisions.
	PolicyDenies  Code = "policy-denies"
	OwnerDenied   Code = "owner-denied"
	TooLongToAsk  Code = "too-long-to-ask"
	TooLongToAuto Code = "too-long-to-auto"
	Flood         Code = "flood"
	UnknownID     Code = "unknown-id"
	WrongState    Code = "wrong-state"
	JournalFailed Code = "journal-failed"
	JournalBroken Code = "journal-broken"
	NotCaptured   Code = "not-captured"
	Interrupted   Code = "interrupted"
)

type entry struct {
	why   string
	fix   string
	again Again
}

var table = map[Code]entry{
	BadRequest:     {"the request is malformed", "the client must send what docs/wire.md describes", Never},
	UnknownMethod:  {"this server has no such method", "ask the server that serves it", Never},
	NotPermitted:   {"this user may not call here", "the policy names who may", After},
	PolicyDiffers:  {"the two processes hold different policies", "restart the one that holds the older policy", After},
	Busy:           {"too much is under way", "", Retry},
	TooLarge:       {"it is larger than the limit", "send less in one call", Never},
	Unavailable:    {"the process that must answer cannot be reached", "start `countersign up` and name its directory by --root or COUNTERSIGN_ROOT, or see `systemctl status 'countersign-*'`", Retry},
	Internal:       {"a fault of Countersign's own", "its log has the particulars", Retry},
	HandleRejected: {"a handle is not what it must be", "", Never},

	BadAction:    {"the action is not in the vocabulary", "", Never},
	PathNotClean: {"the path is not absolute and clean", "send it without `.`, `..`, empty segments or a trailing slash", Never},
	BadPattern:   {"the pattern cannot be searched for", "send another", Never},
	NoHands:      {"nothing in Countersign can carry this out, by design", "the owner does it", Never},
	NotYet:       {"this part of the vocabulary is not carried out yet", "", Never},

	NobodysHome:   {"the path lies in no person's home", "the policy names persons and homes", After},
	SeveralHomes:  {"one action lies in one home", "send one action for each home", Never},
	NotGranted:    {"no grant covers the path", "the owner's policy grants places", After},
	Denied:        {"the place is on the deny list", "the owner's policy can take an entry off it", After},
	GitDirectory:  {"nothing is written under a `.git`", "use a git action", Never},
	Link:          {"a symbolic link is in the way, and the grant does not follow links, or not there", "name the file itself", Never},
	MountCrossing: {"another filesystem is mounted on the way, and the grant does not cross mounts", "the owner's policy can allow it", After},
	MissingParent: {"a directory on the way does not exist", "", After},
	SamePlace:     {"two paths of one change reach one place", "send them as one change, or as two actions", Never},
	RootReplaced:  {"the grant's root was replaced during the call", "", Retry},

	NotFound:    {"there is no such file", "", After},
	NotRegular:  {"it is not a regular file", "", Never},
	NotText:     {"it is not UTF-8 text", "a binary write names its content type", Never},
	NotImage:    {"it is no PNG, JPEG, GIF or WebP image by its content", "", Never},
	OtherOwner:  {"the file belongs to another user", "its owner changes it", After},
	SetID:       {"the file is set-user-ID or set-group-ID", "the owner changes it by hand", After},
	NotWritable: {"the person has no write permission there", "the owner gives it", After},
	NotKept:     {"the new file could not be given what the old one had", "the owner changes it by hand", After},
	FileTooBig:  {"the file is over the size limit", "", After},

	NoGit:         {"no git can be run here", "the administrator installs it, or see `countersign status`", After},
	NotRepository: {"there is no repository", "name the root of a work tree", After},
	GitOutside:    {"a part of the repository lies in no place that is granted", "the owner's policy grants places", After},
	GitKind:       {"repositories of this kind cannot be answered for faithfully", "the owner looks by hand", Never},
	GitConfig:     {"the repository's configuration cannot be followed", "the owner mends it", After},
	GitFilter:     {"what the work tree holds is made by a filter, which is not run", "ask for the index or for a commit instead", Never},
	GitIncomplete: {"the repository lacks objects that this needs", "the owner fetches them", After},
	GitRevision:   {"it names no commit", "see `countersign git log` and `countersign git branches`", Never},
	GitFailed:     {"git could not answer", "", After},

	GitDoing:     {"something was begun in the repository and is not finished", "the owner finishes it, or gives it up", After},
	GitIdentity:  {"no name and address are configured to commit by; git says: Please tell me who you are", "the owner runs `git config --global user.name` and `user.email`", After},
	GitUntracked: {"git does not keep the path, and could not put it back", "name paths that the last commit or the index has", Never},

	NoMatch:    {"the old text does not occur in the file", "read the file again", After},
	MatchCount: {"the old text does not occur the stated number of times", "give more of the text around it, or the count", After},
	NoChange:   {"disk already holds exactly this", "nothing needs doing", Never},
	Outdated:   {"the file is not in the version this was proposed on", "read the file again and propose anew", After},
	Changed:    {"the file changed while the action was under way; nothing was written", "read the file again and propose anew", Retry},
	InUse:      {"a program has the file open for writing; nothing was written", "wait until it has closed it", Retry},
	Stale:      {"disk changed since this was shown; nothing was written", "look at the new preview and decide on that", After},
	Conflict:   {"the file changed since the action landed; it was left as it is", "the owner decides which version stands", After},
	Differs:    {"the scribe would not do what the keeper planned; nothing was written", "see the logs of both", Retry},

	DiskFull:     {"the filesystem is full; nothing was changed", "the owner makes room", After},
	Quota:        {"the disk quota is used up; nothing was changed", "the owner makes room", After},
	ReadOnly:     {"the filesystem is read-only", "the owner mounts it writable", After},
	NameTooLong:  {"the name is too long for the filesystem", "use a shorter name", Never},
	MountedFile:  {"the file itself is a mount point", "the owner unmounts it", After},
	Immutable:    {"the file or its directory is immutable or append-only", "the owner takes the flag off", After},
	NoExchange:   {"the filesystem cannot exchange two names", "the owner changes the file by hand", Never},
	PermissionNo: {"the kernel refused permission", "", After},
	DiskError:    {"the system reported an error", "", Retry},

	PolicyDenies:  {"the policy denies it", "the owner's policy decides", After},
	OwnerDenied:   {"the owner denied it", "", Never},
	TooLongToAsk:  {"an owner must be asked, and it is more new text than one can answer for", "send it in smaller actions", Never},
	TooLongToAuto: {"it is more than policy lands in one action", "send it in smaller actions", Never},
	Flood:         {"too many actions of this agent wait already", "wait for decisions, or withdraw some", After},
	UnknownID:     {"there is no such action", "see `countersign pending` and `countersign log`", Never},
	WrongState:    {"the action is past that", "see `countersign show`", Never},
	JournalFailed: {"the journal could not be written; nothing was done", "the owner makes room or sees the keeper's log, and starts it again", After},
	JournalBroken: {"the journal is not what was written", "the owner keeps a copy of it and finds out who or what changed it", After},
	NotCaptured:   {"what would be replaced could not be kept", "", After},
	Interrupted:   {"the keeper was interrupted before anything was done", "propose it again", Never},
}
