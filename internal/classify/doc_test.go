package classify

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

const page = "../../docs/classification.md"

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the entries into docs/classification.md")
	flag.Parse()
	os.Exit(m.Run())
}

// chapters has each list of the page.
func chapters() map[string][]Entry {
	return map[string][]Entry{"runs-later": runsLater, "quiet": onRequest, "credentials": credentialNames, "marks": markEntries()}
}

// text is one entry as the page shows it.
func text(e Entry) string {
	s := "### `" + e.Name + "`\n\n" + sentence(e.Why)
	if e.Note != "" {
		s += " " + e.Note
	}
	s += "\n\n"
	if len(e.Patterns) > 0 {
		s += "Places: `" + strings.Join(e.Patterns, "` `") + "`\n\n"
	}
	if e.Form != "" {
		s += "Form: " + e.Form + ".\n\n"
	}
	return s
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// T4: the page shows the tables as they are, and says of each entry why it asks
// or does not. Run with -args -update to write them there.
func TestPageShowsTheTables(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := chapters()
	block := regexp.MustCompile(`(?s)(<!-- entries: ([a-z-]+) -->\n)(.*?)(<!-- end -->)`)
	fresh := block.ReplaceAllStringFunc(string(b), func(s string) string {
		m := block.FindStringSubmatch(s)
		list, ok := want[m[2]]
		if !ok {
			t.Errorf("the page has a list %s that nothing fills", m[2])
		}
		delete(want, m[2])
		out := m[1]
		for _, e := range list {
			if e.Note == "" && m[2] != "marks" {
				t.Errorf("entry %s does not say why it asks, or why not", e.Name)
			}
			out += text(e)
		}
		return out + m[4]
	})
	if len(want) > 0 {
		t.Errorf("the page lacks lists: %v", want)
	}
	for _, n := range Names() {
		if !strings.Contains(fresh, "| `"+string(n)+"` |") {
			t.Errorf("the page lacks the reason %s", n)
		}
	}
	if fresh == string(b) {
		return
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(page, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("docs/classification.md does not show the tables as they are; run this test with -args -update")
}
