package stage

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/protocol"
	"countersign/internal/testas"
)

// S14 S19: what somebody has open for writing is neither removed nor moved by
// settling: a displaced file that they hold is given its place again, and a new
// one that they hold stands, and is told.
func TestSettleInUse(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, c := range map[string]struct {
		held   string
		result protocol.Result
		want   map[string]string
	}{
		"the old file": {beside, protocol.NotLanded, map[string]string{"f": "old"}},
		"the new file": {"f", protocol.Landed, map[string]string{"f": "new"}},
	} {
		h := newHome(t)
		h.put("f", "old", 0o640)
		in := h.intent(h.write("f", "new"))
		swapped(h)
		f, err := os.OpenFile(h.path(c.held), os.O_WRONLY, 0)
		must(t, err)
		out, files, err := h.Settle(in)
		must(t, err, f.Close())
		for _, f := range files {
			f.Close()
		}
		if h.holds(c.want); out.Result != c.result || len(files) > 0 {
			t.Errorf("%s: %+v, %d handles", name, out, len(files))
		}
	}
	h := newHome(t)
	h.put("a", "old", 0o640)
	h.put("b", "old", 0o640)
	in := h.intent(all(h.write("a", "new"), h.write("b", "new")))
	h.put(besides(1), "new", 0o640) // b's, staged
	h.put("x", "new", 0o640)        // a's, exchanged
	h.rename("a", beside)
	h.rename("x", "a")
	f, err := os.OpenFile(h.path("a"), os.O_WRONLY, 0)
	must(t, err)
	out, files, err := h.Settle(in)
	must(t, err, f.Close())
	if out.Result == protocol.Landed || out.Changes[0].Did.Changed() || out.Changes[1].Did != protocol.Untouched {
		t.Errorf("%+v", out)
	}
	h.keptAside(out, files, "old")
	h.holds(map[string]string{"a": "new", "b": "old", beside: "old"})
}

// S19: of several files that were interrupted, with somebody else's work among
// them, the others are as they were, all of them, and theirs is where it stands,
// or kept and handed over.
func TestSettleAmongOthers(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	for name, c := range map[string]struct {
		theirs func(*home)
		result protocol.Result
		b      string
		kept   bool
	}{
		"edited before its turn": {func(h *home) { h.renameOver("b", "theirs") }, protocol.NotLanded, "theirs", false},
		"displaced": {func(h *home) {
			h.renameOver("b", "theirs")
			h.rename("b", "x")
			h.rename(besides(1), "b")
			h.rename("x", besides(1))
		}, protocol.NotLanded, "theirs", false},
		"displaced, and edited": {func(h *home) {
			h.rename(besides(1), "x")
			h.put(besides(1), "theirs", 0o644)
			h.renameOver("b", "theirs too")
			must(h.T, os.Remove(h.path("x")))
		}, protocol.Unknown, "theirs too", true},
		"a pipe": {func(h *home) { must(h.T, os.Remove(h.path("b")), unix.Mkfifo(h.path("b"), 0o600)) }, protocol.NotLanded, "", false},
	} {
		h := newHome(t)
		for _, f := range []string{"a", "b", "c"} {
			h.put(f, "old", 0o640)
		}
		in := h.intent(all(h.write("a", "new"), h.write("b", "new"), h.delete("c")))
		h.put("x", "new", 0o640) // a was exchanged
		h.rename("a", beside)
		h.rename("x", "a")
		h.put(besides(1), "new", 0o640) // b was staged
		c.theirs(h)
		out, files, err := h.Settle(in)
		must(t, err)
		for _, f := range files {
			f.Close()
		}
		a, err := os.ReadFile(h.path("a"))
		if string(a) != "old" || err != nil || out.Result != c.result || out.Changes[0].Did != protocol.TakenBack {
			t.Errorf("%s: %q, %v, %+v", name, a, err, out)
		}
		if c.b != "" {
			if b, err := os.ReadFile(h.path("b")); string(b) != c.b || err != nil {
				t.Errorf("%s: theirs holds %q, %v", name, b, err)
			}
		}
		if left := h.leftover(); len(left) > 0 != c.kept || len(out.Kept) == 1 != c.kept {
			t.Errorf("%s: %v are left, %+v", name, left, out.Kept)
		}
	}
}

// S6 T16: settling waits for a change that is making the directories it lands in,
// and then looks in them.
func TestSettleWaitsForParents(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	in := h.intent(h.write("a/b/f", "new"))
	answer := make(chan protocol.Outcome)
	h.at[MakeDir] = func() {
		h.at[MakeDir] = nil
		go func() {
			out, _, err := h.Settle(in)
			must(t, err)
			answer <- out
		}()
		h.waits(in)
	}
	if out, _, err := h.Carry(in); err != nil || out.Result != protocol.Landed {
		t.Errorf("%+v, %v", out, err)
	}
	if out := <-answer; out.Result != protocol.Landed {
		t.Errorf("settled: %+v", out)
	}
}

// S12 S19: where it cannot be told how far several files came, since an old one
// is gone that others may have taken, what was staged is removed all the same.
func TestSettleRemovesWhatWasStaged(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	h := newHome(t)
	h.put("a", "old", 0o640)
	h.put("b", "old", 0o640)
	in := h.intent(all(h.delete("a"), h.write("b", "new")))
	h.put(besides(1), "ne", 0o600)
	must(t, os.Remove(h.path("a")))
	out, files, err := h.Settle(in)
	if err != nil || out.Result != protocol.Unknown || len(files) > 0 || out.Changes[0].Did != protocol.Deleted || out.Changes[1].Did != protocol.Untouched {
		t.Errorf("%+v, %v", out, err)
	}
	h.holds(map[string]string{"b": "old"})
}
