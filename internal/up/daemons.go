package up

import (
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"countersign/internal/policy"
)

// spec is one process to keep running.
type spec struct {
	name       string
	program    *os.File
	args       []string
	handles    []*os.File // from 3 on; one more, the ready pipe, goes behind them
	credential *syscall.Credential
	view       *view // of the filesystem; nil is the caller's own
}

// daemons lists the processes in the order of their start: the keeper calls
// the others, so it comes last.
func (c *Config) daemons(p *policy.Policy, s *sockets) ([]spec, error) {
	programs := make(map[string]*os.File)
	for _, name := range []string{"keeper", "reader", "scribe"} {
		f, err := openProgram(filepath.Join(c.Programs, name))
		if err != nil {
			return nil, err
		}
		programs[name] = f
	}
	keeperUID := strconv.FormatUint(uint64(c.keeperUID()), 10)
	var list []spec
	for _, name := range slices.Sorted(maps.Keys(p.Persons)) {
		for _, kind := range []string{"reader", "scribe"} {
			socket := s.readers[name]
			if kind == "scribe" {
				socket = s.scribes[name]
			}
			list = append(list, spec{
				name: kind + "@" + name, program: programs[kind], handles: []*os.File{socket},
				args:       []string{"-person", name, "-policy", c.policyFile(), "-keeper", keeperUID, "-socket", "3", "-ready", "4"},
				credential: credential(p.Persons[name].UID),
				view:       c.view(p, p.Persons[name], kind == "reader"),
			})
		}
	}
	return append(list, spec{
		name: "keeper", program: programs["keeper"], handles: []*os.File{s.act, s.consent},
		args:       []string{"-policy", c.policyFile(), "-state", c.state(), "-run", c.run(), "-act", "3", "-consent", "4", "-ready", "5"},
		credential: credential(c.KeeperUID),
		view:       c.view(p, nil, false),
	}), nil
}

// view gives what a process for a person, or the keeper for nobody, sees of the
// homes; nil where only root could arrange that.
func (c *Config) view(p *policy.Policy, person *policy.Person, readOnly bool) *view {
	if !separated() {
		return nil
	}
	v := &view{readOnly: readOnly, hidden: personal(), seen: []string{c.policyFile()}}
	for _, other := range p.Persons {
		if other != person {
			v.hidden = append(v.hidden, string(other.Home))
			if real, err := filepath.EvalSymlinks(string(other.Home)); err == nil {
				v.hidden = append(v.hidden, real)
			}
			continue
		}
		v.seen = append(v.seen, string(other.Home))
		if real, err := filepath.EvalSymlinks(string(other.Home)); err == nil {
			v.seen = append(v.seen, real)
		}
	}
	if person == nil {
		v.seen = append(v.seen, c.state(), c.run())
	}
	return v
}

func (c *Config) keeperUID() uint32 {
	if separated() {
		return c.KeeperUID
	}
	return uint32(os.Geteuid())
}

// openProgram opens a program so that it can be executed by its handle, under
// a number that no handle for a child will take.
func openProgram(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("finding a program of Countersign's: %w", err)
	}
	defer f.Close()
	const clear = 100
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, clear)
	if err != nil {
		return nil, fmt.Errorf("holding %s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// credential is a user's, with the groups that the system lists for it; nil,
// the caller's own, where only that can be had.
func credential(uid uint32) *syscall.Credential {
	if !separated() {
		return nil
	}
	c := &syscall.Credential{Uid: uid, Gid: uid}
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return c
	}
	if gid, err := strconv.ParseUint(u.Gid, 10, 32); err == nil {
		c.Gid = uint32(gid)
	}
	groups, _ := u.GroupIds()
	for _, g := range groups {
		if gid, err := strconv.ParseUint(g, 10, 32); err == nil && uint32(gid) != c.Gid {
			c.Groups = append(c.Groups, uint32(gid))
		}
	}
	return c
}

// FreeUIDs gives uids that no user of this machine has, for a play with
// users of its own; nil where there are not so many.
func FreeUIDs(n int) []uint32 {
	const from, to = 60100, 60900
	var free []uint32
	for uid := uint32(from); uid < to && len(free) < n; uid++ {
		if _, err := user.LookupId(strconv.FormatUint(uint64(uid), 10)); err != nil {
			free = append(free, uid)
		}
	}
	if len(free) < n {
		return nil
	}
	return free
}
