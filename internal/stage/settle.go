package stage

import (
	"os"
	"slices"

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
// staged name tells more, the outcome is unknown; and it removes nothing that
// is neither what was captured nor, as far as it was written, what was planned.
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
	defer s.locks.lock(landingsOf(in))() // what is found before that, a Carry may change
	w, err := s.find(in, capturedAt(in))
	if err != nil {
		return unknown(in, "its place cannot be looked at: "+err.Error()), nil, nil
	}
	defer w.close()
	settling, err := w.lookAround()
	if err != nil {
		return unknown(in, err.Error()), nil, nil
	}
	out, files := settling.settle()
	return out, files, nil
}

// capturedAt gives the targets that an intent was captured at, with the links that
// led there resolved as they were then: one of them may be what it changed.
func capturedAt(in protocol.Intent) []action.Target {
	targets := make([]action.Target, len(in.Facts))
	for i, f := range in.Facts {
		targets[i] = action.Target{Path: f.Resolved(), How: action.ToEntry}
	}
	return targets
}

func unknown(in protocol.Intent, words string) protocol.Outcome {
	out := protocol.Outcome{Result: protocol.Unknown, Words: words}
	for _, f := range in.Facts {
		out.Changes = append(out.Changes, protocol.PathOutcome{Path: f.Path, Did: protocol.Unsettled})
	}
	return out
}

// settling is an intent that was interrupted.
type settling struct {
	*work
	changes []*interrupted
	came    [tangled + 1]int // how many changes came how far
}

// lookAround sees how far each change came, and changes nothing.
func (w *work) lookAround() (*settling, error) {
	s := &settling{work: w}
	made := w.in.Action.Made()
	for i, c := range w.changes {
		one := &interrupted{change: c, want: w.in.Results[i]}
		c.planned.Does, c.planned.Result, c.planned.Made = one.does(), one.want, made[i]
		if !c.whereItWas() {
			return nil, refusal.New(refusal.Changed, c.what, "its directory is not the one it was")
		}
		if err := one.see(w.in.Action, i, w.cfg.Umask); err != nil {
			return nil, err
		}
		s.changes = append(s.changes, one)
		s.came[one.came]++
	}
	return s, nil
}

// settle decides for all the changes together. Every file is staged before any
// is exchanged, and every one exchanged before any old file is removed, so what
// was found of one tells of the others.
func (s *settling) settle() (protocol.Outcome, []*os.File) {
	n := s.came
	over, before, foul := n[exchanged]+n[finished], n[notBegun]+n[readied], n[displaced]+n[tangled]
	removed := n[finished] - s.created() // old files that are gone
	switch {
	case over > 0 && before == 0 && foul == 0:
		return s.forward()
	case over == 0 && before > 0 && foul == 0, over+before+n[displaced] > 0 && removed == 0 && (n[tangled] == 0 || len(s.changes) > 1):
		return s.back()
	}
	return s.leave()
}

// created counts the new files that stand in their place: of them alone it
// cannot be told whether the work was about to be finished.
func (s *settling) created() (n int) {
	for _, c := range s.changes {
		if c.fact.Base.Version == nil && c.came == finished {
			n++
		}
	}
	return n
}

// forward finishes what was exchanged.
func (s *settling) forward() (protocol.Outcome, []*os.File) {
	out := protocol.Outcome{Result: protocol.Landed, Words: "found landed"}
	var files []*os.File
	for _, c := range s.changes {
		c.landed()
		switch c.came {
		case exchanged:
			if out.Words = "the exchange had happened; finished"; c.at != planned && !c.want.Absent {
				out.Words = "the exchange had happened, and the file was changed since; finished"
			}
			if !c.removeOld() {
				out.Kept, files = c.keepAside(out.Kept, files)
			}
		case unclear:
			c.out.Did = protocol.Overtaken
		}
	}
	for _, c := range slices.Backward(s.changes) {
		c.unmake(int(c.planned.Made))
	}
	return s.over(out), files
}

// back takes back what was exchanged, and removes what was staged.
func (s *settling) back() (protocol.Outcome, []*os.File) {
	out := protocol.Outcome{Result: protocol.NotLanded, Words: "found untouched"}
	var files []*os.File
	for _, c := range slices.Backward(s.changes) {
		switch c.came {
		case exchanged, displaced, finished:
			c.takeUp()
			c.out.Did = c.putBack()
			c.staged.let()
		default:
			c.untouched()
		}
	}
	for _, c := range slices.Backward(s.changes) {
		c.unmake(c.made)
	}
	unsettled := false
	for _, c := range s.changes {
		if c.came == tangled || c.came == displaced && c.out.Did == protocol.Overtaken {
			c.out.Did = protocol.Unsettled
		}
		if c.stays() || c.out.Did == protocol.Unsettled {
			out.Kept, files = c.keepAside(out.Kept, files)
		}
		if c.out.Did.Changed() {
			out.Result = protocol.Partial
		}
		unsettled = unsettled || c.out.Did == protocol.Unsettled
	}
	if unsettled && out.Result == protocol.NotLanded {
		out.Result = protocol.Unknown
	}
	out.Words = s.backWords(out.Result)
	return s.over(out), files
}

func (s *settling) backWords(r protocol.Result) string {
	switch {
	case r != protocol.NotLanded:
		return "a file could not be put back"
	case s.came[displaced] > 0:
		return "somebody wrote in between; taken back"
	case s.came[exchanged]+s.came[finished] > 0:
		return "it was interrupted between two files; taken back"
	case s.came[readied] > 0:
		return "the exchange had not happened; the staged file was removed"
	}
	return "found untouched"
}

// untouched removes what was staged of a change that came no further.
func (c *interrupted) untouched() {
	c.out.Did = protocol.Overtaken
	if c.at == base || c.at == absent && c.fact.Base.Version == nil {
		c.out.Did = protocol.Untouched
	}
	if c.came != readied {
		return
	}
	err := c.cfg.At(Unlink, c.fact.Path)
	if err == nil {
		err = c.unlink()
	}
	c.note("removing the staged file, which stays as "+c.aside.Name, err)
}

// leave reports what could not be settled. It removes what was staged, and
// leaves the other files as they are.
func (s *settling) leave() (protocol.Outcome, []*os.File) {
	out := protocol.Outcome{Result: protocol.Unknown, Words: "disk holds neither what was captured nor what was planned"}
	var files []*os.File
	for _, c := range s.changes {
		switch c.came {
		case notBegun, readied:
			c.untouched()
		case finished:
			c.landed()
		default:
			c.out.Did = protocol.Unsettled
			out.Kept, files = c.keepAside(out.Kept, files)
		}
	}
	return s.over(out), files
}

// over puts the directories on disk, which the process that changed them may
// not have come to, and completes an outcome with what stands there now.
func (s *settling) over(out protocol.Outcome) protocol.Outcome {
	syncAll(directories(s.work.changes))
	for _, c := range s.changes {
		c.standsNow()
		out.Changes = append(out.Changes, c.out)
	}
	if out.Result == protocol.NotLanded || out.Result == protocol.Partial {
		out.Refused = refusal.New(refusal.Changed, s.changes[0].what, "it was interrupted: %s", out.Words)
	}
	return out
}
