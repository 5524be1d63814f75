package gitwrite

import (
	"testing"

	"countersign/internal/refusal"
	"countersign/internal/testas"
	"countersign/tests/gitlab"
)

// G4, G7: over each kind of repository a commit makes the tree that plain git
// would make and leaves a repository that plain git finds sound and clean, or it
// is refused by name and nothing is changed.
func TestMatrix(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	made := 0
	for _, k := range gitlab.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			b := gitlab.New(t)
			k.Build(b)
			person(b)
			x := over(t, b, nil)
			want, plainErr := wouldMake(t, b)
			before := state(b)
			out, err := x.do(commitOf(b, "of everything\n\n# kept\n"))
			if err != nil {
				r := refusal.As(err)
				t.Logf("refused: %v (plain git: %v)", err, plainErr)
				if r == nil || r.Code == refusal.Changed || r.Code == refusal.Differs || r.Code == refusal.GitFailed && plainErr == nil {
					t.Errorf("%v", err)
				}
				if after := state(b); after != before {
					t.Errorf("something was changed:\n%q\n%q", before, after)
				}
				return
			}
			made++
			if tree := b.Git("rev-parse", "HEAD^{tree}"); tree != want {
				t.Errorf("tree %s, plain git makes %s", tree, want)
			}
			if head := b.Git("rev-parse", "HEAD"); head != out.Git.Commit {
				t.Errorf("HEAD %s, %+v", head, out.Git)
			}
			if said, err := b.Try(b.Root, "fsck", "--strict"); err != nil {
				t.Errorf("fsck: %v: %s", err, said)
			}
			if said := b.Git("status", "--porcelain", "--ignore-submodules=dirty"); said != "" {
				t.Errorf("status: %s", said)
			}
			if body := b.Git("log", "-1", "--format=%an <%ae> %cn|%B"); body != "Alice <alice@example.org> Alice|of everything\n\n# kept" {
				t.Errorf("%q", body)
			}
		})
	}
	if made < 30 {
		t.Errorf("%d were committed", made)
	}
}
