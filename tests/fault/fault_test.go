package fault

import (
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/protocol"
	"countersign/tests/hands"
	"countersign/tests/lab"
)

// T18, S19: every system call of a change, between the arrival of its intent
// and its answer, is failed with each error and killed at, one at a time:
// whatever befalls the scribe, the files are old or new as one, with all that
// they had, nothing is left that is not named, and what is said is so.
func TestEveryCall(t *testing.T) {
	r := newRig(t)
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			r.t = t
			base := r.record(s)
			t.Logf("%d calls: %s", len(base), summary(base))
			for _, f := range r.faults(s) {
				r.explore(s, base, f.fault, f.stride)
			}
			var v protocol.VerifyResult
			must(t, r.Call(lab.Alice, "keeper/consent", protocol.Verify, struct{}{}, &v))
		})
	}
	t.Logf("left alone: %s", strings.Join(slices.Sorted(maps.Keys(uncounted())), " "))
}

// share is a fault, and of how many points one is tried.
type share struct {
	fault  fault
	stride int
}

// faults lists what befalls a scenario's calls: everything everywhere, or
// without that being asked for one of so many, the most of a change of several
// files.
func (r *rig) faults(s scenario) []share {
	all := os.Getenv("COUNTERSIGN_FAULT") == "all"
	several := strings.HasPrefix(s.name, "three")
	list := []share{{fault{kill: true}, 19}, {fault{errno: syscall.EIO}, 19}, {fault{errno: syscall.ENOSPC}, 37}, {fault{errno: syscall.EDQUOT}, 41},
		{fault{errno: syscall.EACCES}, 37}, {fault{errno: syscall.EIO, after: true}, 5}}
	for i, one := range list {
		switch {
		case all:
			list[i].stride = 1
		case several && (one.fault.kill || one.fault.errno == syscall.EIO && !one.fault.after):
			list[i].stride = 7
		}
	}
	return list
}

// record carries a scenario out untouched until it makes the same calls twice
// running, and gives those, up to the one that answers: now and then the process
// has something else to do between two calls.
func (r *rig) record(s scenario) (calls []call) {
	r.t.Helper()
	const tries = 20
	for range tries {
		p := r.point(s, fault{}, fault{})
		if len(p.wrong) > 0 || p.said.State != protocol.StateLanded {
			r.t.Fatalf("untouched, it is %s: %q, %v, %+v", p.said.State, p.wrong, p.said.Refusal, p.said.Outcome)
		}
		for n, c := range slices.Backward(p.calls) {
			if c.on == "socket" && (c.name == "write" || c.name == "sendmsg") {
				p.calls = p.calls[:n+1]
				break
			}
		}
		if slices.Equal(p.calls, calls) {
			return calls
		}
		calls = p.calls
	}
	r.t.Fatalf("no two runs make the same calls: %v", calls)
	return nil
}

func summary(calls []call) string {
	count := map[string]int{}
	for _, c := range calls {
		count[c.String()]++
	}
	var says []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		says = append(says, fmt.Sprintf("%d %s", count[name], name))
	}
	return strings.Join(says, ", ")
}

// explore lets a fault befall every call, or one of so many.
func (r *rig) explore(s scenario, base []call, f fault, stride int) {
	r.t.Helper()
	points, ends := 0, make(map[string]int)
	for at := 1; at <= len(base); at += stride {
		f.at = at
		if f.after && !base[at-1].mutates() {
			continue
		}
		points++
		ends[r.reach(s, base, f, fault{}).end()]++
	}
	r.t.Logf("%-22s %3d of %3d calls: %s", f, points, len(base), listed(ends))
}

func listed(ends map[string]int) string {
	var says []string
	for _, end := range slices.Sorted(maps.Keys(ends)) {
		says = append(says, fmt.Sprintf("%d %s", ends[end], end))
	}
	return strings.Join(says, ", ")
}

// reach tries a point until its fault falls on the call that was planned: now
// and then the process has something else to do between two calls. Whatever
// the fault fell on, disk must be as it must.
func (r *rig) reach(s scenario, base []call, f, settling fault) (p point) {
	r.t.Helper()
	const tries = 20
	for range tries {
		p = r.point(s, f, settling)
		for _, w := range p.wrong {
			r.t.Errorf("%s at call %d, %s, and %s at %v of settling: %s; %v %+v", f, f.at, p.hit, settling, p.hitSettling, w, p.said.Refusal, p.said.Outcome)
		}
		if p.hit != nil && slices.Equal(p.calls, base[:f.at]) {
			return p
		}
	}
	r.t.Errorf("%s at call %d, %s: never reached: the calls were\n%v, and are\n%v", f, f.at, base[f.at-1], base[:f.at], p.calls)
	return p
}

// point is what came of one fault.
type point struct {
	calls []call // up to the fault
	hit   *call

	settled     []call // by the scribe that came after it, up to its fault
	hitSettling *call

	said  protocol.Transaction
	wrong []string
}

// end says in a word or two how it ended.
func (p point) end() string {
	how := string(p.said.State)
	switch {
	case p.said.State == protocol.StateRefused:
		how += " " + string(p.said.Refusal.Code)
	case p.said.Outcome != nil && p.said.Outcome.Refused != nil:
		how += " " + string(p.said.Outcome.Refused.Code)
	}
	if p.said.Outcome != nil && p.said.Outcome.Words != "" {
		how += " (found)"
	}
	if p.said.Stale > 0 {
		how += " (again)"
	}
	return how
}

// hold takes hold of the scribe that serves, once the keeper has called it and
// it has nothing to do.
func (r *rig) hold(f fault) *trace {
	r.t.Helper()
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		said, err := r.act(hands.Changes(hands.Write(filepath.Join(r.Home("alice"), "warm.txt"), rand.Text())))
		if last = err; err != nil || said.State != protocol.StateLanded {
			continue
		}
		s := r.now()
		if s.quiet(); s.sockets() <= r.idle { // it was another that answered, and is about to end
			continue
		}
		t, err := hold(int(s), f)
		if err == nil {
			return t
		}
		last = err
	}
	r.t.Fatalf("no scribe could be held: %v", last)
	return nil
}

// point carries a scenario out once with a fault, and perhaps another one of
// the scribe that settles it.
func (r *rig) point(s scenario, f, settling fault) (p point) {
	r.t.Helper()
	dir, err := os.MkdirTemp(r.Home("alice"), "point")
	must(r.t, err, os.Remove(dir), put(dir, s.old))
	defer os.RemoveAll(dir)
	tr := r.hold(f)
	r.befalls(settling)
	p.said, err = r.act(s.act(dir))
	tr.letGo()
	p.calls, p.hit = tr.calls, tr.hit
	if err == nil && !p.said.State.Ended() {
		p.said, err = r.ended(p.said.ID)
	}
	if next := r.befell(); next != nil {
		next.letGo()
		p.settled, p.hitSettling = next.calls, next.hit
	}
	if err != nil {
		p.wrong = append(p.wrong, err.Error())
		return p
	}
	p.wrong = s.check(dir, p.said)
	if err := r.again(s, dir); err != nil && len(p.wrong) == 0 {
		p.wrong = append(p.wrong, err.Error())
	}
	return p
}

// T16, S19: the scribe that settles what another left is killed at each of its
// own calls, and the one after it brings it to the same end.
func TestEveryCallOfSettling(t *testing.T) {
	r := newRig(t)
	s := scenarios()[len(scenarios())-1]
	base := r.record(s)
	every := 8
	if os.Getenv("COUNTERSIGN_FAULT") == "all" {
		every = 1
	}
	for what, at := range map[string]int{
		"while a file is staged":      nth(base, "fsync", 2),
		"between two exchanges":       nth(base, "renameat2", 2),
		"behind the last exchange":    nth(base, "renameat2", 3) + 1,
		"between two removals":        nth(base, "unlinkat", 2),
		"before the directories sync": nth(base, "fsync", 6),
	} {
		first := fault{at: at, kill: true}
		settled := len(r.reach(s, base, first, fault{at: none}).settled)
		points, ends := 0, make(map[string]int)
		for n := 1; n <= settled; n += every {
			points++
			ends[r.reach(s, base, first, fault{at: n, kill: true}).end()]++
		}
		if points == 0 {
			t.Errorf("%s: nothing was settled", what)
		}
		t.Logf("%-28s %3d of %3d calls of settling: %s", what, points, settled, listed(ends))
	}
}

// nth finds the n-th call of a name, counted from 1.
func nth(calls []call, name string, n int) int {
	for i, c := range calls {
		if c.name == name {
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	panic("there is no such call: " + name)
}
