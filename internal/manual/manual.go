// Package manual writes what a program's table of commands says in the forms in
// which others read it: a page for man(1), and completion for bash, zsh and
// fish. All of it comes from one description, so that none of it can say
// something else than the program's own help.
//
// It promises text that its reader takes for what was meant, whatever words the
// description holds. It does NOT complete what an approval names: whoever
// approves has looked.
package manual

import (
	"fmt"
	"strings"
)

// Program describes a program.
type Program struct {
	Name     string
	About    string // a sentence
	Flags    []Flag // that every command takes
	Commands []Command
	Exits    [][2]string // exit codes, and what each means
	Notes    [][2]string // further sections: a heading, and paragraphs
}

// Command is one command.
type Command struct {
	Name     string // with what it belongs to: "policy check"
	Help     string
	Examples string // lines that are indented are commands
	Args     []Arg
	Flags    []Flag
}

// Arg is a positional argument.
type Arg struct {
	Name, Help string
	Optional   bool
	File       bool // it names a file
	Waiting    bool // it names what waits
	Happened   bool // it names what happened
}

// Flag is a flag.
type Flag struct {
	Name, Help string
	Short      rune
	Value      string // what stands for its value; empty where it takes none
	File       bool   // it names a file or directory
}

// line is a text as one line.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// roff is a text as troff takes it literally.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

// Man gives the page for section 1.
func Man(p Program) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say(`.TH %s 1 "" "%s" "User commands"`, strings.ToUpper(roff(p.Name)), roff(p.Name))
	say(".SH NAME\n%s \\- %s", roff(p.Name), roff(strings.TrimSuffix(line(p.About), ".")))
	say(".SH SYNOPSIS\n.B %s\n[\\fICOMMAND\\fR] [\\fIFLAGS\\fR]", roff(p.Name))
	say(".SH COMMANDS")
	for _, c := range p.Commands {
		say(".SS \"%s %s\"", roff(p.Name), roff(usage(c)))
		say("%s", roff(line(c.Help)))
		for _, a := range c.Args {
			say(".TP\n.I %s\n%s", roff(a.Name), roff(line(a.Help)))
		}
		flags(say, c.Flags)
		examples(say, c.Examples)
	}
	say(".SH FLAGS OF EVERY COMMAND")
	flags(say, p.Flags)
	say(".SH EXIT STATUS")
	for _, e := range p.Exits {
		say(".TP\n.B %s\n%s", roff(e[0]), roff(e[1]))
	}
	for _, n := range p.Notes {
		say(".SH %s", roff(n[0]))
		for i, paragraph := range strings.Split(n[1], "\n\n") {
			if i > 0 {
				say(".PP")
			}
			say("%s", roff(line(paragraph)))
		}
	}
	return b.String()
}

// usage is a command with its arguments.
func usage(c Command) string {
	out := c.Name
	for _, a := range c.Args {
		if a.Optional {
			out += " [" + a.Name + "]"
		} else {
			out += " " + a.Name
		}
	}
	return out
}

func flags(say func(string, ...any), all []Flag) {
	for _, f := range all {
		name := `\fB\-\-` + roff(f.Name) + `\fR`
		if f.Short != 0 {
			name = `\fB\-` + roff(string(f.Short)) + `\fR, ` + name
		}
		if f.Value != "" {
			name += `=\fI` + roff(f.Value) + `\fR`
		}
		say(".TP\n%s\n%s", name, roff(line(f.Help)))
	}
}

// examples writes paragraphs, and lines that are indented as they are.
func examples(say func(string, ...any), text string) {
	if text == "" {
		return
	}
	say(".PP")
	literal := false
	for l := range strings.SplitSeq(text, "\n") {
		indented := strings.HasPrefix(l, "  ")
		if indented != literal {
			say("%s", map[bool]string{true: ".PP\n.EX", false: ".EE\n.PP"}[indented])
			literal = indented
		}
		if l = strings.TrimRight(l, " "); l != "" {
			say("%s", roff(l))
		}
	}
	if literal {
		say(".EE")
	}
}
