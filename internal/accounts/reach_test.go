package accounts

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/testas"
)

const (
	person = testas.Person
	agent  = 61111
	shared = 61112 // a gid
)

// P7: whether an agent could enter a home, or put another in its place, is the
// kernel's own answer: mode, access control list, groups, and every directory
// above.
func TestReach(t *testing.T) {
	testas.Root(t)
	for name, c := range map[string]struct {
		home  os.FileMode
		above os.FileMode
		owner int // of the directory above
		acl   bool
		gids  []uint32
		want  bool
	}{
		"closed":                         {home: 0o700, above: 0o755},
		"open to all":                    {home: 0o755, above: 0o755, want: true},
		"to be entered only":             {home: 0o711, above: 0o755, want: true},
		"to be listed only":              {home: 0o704, above: 0o755, want: true},
		"to be written only":             {home: 0o702, above: 0o755, want: true},
		"open behind a closed directory": {home: 0o755, above: 0o700},
		"open to a group":                {home: 0o750, above: 0o755},
		"open to its group":              {home: 0o750, above: 0o755, gids: []uint32{shared}, want: true},
		"open to one by list":            {home: 0o700, above: 0o755, acl: true, want: true},
		"by list, behind a closed one":   {home: 0o700, above: 0o700, acl: true},
		"in a directory all may change":  {home: 0o700, above: 0o777, want: true},
		"in one that is sticky":          {home: 0o700, above: 0o777 | os.ModeSticky},
		"in the agent's own":             {home: 0o700, above: 0o555, owner: agent, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "countersign-reach-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			above := filepath.Join(dir, "above")
			home := filepath.Join(above, "home")
			must(t, os.Chmod(dir, 0o755), os.Mkdir(above, 0o755), os.Mkdir(home, 0o755), os.Chown(home, person, shared), os.Chmod(home, c.home))
			if c.acl {
				must(t, unix.Setxattr(home, "system.posix_acl_access", letIn(agent), 0))
			}
			must(t, os.Chmod(above, c.above), os.Chown(above, c.owner, 0))
			how, err := reach(agent, append([]uint32{agent}, c.gids...), home)
			if err != nil || (how != "") != c.want {
				t.Errorf("%q, %v; want %v", how, err, c.want)
			}
			if how, err := reach(person, []uint32{person}, home); c.above == 0o755 && (how == "" || err != nil) {
				t.Errorf("the person cannot enter: %v", err)
			}
		})
	}
	if os.Geteuid() != 0 {
		t.Error("this process is root no more")
	}
	if err := os.Mkdir(filepath.Join(t.TempDir(), "d"), 0o700); err != nil {
		t.Error("a thread of another user's serves on: ", err)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// letIn encodes an access control list by which one user may enter beside the
// owner: version 2, entries of tag, permission and id.
func letIn(uid uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range [][3]uint32{{0x01, 7, ^uint32(0)}, {0x02, 1, uid}, {0x04, 0, ^uint32(0)}, {0x10, 1, ^uint32(0)}, {0x20, 0, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, uint16(e[0]))
		b = binary.LittleEndian.AppendUint16(b, uint16(e[1]))
		b = binary.LittleEndian.AppendUint32(b, e[2])
	}
	return b
}

// P7: the look at a home is taken with an agent's rights to files and with
// nothing else of the agent's: its user could otherwise stop or kill the
// command that judges it.
func TestBecomesNobodysProcess(t *testing.T) {
	testas.Root(t)
	var status []byte
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked
		if err = become(agent, []uint32{agent}); err == nil {
			status, err = os.ReadFile("/proc/thread-self/status")
		}
	}()
	<-done
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("Uid:\t0\t0\t0\t%d\n", agent)
	if !strings.Contains(string(status), want) || !strings.Contains(string(status), strings.Replace(want, "Uid", "Gid", 1)) {
		t.Errorf("the ids are not %q:\n%s", want, status)
	}
}
