package main

// examples has for each command what its help ends with: how it is called, and
// what for. Lines that are indented are commands.
func examples() map[string]string {
	return map[string]string{
		"screen": `In a terminal:

  countersign
  countersign --plain

Shift+A approves what stands on the screen, d denies it, ? says the rest.`,
		"demo": `  countersign demo
  countersign demo --yes --keep`,
		"up": `  countersign --root /var/lib/countersign-try up --person alice=1000:/home/alice --agent claude=970`,
		"propose": `As the agent, from a file or from standard input:

  countersign propose proposal.json
  countersign propose - <proposal.json`,
		"read": `  countersign read --person alice /home/alice/project/README.md
  countersign read --person alice --from 200 --lines 50 /home/alice/notes.txt`,
		"ls": `  countersign ls --person alice
  countersign ls --person alice --recursive /home/alice/project`,
		"glob": `  countersign glob --person alice --path /home/alice/project "**/*_test.go"`,
		"stat": `  countersign stat --person alice /home/alice/project/Makefile /home/alice/notes.txt`,
		"grep": `  countersign grep --person alice -C 2 "func main" /home/alice/project
  countersign grep --person alice --files --fixed TODO /home/alice/project --include "*.go"`,
		"commit":       `  countersign commit /home/alice/project -m what-and-why`,
		"git status":   `  countersign git status --person alice /home/alice/project`,
		"git log":      `  countersign git log --person alice -n 20 /home/alice/project`,
		"git diff":     `  countersign git diff --person alice /home/alice/project`,
		"git show":     `  countersign git show --person alice --rev HEAD~1 /home/alice/project`,
		"git blame":    `  countersign git blame --person alice /home/alice/project README.md`,
		"git branches": `  countersign git branches --person alice /home/alice/project`,

		"await":    `  countersign await 6rtvdexsacit2`,
		"withdraw": `  countersign withdraw 6rtvdexsacit2`,
		"pending": `  countersign pending
  countersign pending --json | jq -r '.transactions[].id'`,
		"show": `  countersign show 6rtvdexsacit2
  countersign show 6rtvdexsacit2 --json | jq .detail`,
		"approve": `With the prefix that "show" gave for exactly what you saw:

  countersign approve 6rtvdexsacit2@f8d88a863310a069`,
		"deny": `  countersign deny 6rtvdexsacit2 --why "Use the helper in lib/ instead."`,
		"undo": `  countersign undo 6rtvdexsacit2
  countersign undo 6rtvdexsacit2@0f1e2d3c4b5a6978`,
		"log": `  countersign log --agent claude --since 2d
  countersign log --path /home/alice/project --kind file-delete
  countersign log --state denied --until 2026-01-31 --json`,
		"verify": `  countersign verify`,
		"status": `  countersign status
  countersign status --json | jq -r '.persons[].scribe'`,
		"watch": `In a terminal of its own, or for a program:

  countersign watch
  countersign watch --json | jq --unbuffered -r 'select(.state == "waiting") | .id'`,
		"notify": `Installed, it starts with the desktop:

  countersign notify`,
		"person add":     `  countersign person add alice --agent claude`,
		"person remove":  `  countersign person remove alice --dry-run`,
		"agent add":      `  countersign agent add claude --person alice --person bob`,
		"agent remove":   `  countersign agent remove claude`,
		"policy explain": `  countersign policy explain --policy /etc/countersign/policy.toml proposal.json`,
		"policy check": `  countersign policy check
  countersign policy check draft.toml`,
	}
}
