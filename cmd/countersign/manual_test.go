package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"countersign/internal/manual"
)

var update = flag.Bool("update", false, "write the manual page and the completions anew")

// program describes this program by its own table of commands.
func program() manual.Program {
	var c commands
	model := parserOf(&c).Model
	p := manual.Program{
		Name: model.Name, About: about, Flags: flagsOf(model.Node),
		Notes: [][2]string{
			{"ENVIRONMENT", "COUNTERSIGN_ROOT stands for --root. NO_COLOR, set to anything, turns colours off."},
			{"FILES", "/run/countersign has the sockets of the installed service, /etc/countersign/policy.toml its policy."},
			{"SEE ALSO", "The README, ARCHITECTURE, SECURITY and docs that are installed beside the program."},
		},
	}
	for code := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(exits, "Exit codes: "), "."), ", ") {
		number, means, _ := strings.Cut(code, " ")
		p.Exits = append(p.Exits, [2]string{number, means})
	}
	for _, leaf := range model.Leaves(true) {
		p.Commands = append(p.Commands, commandOf(leaf))
	}
	return p
}

func commandOf(n *kong.Node) manual.Command {
	c := manual.Command{Name: n.Path(), Help: n.Help, Examples: n.Detail, Flags: flagsOf(n)}
	for _, a := range n.Positional {
		c.Args = append(c.Args, manual.Arg{
			Name: strings.ToUpper(a.Name), Help: a.Help, Optional: !a.Required, File: a.Name == "file",
			Waiting:  slices.Contains([]string{"show", "deny"}, c.Name),
			Happened: c.Name == "undo",
		})
	}
	return c
}

func flagsOf(n *kong.Node) (out []manual.Flag) {
	for _, f := range n.Flags {
		one := manual.Flag{Name: f.Name, Help: f.Help, Short: f.Short}
		if !f.IsBool() {
			if one.Value = f.PlaceHolder; one.Value == "" {
				one.Value = "N"
				if f.Target.Kind() == reflect.String {
					one.Value = strings.ToUpper(f.Name)
				}
			}
			one.File = slices.Contains([]string{"FILE", "DIR"}, f.PlaceHolder)
		}
		out = append(out, one)
	}
	return out
}

// O2: the manual page and the completions say what the table of commands says:
// `go test ./cmd/countersign -update` writes them.
func TestManualIsOfTheTable(t *testing.T) {
	p := program()
	for name, want := range map[string]string{
		"man/countersign.1":           manual.Man(p),
		"completion/countersign.bash": manual.Bash(p),
		"completion/_countersign":     manual.Zsh(p),
		"completion/countersign.fish": manual.Fish(p),
	} {
		file := filepath.Join("../../docs", name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("docs/%s is not what the table of commands says (%v): go test ./cmd/countersign -update", name, err)
		}
	}
}

// O2: every command's help has an example, and no example is of a command that
// is not there or that the parser would not take.
func TestExamples(t *testing.T) {
	with := examples()
	for _, c := range program().Commands {
		text, ok := with[c.Name]
		delete(with, c.Name)
		if !ok || !strings.Contains(text, "  countersign") {
			t.Errorf("%s has no example", c.Name)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if args, ok := strings.CutPrefix(line, "  countersign"); ok {
				parses(t, c.Name, args)
			}
		}
	}
	for name := range with {
		t.Errorf("an example of %s, which is no command", name)
	}
}

// parses tries an example, as far as a pipe or a redirection, on the parser.
func parses(t *testing.T, command, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " |")
	line, _, _ = strings.Cut(line, " <")
	var args []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	var c commands
	parsed, err := parserOf(&c).Parse(args)
	if err != nil {
		t.Errorf("countersign%s: %v", line, err)
		return
	}
	words := []string{}
	for word := range strings.FieldsSeq(parsed.Command()) {
		if !strings.HasPrefix(word, "<") && !strings.HasPrefix(word, "[") {
			words = append(words, word)
		}
	}
	if got := strings.Join(words, " "); got != command {
		t.Errorf("countersign%s is an example of %s, and runs %s", line, command, got)
	}
}

// O2: the shells take what is written for them, and complete commands, what
// follows a command, and flags.
func TestShellsComplete(t *testing.T) {
	dir, err := filepath.Abs("../../docs/completion")
	if err != nil {
		t.Fatal(err)
	}
	const bash = `source countersign.bash; COMP_WORDS=(countersign "$@"); COMP_CWORD=$#; _countersign; echo ${COMPREPLY[@]}`
	for name, c := range map[string]struct {
		shell, script, want string
		args                []string
	}{
		"bash, a command":   {"bash", bash, "policy", []string{"po"}},
		"bash, a second":    {"bash", bash, "check explain", []string{"policy", ""}},
		"bash, a flag":      {"bash", bash, "--state --since", []string{"log", "--s"}},
		"bash, flag before": {"bash", bash, "--state --since", []string{"--root", "/x", "log", "--s"}},
		"fish, a command":   {"fish", `source countersign.fish; complete -C"countersign ver" | string split -f1 \t`, "verify", nil},
		"fish, a flag":      {"fish", `source countersign.fish; complete -C"countersign deny --w" | string split -f1 \t`, "--why", nil},
		"zsh takes it":      {"zsh", `zsh -n ./_countersign && echo ok`, "ok", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(c.shell); err != nil {
				t.Skip("there is no " + c.shell)
			}
			run := exec.Command(c.shell, append([]string{"-c", c.script, c.shell}, c.args...)...)
			run.Dir, run.Env = dir, append(os.Environ(), "HOME="+t.TempDir())
			out, err := run.Output()
			if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}
