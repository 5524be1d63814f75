package fileread

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/testas"
)

// globbed gives all pages of a glob.
func globbed(t *testing.T, f Files, p protocol.GlobParams) (paths []string) {
	t.Helper()
	for {
		res, err := f.Glob(context.Background(), p)
		must(t, err)
		for _, m := range res.Matches {
			paths = append(paths, string(m.Path))
		}
		if res.Next == "" {
			return paths
		}
		p.After = res.Next
	}
}

// R8 R11: a pattern is absolute, relative to a directory that is named, or relative
// to each read grant's root, and then each path is matched by the grant that
// speaks for it; in pages of any size the answer is the same.
func TestGlob(t *testing.T) {
	home := t.TempDir()
	put(t, home, "g/a.go", "g/src/b.go", "g/src/deep/c.go", "g/src/b_test.go", "g/notes/d.go", "g/notes/in/e.go", "h/f.go", "g/src/[x]/y.go", "g/\xff.go", "g/.hidden/z.go", "g/.env", "out/o.go")
	must(t, os.Symlink("a.go", home+"/g/link.go"), os.Mkdir(home+"/g/dir.go", 0o755))
	f := granting(t, home, grant.Grant{Root: home + "/h"}, grant.Grant{Root: home + "/g"}, grant.Grant{Root: home + "/g/notes"})
	for _, c := range []struct {
		p    protocol.GlobParams
		want string
	}{
		{protocol.GlobParams{Pattern: "*.go"}, "g/a.go g/dir.go g/link.go g/\xff.go g/notes/d.go h/f.go"},
		{protocol.GlobParams{Pattern: "*.go", Kind: "file"}, "g/a.go g/\xff.go g/notes/d.go h/f.go"},
		{protocol.GlobParams{Pattern: "*.go", Kind: "link"}, "g/link.go"},
		{protocol.GlobParams{Pattern: "*", Kind: "directory"}, "g/.hidden g/dir.go g/src g/notes/in"},
		{protocol.GlobParams{Pattern: "**/*.go", Kind: "file"}, "g/.hidden/z.go g/a.go g/src/[x]/y.go g/src/b.go g/src/b_test.go g/src/deep/c.go g/\xff.go g/notes/d.go g/notes/in/e.go h/f.go"},
		{protocol.GlobParams{Pattern: action.Path(home) + "/g/**/*.go", Kind: "file"}, "g/.hidden/z.go g/a.go g/notes/d.go g/notes/in/e.go g/src/[x]/y.go g/src/b.go g/src/b_test.go g/src/deep/c.go g/\xff.go"},
		{protocol.GlobParams{Pattern: action.Path(home) + "/g/src/*_test.go"}, "g/src/b_test.go"},
		{protocol.GlobParams{Pattern: action.Path(home) + "/g/a.go"}, "g/a.go"},
		{protocol.GlobParams{Pattern: "src/{b,deep/c}.go"}, "g/src/b.go g/src/deep/c.go"},
		{protocol.GlobParams{Pattern: "*.go", Path: action.Path(home + "/g/src/[x]")}, "g/src/[x]/y.go"},
		{protocol.GlobParams{Pattern: "src/\\[x]/*"}, "g/src/[x]/y.go"},
		{protocol.GlobParams{Pattern: "in/*"}, "g/notes/in/e.go"},
		{protocol.GlobParams{Pattern: "**/.env"}, ""},
		{protocol.GlobParams{Pattern: "nothing/**"}, ""},
		{protocol.GlobParams{Pattern: "notes/*.go"}, ""}, // it is the nested grant's
		{protocol.GlobParams{Pattern: "a.go/*"}, ""},
	} {
		for _, limit := range []uint64{0, 1, 2} {
			c.p.Limit = limit
			got := globbed(t, f, c.p)
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], home+"/")
			}
			if !slices.Equal(got, strings.Fields(c.want)) {
				t.Errorf("%q %s in pages of %d: %q, want %q", c.p.Pattern, c.p.Path, limit, got, c.want)
			}
		}
	}
	for _, c := range []struct {
		p    protocol.GlobParams
		code refusal.Code
	}{
		{protocol.GlobParams{Pattern: ""}, refusal.BadRequest}, {protocol.GlobParams{Pattern: "/"}, refusal.BadRequest}, {protocol.GlobParams{Pattern: "a["}, refusal.BadRequest},
		{protocol.GlobParams{Pattern: "a/../b"}, refusal.BadRequest}, {protocol.GlobParams{Pattern: "a//b"}, refusal.BadRequest}, {protocol.GlobParams{Pattern: "./a"}, refusal.BadRequest},
		{protocol.GlobParams{Pattern: action.Path(strings.Repeat("a", 2000))}, refusal.BadRequest}, {protocol.GlobParams{Pattern: "*", Kind: "folder"}, refusal.BadRequest},
		{protocol.GlobParams{Pattern: "/x/*", Path: "/x"}, refusal.BadRequest}, {protocol.GlobParams{Pattern: "/etc/*"}, refusal.NotGranted},
		{protocol.GlobParams{Pattern: action.Path(home) + "/out/*"}, refusal.NotGranted}, {protocol.GlobParams{Pattern: "*", After: "/elsewhere"}, refusal.BadRequest},
		{protocol.GlobParams{Pattern: "*", Path: action.Path(home + "/g"), After: "/elsewhere"}, refusal.BadRequest},
	} {
		if _, err := f.Glob(context.Background(), c.p); !refusal.Is(err, c.code) {
			t.Errorf("%q: %v, want %s", c.p.Pattern, err, c.code)
		}
	}
}

// R8: a walk starts where the pattern's fixed part leads and enters nothing in
// which it could not match: a directory elsewhere that cannot be read is not
// missed.
func TestGlobPrunes(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	put(t, home, "src/a/x.go", "src/b/deep/x.go", "src/a/shut/x.go", "other/x.go")
	for _, dir := range []string{"/src/a/shut", "/other"} {
		must(t, os.Chmod(home+dir, 0))
		defer os.Chmod(home+dir, 0o755)
	}
	f := granting(t, home, grant.Grant{Root: home})
	for pattern, missed := range map[action.Path]int{"src/*/x.go": 0, "*/x.go": 1, "src/**/x.go": 1, "**/x.go": 2} {
		res, err := f.Glob(context.Background(), protocol.GlobParams{Pattern: pattern})
		must(t, err)
		if len(res.Missed) != missed {
			t.Errorf("%s: missed %+v, want %d", pattern, res.Missed, missed)
		}
	}
}

// R3 R8: a grant whose root cannot be walked is told, and keeps no other from
// being searched by a glob that names none.
func TestGlobRootMissed(t *testing.T) {
	home := t.TempDir()
	put(t, home, "file", "g/a.go")
	f := granting(t, home, grant.Grant{Root: home + "/file"}, grant.Grant{Root: home + "/g"}, grant.Grant{Root: home + "/none"})
	res, err := f.Glob(context.Background(), protocol.GlobParams{Pattern: "*.go"})
	must(t, err)
	if len(res.Matches) != 1 || len(res.Missed) != 1 || res.Missed[0].Path != action.Path(home+"/file") {
		t.Errorf("%+v", res)
	}
}
