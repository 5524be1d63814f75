package broker

import (
	"context"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/classify"
	"countersign/internal/consent"
	"countersign/internal/grant"
	"countersign/internal/journal"
	"countersign/internal/policy"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/wire"
)

// preview is what an action would do on disk as it is, and what policy makes
// of that. It is made anew whenever it is to be acted on.
type preview struct {
	person  *policy.Person
	befores []action.Before
	plans   []action.Planned
	kept    []bool // for each path, whether a copy of what stands there is kept
	judged  judged
	detail  []byte       // encoded; where it asks
	hash    *action.Hash // of detail

	git     *protocol.GitPlan
	account action.Detail // of a git action, as its reader made it
}

// withDetail adds the detail to the record of a preview that asks.
func (v *preview) withDetail(e journal.Entry) journal.Entry {
	if v.detail != nil {
		e.Bodies = append(e.Bodies, journal.Body{Role: roleDetail, Data: v.detail})
	}
	return e
}

func (v *preview) facts() []action.Fact {
	facts := make([]action.Fact, len(v.plans))
	for i, p := range v.plans {
		facts[i] = p.Fact
	}
	return facts
}

// preview captures, plans, classifies and decides. The error is a refusal of
// the action; one that is to be tried again says nothing about it.
func (b *Broker) preview(ctx context.Context, id action.ID, person *policy.Person, a action.Action, of proposed) (*preview, error) {
	if a.Git() {
		return b.previewGit(ctx, id, person, a, of)
	}
	v := &preview{person: person}
	var err error
	room := action.Room{Left: b.cfg.Policy.Limits.AutoBytes}
	if v.befores, err = b.capture(ctx, person, a.Targets(), &room); err != nil {
		return nil, err
	}
	for _, before := range v.befores {
		if err := b.judgeFact(person, before.Fact); err != nil {
			return nil, err
		}
	}
	if v.plans, err = a.Plan(v.befores, person.Umask); err != nil {
		return nil, err
	}
	if err = v.carried(a); err != nil {
		return nil, err
	}
	whole := false
	v.kept, whole = v.takenBack()
	class := classify.Classify(v.changes(of.Capability, b.room(v)), b.cfg.Policy.Classes())
	class.Reversible = class.Reversible && whole
	v.judged = b.judge(class, of)
	return v, b.finish(v, id, a, of)
}

// judge has policy decide.
func (b *Broker) judge(class classify.Class, of proposed) judged {
	d := b.cfg.Policy.Decide(class, policy.Proposer{Agent: of.By, Self: of.Self})
	return judged{Verdict: string(d.Verdict), Rule: d.Rule, Reasons: d.Reasons, Reversible: class.Reversible}
}

// finish holds the action to the bounds of its verdict, and makes the account
// that an owner is shown.
func (b *Broker) finish(v *preview, id action.ID, a action.Action, of proposed) error {
	limits, n := b.cfg.Policy.Limits, int64(a.NewText())
	what := whatOf(a)
	switch policy.Verdict(v.judged.Verdict) {
	case policy.Auto:
		if n > limits.AutoBytes {
			return refusal.New(refusal.TooLongToAuto, what, "%d bytes, of at most %d", n, limits.AutoBytes)
		}
		return nil
	case policy.Deny:
		return nil
	}
	if n > limits.AskedText {
		return refusal.New(refusal.TooLongToAsk, what, "%d bytes, of at most %d; it asks by %s", n, limits.AskedText, v.judged.Rule)
	}
	detail := action.DetailOf(v.plans)
	if detail.Unshown() {
		return refusal.New(refusal.TooLongToAsk, what, "the lines it changes are too long to show")
	}
	var err error
	if v.detail, err = detail.Encode(); err != nil {
		return err
	}
	if size := len(v.detail); size > maxDetail {
		return refusal.New(refusal.TooLongToAsk, what, "its account takes %d bytes, of at most %d", size, maxDetail)
	}
	return v.bind(consent.Shown{ID: id, Digest: of.Digest, Facts: v.facts()})
}

// bind makes what an approval binds of what is shown, with the account as it is
// encoded and the promise to take the action back.
func (v *preview) bind(shown consent.Shown) (err error) {
	hash := action.HashOf(v.detail)
	v.hash = &hash
	shown.Detail, shown.Reversible = hash, v.judged.Reversible
	v.judged.Prefix, err = shown.Prefix()
	return err
}

// capture asks the person's reader what stands at the targets, as many at a
// time as one answer carries, and reads the files through the handles that come
// with the answers, as far as there is room. What a reader says in all is
// bounded by what could be sent to a scribe.
func (b *Broker) capture(ctx context.Context, person *policy.Person, targets []action.Target, room *action.Room) ([]action.Before, error) {
	befores := make([]action.Before, 0, len(targets))
	var said load
	for some := range slices.Chunk(targets, protocol.MaxCapture) {
		more, err := b.captureSome(ctx, person, some, room)
		if err != nil {
			return nil, err
		}
		befores = append(befores, more...)
		for _, m := range more {
			said.fact(m.Fact)
		}
		if said.bytes > 2*wire.MaxFrame {
			return nil, refusal.New(refusal.TooLarge, "the capture", "what stands at %d of %d paths takes over %d bytes to say", len(befores), len(targets), said.bytes)
		}
	}
	return befores, nil
}

func (b *Broker) captureSome(ctx context.Context, person *policy.Person, targets []action.Target, room *action.Room) ([]action.Before, error) {
	var res protocol.CaptureResult
	handles, err := b.hands[person.Name].reader.CallHandles(ctx, protocol.Capture,
		protocol.CaptureParams{Policy: b.cfg.Policy.Digest, Targets: targets}, &res)
	if err != nil {
		return nil, b.ofReader(person, err)
	}
	defer closeAll(handles)
	if len(res.Facts) != len(targets) {
		return nil, refusal.New(refusal.Differs, "the capture", "%d facts for %d paths", len(res.Facts), len(targets))
	}
	befores := make([]action.Before, 0, len(targets))
	left := handles
	for i, f := range res.Facts {
		if f.Path != targets[i].Path {
			return nil, refusal.New(refusal.Differs, "the capture", "%s instead of %s", f.Path, targets[i].Path)
		}
		if err := soundFact(f, targets[i]); err != nil {
			return nil, err
		}
		before := action.Before{Fact: f}
		switch v := f.Base.Version; {
		case v == nil:
		case v.Kind == action.Symlink:
			before.Content, before.Read = []byte(f.Target), true
			before = room.Keep(before)
		case len(left) == 0:
			return nil, refusal.New(refusal.HandleRejected, f.Path.String(), "it is missing")
		default:
			if before, err = b.readHandle(left[0], f, room); err != nil {
				return nil, err
			}
			left = left[1:]
		}
		befores = append(befores, before)
	}
	if len(left) > 0 {
		return nil, refusal.New(refusal.HandleRejected, "the capture", "%d more than it has files", len(left))
	}
	return befores, nil
}

// ofReader gives the refusal of a call to a reader, its own or that it did not
// answer.
func (b *Broker) ofReader(person *policy.Person, err error) error {
	if refusal.As(err) != nil {
		return err
	}
	b.cfg.Log.Error("no answer from the reader", "person", person.Name, "error", err)
	return refusal.New(refusal.Unavailable, "the reader of "+person.Name, "it did not answer within %v", readWithin)
}

// readHandle reads a captured file through the reader's handle, where there is
// room for its content. The reader may be anybody's by now, so the handle is
// judged before the first read, which is bounded, and what it gives must be what
// the reader said. What is not read is taken on the reader's word: the scribe
// compares it all the same.
func (b *Broker) readHandle(h *os.File, f action.Fact, room *action.Room) (action.Before, error) {
	before, what := action.Before{Fact: f}, f.Path.String()
	size, err := soundHandle(h, what)
	if err != nil {
		return before, err
	}
	if size != int64(f.Base.Version.Size) {
		return before, refusal.New(refusal.Changed, what, "while it was captured")
	}
	if !room.Take(f.Base.Version.Size) {
		return before, nil
	}
	snap, err := beneath.Take(what, h, size)
	if err != nil {
		return before, err
	}
	if !snap.Whole || !(action.Base{Version: &snap.Version}).Same(action.Base{Version: f.Base.Version}) {
		return before, refusal.New(refusal.Changed, what, "while it was captured")
	}
	before.Content, before.Read = snap.Content, true
	return before, nil
}

// soundHandle refuses a handle that is not a plain one for reading a regular
// file of an ordinary filesystem, and gives the file's size: nothing is read
// before that was looked at.
func soundHandle(h *os.File, what string) (size int64, err error) {
	flags, err := unix.FcntlInt(h.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDONLY || flags&unix.O_PATH != 0 {
		return 0, refusal.New(refusal.HandleRejected, what, "it is not for reading alone")
	}
	st, err := beneath.Fstat(h)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, refusal.New(refusal.HandleRejected, what, "it is no regular file")
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(h.Fd()), &fs); err != nil {
		return 0, refusal.New(refusal.HandleRejected, what, "its filesystem is not known")
	}
	switch fs.Type {
	case unix.FUSE_SUPER_MAGIC, unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC:
		return 0, refusal.New(refusal.HandleRejected, what, "its filesystem is not an ordinary one")
	}
	return st.Size, nil
}

// judgeFact judges the place by policy, as it was asked for and as it lands.
func (b *Broker) judgeFact(person *policy.Person, f action.Fact) error {
	if _, err := person.Grants.Judge(grant.Write, string(f.Path)); err != nil {
		return err
	}
	for _, at := range []action.Path{f.Real, f.Resolved()} {
		if err := person.Grants.Forbidden(grant.Write, string(at)); err != nil {
			return refusal.About(f.Path.String(), err)
		}
	}
	if home, err := b.cfg.Policy.HomeOf(f.Real); err != nil || home != person {
		return refusal.New(refusal.NobodysHome, f.Path.String(), "it lands elsewhere")
	}
	return nil
}

// changes puts the plan into the words that classify judges.
func (v *preview) changes(c action.Capability, room bool) []classify.Change {
	out := make([]classify.Change, 0, len(v.plans))
	for i, plan := range v.plans {
		old, now := plan.Fact.Image(), plan.Result
		out = append(out, classify.Change{
			Path: plan.Fact.Path, Real: plan.Fact.Real, Home: string(v.person.Home), Capability: c,
			Aliases: plan.Fact.Aliases, InRepository: plan.Fact.Repository,
			Old: &old, New: &now, NotKept: plan.Fact.NotKept, OldContent: plan.Old, NewContent: plan.New, ContentType: plan.Type,
			Captured:       room && v.kept[i],
			InSnapshotRoot: v.person.InSnapshotRoot(plan.Fact.Real),
		})
	}
	return out
}

// room says whether the vault would keep what a change replaces.
func (b *Broker) room(v *preview) bool {
	for i, before := range v.befores {
		if v.kept[i] && !b.vault.Room(v.person.Name, before.Fact.Base.Version.Hash, int64(len(before.Content))) {
			return false
		}
	}
	return true
}

// keep gives what a preview would replace to the vault, and gives the bodies
// that have to go with the intent's record. The error is the first of what could
// not be kept; the rest is.
func (b *Broker) keep(v *preview) (bodies []journal.Body, err error) {
	given := make(map[action.Hash]bool)
	for i, before := range v.befores {
		version := before.Fact.Base.Version
		if !v.kept[i] || version.Kind == action.Symlink || given[version.Hash] { // a link's fact holds what it points to
			continue
		}
		held, failed := b.vault.Prepare(v.person.Name, before.Content)
		if failed != nil {
			if err == nil {
				err = failed
			}
			continue
		}
		given[version.Hash] = true
		if held.Body != nil {
			bodies = append(bodies, *held.Body)
		}
	}
	return bodies, err
}
