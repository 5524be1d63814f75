package gitread

import (
	"context"
	"testing"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/testas"
	"countersign/tests/gitlab"
)

// R15, G4: whatever program a configuration, an attribute file or a hook names,
// wherever the configuration is, none of it runs when everything is asked, and
// nothing is written; plain git, asked the same, runs it.
func TestNothingIsRun(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for _, d := range gitlab.Doors() {
		for i, where := range gitlab.Where() {
			if d.Config == "" && i > 0 {
				break // it is in no configuration, or in one place alone
			}
			t.Run(d.Name+" in "+where, func(t *testing.T) {
				b := gitlab.New(t)
				b.Arm(d, where)
				b.Fired() // what building it ran
				r := over(t, b)
				before := gitlab.Stamps(b.Home)
				lookAtAll(r)
				if after := gitlab.Stamps(b.Home); after != before {
					t.Errorf("something was written:\n%s", difference(before, after))
				}
				if b.Fired() {
					t.Error("it ran")
				}
				b.Look()
				if b.Fired() != d.Fires {
					t.Errorf("the control: plain git runs it: %v", !d.Fires)
				}
			})
		}
	}
}

// lookAtAll asks all that can be asked; some of it is refused.
func lookAtAll(r *reader) {
	ctx := context.Background()
	r.status()
	r.log()
	for _, p := range []protocol.GitDiffParams{{}, {Index: true}, {From: "HEAD"}, {From: "HEAD~1", To: "HEAD"}} {
		r.diff(p)
	}
	r.show(protocol.GitShowParams{})
	for _, name := range []action.Path{"a.txt", "t.txt", "d.txt", "dir"} {
		r.show(protocol.GitShowParams{Rev: "HEAD", Path: name})
		r.blame("", string(name))
		r.blame("HEAD", string(name))
	}
	r.Branches(ctx, protocol.GitBranchesParams{Repository: r.root()})
}
