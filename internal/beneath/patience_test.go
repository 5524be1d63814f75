package beneath

import (
	"testing"
)

// R3: what does not answer is waited for once; until it does, nobody waits for
// it again, and other places are tried as ever. What comes late is let go.
func TestPatience(t *testing.T) {
	var p Patience
	answer, late := make(chan bool), make(chan bool)
	if p.Try("silent", func() { <-answer }, func() { close(late) }) {
		t.Fatal("it answered")
	}
	gone := false
	if p.Try("silent", func() { t.Error("tried again") }, func() { gone = true }) || !gone {
		t.Error("it answered, or nothing was let go")
	}
	if real, err := p.Where("/proc/self/../self/fd/.."); err != nil || real == "" {
		t.Errorf("%q, %v", real, err)
	}
	close(answer)
	<-late
	for !p.Try("silent", func() {}, func() {}) {
	}
}
