package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"countersign/internal/action"
	"countersign/internal/prompt"
	"countersign/internal/protocol"
)

// play is the story: an edit that policy lands, one that asks, a look back, and
// one taken back.
func (t *tour) play(ctx context.Context) error {
	first, err := t.auto(ctx)
	if err != nil {
		return err
	}
	if err := t.asked(ctx); err != nil {
		return err
	}
	t.say("What happened")
	if err := t.command(ctx, t.alice, ok, "", "log"); err != nil {
		return err
	}
	if err := t.takeBack(ctx, first); err != nil {
		return err
	}
	t.say("The journal, every hash of it")
	return t.command(ctx, t.alice, ok, "", "verify")
}

// auto proposes what policy lands by itself.
func (t *tour) auto(ctx context.Context) (action.ID, error) {
	t.say("claude proposes an edit of README.md; policy lands it")
	if err := t.propose(ctx, ok, "README.md", "the whole world", "everybody", "Shorter."); err != nil {
		return "", err
	}
	t.note("the keeper asked reader@alice what stood there, kept that, wrote down what was to come,")
	t.note("and scribe@alice, as uid %d, exchanged the file", t.alice.uid)
	tx, err := t.latest(ctx)
	if err != nil {
		return "", err
	}
	if tx.State != protocol.StateLanded {
		return "", fmt.Errorf("it is %s, not landed", tx.State)
	}
	return tx.ID, t.command(ctx, t.alice, ok, "", "show", string(tx.ID))
}

// asked proposes what only an owner can land.
func (t *tour) asked(ctx context.Context) error {
	t.say("claude proposes an edit of a program; that asks")
	if err := t.propose(ctx, waiting, "greet.sh", "echo hello", "echo hello, everybody", "Greets everybody."); err != nil {
		return err
	}
	tx, err := t.latest(ctx)
	if err != nil {
		return err
	}
	if tx.State != protocol.StateWaiting {
		return fmt.Errorf("it is %s, not waiting", tx.State)
	}
	if t.separated {
		t.note("claude tries to approve it alone, and the kernel refuses the socket:")
		if err := t.command(ctx, t.claude, refused, "", "approve", string(tx.ID)+"@"+tx.Prefix); err != nil {
			return err
		}
	}
	if err := t.command(ctx, t.alice, ok, "", "show", string(tx.ID)); err != nil {
		return err
	}
	answer := "approve"
	if t.Yes {
		t.note("--yes: approved in alice's place")
	} else if answer, err = prompt.Ask(ctx, t.In, t.Out, "\nYou are alice.", []string{"approve", "deny"}); err != nil {
		return err
	}
	if answer == "deny" {
		return t.command(ctx, t.alice, ok, "", "deny", string(tx.ID), "--why", "not today")
	}
	return t.command(ctx, t.alice, ok, "", "approve", string(tx.ID)+"@"+tx.Prefix)
}

// takeBack undoes one action, and leaves the other as it is.
func (t *tour) takeBack(ctx context.Context, id action.ID) error {
	t.say("alice takes the first one back; the other stays")
	if err := t.command(ctx, t.alice, ok, "", "undo", string(id), "--yes"); err != nil {
		return err
	}
	for _, name := range []string{"README.md", "greet.sh"} {
		text, err := os.ReadFile(filepath.Join(t.home, "project", name))
		if err != nil {
			return err
		}
		t.note("%s ends: %q", name, text[max(0, len(text)-40):])
	}
	return nil
}

// propose sends one edit, as the agent.
func (t *tour) propose(ctx context.Context, want int, name, from, to, sentence string) error {
	a := action.Action{FileWrite: &action.FileWrite{Changes: []action.Change{{
		Path: action.Path(filepath.Join(t.home, "project", name)),
		Edit: &action.Edit{Edits: []action.Replacement{{Old: []byte(from), New: []byte(to)}}},
	}}}}
	proposal, err := json.Marshal(map[string]any{"action": a, "sentence": sentence})
	if err != nil {
		return err
	}
	return t.command(ctx, t.claude, want, string(proposal), "propose", "-")
}
