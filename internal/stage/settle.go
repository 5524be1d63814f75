package stage

import (
	"os"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/facts"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Settle finds out how far an intent came, from what stands at its path and
// under its staged name, and finishes it or takes it back. It waits for a
// Carry of the same landing. An intent that was settled is never carried out
// afterwards, should its request still be on the way.
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
	found, err := s.cfg.Finder.Find(grant.Write, in.Facts[0].Path)
	if err != nil {
		return unknown(in, "its place cannot be looked at: "+err.Error()), nil, nil
	}
	defer found.Close()
	defer s.locks.lock(found.Place.Landing())()
	if found.Place.Landing() != in.Facts[0].Base.Landing {
		return unknown(in, "the directory is not the one it was"), nil, nil
	}
	c := &settling{change: s.interrupted(in, found), want: in.Results[0]}
	if c.at, c.atErr = c.look(c.place); c.atErr != nil {
		return unknown(in, c.atErr.Error()), nil, nil
	}
	if c.beside, err = c.look(c.aside); err != nil {
		return unknown(in, err.Error()), nil, nil
	}
	switch {
	case in.Results[0].Absent:
		return c.deletion()
	case in.Facts[0].Base.Version == nil:
		return c.creation()
	}
	return c.replacement()
}

func unknown(in protocol.Intent, words string) protocol.Outcome {
	return protocol.Outcome{
		Result:  protocol.Unknown,
		Changes: []protocol.PathOutcome{{Path: in.Facts[0].Path}},
		Words:   words,
	}
}

// interrupted puts the change of an intent together again.
func (s *Stager) interrupted(in protocol.Intent, found *facts.Found) *change {
	return &change{
		Stager: s, what: found.Path.String(), fact: in.Facts[0],
		place: found.Place, aside: found.Place.Beside(in.Staged[0]),
	}
}

// settling is a change that was interrupted, and what was found of it.
type settling struct {
	*change
	want       action.Image
	at, beside *action.Version // at the target, and at the staged name
	atErr      error
}

// planned says whether a version is what was to stand there. The group of a
// file that was created was the directory's to give.
func (c *settling) planned(v *action.Version) bool {
	return v != nil && !c.want.Absent && v.Hash == *c.want.Hash && v.Mode == c.want.Mode &&
		(c.fact.Base.Version == nil || v.GID == c.want.GID)
}

func (c *settling) base(v *action.Version) bool {
	return v != nil && c.fact.Base.Version != nil && c.fact.Base.Version.SameDisplaced(*v)
}

func (c *settling) replacement() (protocol.Outcome, []*os.File, error) {
	switch {
	case c.beside == nil && c.planned(c.at):
		return c.foundLanded()
	case c.beside == nil && c.base(c.at):
		return c.done(protocol.NotLanded, "found untouched")
	case c.beside == nil:
		return c.done(protocol.Unknown, "disk holds neither what was captured nor what was planned")
	case c.base(c.beside) && c.planned(c.at):
		return c.unlinkAside(protocol.Landed, "the exchange had happened; finished")
	case c.base(c.beside):
		return c.unlinkAside(protocol.Landed, "the exchange had happened, and the file was changed since; finished")
	case c.base(c.at), c.planned(c.beside):
		return c.unlinkAside(protocol.NotLanded, "the exchange had not happened; the staged file was removed")
	case c.planned(c.at):
		return c.exchangeBack()
	}
	return c.kept("neither file is what was captured or planned")
}

// exchangeBack gives a file that got in between back its place.
func (c *settling) exchangeBack() (protocol.Outcome, []*os.File, error) {
	if err := c.rename(c.aside, c.place, unix.RENAME_EXCHANGE); err != nil {
		return c.kept("a file that got in between could not be put back: " + err.Error())
	}
	if v, err := c.look(c.aside); err != nil || !c.planned(v) {
		c.rename(c.aside, c.place, unix.RENAME_EXCHANGE)
		return c.kept("a file that got in between could not be put back")
	}
	return c.unlinkAside(protocol.NotLanded, "somebody wrote in between; taken back")
}

func (c *settling) creation() (protocol.Outcome, []*os.File, error) {
	switch {
	case c.beside != nil:
		return c.unlinkAside(protocol.NotLanded, "it had not been put in place; the staged file was removed")
	case c.planned(c.at):
		return c.foundLanded()
	case c.at == nil:
		return c.done(protocol.NotLanded, "found untouched")
	}
	return c.done(protocol.Unknown, "another file stands there")
}

func (c *settling) deletion() (protocol.Outcome, []*os.File, error) {
	switch {
	case c.beside == nil && c.at == nil:
		return c.foundLanded()
	case c.beside == nil && c.base(c.at):
		return c.done(protocol.NotLanded, "found untouched")
	case c.beside == nil:
		return c.done(protocol.Unknown, "another file stands there")
	case c.base(c.beside):
		return c.unlinkAside(protocol.Landed, "the file had been moved aside; finished")
	}
	if err := c.rename(c.aside, c.place, unix.RENAME_NOREPLACE); err != nil {
		return c.kept("a file that got in between could not be put back: " + err.Error())
	}
	return c.done(protocol.NotLanded, "somebody wrote in between; taken back")
}

// unlinkAside removes what stands under the staged name, which was verified to
// be the staged file or the captured one.
func (c *settling) unlinkAside(r protocol.Result, words string) (protocol.Outcome, []*os.File, error) {
	out, files, _ := c.done(r, words)
	c.cfg.At(Unlink)
	if err := unix.Unlinkat(int(c.place.Dir.Fd()), c.aside.Name, 0); err != nil {
		c.after(&out, "removing "+c.aside.Name, err)
	}
	c.syncDir(&out)
	return out, files, nil
}

// foundLanded puts on disk what the process that landed it may not have come
// to sync.
func (c *settling) foundLanded() (protocol.Outcome, []*os.File, error) {
	out, files, err := c.done(protocol.Landed, "found landed")
	c.syncDir(&out)
	return out, files, err
}

// done gives an outcome with what stands at the path now.
func (c *settling) done(r protocol.Result, words string) (protocol.Outcome, []*os.File, error) {
	out := protocol.Outcome{Result: r, Words: words, Changes: []protocol.PathOutcome{{Path: c.fact.Path}}}
	v, err := c.look(c.place)
	if err != nil {
		c.after(&out, "looking at it", err)
	}
	out.Changes[0].Version = v
	if r == protocol.NotLanded {
		out.Refused = refusal.New(refusal.Changed, c.what, "it was interrupted: %s", words)
	}
	return out, nil, nil
}

// kept reports what could not be settled, and leaves both files as they are.
func (c *settling) kept(words string) (protocol.Outcome, []*os.File, error) {
	out, files, err := c.keepAside()
	if out.Words != "" {
		words += "; " + out.Words
	}
	out.Result, out.Words, out.Refused = protocol.Unknown, words, nil
	return out, files, err
}
