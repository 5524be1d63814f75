package notify

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"

	"countersign/internal/refusal"
	"countersign/internal/visible"
)

// The notification server, as the Desktop Notifications Specification names
// it, and the bus itself.
const (
	busName    = "org.freedesktop.DBus"
	serverName = "org.freedesktop.Notifications"
	serverPath = "/org/freedesktop/Notifications"
)

// Bus is the Desk on a session bus.
type Bus struct {
	conn   *dbus.Conn
	server dbus.BusObject
	gone   chan Gone
}

// Address finds the session bus by the environment, as others do: where
// DBUS_SESSION_BUS_ADDRESS says, or the socket in XDG_RUNTIME_DIR. No bus is
// started. Of an address's alternatives only Unix sockets are taken. The error
// is a refusal.
func Address(getenv func(string) string) (string, error) {
	given := getenv("DBUS_SESSION_BUS_ADDRESS")
	if dir := getenv("XDG_RUNTIME_DIR"); given == "" && dir != "" {
		given = "unix:path=" + dbus.EscapeBusAddressValue(dir+"/bus")
	}
	if given == "" {
		return "", lost("neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR says where it is")
	}
	sockets := slices.DeleteFunc(strings.Split(given, ";"), func(a string) bool { return !strings.HasPrefix(a, "unix:") })
	if len(sockets) == 0 {
		return "", lost("DBUS_SESSION_BUS_ADDRESS names no Unix socket")
	}
	return strings.Join(sockets, ";"), nil
}

// Connect connects to the session bus at an address that Address gave. The
// error is a refusal, or ctx's.
func Connect(ctx context.Context, address string) (*Bus, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	conn, err := dbus.Dial(address)
	if err != nil {
		return nil, lost("%v", err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	b := &Bus{conn: conn, server: conn.Object(serverName, serverPath), gone: make(chan Gone)}
	err = b.begin(ctx)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	switch {
	case err == nil:
		return b, nil
	case errors.Is(context.Cause(ctx), context.Canceled):
		err = ctx.Err()
	default:
		err = lost("%v", err)
	}
	conn.Close()
	return nil, err
}

// begin introduces this connection to the bus, and asks to hear of
// notifications and servers that go away.
func (b *Bus) begin(ctx context.Context) error {
	if err := b.conn.Auth(nil); err != nil {
		return err
	}
	if err := b.conn.Hello(); err != nil {
		return err
	}
	signals := make(chan *dbus.Signal, 16)
	b.conn.Signal(signals)
	go b.hear(signals)
	return errors.Join(
		b.conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(serverName), dbus.WithMatchInterface(serverName), dbus.WithMatchMember("NotificationClosed")),
		b.conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(busName), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, serverName)),
	)
}

// hear passes on what went away, until the connection ends.
func (b *Bus) hear(signals <-chan *dbus.Signal) {
	defer close(b.gone)
	for s := range signals {
		g, ok := goneBy(s)
		if !ok {
			continue
		}
		select {
		case b.gone <- g:
		case <-b.conn.Context().Done():
		}
	}
}

// goneBy reads a signal. A server that only comes has nothing to take away: it
// is started by the first call that it answers.
func goneBy(s *dbus.Signal) (g Gone, ok bool) {
	var name, before, after string
	var reason uint32
	switch s.Name {
	case serverName + ".NotificationClosed":
		return g, dbus.Store(s.Body, &g.ID, &reason) == nil
	case busName + ".NameOwnerChanged":
		err := dbus.Store(s.Body, &name, &before, &after)
		return Gone{All: true}, err == nil && s.Sender == busName && name == serverName && before != ""
	}
	return g, false
}

// Gone gives what went away.
func (b *Bus) Gone() <-chan Gone { return b.gone }

// End ends the connection. What is shown stays.
func (b *Bus) End() { b.conn.Close() }

// Show asks the server first what it can do: servers come and go. A body is
// read as markup by those that say so, and by no others.
func (b *Bus) Show(ctx context.Context, replaces uint32, n Notice) (id uint32, err error) {
	var can []string
	if err := b.server.CallWithContext(ctx, serverName+".GetCapabilities", 0).Store(&can); err != nil {
		return 0, said(err)
	}
	if slices.Contains(can, "body-markup") {
		n.Body = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(n.Body)
	}
	// It stands until it is closed: an owner who was away still finds it.
	const untilClosed = int32(0)
	hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(byte(1))} // 1: normal
	err = b.server.CallWithContext(ctx, serverName+".Notify", 0,
		"Countersign", replaces, "", n.Summary, n.Body, []string{}, hints, untilClosed).Store(&id)
	return id, said(err)
}

// Close closes a notification. Servers may call one that they do not know an
// error of theirs; it is gone either way.
func (b *Bus) Close(ctx context.Context, id uint32) error {
	err := b.server.CallWithContext(ctx, serverName+".CloseNotification", 0, id).Err
	var theirs dbus.Error
	if errors.As(err, &theirs) {
		return nil
	}
	return said(err)
}

// said makes a refusal of the bus's error, whose words are somebody else's.
func said(err error) error {
	if err == nil {
		return nil
	}
	r := refusal.New(refusal.Unavailable, "notifications", "%s", visible.Line(err.Error()))
	r.Fix = "a desktop's notification server must be on the session bus"
	return r
}
