package manual

import (
	"fmt"
	"slices"
	"strings"
)

// groups gives the first words of commands, each once and in order, and behind
// each what may follow it as a second.
func groups(p Program) (first []string, second map[string][]Command) {
	second = make(map[string][]Command)
	for _, c := range p.Commands {
		one, two, ok := strings.Cut(c.Name, " ")
		if !slices.Contains(first, one) {
			first = append(first, one)
		}
		if ok {
			c.Name = two
			second[one] = append(second[one], c)
		}
	}
	return first, second
}

// quoted is a text as a shell takes it literally, in single quotes.
func quoted(s string) string { return "'" + strings.ReplaceAll(line(s), "'", `'\''`) + "'" }

// The commands that name what waits, and what happened, for a shell. An ID is 13
// letters and digits, and nothing else gets through.
const (
	waitingIDs  = `%s pending 2>/dev/null | grep -Eo '^[0-9-]+ [0-9:]+  [a-z2-9]{13}' | grep -Eo '[a-z2-9]{13}$'`
	happenedIDs = `%s log 2>/dev/null | grep -Eo '^[0-9-]+ [0-9:]+  [a-z2-9]{13}' | grep -Eo '[a-z2-9]{13}$'`
)

// Bash gives completion for bash.
func Bash(p Program) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	first, second := groups(p)
	say("# bash completion for %s, made from its table of commands", p.Name)
	say("_%s() {", p.Name)
	say("  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= words= files= i")
	say("  COMPREPLY=()")
	say("  case $prev in %s) COMPREPLY=($(compgen -f -- \"$cur\")); return ;; esac", strings.Join(fileFlags(p), "|"))
	say("  for ((i = 1; i < COMP_CWORD; i++)); do")
	say("    case ${COMP_WORDS[i]} in %s) command=${COMP_WORDS[i]}; break ;; esac", strings.Join(first, "|"))
	say("  done")
	say("  case $command in")
	say("  '') words=%s ;;", quoted(strings.Join(append(slices.Clone(first), long(p.Flags)...), " ")))
	for _, one := range first {
		if len(second[one]) == 0 {
			i := slices.IndexFunc(p.Commands, func(c Command) bool { return c.Name == one })
			say("  %s) %s ;;", one, bashWords(p, p.Commands[i]))
			continue
		}
		var names []string
		say("  %s)\n    case $((i + 1 < COMP_CWORD)),${COMP_WORDS[i+1]} in", one)
		for _, c := range second[one] {
			names = append(names, c.Name)
			say("    1,%s) %s ;;", c.Name, bashWords(p, c))
		}
		say("    *) words=%s ;;\n    esac ;;", quoted(strings.Join(names, " ")))
	}
	say("  esac")
	say("  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))")
	say("  [ -z \"$files\" ] || COMPREPLY+=($(compgen -f -- \"$cur\"))")
	say("}\ncomplete -o filenames -F _%s %s", p.Name, p.Name)
	return b.String()
}

// bashWords sets what may stand in a command: its flags, and what its arguments
// name.
func bashWords(p Program, c Command) string {
	out := "words=" + quoted(strings.Join(long(append(slices.Clone(c.Flags), p.Flags...)), " "))
	for _, a := range c.Args {
		switch {
		case a.File:
			out += "; files=yes"
		case a.Waiting:
			out += `" $(` + fmt.Sprintf(waitingIDs, p.Name) + `)"`
		case a.Happened:
			out += `" $(` + fmt.Sprintf(happenedIDs, p.Name) + `)"`
		}
	}
	return out
}

// long gives flags as they are typed.
func long(flags []Flag) (out []string) {
	for _, f := range flags {
		out = append(out, "--"+f.Name)
	}
	return out
}

// fileFlags gives the flags that take a file.
func fileFlags(p Program) (out []string) {
	all := slices.Clone(p.Flags)
	for _, c := range p.Commands {
		all = append(all, c.Flags...)
	}
	for _, f := range all {
		if name := "--" + f.Name; f.File && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Zsh gives completion for zsh.
func Zsh(p Program) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	first, second := groups(p)
	say("#compdef %s\n# zsh completion for %s, made from its table of commands", p.Name, p.Name)
	say("_%s() {\n  local context state state_descr line\n  typeset -A opt_args", p.Name)
	say("  _arguments -C %s '1: :->command' '*:: :->rest'", strings.Join(zshFlags(p.Flags), " "))
	say("  case $state in\n  command)\n    local -a commands\n    commands=(")
	for _, one := range first {
		help := one + " " + "commands"
		if i := slices.IndexFunc(p.Commands, func(c Command) bool { return c.Name == one }); i >= 0 {
			help = p.Commands[i].Help
		}
		say("      %s", quoted(one+":"+strings.ReplaceAll(help, ":", `\:`)))
	}
	say("    )\n    _describe command commands ;;\n  rest)\n    case $line[1] in")
	for _, one := range first {
		if len(second[one]) == 0 {
			i := slices.IndexFunc(p.Commands, func(c Command) bool { return c.Name == one })
			say("    %s) _arguments %s ;;", one, zshCommand(p, p.Commands[i]))
			continue
		}
		say("    %s)\n      case $words[2] in", one)
		var names []string
		for _, c := range second[one] {
			names = append(names, c.Name)
			say("      %s) shift words; ((CURRENT--)); _arguments %s ;;", c.Name, zshCommand(p, c))
		}
		say("      *) _values command %s ;;\n      esac ;;", strings.Join(names, " "))
	}
	say("    esac ;;\n  esac\n}\n_%s \"$@\"", p.Name)
	return b.String()
}

func zshCommand(p Program, c Command) string {
	out := zshFlags(append(slices.Clone(c.Flags), p.Flags...))
	for i, a := range c.Args {
		does := " "
		switch {
		case a.File:
			does = "_files"
		case a.Waiting:
			does = "compadd $(" + fmt.Sprintf(waitingIDs, p.Name) + ")"
		case a.Happened:
			does = "compadd $(" + fmt.Sprintf(happenedIDs, p.Name) + ")"
		}
		if does != " " && does != "_files" {
			does = "{" + does + "}"
		}
		out = append(out, quotedAsIs(fmt.Sprintf("%d:%s:%s", i+1, a.Name, does)))
	}
	return strings.Join(out, " ")
}

// quotedAsIs is quoted without a change of its white space.
func quotedAsIs(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func zshFlags(flags []Flag) (out []string) {
	words := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`)
	for _, f := range flags {
		spec := "--" + f.Name
		if f.Value != "" {
			spec += "="
		}
		spec += "[" + words.Replace(line(f.Help)) + "]"
		if f.Value != "" {
			spec += ":" + words.Replace(f.Value) + ":"
			if f.File {
				spec += "_files"
			}
		}
		out = append(out, quoted(spec))
	}
	return out
}

// Fish gives completion for fish.
func Fish(p Program) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	first, second := groups(p)
	say("# fish completion for %s, made from its table of commands", p.Name)
	say("complete -c %s -f", p.Name)
	for _, f := range p.Flags {
		say("complete -c %s%s", p.Name, fishFlag(f))
	}
	for _, one := range first {
		help := one + " commands"
		if i := slices.IndexFunc(p.Commands, func(c Command) bool { return c.Name == one }); i >= 0 {
			help = p.Commands[i].Help
			fishCommand(say, p, p.Commands[i], "__fish_seen_subcommand_from "+one)
		}
		say("complete -c %s -n __fish_use_subcommand -a %s -d %s", p.Name, one, fishQuoted(help))
		var names []string
		for _, c := range second[one] {
			names = append(names, c.Name)
		}
		for _, c := range second[one] {
			say("complete -c %s -n '__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from %s' -a %s -d %s",
				p.Name, one, strings.Join(names, " "), c.Name, fishQuoted(c.Help))
			fishCommand(say, p, c, "__fish_seen_subcommand_from "+one+"; and __fish_seen_subcommand_from "+c.Name)
		}
	}
	return b.String()
}

func fishCommand(say func(string, ...any), p Program, c Command, when string) {
	for _, f := range c.Flags {
		say("complete -c %s -n '%s'%s", p.Name, when, fishFlag(f))
	}
	for _, a := range c.Args {
		switch {
		case a.File:
			say("complete -c %s -n '%s' -F", p.Name, when)
		case a.Waiting:
			say("complete -c %s -n '%s' -a %s", p.Name, when, fishQuoted("("+fmt.Sprintf(waitingIDs, p.Name)+")"))
		case a.Happened:
			say("complete -c %s -n '%s' -a %s", p.Name, when, fishQuoted("("+fmt.Sprintf(happenedIDs, p.Name)+")"))
		}
	}
}

func fishFlag(f Flag) string {
	out := " -l " + f.Name
	if f.Short != 0 {
		out += " -s " + string(f.Short)
	}
	if f.Value != "" {
		out += " -x"
	}
	if f.File {
		out = strings.TrimSuffix(out, " -x") + " -r -F"
	}
	return out + " -d " + fishQuoted(f.Help)
}

// fishQuoted is a text as fish takes it literally.
func fishQuoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
