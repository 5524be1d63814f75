package fault

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/tests/hands"
	"countersign/tests/lab"
)

// scenario is a change whose every call is to fail once.
type scenario struct {
	name string
	act  func(dir string) action.Action
	old  map[string]entry // by path in dir, the directories too
	now  map[string]entry // once it has landed
}

// entry is what is compared of a file or a directory.
type entry struct {
	kind     uint32 // S_IFREG or S_IFDIR
	mode     uint32
	uid, gid uint32
	content  string
	acl      string // its access control list, as the kernel spells it
	note     string // its attribute user.note
}

func file(content string, mode uint32) entry {
	return entry{kind: unix.S_IFREG, mode: mode, uid: lab.Alice, gid: lab.Alice, content: content}
}

func directory() entry {
	return entry{kind: unix.S_IFDIR, mode: 0o755, uid: lab.Alice, gid: lab.Alice}
}

// rich is a file that has everything that is kept.
func rich(content string) entry {
	e := file(content, 0o640)
	e.acl, e.note = acl(), "alice's own"
	return e
}

// acl lets one more user read what is 0640: a version, then a tag, permissions
// and an id each (linux/posix_acl_xattr.h).
func acl() string {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{0x01, 6, ^uint32(0)}, {0x02, 4, lab.Bob}, {0x04, 4, ^uint32(0)}, {0x10, 4, ^uint32(0)}, {0x20, 0, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return string(b)
}

// put makes a tree of alice's, as if it had always been there.
func put(dir string, tree map[string]entry) error {
	for _, name := range inOrder(tree) {
		e, path := tree[name], filepath.Join(dir, name)
		var err error
		if e.kind == unix.S_IFDIR {
			err = os.Mkdir(path, 0o700)
		} else {
			err = os.WriteFile(path, []byte(e.content), 0o600)
		}
		if err == nil && e.note != "" {
			err = unix.Setxattr(path, "user.note", []byte(e.note), 0)
		}
		err = errors.Join(err, os.Chown(path, int(e.uid), int(e.gid)), unix.Chmod(path, e.mode))
		if err == nil && e.acl != "" {
			err = unix.Setxattr(path, "system.posix_acl_access", []byte(e.acl), 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func text(line string) string { return strings.Repeat(line+"\n", 200) }

func scenarios() []scenario {
	const top = "first\n"
	was, becomes := top+text("line"), "changed\n"+text("line")
	return []scenario{
		{
			name: "edit of one file",
			act:  func(dir string) action.Action { return hands.Changes(hands.Edit(dir+"/a.txt", top, "changed\n")) },
			old:  map[string]entry{"": directory(), "a.txt": rich(was)},
			now:  map[string]entry{"": directory(), "a.txt": rich(becomes)},
		},
		{
			name: "new file with missing parents",
			act:  func(dir string) action.Action { return hands.Changes(hands.Write(dir+"/new/deep/a.txt", becomes)) },
			old:  map[string]entry{"": directory()},
			now:  map[string]entry{"": directory(), "new": directory(), "new/deep": directory(), "new/deep/a.txt": file(becomes, 0o644)},
		},
		{
			name: "delete",
			act:  func(dir string) action.Action { return hands.Changes(hands.Delete(dir + "/a.txt")) },
			old:  map[string]entry{"": directory(), "a.txt": rich(was)},
			now:  map[string]entry{"": directory()},
		},
		{
			name: "three files in two directories",
			act: func(dir string) action.Action {
				return hands.Changes(hands.Edit(dir+"/one/a.txt", top, "changed\n"), hands.Write(dir+"/two/new/b.txt", becomes), hands.Delete(dir+"/two/c.txt"))
			},
			old: map[string]entry{"": directory(), "one": directory(), "two": directory(), "one/a.txt": rich(was), "two/c.txt": file(was, 0o600)},
			now: map[string]entry{"": directory(), "one": directory(), "two": directory(), "one/a.txt": rich(becomes),
				"two/new": directory(), "two/new/b.txt": file(becomes, 0o644)},
		},
	}
}

// survey looks at everything beneath a directory, by itself and as root.
func survey(dir string) (map[string]entry, error) {
	tree := map[string]entry{}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &st)
		}
		if err != nil {
			return err
		}
		e := entry{kind: st.Mode & unix.S_IFMT, mode: st.Mode & 0o7777, uid: st.Uid, gid: st.Gid}
		if e.kind == unix.S_IFREG {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			e.content = string(b)
			e.acl, e.note = attribute(path, "system.posix_acl_access"), attribute(path, "user.note")
		}
		name, _ := filepath.Rel(dir, path)
		if name == "." {
			name = ""
		}
		tree[name] = e
		return nil
	})
	return tree, err
}

func attribute(path, name string) string {
	b := make([]byte, 1<<10)
	n, err := unix.Lgetxattr(path, name, b)
	if errors.Is(err, unix.ENODATA) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	return string(b[:n])
}

// differs says in words how two trees differ; nothing where they do not.
func differs(got, want map[string]entry) (says []string) {
	for _, name := range inOrder(want) {
		g, there := got[name]
		if w := want[name]; !there {
			says = append(says, fmt.Sprintf("%q is gone", name))
		} else if g != w {
			says = append(says, fmt.Sprintf("%q is %.80q, want %.80q", name, fmt.Sprint(g), fmt.Sprint(w)))
		}
	}
	for _, name := range inOrder(got) {
		if _, wanted := want[name]; !wanted {
			says = append(says, fmt.Sprintf("%q is there", name))
		}
	}
	return says
}
