package up

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"countersign/internal/policy"
)

// sockets are the listening sockets, kept open here for as long as it runs.
type sockets struct {
	act, consent     *os.File
	readers, scribes map[string]*os.File // by person
}

func (s *sockets) close() {
	for _, f := range []*os.File{s.act, s.consent} {
		if f != nil {
			f.Close()
		}
	}
	for _, m := range []map[string]*os.File{s.readers, s.scribes} {
		for _, f := range m {
			f.Close()
		}
	}
}

// listen opens every socket, each open to exactly the users it is for: its
// owner, and others by an access control list.
func (c *Config) listen(p *policy.Policy) (s *sockets, err error) {
	s = &sockets{readers: make(map[string]*os.File), scribes: make(map[string]*os.File)}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	var agents, persons []uint32
	for _, a := range p.Agents {
		agents = append(agents, a.UID)
	}
	for _, person := range p.Persons {
		persons = append(persons, person.UID)
		readers := []uint32{c.KeeperUID}
		for _, a := range p.Agents {
			if p.AgentMay(a.Name, person.Name) {
				readers = append(readers, a.UID)
			}
		}
		if s.readers[person.Name], err = c.socket("readers", person.Name, person.UID, readers); err != nil {
			return s, err
		}
		if s.scribes[person.Name], err = c.socket("scribes", person.Name, 0, []uint32{c.KeeperUID}); err != nil {
			return s, err
		}
	}
	if s.act, err = c.socket("keeper", "act", c.KeeperUID, append(agents, persons...)); err != nil {
		return s, err
	}
	s.consent, err = c.socket("keeper", "consent", c.KeeperUID, persons)
	return s, err
}

func (c *Config) socket(dir, name string, owner uint32, others []uint32) (*os.File, error) {
	path := filepath.Join(c.run(), dir, name+".sock")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("clearing the socket %s: %w", path, err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		return nil, fmt.Errorf("opening a socket: %w", err)
	}
	defer l.Close()
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, fmt.Errorf("opening a socket: %w", err)
	}
	if separated() {
		if err := os.Chown(path, int(owner), 0); err != nil {
			return nil, fmt.Errorf("opening a socket: %w", err)
		}
		if err := unix.Setxattr(path, "system.posix_acl_access", accessList(others), 0); err != nil {
			return nil, fmt.Errorf("opening the socket %s to its users by an access control list: %w", path, err)
		}
	}
	return l.File()
}

// accessList encodes a POSIX access control list that lets the owner and some
// users read and write, and nobody else: version 2 of the attribute's form, a
// 32-bit version and entries of tag, permission and id, little-endian.
func accessList(users []uint32) []byte {
	const (
		version                                        = 2
		tagOwner, tagUser, tagGroup, tagMask, tagOther = 0x01, 0x02, 0x04, 0x10, 0x20
		readWrite                                      = 6
		noID                                           = 0xffffffff
	)
	b := binary.LittleEndian.AppendUint32(nil, version)
	add := func(tag, perm uint16, id uint32) {
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, perm)
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	add(tagOwner, readWrite, noID)
	users = slices.Clone(users)
	slices.Sort(users)
	for _, u := range slices.Compact(users) {
		add(tagUser, readWrite, u)
	}
	add(tagGroup, 0, noID)
	add(tagMask, readWrite, noID)
	add(tagOther, 0, noID)
	return b
}
