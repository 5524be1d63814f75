// Package up runs keeper, readers and scribes in the foreground, without a
// service manager: it lays out the directories and sockets, starts each
// process as the user it must be, restarts one that dies, and stops them all
// together.
//
// As root every process gets a uid of its own. Otherwise all of them run as
// the caller; then nothing separates the agent from the person, which is said
// in the policy and from there on every prompt.
//
// Sockets stay open across a restart of the process behind them, so callers
// wait rather than fail. Programs are opened here and executed by handle: no
// other user needs to be able to enter the directory they lie in.
package up

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"countersign/internal/policy"
	"countersign/internal/trust"
)

// Config says what is to run.
type Config struct {
	Root       string // everything lies beneath it
	PolicyFile string // empty: Root/policy.toml is written from Persons and Agents
	Persons    []Person
	Agents     []Agent
	KeeperUID  uint32
	Programs   string   // directory of the three programs
	Stderr     *os.File // of the processes
	Log        *slog.Logger
	Ready      func(Running) // called once all of them serve

	// Reach says how a user could enter a home by itself; nil is not asked.
	Reach func(uid uint32, gids []uint32, home string) (how string, err error)
}

// Person and Agent are what a policy is written from.
type Person struct {
	Name string
	UID  uint32
	Home string
}

// Agent may propose for every person.
type Agent struct {
	Name string
	UID  uint32
}

// Running is what serves, once it does.
type Running struct {
	Root        string         `json:"root"`
	Policy      string         `json:"policy"`
	Unseparated bool           `json:"unseparated"`
	Processes   map[string]int `json:"processes"`      // name to pid
	Open        []string       `json:"open,omitempty"` // what an agent could do in a home without asking
}

// Run runs everything until ctx ends, and returns when all have stopped.
func Run(ctx context.Context, c Config) error {
	p, err := c.prepare()
	if err != nil {
		return err
	}
	lock, err := c.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	sockets, err := c.listen(p)
	if err != nil {
		return err
	}
	defer sockets.close()
	daemons, err := c.daemons(p, sockets)
	if err != nil {
		return err
	}
	open, err := c.openHomes(p)
	if err != nil {
		return err
	}
	s := supervisor{log: c.Log, stderr: c.Stderr}
	return s.run(ctx, daemons, func(pids map[string]int) {
		c.Ready(Running{Root: c.Root, Policy: c.policyFile(), Unseparated: p.Consent.Unseparated, Processes: pids, Open: open})
	})
}

// openHomes says which agents could enter which homes by themselves, where the
// kernel would not make them ask.
func (c *Config) openHomes(p *policy.Policy) ([]string, error) {
	var open []string
	if !separated() || c.Reach == nil {
		return nil, nil
	}
	for _, agent := range slices.Sorted(maps.Keys(p.Agents)) {
		user := credential(p.Agents[agent].UID)
		for _, name := range p.Agents[agent].Persons {
			how, err := c.Reach(user.Uid, append([]uint32{user.Gid}, user.Groups...), string(p.Persons[name].Home))
			if err != nil {
				return nil, fmt.Errorf("asking whether %s could enter the home of %s: %w", agent, name, err)
			}
			if how != "" {
				open = append(open, fmt.Sprintf("the agent %s needs no permission in the home of %s: %s", agent, name, how))
			}
		}
	}
	return open, nil
}

func separated() bool { return os.Geteuid() == 0 }

func (c *Config) policyFile() string {
	if c.PolicyFile != "" {
		return c.PolicyFile
	}
	return filepath.Join(c.Root, "policy.toml")
}

// The directories beneath a root.
func (c *Config) run() string   { return filepath.Join(c.Root, "run") }
func (c *Config) state() string { return filepath.Join(c.Root, "state", "keeper") }

// prepare checks what it was given, lays out the directories, and reads the
// policy, which it writes first where none was given.
func (c *Config) prepare() (*policy.Policy, error) {
	var err error
	if c.Root, err = filepath.Abs(c.Root); err != nil {
		return nil, err
	}
	if c.PolicyFile != "" {
		if c.PolicyFile, err = filepath.Abs(c.PolicyFile); err != nil {
			return nil, err
		}
	}
	if c.PolicyFile == "" {
		p, err := c.ownPolicy()
		if err != nil {
			return nil, err
		}
		return p, c.layOut()
	}
	if len(c.Persons)+len(c.Agents) > 0 {
		return nil, errors.New("--policy names persons and agents; --person and --agent go without it")
	}
	p, err := policy.Load(c.policyFile())
	if err != nil {
		return nil, err
	}
	if err := c.check(p); err != nil {
		return nil, err
	}
	if err := c.layRoot(); err != nil {
		return nil, err
	}
	return p, c.layOut()
}

// ownPolicy writes the policy into the root and reads it. Nothing is made in a
// place that a person could have prepared for it.
func (c *Config) ownPolicy() (*policy.Policy, error) {
	for _, person := range c.Persons {
		if err := c.outside(person.Name, person.Home); err != nil {
			return nil, err
		}
	}
	if err := c.layRoot(); err != nil {
		return nil, err
	}
	if err := c.writePolicy(); err != nil {
		return nil, err
	}
	p, err := policy.Load(c.policyFile())
	if err != nil {
		return nil, err
	}
	return p, c.check(p)
}

// layRoot makes the root directory, in no place that another user could change
// or has chosen. Other users must be able to walk to the sockets in it where
// there are any others.
func (c *Config) layRoot() error {
	mode := os.FileMode(0o700)
	if separated() {
		mode = 0o755
	}
	self := uint32(os.Geteuid())
	if err := trust.Links(c.Root, self); err != nil {
		return fmt.Errorf("the root %s: %w", c.Root, err)
	}
	if err := os.MkdirAll(c.Root, mode); err != nil {
		return fmt.Errorf("making the root: %w", err)
	}
	real, err := filepath.EvalSymlinks(c.Root)
	if err != nil {
		return err
	}
	if err := trust.Way(real, self); err != nil {
		return fmt.Errorf("the root %s: %w", c.Root, err)
	}
	if err := os.Chmod(real, mode); err != nil {
		return fmt.Errorf("making the root: %w", err)
	}
	c.Root = real
	for dir := real; separated(); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode()&0o001 == 0 {
			return fmt.Errorf("other users cannot walk through %s, so none could reach the sockets in %s: choose another --root", dir, real)
		}
		if dir == "/" {
			break
		}
	}
	return nil
}

// outside refuses a root that lies in a home, by the path it was given as or
// by where that leads, as far as it is there.
func (c *Config) outside(name, given string) error {
	home, err := filepath.EvalSymlinks(given)
	if err != nil {
		return fmt.Errorf("the home of %s: %w", name, err)
	}
	root, missing := c.Root, ""
	for {
		real, err := filepath.EvalSymlinks(root)
		if err == nil {
			root = filepath.Join(real, missing)
			break
		}
		if !errors.Is(err, os.ErrNotExist) || root == "/" {
			return fmt.Errorf("the root: %w", err)
		}
		root, missing = filepath.Dir(root), filepath.Join(filepath.Base(root), missing)
	}
	for _, h := range []string{home, given} {
		for _, r := range []string{root, c.Root} {
			if rel, err := filepath.Rel(h, r); err == nil && filepath.IsLocal(rel) {
				return fmt.Errorf("the root %s lies in the home of %s, where it could be changed: choose another --root", c.Root, name)
			}
		}
	}
	return nil
}

// check refuses a root that a person could reach into, and uids that do not
// keep the processes apart.
func (c *Config) check(p *policy.Policy) error {
	for _, person := range p.Persons {
		if err := c.outside(person.Name, string(person.Home)); err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Stat(string(person.Home), &st); err != nil || st.Uid != person.UID {
			return fmt.Errorf("the home %s is uid %d's, and %s is uid %d", person.Home, st.Uid, person.Name, person.UID)
		}
		if separated() {
			if person.UID == c.KeeperUID {
				return fmt.Errorf("the keeper needs a uid of its own, and %d is %s's", c.KeeperUID, person.Name)
			}
		} else if person.UID != uint32(os.Geteuid()) {
			return fmt.Errorf("%s has uid %d, and only root can run processes as other users", person.Name, person.UID)
		}
	}
	for _, a := range p.Agents {
		if separated() && a.UID == c.KeeperUID {
			return fmt.Errorf("the keeper needs a uid of its own, and %d is the agent %s's", c.KeeperUID, a.Name)
		}
	}
	if separated() && c.KeeperUID == 0 {
		return errors.New("the keeper does not run as root: give --keeper-uid")
	}
	if !separated() && !p.Consent.Unseparated {
		return errors.New("without root nothing separates the users, and the policy must say so: consent.unseparated = true")
	}
	return nil
}

// layOut makes the directories of the sockets and of the keeper's state.
func (c *Config) layOut() error {
	keeper := int(c.KeeperUID)
	if !separated() {
		keeper = os.Geteuid()
	}
	for _, d := range []struct {
		path     string
		mode     os.FileMode
		uid, gid int
	}{
		{c.run(), 0o755, 0, 0},
		{filepath.Join(c.run(), "readers"), 0o755, 0, 0},
		{filepath.Join(c.run(), "scribes"), 0o750, 0, keeper},
		{filepath.Join(c.run(), "keeper"), 0o755, 0, 0},
		{filepath.Join(c.Root, "state"), 0o755, 0, 0},
		{c.state(), 0o700, keeper, keeper},
	} {
		if err := os.Mkdir(d.path, d.mode); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("laying out the root: %w", err)
		}
		if info, err := os.Lstat(d.path); err != nil {
			return fmt.Errorf("laying out the root: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("laying out the root: %s is no directory", d.path)
		}
		if err := os.Chmod(d.path, d.mode); err != nil {
			return fmt.Errorf("laying out the root: %w", err)
		}
		if separated() {
			if err := os.Chown(d.path, d.uid, d.gid); err != nil {
				return fmt.Errorf("laying out the root: %w", err)
			}
		}
	}
	return nil
}

// lock makes sure that one root is run once.
func (c *Config) lock() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(c.Root, "lock"), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the root: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another `countersign up` runs on %s: %w", c.Root, err)
	}
	return f, nil
}
