package up

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// marker opens a policy file of up's own making, which alone it overwrites.
const marker = "# Written by `countersign up` from its flags, and again at its next start.\n" +
	"# To change it, copy it elsewhere and start with --policy.\n"

// writePolicy writes the policy that the flags describe: each home readable
// and writable under the deny list, and a snapshot root.
func (c *Config) writePolicy() error {
	if len(c.Persons) == 0 {
		return fmt.Errorf("nobody's home is named: give --person NAME=UID:HOME, or --policy FILE")
	}
	var b bytes.Buffer
	b.WriteString(marker)
	b.WriteString("version = 1\nhomes = \"/\" # homes lie where the flags say\n")
	names, _ := json.Marshal(c.personNames())
	for _, p := range c.Persons {
		fmt.Fprintf(&b, "\n[persons.%s]\nuid = %d\nhome = %s\nowners = [%q]\n", p.Name, p.UID, tomlString(p.Home), p.Name)
		for _, list := range []string{"read", "write"} {
			fmt.Fprintf(&b, "[[persons.%s.%s]]\nroot = \"~\"\n", p.Name, list)
		}
	}
	for _, a := range c.Agents {
		fmt.Fprintf(&b, "\n[agents.%s]\nuid = %d\npersons = %s\n", a.Name, a.UID, names)
	}
	b.WriteString("\n[filesystem]\nsnapshot_roots = [\"~\"]\n")
	if !separated() {
		b.WriteString("\n[consent]\nunseparated = true # without root nothing separates these users\n")
	}
	return c.replacePolicy(b.Bytes())
}

func (c *Config) personNames() []string {
	var names []string
	for _, p := range c.Persons {
		names = append(names, p.Name)
	}
	return names
}

// tomlString spells a string: JSON's form is one of TOML's.
func tomlString(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// replacePolicy puts the policy in place, unless somebody else wrote the one
// that is there.
func (c *Config) replacePolicy(content []byte) error {
	path := c.policyFile()
	old, err := os.ReadFile(path)
	if err == nil && !bytes.HasPrefix(old, []byte(marker)) {
		return fmt.Errorf("%s was not written by `countersign up`: start with --policy %s, or move it away", path, path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".policy-")
	if err != nil {
		return fmt.Errorf("writing the policy: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err = f.Write(content); err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing the policy: %w", err)
	}
	return nil
}
