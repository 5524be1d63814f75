package classify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"countersign/internal/action"
)

const home = "/home/alice"

// image gives the image of content, or none for nil.
func image(content []byte, mode uint32) *action.Image {
	if content == nil {
		return nil
	}
	h := action.HashOf(content)
	return &action.Image{Hash: &h, Size: uint64(len(content)), Mode: mode, GID: 100}
}

// edit is the plainest change there is: a captured text file, under a snapshot
// root, that gets new text and keeps everything else.
func edit(change func(*Change)) Change {
	was, is := []byte("old\n"), []byte("new\n")
	c := Change{Path: home + "/p/a.txt", Real: home + "/p/a.txt", Home: home, Capability: action.CapFileWrite,
		Old: image(was, 0o644), New: image(is, 0o644), OldContent: was, NewContent: is, Captured: true, InSnapshotRoot: true}
	if change != nil {
		change(&c)
	}
	return c
}

func gone(c *Change) { c.New, c.NewContent = nil, nil }
func born(c *Change) { c.Old, c.OldContent, c.Captured = nil, nil, false }

// put gives a change new content.
func put(s string) func(*Change) {
	return func(c *Change) { c.NewContent, c.New = []byte(s), image([]byte(s), 0o644) }
}

func names(c Class) string {
	var out []string
	for _, r := range c.Reasons {
		out = append(out, string(r.Name))
	}
	return strings.Join(out, " ")
}

// T4: capability, reversibility and reasons are computed from the change and
// the facts, never asserted.
func TestClassify(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  Change
		cap     action.Capability
		by      string // empty: not reversible
		reasons string
	}{
		{"an edit", edit(nil), "file-write", "snapshot", ""},
		{"a new file", edit(born), "file-write", "snapshot", ""},
		{"a delete", edit(gone), "file-delete", "snapshot", "data-deletion"},
		{"a delete by an absent image", edit(func(c *Change) { gone(c); c.New = &action.Image{Absent: true} }), "file-delete", "snapshot", "data-deletion"},
		{"an edit of an uncaptured file", edit(func(c *Change) { c.Captured = false }), "file-write", "", "data-deletion not-captured"},
		{"a delete of an uncaptured file", edit(func(c *Change) { gone(c); c.Captured = false }), "file-delete", "", "data-deletion not-captured"},
		{"outside the snapshot roots", edit(func(c *Change) { c.InSnapshotRoot = false }), "file-write", "snapshot", "outside-snapshot"},
		{"a start-up file", edit(func(c *Change) { c.Path = home + "/.bashrc" }), "file-write", "snapshot", "runs-later"},
		{"a link that leads to a start-up file", edit(func(c *Change) { c.Real = home + "/dotfiles/.zshrc" }), "file-write", "snapshot", "runs-later"},
		{"a start-up file that leads elsewhere", edit(func(c *Change) { c.Path, c.Real = home+"/.zshrc", home+"/dotfiles/z" }), "file-write", "snapshot", "runs-later"},
		{"a start-up file deleted", edit(func(c *Change) { gone(c); c.Path = home + "/.profile" }), "file-delete", "snapshot", "data-deletion runs-later"},
		{"a program", edit(func(c *Change) { c.Old.Mode, c.New.Mode = 0o755, 0o755 }), "file-write", "snapshot", "runs-later"},
		{"a program that stops being one", edit(func(c *Change) { c.Old.Mode = 0o755 }), "file-write", "snapshot", "runs-later"},
		{"a file that becomes a program", edit(func(c *Change) { c.New.Mode = 0o755 }), "file-write", "snapshot", "runs-later permissions-widened"},
		{"a new program", edit(func(c *Change) { born(c); c.New.Mode = 0o755 }), "file-write", "snapshot", "runs-later"},
		{"a private file made readable", edit(func(c *Change) { c.Old.Mode = 0o600 }), "file-write", "snapshot", "permissions-widened"},
		{"a readable file made private", edit(func(c *Change) { c.New.Mode = 0o600 }), "file-write", "snapshot", ""},
		{"a new file that everybody may write", edit(func(c *Change) { born(c); c.New.Mode = 0o666 }), "file-write", "snapshot", "permissions-widened"},
		{"a new file of a group's umask", edit(func(c *Change) { born(c); c.New.Mode = 0o664 }), "file-write", "snapshot", ""},
		{"another group", edit(func(c *Change) { c.New.GID = 27; c.Old.Mode, c.New.Mode = 0o660, 0o660 }), "file-write", "snapshot", "permissions-widened"},
		{"another group, with everybody's rights", edit(func(c *Change) { c.New.GID = 27 }), "file-write", "snapshot", ""},
		{"a group that cannot be kept", edit(func(c *Change) { c.NotKept = []string{"group 27"} }), "file-write", "snapshot", "attributes-lost"},
		{"a delete of what could not be kept", edit(func(c *Change) { gone(c); c.NotKept = []string{"group 27"} }), "file-delete", "snapshot", "data-deletion"},
		{"a link deleted", edit(func(c *Change) { gone(c); c.Old.Kind, c.Old.Mode = action.Symlink, 0o777 }), "file-delete", "snapshot", "data-deletion"},
		{"a link put back", edit(func(c *Change) { born(c); c.New.Kind, c.New.Mode = action.Symlink, 0o777 }), "file-write", "snapshot", ""},
		{"another group without rights", edit(func(c *Change) { c.New.GID = 27; c.Old.Mode = 0o600; c.New.Mode = 0o600 }), "file-write", "snapshot", ""},
		{"a tokens file", edit(func(c *Change) { c.Path = home + "/p/.npmrc" }), "file-write", "snapshot", "credentials"},
		{"a binary write of text", edit(func(c *Change) { c.ContentType = "image/png" }), "file-write", "snapshot", "binary-content"},
		{"content that is not UTF-8", edit(put("caf\xe9")), "file-write", "snapshot", "binary-content"},
		{"content with a NUL", edit(put("a\x00b")), "file-write", "snapshot", "binary-content"},
		{"content at the limit", edit(put(strings.Repeat("a", 100))), "file-write", "snapshot", ""},
		{"content over the limit", edit(put(strings.Repeat("a", 101))), "file-write", "snapshot", "large"},
		{"a large file whose bytes are not at hand", edit(func(c *Change) { c.New.Size, c.NewContent = 101, nil }), "file-write", "snapshot", "large"},
		{"a large file deleted", edit(func(c *Change) { gone(c); c.Old.Size = 101 }), "file-delete", "snapshot", "data-deletion"},
		{"a commit", edit(func(c *Change) { c.Capability = action.CapGitCommit }), "git-commit", "git", ""},
		{"a discard", edit(func(c *Change) { c.Capability = action.CapGitDiscard }), "git-discard", "snapshot", "data-deletion"},
		{"an undo", edit(func(c *Change) { c.Capability = action.CapUndo }), "undo", "snapshot", ""},
		{"a push", edit(func(c *Change) { c.Capability = action.CapGitPush }), "git-push", "", "publication"},
		{"a delete that says it is a write", edit(func(c *Change) { gone(c); c.Capability = action.CapFileWrite }), "file-delete", "snapshot", "data-deletion"},
		{"a capability nobody knows", edit(func(c *Change) { c.Capability = "root" }), "root", "snapshot", ""},
	} {
		got := Classify([]Change{c.change}, Limits{Large: 100})
		if got.Capability != c.cap || got.By != c.by || got.Reversible != (c.by != "") || names(got) != c.reasons {
			t.Errorf("%s: %s by %q (%v), reasons %q; want %s by %q, %q",
				c.name, got.Capability, got.By, got.Reversible, names(got), c.cap, c.by, c.reasons)
		}
	}
}

// T4: several changes are classified together: the gravest capability, not
// reversible as soon as one is not, and every reason with its path, in order.
func TestClassifyTogether(t *testing.T) {
	at := func(p string, more func(*Change)) Change {
		return edit(func(c *Change) {
			c.Path, c.Real = action.Path(p), action.Path(p)
			if more != nil {
				more(c)
			}
		})
	}
	got := Classify([]Change{
		at(home+"/z/.envrc", nil),
		at(home+"/b", gone),
		at(home+"/a", func(c *Change) { c.Captured = false }),
		at(home+"/a/.envrc", nil),
	}, Limits{Large: 100})
	var seen []string
	for _, r := range got.Reasons {
		seen = append(seen, string(r.Name)+" "+r.Path.Name()+" "+r.Entry)
	}
	want := []string{"data-deletion a ", "data-deletion b ", "not-captured a ",
		"runs-later .envrc directory-environment", "runs-later .envrc directory-environment"}
	if got.Capability != action.CapFileDelete || got.Reversible || !slices.Equal(seen, want) {
		t.Errorf("%+v", got)
	}
	if got.Reasons[3].Path != home+"/a/.envrc" || got.Reasons[3].Why == "" {
		t.Errorf("%+v", got.Reasons[3])
	}
	if none := Classify(nil, Limits{}); none.Capability != "" || none.Reversible {
		t.Errorf("no changes: %+v", none)
	}
}

// T4: the list of reasons is closed, and those of the policy's sample are it.
func TestNames(t *testing.T) {
	want := []Name{"data-deletion", "not-captured", "outside-snapshot", "publication", "runs-later", "credentials",
		"permissions-widened", "attributes-lost", "binary-content", "large", "others-work", "foreign-identity"}
	if !slices.Equal(Names(), want) {
		t.Errorf("got %v", Names())
	}
}

// T4: a reason names a few of many things that are lost, and says how many more
// there are.
func TestLossesAreCounted(t *testing.T) {
	c := Change{Path: "/home/alice/a", Old: &action.Image{}, New: &action.Image{}, Captured: true, InSnapshotRoot: true}
	for i := range 20 {
		c.NotKept = append(c.NotKept, fmt.Sprintf("attribute %02d", i))
	}
	why := ""
	for _, r := range Classify([]Change{c}, Limits{}).Reasons {
		if r.Name == AttributesLost {
			why = r.Why
		}
	}
	if !strings.HasSuffix(why, "attribute 07, and 12 more") {
		t.Errorf("it says %q", why)
	}
}
