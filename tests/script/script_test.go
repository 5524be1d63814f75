// Package script runs whole stories of people and agents against the real
// programs: each file in testdata is one, with the rule it holds above each
// step.
//
// Beside testscript's own commands there are
//
//	up [FLAG...]               start everything; "up policy FILE" with a policy
//	up-again                   start another one on the same root
//	down, crash                stop everything; kill `up`
//	alice CODE ARG...          countersign as alice, who must get that exit code,
//	                           or with ? any but 0;
//	                           so too bob, claude, other, keeper, stranger, root
//	propose WHO CODE FILE ...  hand in a proposal in JSON; $ID and $PREFIX are set
//	shown WHO                  show $ID again; $PREFIX is set
//	put WHO MODE PATH TEXT     a file as WHO would have made it
//	stands PATH MODE WHO TEXT  what a file must be
//	has KEY...                 keys that the JSON printed last must have at its top
//	machine CODE COMMAND ...   a command as root of a machine of the script's own
//	get VAR KEY[.KEY...]       a variable from the JSON printed last
//
// Files and arguments may name $ALICE and $BOB, the homes, and $ROOT.
package script

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"countersign/internal/testas"
	"countersign/tests/lab"
)

func TestMain(m *testing.M) { os.Exit(lab.Main(m, nil)) }

// T18: what a person and an agent do by hand goes as these stories tell it.
func TestScripts(t *testing.T) {
	testas.Root(t)
	commands := map[string]func(*testscript.TestScript, bool, []string){
		"up": up, "up-again": upAgain, "down": down, "crash": crash, "propose": propose, "shown": shown,
		"put": put, "stands": stands, "has": has, "get": get, "fill": fill, "flip": flip, "tear": tear, "retouch": retouch, "machine": machine,
	}
	for name, uid := range users() {
		commands[name] = func(ts *testscript.TestScript, neg bool, args []string) { run(ts, neg, uid, "", args) }
	}
	testscript.Run(t, testscript.Params{Dir: "testdata", Setup: setup, Cmds: commands, RequireExplicitExec: true})
}

func users() map[string]uint32 {
	return map[string]uint32{
		"alice": lab.Alice, "bob": lab.Bob, "claude": lab.Claude, "other": lab.Other,
		"keeper": lab.Keeper, "stranger": lab.Stranger, "root": 0,
	}
}

type labKey struct{}

func setup(env *testscript.Env) error {
	l, err := lab.New(lab.Config{})
	if err != nil {
		return err
	}
	env.Values[labKey{}] = l
	env.Defer(func() {
		log := l.Log()
		if err := l.Close(); err != nil {
			env.T().Fatal(err)
		}
		if f, ok := env.T().(interface{ Failed() bool }); ok && f.Failed() || testing.Verbose() {
			env.T().Log("the daemons' log:\n" + log)
		}
	})
	env.Setenv("ALICE", l.Home("alice"))
	env.Setenv("BOB", l.Home("bob"))
	env.Setenv("ROOT", l.Root)
	return nil
}

func labOf(ts *testscript.TestScript) *lab.Lab { return ts.Value(labKey{}).(*lab.Lab) }

func up(ts *testscript.TestScript, neg bool, args []string) {
	var err error
	if len(args) == 2 && args[0] == "policy" {
		err = labOf(ts).UpWithPolicy(os.Expand(ts.ReadFile(args[1]), ts.Getenv))
	} else {
		for i := range args {
			args[i] = os.Expand(args[i], ts.Getenv)
		}
		err = labOf(ts).Up(args...)
	}
	if err != nil {
		fmt.Fprintln(ts.Stderr(), err)
	}
	if (err != nil) != neg {
		ts.Fatalf("up: %v", err)
	}
}

// upAgain starts a second one, which is another process beside the first.
func upAgain(ts *testscript.TestScript, neg bool, _ []string) {
	l := labOf(ts)
	r := l.Run(0, "", append([]string{"up"}, l.Flags()...)...)
	fmt.Fprint(ts.Stderr(), r.Stderr)
	if (r.Code != 0) != neg {
		ts.Fatalf("up: exit code %d", r.Code)
	}
}

func down(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(labOf(ts).Stop()) }

func crash(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(labOf(ts).Kill()) }

// run runs countersign and holds it to an exit code.
func run(ts *testscript.TestScript, neg bool, uid uint32, input string, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: WHO CODE ARG...")
	}
	r := labOf(ts).Run(uid, input, args[1:]...)
	fmt.Fprint(ts.Stdout(), r.Stdout)
	fmt.Fprint(ts.Stderr(), r.Stderr)
	if strconv.Itoa(r.Code) != args[0] && (args[0] != "?" || r.Code == 0) {
		ts.Fatalf("countersign %s: exit code %d, want %s\n%s%s", strings.Join(args[1:], " "), r.Code, args[0], r.Stdout, r.Stderr)
	}
}

// transaction reads what the scripts need of the JSON of a transaction.
func transaction(ts *testscript.TestScript, text string) {
	var t struct{ ID, Prefix string }
	if json.Unmarshal([]byte(text), &t) == nil {
		ts.Setenv("ID", t.ID)
		ts.Setenv("PREFIX", t.Prefix)
	}
}

func propose(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: propose WHO CODE FILE [FLAG...]")
	}
	uid, ok := users()[args[0]]
	if !ok {
		ts.Fatalf("nobody is called %s", args[0])
	}
	input := os.Expand(ts.ReadFile(args[2]), ts.Getenv)
	line := append([]string{args[1], "propose", "--json", "-"}, args[3:]...)
	var out strings.Builder
	r := labOf(ts).Run(uid, input, line[1:]...)
	out.WriteString(r.Stdout)
	fmt.Fprint(ts.Stdout(), r.Stdout)
	fmt.Fprint(ts.Stderr(), r.Stderr)
	if strconv.Itoa(r.Code) != args[1] {
		ts.Fatalf("propose %s: exit code %d, want %s\n%s%s", args[2], r.Code, args[1], r.Stdout, r.Stderr)
	}
	transaction(ts, out.String())
}

func shown(ts *testscript.TestScript, _ bool, args []string) {
	r := labOf(ts).Run(users()[args[0]], "", "show", "--json", ts.Getenv("ID"))
	if r.Code != 0 {
		ts.Fatalf("show: %s", r.Stderr)
	}
	fmt.Fprint(ts.Stdout(), r.Stdout)
	var whole struct{ Transaction json.RawMessage }
	ts.Check(json.Unmarshal([]byte(r.Stdout), &whole))
	transaction(ts, string(whole.Transaction))
}

// text gives an argument's text: the content of a file of the script's where
// there is one of that name, with escapes resolved otherwise.
func text(ts *testscript.TestScript, arg string) string {
	if b, err := os.ReadFile(ts.MkAbs(arg)); err == nil {
		return string(b)
	}
	s, err := strconv.Unquote(`"` + arg + `"`)
	ts.Check(err)
	return s
}

func mode(ts *testscript.TestScript, s string) os.FileMode {
	m, err := strconv.ParseUint(s, 8, 32)
	ts.Check(err)
	return os.FileMode(m)
}

func put(ts *testscript.TestScript, _ bool, args []string) {
	uid, path := users()[args[0]], args[2]
	ts.Check(labOf(ts).MkdirAll(uid, filepath.Dir(path)))
	ts.Check(labOf(ts).Put(uid, path, text(ts, args[3]), mode(ts, args[1])))
}

func stands(ts *testscript.TestScript, _ bool, args []string) {
	b, err := os.ReadFile(args[0])
	ts.Check(err)
	info, err := os.Stat(args[0])
	ts.Check(err)
	if info.Mode() != mode(ts, args[1]) {
		ts.Fatalf("%s has mode %v, want %s", args[0], info.Mode(), args[1])
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != users()[args[2]] {
		ts.Fatalf("%s is uid %d's", args[0], uid)
	}
	if want := text(ts, args[3]); string(b) != want {
		ts.Fatalf("%s holds %q, want %q", args[0], b, want)
	}
}

func has(ts *testscript.TestScript, _ bool, args []string) {
	var top map[string]json.RawMessage
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &top))
	var keys []string
	for k := range top {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	slices.Sort(args)
	if !slices.Equal(keys, args) {
		ts.Fatalf("the keys are %v, want %v", keys, args)
	}
}

// get sets a variable from the JSON that was printed last.
func get(ts *testscript.TestScript, _ bool, args []string) {
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &v))
	for key := range strings.SplitSeq(args[1], ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			i, err := strconv.Atoi(key)
			ts.Check(err)
			if i >= len(at) {
				ts.Fatalf("%s: there are %d", args[1], len(at))
			}
			v = at[i]
		}
	}
	ts.Setenv(args[0], fmt.Sprint(v))
}

// fill writes a proposal of a text of N bytes: fill FILE PATH N.
func fill(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	line := strings.Repeat("x", 63) + `\n`
	content := strings.Repeat(line, n/64) + strings.Repeat("y", n%64)
	p := fmt.Sprintf(`{"action":{"file-write":{"changes":[{"path":%q,"write":{"text":"%s"}}]}}}`, args[1], content)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(p), 0o644))
}

// segment gives the newest segment of the journal.
func segment(ts *testscript.TestScript) string {
	found, err := filepath.Glob(filepath.Join(labOf(ts).Root, "state/keeper/journal/*.seg"))
	ts.Check(err)
	if len(found) == 0 {
		ts.Fatalf("no segment")
	}
	slices.Sort(found)
	return found[len(found)-1]
}

// flip turns one bit of the journal over: flip BYTE.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	at, err := strconv.Atoi(args[0])
	ts.Check(err)
	b, err := os.ReadFile(segment(ts))
	ts.Check(err)
	f, err := os.OpenFile(segment(ts), os.O_WRONLY, 0)
	ts.Check(err)
	defer f.Close()
	_, err = f.WriteAt([]byte{b[at] ^ 1}, int64(at))
	ts.Check(err)
}

// tear cuts bytes off the journal's end: tear N.
func tear(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	info, err := os.Stat(segment(ts))
	ts.Check(err)
	ts.Check(os.Truncate(segment(ts), info.Size()-int64(n)))
}

// retouch gives a file new times and nothing else.
func retouch(ts *testscript.TestScript, _ bool, args []string) {
	out, err := exec.Command("touch", args[0]).CombinedOutput()
	if err != nil {
		ts.Fatalf("touch: %s", out)
	}
}
