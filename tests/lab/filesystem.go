package lab

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Filesystem makes a filesystem of the test's own in a file of a size in MiB,
// and mounts it on a directory until the test ends. mkfs is the program that
// makes it, with its flags. It needs root.
func Filesystem(t testing.TB, dir string, size int64, mkfs ...string) {
	t.Helper()
	Need(t, mkfs[0])
	image := filepath.Join(t.TempDir(), "image")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, size<<20)); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{append(mkfs, image), {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c, err, out)
		}
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
	os.Remove(filepath.Join(dir, "lost+found"))
}
