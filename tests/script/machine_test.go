package script

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"countersign/tests/lab"
)

// machine runs a command on a machine of the script's own and holds it to an
// exit code: machine CODE COMMAND ARG... Its files lie in $WORK/machine.
func machine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: machine CODE COMMAND ARG...")
	}
	dir := ts.MkAbs("machine")
	m := &lab.Machine{Dir: dir}
	if _, err := os.Stat(filepath.Join(dir, "etc")); err != nil {
		m, err = lab.NewMachine(dir)
		ts.Check(err)
	}
	r := m.Run(args[1:]...)
	fmt.Fprint(ts.Stdout(), r.Stdout)
	fmt.Fprint(ts.Stderr(), r.Stderr)
	if strconv.Itoa(r.Code) != args[0] {
		ts.Fatalf("%v: exit code %d, want %s\n%s%s", args[1:], r.Code, args[0], r.Stdout, r.Stderr)
	}
}
