package policy

import (
	"slices"

	"countersign/internal/action"
	"countersign/internal/classify"
)

// What no policy may raise: new text past the first is an answer that nobody
// could have read, and a frame carries no more content than the second.
const (
	maxAskedText = 64 << 10
	maxAutoBytes = 8 << 20
)

// settings reads what is not about a person or an agent.
func (b *builder) settings() {
	b.decide()
	f := b.f
	b.p.Consent = Consent{PendingPerAgent: f.Consent.PendingPerAgent, Unseparated: f.Consent.Unseparated}
	var err error
	if b.p.Consent.Expire, err = parseAge(f.Consent.Expire); err != nil {
		b.add("consent.expire", "%s", why(err))
	}
	if f.Consent.PendingPerAgent <= 0 {
		b.add("consent.pending_per_agent", "it must be above zero")
	}
	b.p.Limits = Limits{
		AskedText: b.size("limits.asked_text", f.Limits.AskedText),
		AutoBytes: b.size("limits.auto_bytes", f.Limits.AutoBytes),
		Large:     b.size("limits.large", f.Limits.Large),
	}
	if b.p.Limits.AskedText > maxAskedText {
		b.add("limits.asked_text", "it can be lowered from 64KiB and not raised: nobody could answer for more")
	}
	if b.p.Limits.AutoBytes > maxAutoBytes {
		b.add("limits.auto_bytes", "it can be lowered from 8MiB and not raised: no frame carries more")
	}
	if b.p.Keep.Captures, err = parseAge(f.Keep.Captures); err != nil {
		b.add("keep.captures", "%s", why(err))
	}
	b.p.Keep.Size = b.size("keep.size", f.Keep.Size)
}

func (b *builder) size(key, s string) int64 {
	n, err := parseSize(s)
	if err != nil {
		b.add(key, "%s", why(err))
	}
	return n
}

func (b *builder) decide() {
	d := b.f.Decide
	b.p.Verdicts = map[action.Capability]Verdict{}
	written := map[action.Capability]string{action.CapFileWrite: d.FileWrite, action.CapFileDelete: d.FileDelete,
		action.CapGitCommit: d.GitCommit, action.CapGitDiscard: d.GitDiscard}
	for _, c := range decided() {
		if !knownVerdict(written[c]) {
			b.add("decide."+string(c), "%q is none of auto, ask, deny", written[c])
		}
		b.p.Verdicts[c] = Verdict(written[c])
	}
	b.p.Asks = map[classify.Name]bool{}
	for i, s := range d.Ask {
		if !slices.Contains(classify.Names(), classify.Name(s)) {
			b.add(item("decide.ask", i), "there is no reason %q", s)
		}
		b.p.Asks[classify.Name(s)] = true
	}
}
