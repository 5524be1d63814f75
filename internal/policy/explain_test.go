package policy

import (
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/refusal"
)

func write(path, text string) action.Change {
	return action.Change{Path: action.Path(path), Write: &action.Write{Content: []byte(text)}}
}

func files(changes ...action.Change) action.Action {
	return action.Action{FileWrite: &action.FileWrite{Changes: changes}}
}

// T4, T5: an explanation is what the road would make of an action on the disk
// that was assumed: the grants with their lines, the first refusal, the reasons,
// the verdict and its rule.
func TestExplain(t *testing.T) {
	const in = "/home/alice/projects/"
	p := sound(t, two)
	for _, c := range []struct {
		name    string
		action  action.Action
		by      string
		disk    Disk
		refused refusal.Code
		verdict Verdict
		reasons string
	}{
		{name: "a new file", action: files(write(in+"a", "x")), verdict: Auto},
		{name: "by an agent that may", action: files(write(in+"a", "x")), by: "claude", verdict: Auto},
		{name: "by an agent that may not", action: files(write(in+"a", "x")), by: "codex", refused: refusal.NotPermitted, verdict: Auto},
		{name: "by nobody", action: files(write(in+"a", "x")), by: "carol", refused: refusal.NotPermitted, verdict: Auto},
		{name: "by one who decides", action: files(write(in+"a", "x")), by: "alice", verdict: Ask},
		{name: "a place that runs later", action: files(write(in+".envrc", "x")), verdict: Ask, reasons: "runs-later directory-environment"},
		{name: "one by where it lands", action: files(write(in+"a", "x")), disk: Disk{Lands: map[action.Path]action.Path{in + "a": in + ".envrc"}},
			verdict: Ask, reasons: "runs-later directory-environment"},
		{name: "one by a link of the home", action: files(write(in+"a", "x")), disk: Disk{Aliases: map[action.Path]action.Path{in + "a": "/home/alice/.zshrc"}},
			verdict: Ask, reasons: "runs-later shell-start"},
		{name: "one that lands where nothing is written", action: files(write(in+"a", "x")), disk: Disk{Lands: map[action.Path]action.Path{in + "a": in + ".git/x"}},
			refused: refusal.GitDirectory, verdict: Ask, reasons: "runs-later git-layout"},
		{name: "a program", action: files(write(in+"a", "x")), disk: Disk{Stands: true, Mode: 0o755}, verdict: Ask, reasons: "runs-later executable"},
		{name: "what cannot be captured", action: files(write(in+"a", "x")), disk: Disk{Stands: true, Lost: true}, verdict: Ask,
			reasons: "data-deletion  not-captured "},
		{name: "a delete", action: files(action.Change{Path: in + "a", Delete: &action.Delete{}}), verdict: Auto, reasons: "data-deletion "},
		{name: "an edit that brings a secret", action: files(action.Change{Path: in + "a", Edit: &action.Edit{Edits: []action.Replacement{
			{Old: []byte("x"), New: []byte("AK" + "IA" + strings.Repeat("Q", 16))}}}}), verdict: Ask, reasons: "credentials aws-key"},
		{name: "an edit around one", action: files(action.Change{Path: in + "a", Edit: &action.Edit{Edits: []action.Replacement{
			{Old: []byte("AK" + "IA" + strings.Repeat("Q", 16) + " a"), New: []byte("AK" + "IA" + strings.Repeat("Q", 16) + " b")}}}}), verdict: Auto},
		{name: "outside the grants", action: files(write("/home/alice/a", "x")), refused: refusal.NotGranted, verdict: Auto},
		{name: "denied", action: files(write(in+"a", "x"), write(in+".env", "x")), refused: refusal.Denied, verdict: Ask, reasons: "credentials password-files"},
		{name: "in nobody's home", action: files(write("/srv/a", "x")), refused: refusal.NobodysHome, verdict: Auto},
		{name: "in two homes", action: files(write(in+"a", "x"), write("/home/bob/a", "x")), refused: refusal.SeveralHomes, verdict: Auto},
		{name: "too long to ask about", action: files(write(in+".envrc", strings.Repeat("x", 64<<10+1))), refused: refusal.TooLongToAsk, verdict: Ask,
			reasons: "runs-later directory-environment"},
		{name: "a push", action: action.Action{GitPush: &action.GitPush{Root: in + "a"}}, refused: refusal.NoHands, verdict: Deny},
		{name: "a discard", action: action.Action{GitWrite: &action.GitWrite{Discard: &action.Discard{Root: in + "a", Paths: []action.Path{"b"}}}}, refused: refusal.NotYet, verdict: Ask, reasons: "data-deletion "},
		{name: "a commit", action: action.Action{GitWrite: &action.GitWrite{Commit: &action.Commit{Root: in + "a", Message: "b"}}}, verdict: Auto},
	} {
		e := p.Explain(c.action, c.by, c.disk)
		var reasons []string
		for _, r := range e.Class.Reasons {
			reasons = append(reasons, string(r.Name)+" "+r.Entry)
		}
		code := refusal.Code("")
		if e.Refused != nil {
			code = e.Refused.Code
		}
		if code != c.refused || e.Decision.Verdict != c.verdict || strings.Join(reasons, " ") != c.reasons || len(e.Disk) == 0 {
			t.Errorf("%s: refused %q, verdict %s, reasons %q; want %q, %s, %q", c.name, code, e.Decision.Verdict, strings.Join(reasons, " "), c.refused, c.verdict, c.reasons)
		}
	}
	place := p.Explain(files(write(in+"a", "x")), "", Disk{}).Paths[0]
	if place.Read == nil || *place.Read != (Cited{"persons.alice.read[0]", 6, "/home/alice"}) || *place.Write != (Cited{"persons.alice.write[0]", 8, "/home/alice/projects"}) || !place.SnapshotRoot {
		t.Errorf("%+v", place)
	}
}

// T5: a capability whose verdict is deny is refused by its line.
func TestExplainDenied(t *testing.T) {
	p := sound(t, minimal+"[decide]\nfile-write = \"deny\"\n")
	e := p.Explain(files(write("/home/alice/projects/a", "x")), "", Disk{})
	if e.Refused == nil || e.Refused.Code != refusal.PolicyDenies || !strings.Contains(e.Refused.Why, "line 13") {
		t.Errorf("%+v", e.Refused)
	}
}
