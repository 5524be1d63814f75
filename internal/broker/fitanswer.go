package broker

import (
	"slices"
	"strings"

	"countersign/internal/action"
	"countersign/internal/protocol"
)

// The most that parts of fixed form take in an answer, in bytes.
const (
	pathSays    = 48
	versionSays = 240
	leaveSays   = 640
	maxWords    = 4096
)

// fitOutcome keeps of an outcome what fits so many bytes, in the order in which
// it matters: what became of every path, what was kept aside, what there is to
// say of each path, what stands there now. What is left out is counted, or its
// path marked. It gives how many bytes are left.
func fitOutcome(out protocol.Outcome, most int) (protocol.Outcome, int) {
	left := most
	take := func(n int) bool {
		if n > left {
			return false
		}
		left -= n
		return true
	}
	if len(out.Words) > maxWords {
		out.Words = strings.ToValidUTF8(out.Words[:maxWords], "") + "…"
	}
	all, kept := out.Changes, out.Kept
	n := 0
	for n < len(all) && take(pathSays+len(all[n].Path)) {
		n++
	}
	out.Changes, out.More = slices.Clone(all[:n]), out.More+uint64(len(all)-n)
	n = 0
	for n < len(kept) && take(pathSays+versionSays+len(kept[n].Path)) {
		n++
	}
	out.Kept, out.MoreKept = kept[:n:n], out.MoreKept+uint64(len(kept)-n)
	for i := range out.Changes {
		if c := &out.Changes[i]; !take(said(*c)) {
			c.Links, c.NotKept, c.NoLease, c.After, c.Cut = 0, nil, "", nil, true
		}
	}
	for i := range out.Changes {
		if c := &out.Changes[i]; c.Version != nil && !take(versionSays) {
			c.Version, c.Attributes, c.Cut = nil, nil, true
		}
	}
	return out, left
}

// said counts what there is to say of a path beside what became of it.
func said(c protocol.PathOutcome) int {
	n := len(c.NoLease)
	for _, list := range [][]string{c.NotKept, c.After} {
		for _, s := range list {
			n += len(s) + 5
		}
	}
	if n > 0 || c.Links > 0 {
		n += 48
	}
	return n
}

// fitLeaves keeps as many of what an undo leaves as fit so many bytes, and
// counts the others.
func fitLeaves(all []action.Leave, most int) (fits []action.Leave, more uint64) {
	n := 0
	for n < len(all) {
		if most -= leaveSays + len(all[n].Path) + len(all[n].Why); most < 0 {
			break
		}
		n++
	}
	return all[:n:n], uint64(len(all) - n)
}
