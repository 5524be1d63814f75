package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// wrong has, for each type that the reference page names, values that a key of
// it refuses: of another type, or of another form.
func wrong(kind string) []string {
	return map[string][]string{
		"1":                                   {"2", `"1"`},
		"path":                                {"7", `"a/b"`, `"/a/../b"`},
		"integer":                             {`"7"`, "7.5", "-1"},
		"names of persons":                    {`"alice"`, `["nobody-knows"]`, "[7]"},
		"octal string":                        {"22", `"9"`, `"rw"`},
		"list of grants":                      {"7", `["~"]`},
		"root":                                {"7", `"a/b"`, `"~bob/x"`},
		"patterns":                            {`"*"`, "[7]", `["/a"]`},
		"places":                              {`"**/a"`, "[7]", `["a/**"]`},
		"boolean":                             {`"true"`, "1"},
		"size":                                {"7", `"7"`, `"7 KB"`, `"0B"`, `"7d"`},
		"time":                                {"7", `"7"`, `"7w"`, `"0h"`, `"7KiB"`},
		"roots":                               {`"~"`, "[7]", `["a/b"]`},
		"entry names":                         {`"ssh"`, "[7]", `["nobody-knows"]`},
		"reasons":                             {`"large"`, "[7]", `["nobody-knows"]`},
		"name":                                {"7", `"A b"`},
		"`\"auto\"`, `\"ask\"`, `\"deny\"`":   {`"maybe"`, "true"},
		"`\"runs-later\"`, `\"credentials\"`": {`"large"`, "7"},
	}[kind]
}

// with gives the minimal policy with one key of the page set to a value. A key
// of a grant is set in the write grant, one of an entry in a whole entry.
func with(key, value string) string {
	key = strings.NewReplacer("….read.", "persons.NAME.read.", "….write.", "persons.NAME.write.", "….", "persons.NAME.write.").Replace(key)
	at := strings.LastIndexByte(key, '.')
	table, name := key[:max(at, 0)], key[at+1:]
	out, set := "", false
	for _, section := range []struct{ table, header, keys string }{
		{"", "", `version = 1`},
		{"persons.NAME", "[persons.alice]", `uid = 1000;home = "/home/alice"`},
		{"persons.NAME.read", "[[persons.alice.read]]", `root = "~"`},
		{"persons.NAME.write", "[[persons.alice.write]]", `root = "~/projects"`},
		{"agents.NAME", "[agents.claude]", `uid = 970;persons = ["alice"]`},
		{"classify.entry", "[[classify.entry]]", `name = "deploy";reason = "runs-later";patterns = ["**/deploy"]`},
	} {
		mine := section.table == table
		if section.table == key || !mine && section.table == "classify.entry" {
			continue // the list itself is set, or nothing is in it
		}
		out += section.header + "\n"
		for line := range strings.SplitSeq(section.keys, ";") {
			if !mine || !strings.HasPrefix(line, name+" =") {
				out += line + "\n"
			}
		}
		if set = set || mine; mine {
			out += name + " = " + value + "\n"
		}
	}
	if !set {
		out += "[" + table + "]\n" + name + " = " + value + "\n"
	}
	return out
}

// T5: each key of the reference page refuses what is not of the type that the
// page gives it, and means what the page gives as its default where it is left
// out.
func TestPageTypesAndDefaults(t *testing.T) {
	_, section, _ := strings.Cut(readPage(t), "\n## Keys\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| (`.*?) \\| (.*?) \\| (.*?) \\| .* \\|$").FindAllStringSubmatch(section, -1)
	kind, defaults := "", 0
	for _, row := range rows {
		if row[2] != "the same" {
			kind = row[2]
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			key := m[1]
			bad := wrong(regexp.MustCompile("^(size|time), at most .*").ReplaceAllString(kind, "$1"))
			if len(bad) == 0 {
				t.Errorf("%s: the type %q has no values that it refuses", key, kind)
			}
			for _, value := range bad {
				_, err := Parse([]byte(with(key, value)))
				var invalid *Invalid
				if !errors.As(err, &invalid) || !strings.Contains(invalid.Problems[0].Key, key[strings.LastIndexByte(key, '.')+1:]) {
					t.Errorf("%s = %s: %v\n%s", key, value, err, with(key, value))
				}
			}
			if value := strings.Trim(row[3], "`"); value != row[3] {
				defaults++
				if got, want := all(sound(t, with(key, value))), all(sound(t, minimal)); got != want {
					t.Errorf("%s: the page's default %s gives\n%s\nand none\n%s", key, value, got, want)
				}
			}
		}
	}
	if len(rows) < 30 || defaults < 20 {
		t.Errorf("the page has %d rows and %d defaults", len(rows), defaults)
	}
}

// all writes out what a policy says.
func all(p *Policy) string {
	s := fmt.Sprintf("%s %v %v %+v %+v %+v", p.Homes, p.Verdicts, p.Asks, p.Consent, p.Limits, p.Keep)
	for name, person := range p.Persons {
		s += fmt.Sprintf("\n%s %+v", name, *person)
	}
	for name, agent := range p.Agents {
		s += fmt.Sprintf("\n%s %+v", name, *agent)
	}
	return s + "\n" + entriesAt(p, "/p/Makefile", "/p/.travis.yml", "/p/Deploy/x", "/p/flake.nix", "/p/package-lock.json")
}

// T5: every piece of a policy that the pages show is a sound one.
func TestPagePieces(t *testing.T) {
	pieces := strings.Split(readPage(t), "```toml\n")[1:]
	for i, piece := range pieces {
		text, _, _ := strings.Cut(piece, "```")
		if i > 0 {
			text = minimal + text
		}
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
	if len(pieces) < 2 {
		t.Error("the page lost its pieces")
	}
}
