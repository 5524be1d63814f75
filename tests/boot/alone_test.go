package boot

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// alone: P4, P13: what the units keep out by themselves, whatever the daemon in
// them is: another program is started in its place, behind the unit's walls and
// none of the daemon's own.
func (m *Machine) alone(t *testing.T) {
	const mine, theirs = "/home/alice/mine", "/srv/people/anna-maria/theirs"
	uid := strings.TrimSpace(m.Run("id", "-u", alice).Out)
	own := m.session(t, uid)
	common := []trial{
		tried("execute", "/usr/bin/true", "ENOENT"), tried("execute", "/bin/sh", "ENOENT"),
		tried("inet", "", "EAFNOSUPPORT"), tried("netlink", "", "EAFNOSUPPORT"),
		tried("unshare", "", "EPERM"), tried("mount", "/tmp", "EPERM"), tried("io_uring", "", "EPERM"), tried("bpf", "", "EPERM"),
		tried("create", "/etc/x", "EROFS"), tried("create", "/usr/x", "EROFS"), tried("create", "/x", "EROFS"),
		tried("create", "/dev/shm/x", "EACCES"), tried("read", "/etc/shadow", "ENOENT"), tried("write", "/etc/countersign/policy.toml", "EROFS EACCES"),
		tried("read", theirs, "ENOENT"), tried("read", "/run/dbus", "ENOENT"), tried("connect", "/run/dbus/system_bus_socket", "ENOENT"),
		tried("connect", "/run/systemd/private", "ENOENT"), tried("read", "/tmp/ssh-alice", "ENOENT"),
	}
	for _, socket := range own {
		common = append(common, tried("connect", socket, "ENOENT EACCES"))
	}
	m.inPlaceOf(t, "countersign-reader@alice.service", append(common,
		tried("read", mine, "ok"), tried("write", mine, "EROFS"), tried("create", "/home/alice/x", "EROFS"), tried("truncate", mine, "EROFS"),
		tried("unlink", mine, "EROFS"), tried("mkdir", "/home/alice/x", "EROFS"), tried("chmod", mine, "EROFS"), tried("utime", mine, "EROFS"),
		tried("fchmod", mine, "EROFS"), tried("futimens", mine, "EROFS"), tried("connect", "/run/countersign/keeper/consent.sock", "ENOENT")))
	m.inPlaceOf(t, "countersign-scribe@alice.service", append(common,
		tried("create", "/home/alice/made", "ok"), tried("unlink", "/home/alice/made", "ok"),
		tried("connect", "/run/countersign/keeper/consent.sock", "ENOENT")))
	m.inPlaceOf(t, "countersign-keeper.service", append(common,
		tried("create", "/var/lib/countersign/made", "ok"), tried("unlink", "/var/lib/countersign/made", "ok"),
		tried("read", mine, "ENOENT"), tried("connect", "/run/countersign/scribes/alice.sock", "ok")))
}

// session gives sockets of alice's own, at which her programs do as they are
// told: those of her user manager and bus, and one as ssh-agent or tmux leaves
// in /tmp. That she herself can connect to each is the control.
func (m *Machine) session(t *testing.T, uid string) []string {
	t.Helper()
	const agent = "/tmp/agent.sock"
	must(t, m.must("systemctl start user@"+uid+".service",
		"systemd-run -q --uid=alice systemd-socket-activate -l "+agent+" sleep 1000",
		"for i in $(seq 100); do [ -S "+agent+" ] && exit 0; sleep 0.05; done; exit 1"))
	own := []string{"/run/user/" + uid + "/systemd/private", "/run/user/" + uid + "/bus", agent}
	var control []trial
	for _, socket := range own {
		control = append(control, tried("connect", socket, "ok"))
	}
	m.hold(t, alice, 0, control)
	return own
}

// inPlaceOf starts the helper in the place of a unit's daemon, holds how its
// attempts end, and puts the daemon back.
func (m *Machine) inPlaceOf(t *testing.T, unit string, table []trial) {
	t.Helper()
	list := make([]attempt, len(table))
	for i, row := range table {
		list[i] = row.attempt
	}
	q, err := json.Marshal(question{Attempts: list})
	must(t, err)
	const dropIn = `[Service]
Type=oneshot
Restart=no
RestartForceExitStatus=
WatchdogSec=0
ExecStart=
ExecStart=%[1]s
BindReadOnlyPaths=%[1]s
ExecPaths=+%[1]s
Environment=%[2]s=1
StandardInput=file:/tmp/question
StandardOutput=truncate:/tmp/answer
`
	dir := "/run/systemd/system/" + unit + ".d"
	steps := []string{
		"systemctl stop " + unit, "mkdir -p " + dir,
		fmt.Sprintf("cat > %s/test.conf <<'END'\n%sEND", dir, fmt.Sprintf(dropIn, helper, helperVariable)),
		fmt.Sprintf("cat > /tmp/question <<'END'\n%s\nEND", q),
		"systemctl daemon-reload", "systemctl start " + unit,
	}
	err = m.must(steps...)
	answer := m.Run("cat", "/tmp/answer")
	must(t, err, m.must("rm -r "+dir, "systemctl daemon-reload", "systemctl start "+unit))
	var results []string
	if err := json.Unmarshal([]byte(strings.TrimSpace(answer.Out)), &results); err != nil || len(results) != len(table) {
		t.Fatalf("%s: %v\n%s%s", unit, err, answer.Out, answer.Err)
	}
	for i, row := range table {
		row.check(t, unit, results[i])
	}
}
