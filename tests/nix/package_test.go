package nix

import (
	"encoding/base64"
	"encoding/hex"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write nixos/vendor-hash anew")

// tree copies the sources that the package is built of, and those alone.
func tree(t *testing.T, p pkg) string {
	t.Helper()
	dir := t.TempDir()
	for _, from := range p.Src.Fileset {
		rel, err := filepath.Rel(p.Src.Root, from)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, rel)
		info, err := os.Stat(from)
		switch {
		case err != nil:
		case info.IsDir():
			err = os.CopyFS(to, os.DirFS(from))
		default:
			err = os.WriteFile(to, []byte(read(t, from)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// command runs a program in dir and gives what it printed.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// P6: the package names the very modules that go.mod does: its hash is that of
// what a build would fetch.
func TestVendorHash(t *testing.T) {
	p := machineOf(t, "default").Package
	dir := tree(t, p)
	command(t, dir, "go", "mod", "vendor")
	sum, err := hex.DecodeString(command(t, dir, tool(t, "nix-hash"), "--type", "sha256", "vendor"))
	if err != nil {
		t.Fatal(err)
	}
	hash := "sha256-" + base64.StdEncoding.EncodeToString(sum)
	if p.VendorHash == hash {
		return
	}
	if !*update {
		t.Fatalf("nixos/vendor-hash has %s, and it is %s: go test ./tests/nix -run VendorHash -update", p.VendorHash, hash)
	}
	if err := os.WriteFile(filepath.Join(root, "nixos/vendor-hash"), []byte(hash+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// built does what the package's builder does, without Nix, and gives where the
// package is.
func built(t *testing.T, p pkg) string {
	t.Helper()
	dir, out := tree(t, p), filepath.Join(t.TempDir(), "package")
	command(t, dir, "go", "mod", "vendor")
	args := []string{"build", "-trimpath", "-mod=vendor", "-o", filepath.Join(out, "bin") + "/"}
	for _, sub := range p.SubPackages {
		args = append(args, "./"+sub)
	}
	command(t, dir, "go", args...)
	command(t, dir, "env", "out="+out, "sh", "-euc", p.PostInstall)
	return out
}

// P6: the package's own sources are enough to build it, what the units name is
// in it, and the policy is checked by its program while a system is built.
func TestPackage(t *testing.T) {
	m := machineOf(t, "default")
	out := built(t, m.Package)

	named := regexp.MustCompile(regexp.QuoteMeta(m.Package.Path) + `(/[^\s"]*)`)
	seen := 0
	for file, text := range m.Files {
		for _, at := range named.FindAllStringSubmatch(text, -1) {
			seen++
			if _, err := os.Stat(out + at[1]); err != nil {
				t.Errorf("%s names %s, which the package does not have", file, at[1])
			}
		}
	}
	if seen < 9 {
		t.Errorf("the units name %d files of the package", seen)
	}
	if _, err := os.Stat(out + "/bin/countersign"); err != nil || m.OnPath[0] != m.Package.Path {
		t.Errorf("countersign is not on the path: %v", err)
	}
	if left, err := os.ReadDir(out + "/bin"); err != nil || len(left) != 1 {
		t.Errorf("bin/ has %v: %v", left, err)
	}

	if say, err := build(t, m, out); err != nil {
		t.Errorf("a good policy: %v\n%s", err, say)
	}
	// One that only the parser of the policy finds fault with.
	writes := m.Policy.Settings["persons"].(map[string]any)["alice"].(map[string]any)["write"].([]any)
	writes[0].(map[string]any)["root"] = "~/.ssh"
	say, err := build(t, m, out)
	if err == nil || !strings.Contains(say, "persons.alice.write[0].root: no grant opens it") {
		t.Errorf("a grant on the deny list: %v\n%s", err, say)
	}
}

// build runs the script that makes a machine's policy file.
func build(t *testing.T, m *machine, out string) (say string, err error) {
	t.Helper()
	dir := t.TempDir()
	written, result := filepath.Join(dir, "written.toml"), filepath.Join(dir, "policy.toml")
	if err := os.WriteFile(written, tomlOf(t, m.Policy.Settings), 0o444); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-euc", strings.ReplaceAll(m.Policy.Script, m.Package.Path, out))
	cmd.Env = append(os.Environ(), "written="+written, "out="+result)
	b, err := cmd.CombinedOutput()
	if err == nil && read(t, result) != read(t, written) {
		t.Error("the policy was changed on its way")
	}
	return string(b), err
}

// P9: a machine's policy is a file of root's that nobody else writes, and no
// link.
func TestPolicyIsAFile(t *testing.T) {
	if mode := machineOf(t, "default").Policy.Mode; mode != "0644" {
		t.Errorf("its mode is %q", mode)
	}
}
