package up

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/testas"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// in runs f in a view, on a thread that ends with it.
func in(t *testing.T, v *view, f func()) {
	t.Helper()
	entered := make(chan error)
	onThread(func() {
		err := v.enter()
		if err == nil {
			f()
		}
		entered <- err
	})
	err := <-entered
	if errors.Is(err, errNoMounts) && os.Getenv(testas.NeedsRoot) != "fail" {
		t.Skip("needs a root that may mount")
	}
	must(t, err)
}

func writing(path string) error {
	err := os.WriteFile(path, []byte("x"), 0o600)
	if err == nil {
		os.Remove(path)
	}
	return err
}

// P12: in its view a reader sees its person's home, and a mount keeps even root
// from writing there; of the other homes, listed or not, nothing is seen; the
// policy is, wherever it lies, and outside the view nothing has changed.
func TestView(t *testing.T) {
	testas.Root(t)
	dir := t.TempDir()
	// On many machines mounts are shared; then only a view that keeps its own
	// apart does not spread.
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, ""), unix.Mount("", dir, "", unix.MS_SHARED, ""))
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	for _, d := range []string{"homes/alice", "homes/alice/sub", "homes/bob", "homes/bob/deep", "homes/carol", "elsewhere/dave"} {
		must(t, os.MkdirAll(filepath.Join(dir, d), 0o755), os.WriteFile(filepath.Join(dir, d, "f"), []byte("x"), 0o644))
	}
	policy := dir + "/homes/carol/policy.toml"
	must(t, os.WriteFile(policy, nil, 0o644), os.Symlink(dir+"/elsewhere", dir+"/homes/link"))
	v := &view{readOnly: true, hidden: []string{dir + "/homes", dir + "/elsewhere/dave", dir + "/homes/link", dir + "/none"}, seen: []string{dir + "/homes/alice", policy}}
	in(t, v, func() {
		for _, name := range []string{"homes/bob/f", "homes/bob/deep/f", "elsewhere/dave/f"} {
			if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, unix.ENOENT) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, d := range []string{dir, dir + "/homes/alice", dir + "/homes/bob", dir + "/elsewhere/dave", "/tmp", "/etc"} {
			if err := writing(d + "/new"); !errors.Is(err, unix.EROFS) {
				t.Errorf("writing in %s: %v", d, err)
			}
		}
		for _, f := range []string{dir + "/homes/alice/f", dir + "/homes/alice/sub/f", policy} {
			if _, err := os.ReadFile(f); err != nil {
				t.Errorf("what stays in view: %v", err)
			}
		}
	})
	must(t, writing(dir+"/homes/alice/new"), writing(dir+"/homes/bob/new"))
	if _, err := os.Stat(dir + "/homes/bob/f"); err != nil {
		t.Errorf("outside the view: %v", err)
	}
}

// P12: a scribe's view can be written where the scribe may, and a home that is
// replaced under it is seen as the new one.
func TestViewIsNotBound(t *testing.T) {
	testas.Root(t)
	dir := t.TempDir()
	home := dir + "/homes/alice"
	must(t, os.MkdirAll(home, 0o755), os.MkdirAll(dir+"/homes/bob", 0o755))
	entered, replaced, looked := make(chan error), make(chan error), make(chan error)
	onThread(func() {
		v := &view{hidden: []string{dir + "/homes"}, seen: []string{home}}
		entered <- errors.Join(v.enter(), writing(home+"/new"))
		<-replaced
		_, err := os.Stat(home + "/second")
		looked <- err
	})
	must(t, <-entered, os.Rename(home, dir+"/homes/old"), os.Mkdir(home, 0o755), os.WriteFile(home+"/second", nil, 0o644))
	close(replaced)
	must(t, <-looked)
}
