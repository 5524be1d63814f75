// Command countersign is what people and agents touch: it proposes actions,
// shows and decides what waits, takes landed ones back, and runs the daemons
// where no service manager does.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"countersign/internal/refusal"
	"countersign/internal/show"
)

type commands struct {
	Root string `help:"Directory for \"up\", and where every other command finds what it runs." env:"COUNTERSIGN_ROOT" placeholder:"DIR"`

	Screen   screenCmd   `cmd:"" default:"withargs" help:"Show what waits, exactly what it does, and decide on it. Without a command, this."`
	Demo     demoCmd     `cmd:"" help:"Show the whole road in a temporary directory."`
	Up       upCmd       `cmd:"" help:"Run keeper, readers and scribes in the foreground."`
	Propose  proposeCmd  `cmd:"" help:"Propose an action, as an agent does."`
	Commit   commitCmd   `cmd:"" help:"Propose to commit everything in a repository."`
	Read     readCmd     `cmd:"" help:"Read text files as an agent does, with the hash to expect."`
	Ls       lsCmd       `cmd:"" help:"List a directory as an agent may see it, or what is granted."`
	Glob     globCmd     `cmd:"" help:"Find files by a pattern of their paths, as an agent does."`
	Stat     statCmd     `cmd:"" help:"Say what stands at paths, as an agent may know it."`
	Grep     grepCmd     `cmd:"" help:"Search the content of files as an agent does."`
	Git      gitCmd      `cmd:"" help:"Look at a repository as an agent does."`
	Await    awaitCmd    `cmd:"" help:"Wait until a proposed action has ended."`
	Withdraw withdrawCmd `cmd:"" help:"Take a waiting action back, as its proposer."`
	Pending  pendingCmd  `cmd:"" help:"List what waits for a decision."`
	Show     showCmd     `cmd:"" help:"Show an action and exactly what it does."`
	Approve  approveCmd  `cmd:"" help:"Approve an action as it was shown."`
	Deny     denyCmd     `cmd:"" help:"Deny an action, with a word to the agent."`
	Undo     undoCmd     `cmd:"" help:"Take a landed action back."`
	Log      logCmd      `cmd:"" help:"Tell what happened, newest first."`
	Verify   verifyCmd   `cmd:"" help:"Walk the whole journal and check every hash in it."`
	Status   statusCmd   `cmd:"" help:"Say what runs, under which walls, by which policy."`
	Watch    watchCmd    `cmd:"" help:"Write a line for each thing that happens, as it happens."`
	Notify   notifyCmd   `cmd:"" help:"Tell the desktop when an action begins to wait for you."`

	Person personCmd `cmd:"" help:"Add or remove persons of the installed service."`
	Agent  agentCmd  `cmd:"" help:"Add or remove agents of the installed service."`
	Policy policyCmd `cmd:"" help:"Look at a policy file."`
}

// Exit codes: what a script needs to tell apart.
const (
	exitOK      = 0 // landed, or the question was answered
	exitFailure = 1
	exitUsage   = 2
	exitRefused = 3
	exitWaiting = 4
	exitStale   = 5
	exitDenied  = 6 // expired too
	exitNot     = 7 // not landed, or withdrawn
	exitUnknown = 8 // nobody can say whether it landed

	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	var c commands
	parser := parserOf(&c)
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "countersign:", err)
		return exitUsage
	}
	return exitCode(ctx, parsed.Run(newSession(ctx, c.Root)))
}

// parserOf gives the command line's parser, with the examples in its help.
func parserOf(c *commands) *kong.Kong {
	parser, err := kong.New(c, kong.Name("countersign"), kong.UsageOnError(), kong.Description(about+" "+exits),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		panic("[unexpected] command line: " + err.Error())
	}
	with := examples()
	for _, leaf := range parser.Model.Leaves(true) {
		leaf.Detail = with[leaf.Path()]
	}
	return parser
}

const (
	about = "Lets an agent work among your files without the power to change them."
	exits = "Exit codes: 0 landed or done, 1 failure, 2 usage, 3 refused, 4 waiting, 5 stale, 6 denied or expired, 7 not landed or withdrawn, " +
		"8 unknown, 130 interrupted."
)

// ended is how a command ends whose answer is no success and no failure
// either: it was printed already.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// exitCode prints what is still to be said of an error.
func exitCode(ctx context.Context, err error) int {
	var e ended
	switch r := refusal.As(err); {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return int(e)
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "countersign: interrupted; what was sent before goes on")
		return exitInterrupted
	case r != nil:
		fmt.Fprintln(os.Stderr, "countersign: refused:", show.Refusal(r))
		switch r.Code {
		case refusal.Stale:
			return exitStale
		case refusal.Unavailable, refusal.Internal, refusal.Busy:
			return exitFailure
		}
		return exitRefused
	}
	fmt.Fprintln(os.Stderr, "countersign:", err)
	return exitFailure
}
