package notify

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"

	"countersign/internal/notify"
	"countersign/internal/testas"
	"countersign/tests/lab"
)

const serverName = "org.freedesktop.Notifications"

// session is a user's session bus, with somebody on it who writes down
// everything that passes.
type session struct {
	t       *testing.T
	uid     uint32
	address string
	daemon  *exec.Cmd

	mu   sync.Mutex
	seen []string
}

const busConfig = `<busconfig><type>session</type><listen>unix:path=%s/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`

// named runs the bus as the user of a uid. It wants its users to have names,
// which those of a lab have in its own view of the machine alone.
const named = `mount --bind "$0/passwd" /etc/passwd
exec setpriv --reuid "$1" --regid "$1" --clear-groups dbus-daemon --config-file="$0/conf" --print-address --nofork --nopidfile`

// newSession starts one; dir is its own directory, in which the socket is
// named bus.
func newSession(t *testing.T, uid uint32, dir string) *session {
	t.Helper()
	lab.Need(t, "dbus-daemon")
	err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, int(uid), int(uid)),
		os.WriteFile(dir+"/conf", fmt.Appendf(nil, busConfig, dir), 0o644),
		os.WriteFile(dir+"/passwd", fmt.Appendf(nil, "root:x:0:0::/:\nowner:x:%d:%[1]d::/:\n", uid), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, uid: uid, daemon: exec.Command("unshare", "--mount", "--propagation", "private", "--", "sh", "-ec", named, dir, strconv.Itoa(int(uid)))}
	s.daemon.Dir, s.daemon.Stderr = "/", os.Stderr
	out, err := s.daemon.StdoutPipe()
	if err == nil {
		err = s.daemon.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the bus gives no address: %v", err)
	}
	s.address = strings.TrimSpace(line)
	s.watch()
	return s
}

// end ends the bus, as the end of a desktop session does.
func (s *session) end() {
	s.daemon.Process.Kill()
	s.daemon.Wait()
}

// connect connects as the owner of the bus: nobody else may.
func (s *session) connect() (c *dbus.Conn) {
	s.t.Helper()
	err := lab.As(s.uid, func() (err error) {
		c, err = dbus.Dial(s.address)
		return err
	})
	if err == nil {
		s.t.Cleanup(func() { c.Close() })
		err = c.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(int(s.uid)))})
	}
	if err == nil {
		err = c.Hello()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// watch writes down what every message on the bus holds.
func (s *session) watch() {
	s.t.Helper()
	c := s.connect()
	if err := c.BusObject().Call("org.freedesktop.DBus.Monitoring.BecomeMonitor", 0, []string{}, uint32(0)).Err; err != nil {
		s.t.Fatal(err)
	}
	messages := make(chan *dbus.Message, 1<<10)
	c.Eavesdrop(messages)
	s.t.Cleanup(func() { c.Eavesdrop(nil) }) // a connection that is closed may still pass something on
	go func() {
		for m := range messages {
			s.mu.Lock()
			s.seen = append(s.seen, fmt.Sprint(m.Headers, m.Body))
			s.mu.Unlock()
		}
	}()
}

// saw says whether a text passed over the bus.
func (s *session) saw(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.seen, func(m string) bool { return strings.Contains(m, text) })
}

// server is a notification server. It gives out 7 as every notification's ID,
// and knows no 8.
type server struct {
	conn *dbus.Conn
	can  []string

	mu    sync.Mutex
	shown []shown
	shut  []uint32
}

// shown is one call of Notify.
type shown struct {
	app, icon, summary, body string
	replaces                 uint32
	actions                  []string
	expire                   int32
}

const given, unknown = 7, 8

func (s *session) serve(can ...string) *server {
	s.t.Helper()
	v := &server{conn: s.connect(), can: can}
	if err := v.conn.Export(v, "/org/freedesktop/Notifications", serverName); err != nil {
		s.t.Fatal(err)
	}
	if r, err := v.conn.RequestName(serverName, dbus.NameFlagDoNotQueue); err != nil || r != dbus.RequestNameReplyPrimaryOwner {
		s.t.Fatalf("the name: %v, %v", r, err)
	}
	return v
}

// GetCapabilities is the specification's.
func (v *server) GetCapabilities() ([]string, *dbus.Error) { return v.can, nil }

// Notify is the specification's.
func (v *server) Notify(app string, replaces uint32, icon, summary, body string, actions []string, _ map[string]dbus.Variant, expire int32) (uint32, *dbus.Error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shown = append(v.shown, shown{app, icon, summary, body, replaces, actions, expire})
	return given, nil
}

// CloseNotification is the specification's.
func (v *server) CloseNotification(id uint32) *dbus.Error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if id == unknown {
		return dbus.MakeFailedError(errors.New("no such notification"))
	}
	v.shut = append(v.shut, id)
	return nil
}

// dismiss is the owner putting the notification away.
func (v *server) dismiss() error {
	return v.conn.Emit("/org/freedesktop/Notifications", serverName+".NotificationClosed", uint32(given), uint32(2))
}

func (v *server) calls() (list []shown, closed int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.shown), len(v.shut)
}

// O5: what a server would take for markup is escaped, and for no other server;
// a notification that it does not know is closed enough.
func TestMarkup(t *testing.T) {
	testas.Root(t)
	t.Parallel()
	for _, c := range []struct {
		can  []string
		want string
	}{
		{[]string{"body", "body-markup"}, "&lt;b&gt;a &amp;amp; b"}, {[]string{"body"}, "<b>a &amp; b"},
	} {
		s := newSession(t, lab.Alice, openDir(t))
		v := s.serve(c.can...)
		var bus *notify.Bus
		err := lab.As(lab.Alice, func() (err error) {
			bus, err = notify.Connect(t.Context(), s.address)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		defer bus.End()
		id, err := bus.Show(t.Context(), 0, notify.Notice{Summary: "<i>", Body: "<b>a &amp; b"})
		list, _ := v.calls()
		if err != nil || id != given || len(list) != 1 || list[0].summary != "<i>" || list[0].body != c.want {
			t.Errorf("with %q: %d, %v, %+v", c.can, id, err, list)
		}
		for _, id := range []uint32{given, unknown} {
			if err := bus.Close(t.Context(), id); err != nil {
				t.Errorf("closing %d: %v", id, err)
			}
		}
	}
}

// openDir names a directory that is yet to be made, which every user can walk
// to.
func openDir(t *testing.T) string {
	t.Helper()
	above, err := os.MkdirTemp("", "countersign-notify-")
	if err == nil {
		err = os.Chmod(above, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(above) })
	return above + "/bus"
}
