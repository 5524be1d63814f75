package accounts

import (
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/testas"
)

// P7: a file that somebody changed meanwhile is not overwritten, nor undone.
func TestPut(t *testing.T) {
	testas.Root(t)
	c := &Config{Run: t.TempDir(), Policy: filepath.Join(t.TempDir(), "policy.toml")}
	must(t, os.WriteFile(c.Policy, []byte("old"), 0o640), os.Chown(c.Policy, 0, shared))
	h, err := c.hold()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.hold(); err == nil {
		t.Error("two hold it")
	}
	put := h.put([]byte("fresh"), "")
	must(t, put.do(t.Context()))
	if info, err := os.Stat(c.Policy); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if put.do(t.Context()) == nil {
		t.Error("it overwrote what it did not read")
	}
	must(t, put.undo(t.Context()))
	if b, _ := os.ReadFile(c.Policy); string(b) != "old" {
		t.Errorf("undone to %q", b)
	}
	must(t, os.WriteFile(c.Policy, []byte("mine"), 0o640), put.undo(t.Context()))
	if b, _ := os.ReadFile(c.Policy); string(b) != "mine" {
		t.Errorf("undoing put %q over the owner's", b)
	}
	h.release()
	if left, _ := os.ReadDir(filepath.Dir(c.Policy)); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
