package screen

import (
	"strings"

	"countersign/internal/terminal"
	"countersign/internal/visible"
)

// helpText is what the key ? shows. A line with two spaces in front is a key.
const helpText = `What agents propose waits here until you say yes or no. What you approve is
exactly what you were shown, or nothing.

Looking
  up down j k       a row
  space b           a page; Page Down and Page Up too
  Home End g G      the beginning, the end
  Enter             looks at an action; shows all of an agent's
  left              shows an agent's first few again
  ] [               the next file of an action, the one before
  s                 both sides of a diff beside one another, or below
  /  n N            searches; the next, the one before
  Tab, Shift-Tab    the next action that waits, the one before
  Esc               back

Deciding, on the action that you look at
  A                 approves what stands on the screen: Shift and a
  d                 denies it, with a word to the agent
  u                 shows what taking it back would do; A then does it

An A counts once the end of the account has been on the screen, the screen
has stood still for half a second, and no other key comes with it. Enter
approves nothing, and nothing that is pasted does. While an agent's process
has this terminal, as far as you may see other users' processes, nothing is
approved: start agents in terminals of their own.

Elsewhere
  l                 the log: what happened, newest first
  f                 in the log: only agent=NAME path=PATH kind=KIND state=STATE
                    since=2h until=2026-01-31 refused
  Ctrl-L            draws the screen anew
  q                 quits; what waits goes on waiting`

func helpRows(width int) []terminal.Row {
	var out []terminal.Row
	for line := range strings.SplitSeq(helpText, "\n") {
		style := terminal.Plain
		if line != "" && !strings.Contains(line, ".") && line[0] != ' ' && len(line) < 50 {
			style = terminal.Bold
		}
		out = append(out, wrap([]piece{{style, visible.Text(line)}}, width)...)
	}
	return out
}
