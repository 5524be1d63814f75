package gitrun

import (
	"bytes"
	"os/exec"
	"testing"

	"countersign/tests/gitlab"
)

// R15, G4: the vectors, settings and environment run nothing by themselves, with
// no wall around git: the walls are a second line.
func TestVectorsRunNothing(t *testing.T) {
	for _, d := range gitlab.Doors() {
		where := "repository"
		b := gitlab.New(t)
		b.Arm(d, where)
		b.Fired()
		var filters []string
		if d.Filter != "" {
			filters = []string{d.Filter}
		}
		env, err := variables(b.Root+"/.git", b.Root, Values{}, nil, filters)
		must(t, err)
		for name, row := range vectors() {
			if row.writes {
				continue
			}
			args, err := compose(name, Values{Rev: "HEAD", From: "HEAD~1", Paths: []string{"t.txt"}, Blob: b.Git("rev-parse", "HEAD:t.txt")})
			must(t, err)
			b.Fired() // what finding the hash ran
			c := exec.Command("/usr/bin/git", args[1:]...)
			c.Dir, c.Env, c.Stdin = b.Root, env, bytes.NewReader([]byte("t.txt\x00"))
			c.Run()
			if b.Fired() {
				t.Errorf("%s: the vector %s runs it", d.Name, name)
			}
		}
		b.Look()
		if b.Fired() != d.Fires {
			t.Errorf("%s: the control: plain git runs it: %v", d.Name, !d.Fires)
		}
	}
}
