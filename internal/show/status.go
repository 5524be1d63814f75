package show

import (
	"strings"

	"countersign/internal/action"
	"countersign/internal/protocol"
)

// Status shows what the keeper says of itself.
func (w Writer) Status(s protocol.StatusResult) {
	w.line("keeper: pid %d, uid %d, walls: %s", s.PID, s.UID, strings.Join(s.Walls, ", "))
	w.line("policy: %s", s.Policy)
	w.line("journal: %d records, head %s", s.Records, s.Head)
	if s.Cut != "" {
		w.line("journal: a torn end was cut off at the last start: %s", s.Cut)
	}
	w.line("waiting: %d", s.Waiting)
	for _, p := range s.Persons {
		w.line("%s (uid %d, %s): reader %s, scribe %s", p.Name, p.UID, action.Path(p.Home), p.Reader, p.Scribe)
		w.walls("reader", p.ReaderWalls)
		w.git("reader", p.ReaderGit)
		w.walls("scribe", p.ScribeWalls)
		w.git("scribe", p.ScribeGit)
	}
}

// git names the git that a person's process runs, or says why it runs none.
func (w Writer) git(process string, g *protocol.GitRun) {
	switch {
	case g == nil:
	case g.Why != "":
		w.line("  the %s runs no git: %s", process, g.Why)
	default:
		w.line("  git of the %s: %s, version %s, walls: %s", process, action.Path(g.Path), g.Version, strings.Join(g.Walls, ", "))
	}
}

// walls names the walls around a person's process, where it told them.
func (w Writer) walls(process string, standing []string) {
	if len(standing) > 0 {
		w.line("  walls of the %s: %s", process, strings.Join(standing, ", "))
	}
}
