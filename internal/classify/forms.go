package classify

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/internal/action"
)

// formOf is how one entry is known by what a file is. holds is linear in the
// content, whatever it holds.
type formOf struct {
	name  string
	holds func(*Change) bool
	entry int // its place in Tables
}

// forms never changes while a program runs; each has a case in the package's
// tests.
var forms = []formOf{
	{name: "executable", holds: func(c *Change) bool { return runs(c.Old) }},
	{name: "made-program", holds: func(c *Change) bool { return runs(c.New) && !runs(c.Old) }},
	{name: "git-layout", holds: func(c *Change) bool { return c.InRepository }},
	{name: "git-config", holds: func(c *Change) bool { return c.becomes(isGitConfig) }},
	{name: "modelines", holds: func(c *Change) bool { return c.becomes(hasModeline) }},
	{name: "package-hooks", holds: packageHooks},
}

func runs(i *action.Image) bool { return there(i) && i.Kind == action.Regular && i.Mode&0o111 != 0 }

// becomes says whether a form is in what a change leaves or in what it takes
// away: to change such a file is to change what runs.
func (c *Change) becomes(form func([]byte) bool) bool {
	return there(c.New) && form(c.NewContent) || there(c.Old) && form(c.OldContent)
}

// isGitConfig says whether text is git configuration that names a program, a
// remote, or another file of configuration. Any file can be one that another
// includes, under any name. It is told by its first line, a section's header,
// and by one key that git would act on; everything between is read as
// leniently as could matter.
func isGitConfig(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	section := ""
	for len(text) > 0 {
		line := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			text = nil
		}
		line = bytes.TrimLeft(line, " \t\r")
		for len(line) > 0 && line[0] == '[' {
			section, line = sectionOf(line)
		}
		if len(line) == 0 || line[0] == '#' || line[0] == ';' {
			continue
		}
		if section == "" {
			return false // what is not in a section is no configuration of git's
		}
		if gitRuns[section] == nil {
			continue
		}
		key := line[:keyLen(line)]
		if len(key) > 0 && (gitRuns[section][""] || gitRuns[section][fold(string(key))]) {
			return true
		}
	}
	return false
}

// maxWord bounds the names that are compared with the ones git knows.
const maxWord = 64

// sectionOf reads `[name "sub"]` and gives the name, lowered, and what follows
// on the line. A header that is not closed takes the line.
func sectionOf(line []byte) (string, []byte) {
	name := line[1:]
	n := 0
	for n < len(name) && n < maxWord && name[n] != ']' && name[n] != ' ' && name[n] != '\t' && name[n] != '.' {
		n++
	}
	if n == 0 {
		n = min(1, len(name)) // `[[`, which is another format's
	}
	rest := name[n:]
	quoted := false
	for i := 0; i < len(rest); i++ {
		switch {
		case rest[i] == '\\':
			i++
		case rest[i] == '"':
			quoted = !quoted
		case rest[i] == ']' && !quoted:
			return fold(string(name[:n])), bytes.TrimLeft(rest[i+1:], " \t\r")
		}
	}
	return fold(string(name[:n])), nil
}

func keyLen(line []byte) int {
	for n, c := range line {
		if n > maxWord || !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-') {
			return n
		}
	}
	return len(line)
}

// gitRuns has the keys of git's configuration by which a program runs, another
// configuration is read, or a remote becomes another; an empty key is any.
var gitRuns = keysOf(map[string]string{
	"core":        "fsmonitor hookspath sshcommand pager editor askpass gitproxy worktree attributesfile alternaterefscommand",
	"include":     "path",
	"includeif":   "path",
	"alias":       "*",
	"pager":       "*",
	"filter":      "clean smudge process",
	"diff":        "external command textconv",
	"merge":       "driver",
	"difftool":    "cmd path",
	"mergetool":   "cmd path",
	"guitool":     "cmd",
	"credential":  "helper",
	"gpg":         "program defaultkeycommand",
	"sequence":    "editor",
	"interactive": "difffilter",
	"remote":      "url pushurl uploadpack receivepack vcs proxy",
	"url":         "insteadof pushinsteadof",
	"http":        "proxy sslverify cookiefile",
	"protocol":    "allow",
	"submodule":   "update url",
	"uploadpack":  "packobjectshook",
	"init":        "templatedir",
	"trailer":     "command cmd",
	"web":         "browser",
	"browser":     "cmd path",
	"man":         "cmd path viewer",
	"sendemail":   "*",
	"imap":        "tunnel",
	"tar":         "command",
	"lfs":         "*",
	"safe":        "directory",
	"extensions":  "*",
})

func keysOf(table map[string]string) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for section, keys := range table {
		out[section] = map[string]bool{}
		for key := range strings.FieldsSeq(keys) {
			out[section][strings.TrimSuffix(key, "*")] = true
		}
	}
	return out
}

// hasModeline says whether a text holds a line by which an editor evaluates an
// expression when it opens the file: Vim where its option is one, Emacs where it
// says eval. Lines that set widths and modes are everywhere, and harmless.
func hasModeline(text []byte) bool {
	head, tail := 0, len(bytes.TrimSuffix(text, []byte("\n")))
	for range modeLines {
		if end := bytes.IndexByte(text[head:], '\n'); end >= 0 {
			head += end + 1
		} else {
			head = len(text)
		}
		if tail > 0 {
			tail = max(bytes.LastIndexByte(text[:tail], '\n'), 0)
		}
	}
	return vimLine(text[:head]) || vimLine(text[tail:]) || emacsLine(text[:head])
}

// modeLines is how many lines at either end of a file Vim looks at.
const modeLines = 5

// vimLine says whether one of some lines is a modeline that sets an option which
// is an expression.
func vimLine(lines []byte) bool {
	if !bytes.Contains(lines, []byte("vi")) && !bytes.Contains(lines, []byte("ex:")) {
		return false // as nearly always
	}
	for line := range bytes.SplitSeq(lines, []byte("\n")) {
		if containsAny(line, "vim:", "vi:", "ex:", "vim<", "vim>", "vim=") &&
			containsAny(line, "expr=", "fde=", "fex=", "inde=", "inex=", "bexpr=", "dex=", "pex=", "statusline=", "stl=", "tabline=",
				"tal=", "rulerformat=", "ruf=", "titlestring=", "iconstring=", "guitablabel=", "gtl=") {
			return true
		}
	}
	return false
}

func emacsLine(lines []byte) bool {
	return containsAny(lines, "-*-") && containsAny(lines, "eval:")
}

func containsAny(text []byte, any ...string) bool {
	for _, s := range any {
		if bytes.Contains(text, []byte(s)) {
			return true
		}
	}
	return false
}

// packageHooks says whether a change of a package.json changes what an install
// runs by itself, or which hooks and tools are put in place by one.
func packageHooks(c *Change) bool {
	if fold(c.Path.Name()) != "package.json" && fold(c.Real.Name()) != "package.json" {
		return false
	}
	old, _ := hooksOf(c.OldContent)
	now, ok := hooksOf(c.NewContent)
	return there(c.New) && (!ok || old != now)
}

// hooksOf gives what an install acts on; not ok where the text cannot be read
// as we read it, and npm might.
func hooksOf(text []byte) (hooks string, ok bool) {
	if len(text) == 0 {
		return "", true
	}
	var doc struct {
		Scripts map[string]jsontext.Value `json:"scripts"`

		Husky      jsontext.Value `json:"husky"`
		Hooks      jsontext.Value `json:"simple-git-hooks"`
		GitHooks   jsontext.Value `json:"gitHooks"`
		PreCommit  jsontext.Value `json:"pre-commit"`
		LintStaged jsontext.Value `json:"lint-staged"`
		Manager    jsontext.Value `json:"packageManager"`
		Trusted    jsontext.Value `json:"trustedDependencies"`
		PNPM       jsontext.Value `json:"pnpm"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return "", false
	}
	var b strings.Builder
	for _, name := range []string{"preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish",
		"dependencies", "preuninstall", "uninstall", "postuninstall"} {
		part(&b, doc.Scripts[name])
	}
	for _, v := range []jsontext.Value{doc.Husky, doc.Hooks, doc.GitHooks, doc.PreCommit, doc.LintStaged, doc.Manager, doc.Trusted, doc.PNPM} {
		part(&b, v)
	}
	if strings.Trim(b.String(), "\n") == "" {
		return "", true
	}
	return b.String(), true
}

// part adds a value, in one spelling, behind a mark that no value holds.
func part(b *strings.Builder, v jsontext.Value) {
	if v != nil && v.Compact() == nil {
		b.Write(v)
	}
	b.WriteByte('\n')
}
