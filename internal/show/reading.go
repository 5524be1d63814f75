package show

import (
	"fmt"
	"strings"
	"time"

	"countersign/internal/action"
	"countersign/internal/protocol"
)

// Title names the file whose text comes next.
func (w Writer) Title(p action.Path) { w.line("==> %s <==", p) }

// Listing shows what is in a directory, or what is granted. In a pipe it is a
// line for each entry too, with the name last: nothing behind it can be its
// own.
func (w Writer) Listing(l protocol.Listing) {
	for _, g := range l.Grants {
		w.granted(g)
	}
	if len(l.PassedOver) > 0 {
		w.line("whole walks pass over: %s", strings.Join(l.PassedOver, " "))
	}
	for _, e := range l.Entries {
		name := e.Name
		if name == "" {
			name = l.Path
		}
		w.line("%s  %s", about(e.About), name)
		w.where(e.About)
	}
}

func (w Writer) granted(g protocol.Granted) {
	op := "read "
	if g.Write {
		op = "write"
	}
	w.line("%s  %s", op, g.Root)
	w.some("include", g.Include)
	w.some("ignore", g.Ignore)
	w.line("  files up to %d bytes", g.MaxFileSize)
	if g.FollowLinks {
		w.line("  links that stay inside are followed")
	}
	if g.CrossMounts {
		w.line("  mounted filesystems are entered")
	}
	if g.Why != "" {
		w.line("  unavailable: %s", g.Why)
	}
}

func (w Writer) some(what string, patterns []string) {
	if len(patterns) > 0 {
		w.line("  %s: %s", what, strings.Join(patterns, " "))
	}
}

// about is a file's kind, mode, size and time in columns.
func about(a protocol.About) string {
	letter := map[protocol.Kind]string{
		protocol.KindFile: "-", protocol.KindDirectory: "d", protocol.KindLink: "l", protocol.KindPipe: "p", protocol.KindSocket: "s",
	}[a.Kind]
	if letter == "" {
		letter = "b"
	}
	return fmt.Sprintf("%s%04o %10d  %s", letter, a.Mode, a.Size, time.Unix(0, a.Mtime).Format(time.DateTime))
}

// where says where a link leads, or why nothing goes through.
func (w Writer) where(a protocol.About) {
	if a.Target != "" {
		w.line("    leads to %s", a.Target)
	}
	if a.Why != "" {
		w.line("    %s", a.Why)
	}
	if a.Links > 1 {
		w.line("    it has %d names", a.Links)
	}
	if a.Grant {
		w.line("    another grant begins here")
	}
}

// Matches shows paths, one a line.
func (w Writer) Matches(list []protocol.Match) {
	for _, m := range list {
		w.line("%s", m.Path)
	}
}

// Stat shows what stands at a path.
func (w Writer) Stat(f protocol.StatFile) {
	w.line("%s  %s", about(*f.About), f.Path)
	w.where(*f.About)
	may := "read"
	if f.Write {
		may = "read and write"
	}
	w.line("    uid %d, gid %d; to %s, by the grant of %s", f.UID, f.GID, may, f.Root)
}

// Walked says what a walk did not show.
func (w Writer) Walked(s protocol.Walked) {
	for _, m := range s.Missed {
		w.line("countersign: not looked into: %s: %s", named(m.Path), m.Why)
	}
	if s.MissedMore > 0 {
		w.line("countersign: and %d more", s.MissedMore)
	}
	if s.Passed > 0 {
		w.line("countersign: passed over %d names; --all shows them", s.Passed)
	}
	if s.Next != "" {
		w.line("countersign: there is more: --after %s", s.Next.Quoted())
	}
}
