package policy

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"countersign/internal/grant"
	"countersign/internal/ignore"
)

const page = "../../docs/policy.md"

// tables makes the page's tables from the data they show.
func tables() map[string]string {
	code := func(list []string) string {
		out := make([]string, len(list))
		for i, s := range list {
			out[i] = "`" + s + "`"
		}
		return strings.Join(out, " ")
	}
	deny := "| entry | why | places |\n|---|---|---|\n"
	for _, e := range grant.DenyList() {
		var parts []string
		for _, h := range e.Home {
			parts = append(parts, "`~/"+h+"`")
		}
		if names := append(append([]string{}, e.Names...), e.Files...); len(names) > 0 {
			parts = append(parts, code(names))
		}
		if len(e.Except) > 0 {
			parts = append(parts, "except "+code(e.Except))
		}
		if len(e.Content) > 0 {
			parts = append(parts, "and, where it holds a private key, "+code(e.Content))
		}
		deny += fmt.Sprintf("| `%s` | %s | %s |\n", e.Name, e.Why, strings.Join(parts, " "))
	}
	passed := "| directory | what it is | beside |\n|---|---|---|\n"
	for _, k := range ignore.Directories() {
		passed += fmt.Sprintf("| `%s` | %s | %s |\n", k.Name, k.Why, code(k.Beside))
	}
	for _, k := range ignore.InHome() {
		passed += fmt.Sprintf("| `~/%s` | %s |  |\n", k.Name, k.Why)
	}
	return map[string]string{"passed-over": passed, "deny": deny}
}

// R1, R10: the reference page shows the lists as they are. Run with -update to
// write them there.
func TestPageTables(t *testing.T) {
	text := readPage(t)
	block := regexp.MustCompile(`(?s)(<!-- table: ([a-z-]+) -->\n)(.*?)(<!-- end -->)`)
	want := tables()
	fresh := block.ReplaceAllStringFunc(text, func(s string) string {
		m := block.FindStringSubmatch(s)
		table, ok := want[m[2]]
		if !ok {
			t.Errorf("the page has a table %s that nothing fills", m[2])
		}
		delete(want, m[2])
		return m[1] + table + m[4]
	})
	if len(want) > 0 {
		t.Errorf("the page lacks tables: %v", reflect.ValueOf(want).MapKeys())
	}
	if fresh == text {
		return
	}
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(page, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("docs/policy.md does not show the lists as they are; run this test with -args -update")
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the tables into docs/policy.md")
	flag.Parse()
	os.Exit(m.Run())
}

func readPage(t testing.TB) string {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// example is the file that the page shows.
func example(t testing.TB) string {
	_, rest, ok := strings.Cut(readPage(t), "```toml\n")
	text, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the page has no example")
	}
	return text
}

// T5: the example of the reference page is a sound policy, and what it says
// below its persons and agents is what an absent section means.
func TestExample(t *testing.T) {
	p, err := Parse([]byte(example(t)))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Parse([]byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]any{
		"homes":          {p.Homes, plain.Homes},
		"decide":         {p.Verdicts, plain.Verdicts},
		"decide.ask":     {p.Asks, plain.Asks},
		"consent":        {p.Consent, plain.Consent},
		"limits":         {p.Limits, plain.Limits},
		"keep":           {p.Keep, plain.Keep},
		"snapshot_roots": {p.Persons["alice"].SnapshotRoots, plain.Persons["alice"].SnapshotRoots},
		"umask, owners":  {[]any{p.Persons["alice"].Umask, p.Persons["alice"].Owners}, []any{plain.Persons["alice"].Umask, plain.Persons["alice"].Owners}},
		"deny_except":    {p.Persons["alice"].Grants.Deny, plain.Persons["alice"].Grants.Deny},
		"grant keys":     {keysOf(p.Persons["alice"].Grants.Writes[0]), keysOf(plain.Persons["alice"].Grants.Writes[0])},
	} {
		if fmt.Sprint(pair[0]) != fmt.Sprint(pair[1]) {
			t.Errorf("%s: the example has %v, the default is %v", name, pair[0], pair[1])
		}
	}
}

func keysOf(g grant.Grant) string { return fmt.Sprint(g.FollowLinks, g.CrossMounts, g.MaxFileSize) }

// T5: every key that the file may have is on the reference page and in its
// example.
func TestPageHasEveryKey(t *testing.T) {
	text := readPage(t)
	body := example(t)
	var walk func(reflect.Type)
	walk = func(rt reflect.Type) {
		switch rt.Kind() {
		case reflect.Map, reflect.Slice, reflect.Pointer:
			walk(rt.Elem())
		case reflect.Struct:
			for f := range rt.Fields() {
				key := regexp.QuoteMeta(f.Tag.Get("toml"))
				if !regexp.MustCompile("`[^`|]*\\b" + key + "\\b[^`|]*`").MatchString(text) {
					t.Errorf("the page's tables lack the key %s", key)
				}
				if !regexp.MustCompile(`(?m)^(` + key + ` = |\[+([a-z.]*\.)?` + key + `[].])`).MatchString(body) {
					t.Errorf("the page's example lacks the key %s", key)
				}
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[file]())
}
