// Package rules holds docs/rules and SECURITY.md to the tests they name.
package rules

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// row is one line of a list: a rule or promise, and the tests that hold it.
type row struct {
	file  string
	line  int
	rule  string
	tests []string // dir:Name
}

// A row reads: - S2. What stands. [internal/beneath TestX, TestY; tests/road TestZ]
var rowForm = regexp.MustCompile(`^- ([A-Z][0-9]+)\. .+ \[(.+)\]$`)

// itemForm begins a row, in pages that hold other lists too.
var itemForm = regexp.MustCompile(`^- \**[A-Z][0-9]`)

func rows(t *testing.T, files ...string) []row {
	t.Helper()
	var out []row
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan(); n++ {
			if !itemForm.MatchString(lines.Text()) {
				continue
			}
			m := rowForm.FindStringSubmatch(lines.Text())
			if m == nil {
				t.Errorf("%s:%d: not of the form `- S2. Sentence. [dir TestName]`", name, n)
				continue
			}
			r := row{file: name, line: n, rule: m[1]}
			for part := range strings.SplitSeq(m[2], "; ") {
				dir, names, ok := strings.Cut(part, " ")
				if !ok {
					t.Errorf("%s:%d: %q names no test", name, n, part)
				}
				for test := range strings.SplitSeq(names, ", ") {
					r.tests = append(r.tests, dir+":"+test)
				}
			}
			out = append(out, r)
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// comments maps dir:TestName to the comment above each test of the tree, and
// dir:script.txt to the text of each script.
func comments(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		switch {
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".txtar") || strings.HasSuffix(path, ".txt") && strings.Contains(rel, "tests/script"):
			text, err := os.ReadFile(path)
			out["tests/script:"+d.Name()] = string(text)
			return err
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				out[filepath.Dir(rel)+":"+f.Name.Name] = f.Doc.Text()
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A rule is done when a test fails without it: every rule that docs/rules says
// stands names tests that exist and name it in turn.
func TestRulesNameTheirTests(t *testing.T) {
	files, err := filepath.Glob(root + "/docs/rules/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	held(t, rows(t, files...), true)
}

// A promise without a test is a wish.
func TestPromisesNameTheirTests(t *testing.T) {
	held(t, rows(t, root+"/SECURITY.md"), false)
}

func held(t *testing.T, rows []row, mutual bool) {
	t.Helper()
	tests := comments(t)
	seen := make(map[string]bool)
	for _, r := range rows {
		if seen[r.rule] {
			t.Errorf("%s:%d: %s stands twice", r.file, r.line, r.rule)
		}
		seen[r.rule] = true
		for _, name := range r.tests {
			doc, ok := tests[name]
			if !ok {
				t.Errorf("%s:%d: %s names a test that is not there: %s", r.file, r.line, r.rule, name)
				continue
			}
			if mutual && !regexp.MustCompile(`\b`+r.rule+`\b`).MatchString(doc) {
				t.Errorf("%s:%d: %s names %s, which does not name it", r.file, r.line, r.rule, name)
			}
		}
	}
	if len(seen) == 0 {
		t.Error("nothing is listed")
	}
}
