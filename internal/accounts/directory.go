package accounts

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// account is a user as the machine knows it now.
type account struct {
	name   string
	uid    uint32
	home   string  // as listed; not resolved
	groups []group // its own first
}

type group struct {
	name    string // empty where the gid has none
	gid     uint32
	members []string // those listed; not users whose own group it is
}

func (a *account) gids() []uint32 {
	var out []uint32
	for _, g := range a.groups {
		out = append(out, g.gid)
	}
	return out
}

// in says whether the user is in a group, its own or by the group's list.
func (a *account) in(g group) bool {
	return slices.ContainsFunc(a.groups, func(o group) bool { return o.gid == g.gid })
}

// account looks up a user that must be there.
func (c *Config) account(ctx context.Context, name string) (account, error) {
	a, err := c.find(ctx, name)
	if err != nil {
		return account{}, err
	}
	if a == nil {
		return account{}, &Refused{What: "user " + name, Why: "this machine has no such user", Fix: "make it first, such as with useradd"}
	}
	return *a, nil
}

// find looks up a user and all groups it would have at its next login; nil
// where there is no such user.
func (c *Config) find(ctx context.Context, name string) (*account, error) {
	f, err := c.entry(ctx, "passwd", name, 7)
	if err != nil || f == nil || f[0] != name {
		return nil, err
	}
	uid, err := parseID(f[2])
	if err != nil {
		return nil, err
	}
	a := &account{name: name, uid: uid, home: f[5]}
	out, err := c.output(ctx, c.Getent, "initgroups", name)
	if err != nil {
		return nil, err
	}
	gids := []string{f[3]}
	if words := strings.Fields(out); len(words) > 1 {
		gids = append(gids, words[1:]...)
	}
	for i, gid := range gids {
		if slices.Contains(gids[:i], gid) {
			continue
		}
		g, err := c.groupOf(ctx, gid)
		if err != nil {
			return nil, err
		}
		a.groups = append(a.groups, g)
	}
	return a, nil
}

// group looks up a group that must be there.
func (c *Config) group(ctx context.Context, name string) (group, error) {
	f, err := c.entry(ctx, "group", name, 4)
	if err != nil {
		return group{}, err
	}
	if f == nil || f[0] != name {
		return group{}, &Refused{What: "group " + name, Why: "this machine has no such group"}
	}
	return readGroup(f)
}

// groupOf looks up the group of a gid, which need not have a name.
func (c *Config) groupOf(ctx context.Context, gid string) (group, error) {
	f, err := c.entry(ctx, "group", gid, 4)
	if err != nil {
		return group{}, err
	}
	if f != nil && f[2] == gid {
		return readGroup(f)
	}
	n, err := parseID(gid)
	return group{gid: n}, err
}

func readGroup(f []string) (group, error) {
	gid, err := parseID(f[2])
	members := strings.FieldsFunc(f[3], func(r rune) bool { return r == ',' })
	return group{name: f[0], gid: gid, members: members}, err
}

// entry gives the fields of one entry of a database, or nil where there is
// none.
func (c *Config) entry(ctx context.Context, database, key string, fields int) ([]string, error) {
	const notFound = 2
	out, err := c.output(ctx, c.Getent, database, key)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == notFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	f := strings.Split(strings.TrimSuffix(out, "\n"), ":")
	if len(f) != fields {
		return nil, fmt.Errorf("looking up %s in %s: the entry has %d fields, not %d", key, database, len(f), fields)
	}
	return f, nil
}

func parseID(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("reading a uid or gid: %w", err)
	}
	return uint32(n), nil
}

// output runs a program of the system's and gives what it printed. Its error
// has the program's own words.
func (c *Config) output(ctx context.Context, program string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err == nil {
		return string(out), nil
	}
	line := strings.Join(append([]string{program}, args...), " ")
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return "", fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(string(exit.Stderr)))
	}
	return "", fmt.Errorf("%s: %w", line, err)
}

// call runs a program for what it does.
func (c *Config) call(ctx context.Context, program string, args ...string) error {
	_, err := c.output(ctx, program, args...)
	return err
}
