package daemon

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/testas"
)

// R3: a grant's root on a filesystem that does not answer holds up no call that
// is looked at, and counts as unchanged; what changes beside it is still seen.
func TestSilentRoot(t *testing.T) {
	testas.Root(t)
	dir := t.TempDir()
	policy, root, other := filepath.Join(dir, "policy"), filepath.Join(dir, "root"), filepath.Join(dir, "other")
	for _, err := range []error{os.WriteFile(policy, nil, 0o644), os.Mkdir(root, 0o755), os.Mkdir(other, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no FUSE here: %v", err)
	}
	if err := unix.Mount("silent", root, "fuse", 0, "fd="+strconv.Itoa(fd)+",rootmode=40000,user_id=0,group_id=0"); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(root, unix.MNT_DETACH)
	defer unix.Close(fd) // whoever waits is told so
	w := NewWatch("a daemon", policy)
	w.Directories("a root", filepath.Join(root, "deep"), other)
	for range 3 {
		if err := w.Check(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(other, other+"-gone"); err != nil {
		t.Fatal(err)
	}
	if err := w.Check(); err == nil {
		t.Error("a root that went was not noticed")
	}
}
