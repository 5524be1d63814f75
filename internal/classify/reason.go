package classify

import (
	"cmp"
	"fmt"
	"slices"

	"countersign/internal/action"
)

// Name is one of the closed list of reasons.
type Name string

// The reasons, gravest first.
const (
	DataDeletion       Name = "data-deletion"       // something is removed, or replaced without a copy
	NotCaptured        Name = "not-captured"        // what is replaced could not be kept
	OutsideSnapshot    Name = "outside-snapshot"    // outside the directories the policy says are kept
	Publication        Name = "publication"         // it leaves the machine
	RunsLater          Name = "runs-later"          // something runs it without the person asking for that
	Credentials        Name = "credentials"         // it holds secrets, or is where they are kept
	PermissionsWidened Name = "permissions-widened" // more people may read, write or run it than before
	AttributesLost     Name = "attributes-lost"     // the file loses a group, list or attribute that cannot be kept
	BinaryContent      Name = "binary-content"      // what a diff cannot show
	Large              Name = "large"               // more than a person reads
	OthersWork         Name = "others-work"         // a commit of changes that this agent did not make
	ForeignIdentity    Name = "foreign-identity"    // a commit in a name the repository chose
)

// Names lists every reason in the order of the constants.
func Names() []Name {
	return []Name{DataDeletion, NotCaptured, OutsideSnapshot, Publication, RunsLater, Credentials,
		PermissionsWidened, AttributesLost, BinaryContent, Large, OthersWork, ForeignIdentity}
}

// Reason is one reason at one path.
type Reason struct {
	Name  Name        `cbor:"name" json:"name"`
	Path  action.Path `cbor:"path" json:"path"`                       // as the action spells it
	Entry string      `cbor:"entry,omitempty" json:"entry,omitempty"` // the table entry that matched
	Why   string      `cbor:"why,omitempty" json:"why,omitempty"`     // for people; holds no byte an agent chose
}

// maxPaths bounds how many paths are listed for one reason.
const maxPaths = 16

// sorted puts reasons in one order, each once. Of a reason that many paths give,
// the last one listed says how many more there are.
func sorted(rs []Reason) []Reason {
	if len(rs) == 0 {
		return rs
	}
	rank := make(map[Name]int)
	for i, n := range Names() {
		rank[n] = i
	}
	slices.SortFunc(rs, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(rank[a.Name], rank[b.Name]), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Entry, b.Entry), cmp.Compare(a.Why, b.Why))
	})
	rs = slices.Compact(rs)
	out := rs[:0]
	for len(rs) > 0 {
		n := 1
		for n < len(rs) && rs[n].Name == rs[0].Name {
			n++
		}
		out = append(out, rs[:min(n, maxPaths)]...)
		if n > maxPaths {
			out[len(out)-1].Why += fmt.Sprintf("; and %d more like it", n-maxPaths)
		}
		rs = rs[n:]
	}
	return out
}
