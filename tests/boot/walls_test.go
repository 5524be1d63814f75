package boot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// trial is an attempt and how it must end: one of the words, which are ok or
// the names of errors.
type trial struct {
	attempt
	want string
}

func tried(name, on, want string) trial { return trial{attempt{Name: name, On: on}, want} }

// hold makes the attempts of a table and holds each to its end.
func (m *Machine) hold(t *testing.T, who string, pid int, table []trial) {
	t.Helper()
	user, list := who, make([]attempt, len(table))
	if pid != 0 {
		user = "root"
	}
	for i, row := range table {
		list[i] = row.attempt
	}
	results, err := m.try(user, pid, list)
	if err != nil {
		t.Error(err)
		return
	}
	for i, row := range table {
		row.check(t, who, results[i])
	}
}

func (row trial) check(t *testing.T, who, result string) {
	t.Helper()
	t.Logf("%s: %s %s %s: %s", who, row.Name, row.On, number(row.PID), result)
	if !slices.Contains(strings.Fields(row.want), result) {
		t.Errorf("%s: %s %s %s: %s, not %s", who, row.Name, row.On, number(row.PID), result, row.want)
	}
}

func number(pid int) string {
	if pid == 0 {
		return ""
	}
	return fmt.Sprintf("of process %d", pid)
}

// doors: P1, P2: who can open which socket, with every directory above it,
// asked of the kernel as each user. The same is true behind it: somebody with
// the right group and the wrong uid is refused by name.
func (m *Machine) doors(t *testing.T) {
	const dir = "/run/countersign/"
	sockets := []string{"keeper/act.sock", "keeper/consent.sock", "readers/alice.sock", "readers/anna-maria.sock", "scribes/alice.sock"}
	for who, ends := range map[string][]string{
		//       act       consent   reader    another's scribe
		claude:   {"ok", "EACCES", "ok", "ok", "EACCES"},
		alice:    {"EACCES", "ok", "ok", "EACCES", "EACCES"},
		anna:     {"EACCES", "ok", "EACCES", "ok", "EACCES"},
		keeper:   {"ok", "ok", "ok", "ok", "ok"},
		stranger: {"EACCES", "EACCES", "EACCES", "EACCES", "EACCES"},
	} {
		var table []trial
		for i, s := range sockets {
			table = append(table, tried("connect", dir+s, ends[i]))
		}
		if who != keeper {
			table = append(table, tried("read", dir+"scribes", "EACCES"))
		}
		for _, d := range []string{"", "readers", "keeper", "scribes"} {
			table = append(table, tried("create", dir+d+"/x", "EACCES"))
		}
		table = append(table, tried("read", "/var/lib/countersign", map[bool]string{true: "ok", false: "EACCES"}[who == keeper]),
			tried("write", "/etc/countersign/policy.toml", "EACCES"))
		m.hold(t, who, 0, table)
	}
	must(t, m.must("usermod -aG countersign-agents,countersign-people "+stranger))
	for _, args := range [][]string{{"propose", "-"}, {"pending"}} {
		const refused = 3
		if r := m.As(stranger, proposal("/home/alice/x", "write", ""), append([]string{"countersign"}, args...)...); r.Code != refused {
			t.Errorf("the right group and the wrong uid, %v: exit code %d\n%s%s", args, r.Code, r.Out, r.Err)
		}
	}
}

// walls: P4, P10, P12: what the table of the processes says that each cannot
// do, tried with the hands of the running process itself, so that nothing but
// the kernel can refuse.
func (m *Machine) walls(t *testing.T) {
	must(t, m.must(
		"install -m 644 -o alice -g alice /dev/null /home/alice/mine", "install -m 666 /dev/null /srv/people/theirs",
		"install -m 666 -o anna-maria /dev/null /srv/people/anna-maria/theirs", "chmod 777 /srv/people/anna-maria",
		"systemd-run -q --unit=alices --uid=alice sleep 1000",
		"systemd-run -q --unit=agents --uid=alice /bin/sh -c 'mkdir -p /tmp/ssh-alice; exec sleep 1000'",
		"mkdir -p /home/alice/late; mount -t tmpfs -o mode=777 late /home/alice/late; chown alice /home/alice/late",
		"loginctl enable-linger alice || true",
	))
	pids := make(map[string]int)
	for name, unit := range map[string]string{"keeper": "countersign-keeper.service", "reader": "countersign-reader@alice.service",
		"scribe": "countersign-scribe@alice.service", "theirs": "alices.service"} {
		var err error
		pids[name], err = m.PID(unit)
		must(t, err)
	}
	common := func(self string) []trial {
		table := []trial{
			tried("execute", "/usr/bin/true", "EPERM EACCES"), tried("execute", "/usr/bin/git", "EPERM EACCES ENOENT"),
			tried("execute", "/bin/sh", "EPERM EACCES"),
			tried("inet", "", "EPERM EAFNOSUPPORT EACCES"), tried("netlink", "", "EPERM EAFNOSUPPORT EACCES"),
			tried("unshare", "", "EPERM"), tried("io_uring", "", "EPERM"), tried("bpf", "", "EPERM"), tried("keyring", "", "EPERM"),
			tried("mount", "/tmp", "EPERM"),
			tried("create", "/etc/x", "EROFS EACCES"), tried("write", "/etc/countersign/policy.toml", "EROFS EACCES"),
			tried("create", "/usr/x", "EROFS EACCES"), tried("create", "/tmp/x", "EACCES"), tried("create", "/run/x", "EROFS EACCES"),
			tried("create", "/dev/shm/x", "EACCES"), tried("read", "/etc/shadow", "EACCES ENOENT"),
			tried("write", "/srv/people/theirs", "ENOENT EACCES EROFS"), tried("read", "/srv/people/anna-maria/theirs", "ENOENT EACCES"),
			tried("read", "/run/user", "EACCES ENOENT"), tried("read", "/run/dbus", "ENOENT EACCES"), tried("read", "/tmp/ssh-alice", "ENOENT EACCES"),
		}
		for name, pid := range pids {
			if name == self {
				continue
			}
			for _, what := range []string{"signal", "limit", "trace", "memory"} {
				table = append(table, trial{attempt{Name: what, PID: pid}, "EPERM EACCES ENOENT"})
			}
		}
		return table
	}
	const mine, late = "/home/alice/mine", "/home/alice/late/x"
	m.hold(t, "reader", pids["reader"], append(common("reader"),
		tried("read", mine, "ok"), // the control
		tried("write", mine, "EROFS EACCES"), tried("create", "/home/alice/x", "EROFS EACCES"), tried("truncate", mine, "EROFS EACCES EPERM"),
		tried("rename", mine, "EROFS EACCES EPERM"), tried("unlink", mine, "EROFS EACCES EPERM"), tried("mkdir", "/home/alice/x", "EROFS EACCES EPERM"),
		tried("symlink", "/home/alice/x", "EROFS EACCES EPERM"), tried("chmod", mine, "EPERM EROFS"), tried("chown", mine, "EPERM EROFS"),
		tried("utime", mine, "EPERM EROFS"), tried("xattr", mine, "EPERM EROFS"),
		tried("fchmod", mine, "EPERM EROFS"), tried("ftruncate", mine, "EPERM EINVAL"), tried("futimens", mine, "EPERM EROFS"), tried("flags", mine, "EPERM"),
		tried("create", late, "EACCES"), tried("socket", "", "EPERM"), tried("connect", "/run/systemd/notify", "EPERM"),
		tried("connect", "/run/countersign/keeper/consent.sock", "EPERM")))
	m.hold(t, "scribe", pids["scribe"], append(common("scribe"),
		tried("create", "/home/alice/made", "ok"), tried("unlink", "/home/alice/made", "ok"), // the control
		tried("mkdir", "/home/alice/made-directory", "ok"), tried("symlink", "/home/alice/made-link", "ok"),
		tried("chmod", mine, "EPERM"), tried("utime", mine, "EPERM"), tried("xattr", mine, "EPERM"), tried("flags", mine, "EPERM"),
		tried("socket", "", "EPERM"), tried("connect", "/run/countersign/keeper/consent.sock", "EPERM")))
	m.hold(t, "keeper", pids["keeper"], append(common("keeper"),
		tried("create", "/var/lib/countersign/made", "ok"), tried("unlink", "/var/lib/countersign/made", "ok"), // the control
		tried("connect", "/run/countersign/scribes/alice.sock", "ok"),
		tried("read", mine, "EACCES ENOENT"), tried("read", "/home", "EACCES"), tried("create", "/home/x", "EACCES EROFS"),
		tried("chmod", "/var/lib/countersign", "EPERM"), tried("xattr", "/var/lib/countersign", "EPERM")))
	m.gitWalls(t, pids)
	must(t, m.must("umount /home/alice/late"))
	for unit, pid := range map[string]int{"countersign-keeper.service": pids["keeper"], "countersign-reader@alice.service": pids["reader"]} {
		if now, err := m.PID(unit); err != nil || now != pid {
			t.Errorf("%s did not live through it: %d, %v", unit, now, err)
		}
	}
}

// gitWalls: P12, R15: what starts git for a reader or a scribe runs git and
// nothing else, makes code of git's files alone, and reaches no further than the
// daemon it is for.
func (m *Machine) gitWalls(t *testing.T, pids map[string]int) {
	const mine = "/home/alice/mine"
	must(t, m.must("install -m 755 -o alice -g alice /usr/bin/true /home/alice/program", "chown alice:alice /home/alice/program"))
	table := []trial{
		tried("code", "/usr/bin/git", "ok"), tried("read", mine, "ok"), // the control
		tried("execute", "/bin/sh", "ENOENT EACCES"), tried("execute", "/usr/bin/true", "ENOENT EACCES"), tried("execute", "/home/alice/program", "EACCES"),
		tried("code", "/home/alice/program", "EPERM"),
		tried("inet", "", "EPERM EAFNOSUPPORT EACCES"), tried("socket", "", "EPERM"), tried("connect", "/run/systemd/notify", "EPERM"),
		tried("unshare", "", "EPERM"), tried("io_uring", "", "EPERM"), tried("bpf", "", "EPERM"), tried("mount", "/tmp", "EPERM"),
		tried("chmod", mine, "EPERM EROFS"), tried("xattr", mine, "EPERM EROFS"), tried("flags", mine, "EPERM"),
		tried("read", "/etc/shadow", "EACCES ENOENT"), tried("read", "/srv/people/anna-maria/theirs", "ENOENT EACCES"),
		tried("read", "/run/dbus", "ENOENT EACCES"), tried("create", "/tmp/x", "EACCES"), tried("create", "/usr/x", "EROFS EACCES"),
		{attempt{Name: "trace", PID: pids["theirs"]}, "EPERM EACCES ENOENT"},
	}
	reads := []trial{
		tried("write", mine, "EROFS EACCES"), tried("create", "/home/alice/x", "EROFS EACCES"), tried("unlink", mine, "EROFS EACCES EPERM"),
		tried("utime", mine, "EPERM EROFS"), tried("fchmod", mine, "EPERM EROFS"),
	}
	writes := []trial{tried("create", "/home/alice/made", "ok"), tried("unlink", "/home/alice/made", "ok")}
	for daemon, more := range map[string][]trial{"reader": reads, "scribe": writes} {
		out := strings.TrimSpace(m.Run("pgrep", "-P", strconv.Itoa(pids[daemon])).Out)
		runner, err := strconv.Atoi(out)
		if err != nil {
			t.Fatalf("what runs git for the %s: %q", daemon, out)
		}
		m.hold(t, "git of the "+daemon, runner, append(table, more...))
	}
	must(t, m.must("cd /home/alice && cp -r /etc/default repo && git -C repo init -q -b main && git -C repo add -A && git -C repo -c user.name=n -c user.email=e commit -q -m first && chown -R alice:alice repo"))
	if r := m.As(claude, "", "countersign", "git", "log", "--person", "alice", "/home/alice/repo"); r.Code != 0 || !strings.Contains(r.Out, "n: first") {
		t.Errorf("git log: exit code %d\n%s%s", r.Code, r.Out, r.Err)
	}
}
