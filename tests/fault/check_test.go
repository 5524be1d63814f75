package fault

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/tests/hands"
)

func inOrder(tree map[string]entry) []string { return slices.Sorted(maps.Keys(tree)) }

// check holds disk, found by a survey, against what is said of the action. It
// gives what is not as it must be.
func (s scenario) check(dir string, t protocol.Transaction) (wrong []string) {
	got, err := survey(dir)
	if err != nil {
		return []string{err.Error()}
	}
	for name := range maps.Clone(got) {
		if !strings.HasPrefix(filepath.Base(name), ".countersign-") {
			continue
		}
		if !saidToStay(t, name) {
			wrong = append(wrong, fmt.Sprintf("%q was left, and nothing is said of it", name))
		}
		delete(got, name)
	}
	wasOld, wasNew := differs(got, s.old), differs(got, s.now)
	switch t.State {
	case protocol.StateLanded:
		wrong = append(wrong, wasNew...)
	case protocol.StateNotLanded, protocol.StateRefused:
		wrong = append(wrong, wasOld...)
	default:
		wrong = append(wrong, fmt.Sprintf("it is %s", t.State))
		wrong = append(wrong, s.mixed(got, wasOld, wasNew)...)
	}
	return wrong
}

// saidToStay says whether the outcome names a file that was left.
func saidToStay(t protocol.Transaction, name string) bool {
	if t.Outcome == nil {
		return false
	}
	for _, c := range t.Outcome.Changes {
		for _, words := range c.After {
			if strings.Contains(words, filepath.Base(name)) {
				return true
			}
		}
	}
	return slices.ContainsFunc(t.Outcome.Kept, func(k protocol.KeptAside) bool { return k.Path.Name() == filepath.Base(name) })
}

// mixed judges a tree of which it is not said that it is all old or all new:
// it is all the same, and each file is whole.
func (s scenario) mixed(got map[string]entry, wasOld, wasNew []string) (wrong []string) {
	if len(wasOld) == 0 || len(wasNew) == 0 {
		return nil
	}
	wrong = append(wrong, "some files are old and some are new")
	for name, e := range got {
		if e != s.old[name] && e != s.now[name] {
			wrong = append(wrong, fmt.Sprintf("%q is neither old nor new: %.80q", name, fmt.Sprint(e)))
		}
	}
	return wrong
}

// again lands one more change of the same file, which shows that nothing holds
// it still. A scribe that is being started anew is waited for.
func (r *rig) again(s scenario, dir string) error {
	path := string(s.act(dir).Paths()[0])
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		t, err := r.act(hands.Changes(hands.Write(path, "afterwards\n")))
		if err != nil || t.State == protocol.StateLanded {
			return err
		}
		if t.Outcome == nil || !refusal.Is(t.Outcome.Refused, refusal.Unavailable) || time.Now().After(end) {
			return fmt.Errorf("the next change is %s: %v %+v", t.State, t.Refusal, t.Outcome)
		}
	}
}
