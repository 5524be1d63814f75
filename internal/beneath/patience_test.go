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

// R3: the bound of places at which calls hang holds where several calls came to
// it at once and went over it.
func TestPatienceIsBounded(t *testing.T) {
	p := Patience{silent: make(map[string]bool)}
	for i := range maxSilent + 1 {
		p.silent[string(rune('a'+i))] = true
	}
	if p.Try("one more", func() { t.Error("tried") }, func() {}) {
		t.Error("it answered")
	}
}
