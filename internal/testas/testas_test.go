package testas

import (
	"os"
	"slices"
	"testing"
)

// A test of a person's is run by the kernel as that person: uid, own group and
// the one besides, and nothing of root's.
func TestUser(t *testing.T) {
	t.Run("sub test, with a space", func(t *testing.T) {
		dir, ok := Prepared(t, Person, func() string { return Dir(t) })
		if !ok {
			return
		}
		groups, err := os.Getgroups()
		slices.Sort(groups)
		if os.Geteuid() != Person || os.Getegid() != Person || err != nil || !slices.Equal(groups, []int{Person, int(Group(Person))}) {
			t.Errorf("uid %d, gid %d, groups %v, %v", os.Geteuid(), os.Getegid(), groups, err)
		}
		if _, err := os.ReadDir(dir); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(dir+"/f", nil, 0o644); err == nil {
			t.Error("root's directory could be written to")
		}
	})
}
