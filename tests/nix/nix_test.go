// Package nix holds nixos/ and flake.nix to the rest of the project. Nix itself
// parses and evaluates them, over a stand-in for nixpkgs that lies beside these
// tests; nothing is fetched, and nothing is built by Nix. What it does NOT show
// is that a real nixpkgs builds the package and passes the VM test: `nix flake
// check` does that, on a machine with a network.
package nix

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/testas"
)

const root = "../.."

// tool finds a program that these tests need, or skips the test: fails it,
// where no test may be skipped.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv(testas.NeedsRoot) == "fail" {
		t.Fatalf("%s is not here, and %s says that this is a failure", name, testas.NeedsRoot)
	}
	t.Skipf("%s is not here", name)
	return ""
}

// nix runs nix-instantiate without a store, a daemon or the caller's own
// configuration.
func nix(t *testing.T, args ...string) (stdout []byte, stderr string, err error) {
	t.Helper()
	scratch := t.TempDir()
	cmd := exec.Command(tool(t, "nix-instantiate"), append([]string{"--store", "dummy://"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+scratch, "NIX_STATE_DIR="+scratch, "NIX_CONF_DIR="+scratch, "NIX_PATH=")
	var out, say bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &say
	err = cmd.Run()
	return out.Bytes(), say.String(), err
}

// evaluate gives the value of a Nix file as JSON into v.
func evaluate(t *testing.T, v any, args ...string) {
	t.Helper()
	out, say, err := nix(t, append([]string{"--eval", "--strict", "--json"}, args...)...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, say)
	}
	if err := json.Unmarshal(out, v); err != nil {
		t.Fatal(err)
	}
}

// machine is what a system of machines.nix would be built of.
type machine struct {
	Users    map[string]user  `json:"users"`
	Groups   map[string]group `json:"groups"`
	Files    map[string]string
	Tmpfiles []string
	Target   struct {
		WantedBy []string `json:"wantedBy"`
		Wants    []string `json:"wants"`
	} `json:"target"`
	UserServices map[string]struct {
		WantedBy []string `json:"wantedBy"`
	} `json:"userServices"`
	Policy struct {
		Mode     string
		Script   string
		Settings map[string]any
	} `json:"policy"`
	Package pkg      `json:"package"`
	OnPath  []string `json:"onPath"`
}

type user struct {
	UID          *uint32  `json:"uid"`
	IsSystemUser bool     `json:"isSystemUser"`
	Group        string   `json:"group"`
	Home         string   `json:"home"`
	Description  string   `json:"description"`
	ExtraGroups  []string `json:"extraGroups"`
}

type group struct{ Members []string }

type pkg struct {
	Path        string // in a store
	VendorHash  string
	SubPackages []string
	PostInstall string
	Src         struct {
		Root    string
		Fileset []string
	}
}

func machineOf(t *testing.T, name string) *machine {
	t.Helper()
	var m machine
	evaluate(t, &m, "--argstr", "machine", name, "machine.nix")
	return &m
}

// P6: every Nix file is one.
func TestEveryFileParses(t *testing.T) {
	files := []string{filepath.Join(root, "flake.nix")}
	for _, dir := range []string{filepath.Join(root, "nixos"), "."} {
		found, err := filepath.Glob(filepath.Join(dir, "*.nix"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no Nix file in %s: %v", dir, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		if _, say, err := nix(t, "--parse", file); err != nil {
			t.Errorf("%s: %v\n%s", file, err, say)
		}
	}
}

// P6: the flake gives the package, the overlay, the module and its checks, for
// both kinds of machine.
func TestFlake(t *testing.T) {
	var flake struct {
		Packages, Checks map[string]map[string]string
		Overlay          []string
		Machine          machine
	}
	evaluate(t, &flake, "outputs.nix")
	for _, system := range []string{"x86_64-linux", "aarch64-linux"} {
		if got := flake.Packages[system]["default"]; !strings.HasPrefix(got, "countersign-") {
			t.Errorf("the package for %s is %q", system, got)
		}
		if checks := flake.Checks[system]; checks["package"] == "" || checks["road"] != "vm-test" {
			t.Errorf("the checks for %s are %v", system, checks)
		}
	}
	if len(flake.Overlay) != 1 || flake.Overlay[0] != "countersign" {
		t.Errorf("the overlay adds %v", flake.Overlay)
	}
	if len(flake.Machine.Files) == 0 {
		t.Error("its module makes no unit")
	}
}

// P6: the VM test is of a machine that stands, and its script is a program.
func TestRoadEvaluates(t *testing.T) {
	var road struct {
		TestScript string
		Machine    machine
	}
	evaluate(t, &road, "road.nix")
	if len(road.Machine.Files) == 0 {
		t.Error("the machine has no unit")
	}
	cmd := exec.Command(tool(t, "python3"), "-c", "import ast, sys; ast.parse(sys.stdin.read())")
	cmd.Stdin = strings.NewReader(road.TestScript)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("its script: %v\n%s", err, out)
	}
}

// P6: where the service is off, the module changes nothing.
func TestOff(t *testing.T) {
	var off map[string]any
	evaluate(t, &off, "--argstr", "machine", "off", "machine.nix")
	for name, value := range off {
		switch v := value.(type) {
		case map[string]any:
			if len(v) > 0 {
				t.Errorf("%s has %v", name, v)
			}
		case []any:
			if len(v) > 0 {
				t.Errorf("%s has %v", name, v)
			}
		}
	}
	if len(off) == 0 {
		t.Error("nothing was looked at")
	}
}
