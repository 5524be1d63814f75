// Package testas runs tests as the users they are about: the kernel's answers
// to a person, to an agent and to root differ, and a test that runs as root
// alone sees mode bits that hold nobody.
//
// It is for tests only. It does NOT make users: uids are numbers, and a number
// needs no entry in any list.
package testas

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Person is the uid that tests use for a person. No system hands it out.
const Person = 61101

// NeedsRoot is the environment variable that, set to "fail", turns a test that
// was skipped for want of root into one that failed.
const NeedsRoot = "COUNTERSIGN_TEST_NEEDS_ROOT"

const (
	envUID = "COUNTERSIGN_TEST_AS"
	envDir = "COUNTERSIGN_TEST_DIR"
)

// Root skips a test that does not run as root.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv(NeedsRoot) == "fail" {
		t.Fatal("needs root, and " + NeedsRoot + " says that this is a failure")
	}
	t.Skip("needs root")
}

// Group is a group that the user of this uid is in besides its own, which has
// the uid's number.
func Group(uid uint32) uint32 { return uid + 1 }

// User says whether the calling test runs as uid. Run by root it does not: the
// same test is run again in a process of that user's, which is told true, and
// the caller returns. Run by anybody else, it runs as it is.
func User(t *testing.T, uid uint32) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	again(t, uid, "")
	return false
}

// Prepared is User for a test that needs root's preparations: prepare runs as
// root and gives a directory, which the user's process is told. The directory
// may be entered by every user on its way there; whether it is the user's own
// is prepare's to say.
func Prepared(t *testing.T, uid uint32, prepare func() string) (dir string, ok bool) {
	t.Helper()
	if os.Getenv(envUID) == strconv.Itoa(os.Geteuid()) {
		return os.Getenv(envDir), true
	}
	Root(t)
	again(t, uid, prepare())
	return "", false
}

// Dir makes a directory that every user may enter, and that goes with the
// test. It is root's to call, for Prepared.
func Dir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "testas")
	if err == nil {
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// again runs the calling test in a process of another user's. A test that does
// not pass there does not pass here, one that was skipped there included.
func again(t *testing.T, uid uint32, dir string) {
	t.Helper()
	names := strings.Split(t.Name(), "/")
	for i, n := range names {
		names[i] = "^" + regexp.QuoteMeta(n) + "$"
	}
	cmd := exec.Command("/proc/self/exe", "-test.run="+strings.Join(names, "/"), "-test.v", "-test.count=1", "-test.timeout=5m")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), envUID+"="+strconv.Itoa(int(uid)), envDir+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uid, Gid: uid, Groups: []uint32{uid, Group(uid)}},
	}
	out, err := cmd.CombinedOutput()
	if err == nil && !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		err = errors.New("it did not run")
	}
	if err != nil {
		t.Fatalf("as uid %d: %v\n%s", uid, err, out)
	}
	if testing.Verbose() {
		t.Logf("as uid %d:\n%s", uid, out)
	}
}
