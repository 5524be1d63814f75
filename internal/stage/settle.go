package stage

import (
	"cmp"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Settle finds out how far an intent came, from what stands at its paths and
// under its staged names, and finishes it or takes it back, as a whole. It
// waits for a Carry of the same landings. An intent that was settled is never
// carried out afterwards, should its request still be on the way.
//
// It never guesses: where disk is neither as captured nor as planned and no
// staged name tells more, the outcome is unknown.
func (s *Stager) Settle(in protocol.Intent) (protocol.Outcome, []*os.File, error) {
	if in.Action == (action.Action{}) {
		return protocol.Outcome{Result: protocol.NotLanded, Words: "it changes nothing"}, nil, nil
	}
	if err := s.check(in); err != nil {
		return protocol.Outcome{}, nil, err
	}
	s.mu.Lock()
	s.settled[in.ID] = true
	s.mu.Unlock()
	w, err := s.find(in)
	if err != nil {
		return unknown(in, "its place cannot be looked at: "+err.Error()), nil, nil
	}
	defer w.close()
	defer s.locks.lock(w.landings())()
	settling := settling{work: w}
	made := in.Action.Made()
	for i, c := range w.changes {
		c.planned.Made = made[i]
		if !c.whereItWas() {
			return unknown(in, "the directory of "+c.what+" is not the one it was"), nil, nil
		}
		one := &interrupted{change: c, want: in.Results[i]}
		if err := one.lookBoth(); err != nil {
			return unknown(in, err.Error()), nil, nil
		}
		settling.changes = append(settling.changes, one)
	}
	return settling.settle()
}

func unknown(in protocol.Intent, words string) protocol.Outcome {
	out := protocol.Outcome{Result: protocol.Unknown, Words: words}
	for _, f := range in.Facts {
		out.Changes = append(out.Changes, protocol.PathOutcome{Path: f.Path, Did: protocol.Unsettled})
	}
	return out
}

// whereItWas says whether the place of a change is the one that was captured,
// or lies in directories that were missing then. As many of them as are there
// now may have been made for it.
func (c *change) whereItWas() bool {
	was, now := c.fact.Base.Landing, c.place.Landing()
	made := len(was.Missing()) - len(now.Missing())
	if made < 0 || c.place.Name != lastName(was) {
		return false
	}
	c.made = made
	dir := int(c.place.Dir.Fd())
	var st unix.Stat_t
	err := unix.Fstat(dir, &st)
	for range made {
		if err != nil {
			return false
		}
		up, upErr := unix.Openat(dir, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if upErr != nil {
			return false
		}
		defer unix.Close(up)
		dir, err = up, unix.Fstat(up, &st)
	}
	return err == nil && st.Dev == was.Dev && st.Ino == was.Ino
}

func lastName(l action.Landing) string { return l.Name.Name() }

// settling is an intent that was interrupted.
type settling struct {
	*work
	changes []*interrupted
}

// interrupted is one of its changes, and what was found of it.
type interrupted struct {
	*change
	want       action.Image
	at, beside *action.Version // at the target, and at the staged name
}

func (c *interrupted) lookBoth() (err error) {
	if c.want.Kind == action.Symlink {
		c.planned.Result = c.want // makes look take links
	}
	if c.at, err = c.look(c.place); err != nil {
		return err
	}
	c.beside, err = c.look(c.aside)
	return err
}

// found is how far a change came.
type found uint8

const (
	notBegun  found = iota // as captured, and nothing staged
	readied                // as captured or changed by others, and the new file staged or begun
	exchanged              // as planned, or changed by others since, with the old file aside
	finished               // as planned, and nothing aside
	displaced              // as planned, with a file aside that is not the one captured
	unclear                // neither as captured nor as planned, and nothing aside
	tangled                // likewise, with a file aside that is neither
)

func (c *interrupted) found() found {
	base, isAside := c.fact.Base.Version, c.beside != nil
	switch {
	case c.want.Absent && isAside && c.base(c.beside):
		return exchanged
	case c.want.Absent && isAside:
		return displaced
	case c.want.Absent && c.at == nil:
		return finished
	case base == nil && isAside:
		return readied
	case base == nil && c.at == nil:
		return notBegun
	case !isAside && c.want.Absent && c.base(c.at):
		return notBegun
	case !isAside && c.isPlanned(c.at):
		return finished
	case !isAside && c.base(c.at):
		return notBegun
	case !isAside:
		return unclear
	case c.base(c.beside):
		return exchanged
	case c.base(c.at), c.isPlanned(c.beside):
		return readied
	case c.isPlanned(c.at):
		return displaced
	}
	return tangled
}

// isPlanned says whether a version is what was to stand there. Where the group
// was the directory's to give, any will do.
func (c *interrupted) isPlanned(v *action.Version) bool {
	return v != nil && !c.want.Absent && v.Kind == c.want.Kind && v.Hash == *c.want.Hash &&
		(v.Kind == action.Symlink || v.Mode == c.want.Mode && (c.want.GID == 0 || v.GID == c.want.GID))
}

func (c *interrupted) base(v *action.Version) bool {
	return v != nil && c.fact.Base.Version != nil && c.fact.Base.Version.SameDisplaced(*v)
}

// settle decides for all the changes together. Every file is staged before any
// is exchanged, and every one exchanged before any old file is removed, so what
// was found of one tells of the others.
func (s *settling) settle() (protocol.Outcome, []*os.File, error) {
	var count [tangled + 1]int
	for _, c := range s.changes {
		count[c.found()]++
	}
	over, before, foul := count[exchanged]+count[finished], count[notBegun]+count[readied], count[displaced]+count[tangled]
	removed := count[finished] - s.created() // old files that are gone
	switch {
	case over > 0 && before == 0 && foul == 0:
		return s.forward()
	case over == 0 && before > 0 && foul == 0, over+before+count[displaced] > 0 && removed == 0 && count[tangled] == 0:
		return s.back()
	}
	return s.leave()
}

// created counts the new files that stand in their place: of them alone it
// cannot be told whether the work was about to be finished.
func (s *settling) created() (n int) {
	for _, c := range s.changes {
		if c.fact.Base.Version == nil && c.found() == finished {
			n++
		}
	}
	return n
}

// forward finishes what was exchanged.
func (s *settling) forward() (protocol.Outcome, []*os.File, error) {
	out := protocol.Outcome{Result: protocol.Landed, Words: "found landed"}
	for _, c := range s.changes {
		c.planned.Does = c.does()
		switch c.found() {
		case exchanged:
			out.Words = "the exchange had happened; finished"
			if !c.want.Absent && !c.isPlanned(c.at) {
				out.Words = "the exchange had happened, and the file was changed since; finished"
			}
			c.unlinkAside("removing the old file, which stays as " + c.aside.Name)
			c.out.Did = c.did()
		case finished:
			c.out.Did = c.did()
		default:
			c.out.Did = protocol.Overtaken
		}
	}
	for _, c := range slices.Backward(s.changes) {
		c.unmake(int(c.planned.Made))
	}
	return s.over(out), nil, nil
}

// back takes back what was exchanged, and removes what was staged.
func (s *settling) back() (protocol.Outcome, []*os.File, error) {
	out := protocol.Outcome{Result: protocol.NotLanded, Words: "found untouched"}
	var files []*os.File
	said, failed := "", false
	for _, c := range slices.Backward(s.changes) {
		c.planned.Does = c.does()
		c.out.Did = protocol.Untouched
		f := c.found()
		if f == readied {
			out.Words = cmp.Or(said, "the exchange had not happened; the staged file was removed")
			c.unlinkAside("removing the staged file, which stays as " + c.aside.Name)
		}
		if f == unclear {
			c.out.Did = protocol.Overtaken
		}
		if f != exchanged && f != displaced && f != finished {
			continue
		}
		said = "it was interrupted between two files; taken back"
		if f == displaced {
			said = "somebody wrote in between; taken back"
		}
		c.out.Did = protocol.TakenBack
		if !c.putBack() {
			c.out.Did, failed = protocol.Unsettled, true
			out.Kept, files = c.keepAside(out.Kept, files)
		}
	}
	out.Words = cmp.Or(said, out.Words)
	if failed {
		out.Result, out.Words = protocol.Partial, "a file could not be put back"
		if len(s.changes) == 1 {
			out.Result = protocol.Unknown
		}
	}
	for _, c := range slices.Backward(s.changes) {
		c.unmake(c.made)
	}
	return s.over(out), files, nil
}

// putBack gives what stands aside its place again, and removes the new file,
// if that is still what was planned.
func (c *interrupted) putBack() bool {
	from, to, flags := c.aside, c.place, uint(unix.RENAME_EXCHANGE)
	switch {
	case c.want.Absent:
		return c.rename(from, to, unix.RENAME_NOREPLACE) == nil
	case c.fact.Base.Version == nil:
		from, to, flags = c.place, c.aside, unix.RENAME_NOREPLACE
	}
	if !c.isPlanned(c.at) || c.rename(from, to, flags) != nil {
		return false
	}
	if v, err := c.look(c.aside); err != nil || !c.isPlanned(v) {
		c.rename(to, from, flags)
		return false
	}
	c.unlinkAside("removing the new file, which stays as " + c.aside.Name)
	return true
}

// leave reports what could not be settled, and leaves the files as they are.
func (s *settling) leave() (protocol.Outcome, []*os.File, error) {
	out := protocol.Outcome{Result: protocol.Unknown, Words: "disk holds neither what was captured nor what was planned"}
	var files []*os.File
	for _, c := range s.changes {
		c.out.Did = protocol.Unsettled
		switch f := c.found(); {
		case f == notBegun:
			c.out.Did = protocol.Untouched
		case f == finished:
			c.planned.Does = c.does()
			c.out.Did = c.did()
		case c.beside != nil:
			out.Kept, files = c.keepAside(out.Kept, files)
		}
	}
	return s.over(out), files, nil
}

// over puts the directories on disk, which the process that changed them may
// not have come to, and completes an outcome with what stands there now.
func (s *settling) over(out protocol.Outcome) protocol.Outcome {
	s.syncAll(s.directories())
	for _, c := range s.changes {
		out.Changes = append(out.Changes, c.outcomeNow())
	}
	if out.Result == protocol.NotLanded || out.Result == protocol.Partial {
		out.Refused = refusal.New(refusal.Changed, s.changes[0].what, "it was interrupted: %s", out.Words)
	}
	return out
}

// does is what an interrupted change was to do.
func (c *interrupted) does() action.Does {
	switch {
	case c.want.Absent:
		return action.Deletes
	case c.fact.Base.Version == nil:
		return action.Creates
	}
	return action.Replaces
}

func (c *interrupted) did() protocol.Did { return didOf(c.does()) }
