package policy

import (
	"slices"
	"strings"
	"time"

	"countersign/internal/action"
	"countersign/internal/classify"
	"countersign/internal/grant"
	"countersign/internal/refusal"
)

// Policy is a policy file that was found sound. It is made by Parse, never
// changed afterwards, and safe for use by several goroutines.
type Policy struct {
	Digest  action.Hash        // of the file's bytes
	Homes   action.Path        // the directory that every home lies beneath
	Persons map[string]*Person // by name; at least one
	Agents  map[string]*Agent  // by name

	Verdicts map[action.Capability]Verdict // of every capability that a policy decides
	Asks     map[classify.Name]bool        // the reasons that ask
	Consent  Consent
	Limits   Limits
	Keep     Keep

	tables *classify.Tables // what counts as running later and as credentials

	lines lines // where each key stands, to name the line that decided
}

// Person is one whose home agents may work in.
type Person struct {
	Name          string
	UID           uint32
	Home          action.Path
	Owners        []string // names of the persons who decide for this home
	Umask         uint32   // of new files and directories
	Grants        grant.Set
	SnapshotRoots []action.Path // a change outside them has the reason outside-snapshot
}

// Agent is a user that proposes and never writes.
type Agent struct {
	Name    string
	UID     uint32
	Persons []string // names of the persons whose readers answer it, for whom it may propose
}

// Consent bounds what waits for an owner.
type Consent struct {
	Expire          time.Duration // what waits longer is denied
	PendingPerAgent int64         // actions of one agent that may wait at once
	Unseparated     bool          // agents may share a person's uid, and approve what they propose
}

// Limits are in bytes.
type Limits struct {
	AskedText int64 // new text of one action that an owner can be asked about
	AutoBytes int64 // content of one action that policy lands alone; also the largest file that is captured
	Large     int64 // content of one file from which on the reason large stands
}

// Keep bounds the vault.
type Keep struct {
	Captures time.Duration
	Size     int64 // bytes
}

// PersonByUID gives the person with this uid, or nil.
func (p *Policy) PersonByUID(uid uint32) *Person {
	for _, person := range p.Persons {
		if person.UID == uid {
			return person
		}
	}
	return nil
}

// AgentByUID gives the agent with this uid, or nil. Where an unseparated
// policy has several, it is the first by name.
func (p *Policy) AgentByUID(uid uint32) *Agent {
	var found *Agent
	for _, a := range p.Agents {
		if a.UID == uid && (found == nil || a.Name < found.Name) {
			found = a
		}
	}
	return found
}

// HomeOf gives the person in whose home path lies, by its listed place, or the
// refusal nobodys-home.
func (p *Policy) HomeOf(path action.Path) (*Person, error) {
	for _, person := range p.Persons {
		if within(person.Home, path) {
			return person, nil
		}
	}
	return nil, refusal.New(refusal.NobodysHome, path.String(), "")
}

// AgentMay says whether the agent of this name may read and propose for the
// person of that name.
func (p *Policy) AgentMay(agent, person string) bool {
	a := p.Agents[agent]
	return a != nil && slices.Contains(a.Persons, person)
}

// OwnerOf says whether uid may decide for the home of the person of this name.
// An agent's uid never may, whatever a list says, unless the policy is
// unseparated.
func (p *Policy) OwnerOf(uid uint32, person string) bool {
	home, owner := p.Persons[person], p.PersonByUID(uid)
	if home == nil || owner == nil || p.AgentByUID(uid) != nil && !p.Consent.Unseparated {
		return false
	}
	return slices.Contains(home.Owners, owner.Name)
}

// InSnapshotRoot says whether path, as it lands, is under a snapshot root.
func (p *Person) InSnapshotRoot(path action.Path) bool {
	return slices.ContainsFunc(p.SnapshotRoots, func(root action.Path) bool { return within(root, path) })
}

// within says whether path is root or beneath it, by whole names.
func within(root, path action.Path) bool {
	rest, ok := strings.CutPrefix(string(path), strings.TrimSuffix(string(root), "/"))
	return ok && (rest == "" || rest[0] == '/')
}
