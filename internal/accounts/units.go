package accounts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/coreos/go-systemd/v22/unit"
)

// Units of one person, by their role.
const (
	reader = "reader"
	scribe = "scribe"
)

// Unit names a person's unit: suffix is "service" or "socket", role "reader" or
// "scribe". The person's name is escaped as systemd-escape does, so that %I is
// the name again.
func Unit(role, person, suffix string) string {
	return fmt.Sprintf("countersign-%s@%s.%s", role, unit.UnitNameEscape(person), suffix)
}

// DropIn is the text that binds a person's home into the root of the reader's
// or the scribe's unit, where there is no home otherwise: the reader's
// read-only, and nothing in it is run. A unit does not start without the home.
// units/README.md describes it.
func DropIn(role, home string) string {
	bind := "BindReadOnlyPaths="
	if role == scribe {
		bind = "BindPaths="
	}
	return "# Written by `countersign person add`; `countersign person remove` removes it.\n[Service]\n" +
		bind + quoted(home) + "\nNoExecPaths=" + quoted("+"+home) + "\n"
}

// quoted spells a path as one word of a unit file.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`%`, `%%`, `\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// unitSafe refuses a home whose path a unit file or the policy cannot hold.
func unitSafe(home string) error {
	odd := func(r rune) bool { return r < ' ' || r == 0x7f || r == ':' }
	if !utf8.ValidString(home) || strings.ContainsFunc(home, odd) {
		return &Refused{What: fmt.Sprintf("home %q", home), Why: "a unit cannot name a path with a colon, a control character or bytes that are not UTF-8",
			Fix: "move the home"}
	}
	return nil
}

func (c *Config) dropInFile(role, person string) string {
	return filepath.Join(c.Etc, unitsInEtc, Unit(role, person, "service")+".d", "home.conf")
}

// openHome is the step that lets the person's units see the home.
func (c *Config) openHome(person, home string) step {
	return step{
		say: fmt.Sprintf("open %s to the reader and the scribe of %s", home, person),
		do: func(ctx context.Context) error {
			for _, role := range []string{reader, scribe} {
				path := c.dropInFile(role, person)
				if err := makeDirectory(filepath.Dir(path)); err != nil {
					return err
				}
				if err := replace(path, []byte(DropIn(role, home))); err != nil {
					return err
				}
			}
			return c.call(ctx, c.Systemctl, "daemon-reload")
		},
		undo: func(ctx context.Context) error { return c.closeHome(ctx, person) },
	}
}

// closeHome removes the drop-ins, whatever they say, and the directories that
// held nothing else.
func (c *Config) closeHome(ctx context.Context, person string) error {
	var all error
	for _, role := range []string{reader, scribe} {
		path := c.dropInFile(role, person)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, fmt.Errorf("removing a drop-in: %w", err))
		}
		os.Remove(filepath.Dir(path)) // an error leaves a directory with files of somebody else's
	}
	return errors.Join(all, c.call(ctx, c.Systemctl, "daemon-reload"))
}

// traces says whether something is left of a person beside the policy: a
// drop-in, or a socket that is opened at every start.
func (c *Config) traces(person string) bool {
	for _, role := range []string{reader, scribe} {
		name := strings.ReplaceAll(Unit(role, person, "socket"), `\`, `\\`) // a backslash means itself in no pattern
		links, err := filepath.Glob(filepath.Join(c.Etc, unitsInEtc, "*", name))
		if err != nil || len(links) > 0 || exists(c.dropInFile(role, person)) {
			return true
		}
	}
	return false
}

// listen is the step that opens the person's sockets, now and at every start.
func (c *Config) listen(person string) step {
	sockets := []string{Unit(reader, person, "socket"), Unit(scribe, person, "socket")}
	return step{
		say: "open the sockets " + strings.Join(sockets, " and "),
		do: func(ctx context.Context) error {
			return c.call(ctx, c.Systemctl, append([]string{"enable", "--now", "--"}, sockets...)...)
		},
		undo: func(ctx context.Context) error { return c.silence(ctx, person) },
	}
}

// silence closes the person's sockets for good, ends what served behind them,
// and removes the socket files that no unit removes.
func (c *Config) silence(ctx context.Context, person string) error {
	all := c.call(ctx, c.Systemctl, "disable", "--now", "--", Unit(reader, person, "socket"), Unit(scribe, person, "socket"))
	all = errors.Join(all, c.call(ctx, c.Systemctl, "stop", "--", Unit(reader, person, "service"), Unit(scribe, person, "service")))
	for _, dir := range []string{"readers", "scribes"} {
		err := os.Remove(filepath.Join(c.Run, socketsInRun, dir, person+".sock"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, fmt.Errorf("removing a socket: %w", err))
		}
	}
	return all
}
