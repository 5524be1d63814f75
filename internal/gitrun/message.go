package gitrun

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"countersign/internal/canon"
)

// Daemon and runner speak over one pair of sockets that keep messages apart.
// Each message is one CBOR item; handles ride with the requests that name how
// many there are.
const (
	maxMessage = 128 << 10
	maxHandles = 64
)

// hello is the first message: what the runner is for. It comes from the daemon
// before anybody is served.
type hello struct {
	Program string   `cbor:"program"`
	Read    []string `cbor:"read"`
	Trees   []string `cbor:"trees"`
	Closed  []string `cbor:"closed"`
	Writes  bool     `cbor:"writes"`
}

// request starts a git, or ends one. With it ride what git is to read from and
// write to, and then the places that stay open to it.
type request struct {
	ID     uint64 `cbor:"id"`
	Cancel bool   `cbor:"cancel"`

	// What comes from names on disk is bytes, whatever they are.
	Vector   Vector        `cbor:"vector"`
	Values   sentValues    `cbor:"values"`
	GitDir   []byte        `cbor:"git-dir"`
	WorkTree []byte        `cbor:"work-tree"`
	Settings []sentSetting `cbor:"settings"`
	Filters  [][]byte      `cbor:"filters"`
	Stdin    bool          `cbor:"stdin"`
	Read     int           `cbor:"read"`  // handles
	Trees    int           `cbor:"trees"` // handles
}

type sentSetting struct {
	Key   string `cbor:"key"`
	Value []byte `cbor:"value"`
}

type sentValues struct {
	Rev   string   `cbor:"rev"`
	From  string   `cbor:"from"`
	Not   string   `cbor:"not"`
	Blob  string   `cbor:"blob"`
	Paths [][]byte `cbor:"paths"`
	Count uint64   `cbor:"count"`
	Skip  uint64   `cbor:"skip"`
	First uint64   `cbor:"first"`
	Last  uint64   `cbor:"last"`

	Tree      string    `cbor:"tree"`
	Parent    string    `cbor:"parent"`
	Ref       []byte    `cbor:"ref"`
	New       string    `cbor:"new"`
	Old       string    `cbor:"old"`
	Index     []byte    `cbor:"index"`
	Author    sentIdent `cbor:"author"`
	Committer sentIdent `cbor:"committer"`
}

type sentIdent struct {
	Name  []byte `cbor:"name"`
	Email []byte `cbor:"email"`
	When  int64  `cbor:"when"`
}

func sentOf(i Ident) sentIdent { return sentIdent{[]byte(i.Name), []byte(i.Email), i.When} }

func (s sentIdent) ident() Ident { return Ident{string(s.Name), string(s.Email), s.When} }

// requestOf makes the request of a call.
func requestOf(id uint64, c Call) request {
	v, p := c.Values, c.Place
	q := request{
		ID: id, Vector: c.Vector, GitDir: []byte(p.GitDir), WorkTree: []byte(p.WorkTree), Filters: bytesOf(p.Filters),
		Stdin: vectors()[c.Vector].stdin, Read: len(p.Read), Trees: len(p.Trees),
		Values: sentValues{
			Rev: v.Rev, From: v.From, Not: v.Not, Blob: v.Blob, Paths: bytesOf(v.Paths), Count: v.Count, Skip: v.Skip, First: v.First, Last: v.Last,
			Tree: v.Tree, Parent: v.Parent, Ref: []byte(v.Ref), New: v.New, Old: v.Old, Index: []byte(v.Index), Author: sentOf(v.Author), Committer: sentOf(v.Committer),
		},
	}
	for _, s := range p.Settings {
		q.Settings = append(q.Settings, sentSetting{s.Key, []byte(s.Value)})
	}
	return q
}

// values gives a request's values back.
func (q request) values() Values {
	v := q.Values
	return Values{
		Rev: v.Rev, From: v.From, Not: v.Not, Blob: v.Blob, Paths: stringsOf(v.Paths), Count: v.Count, Skip: v.Skip, First: v.First, Last: v.Last,
		Tree: v.Tree, Parent: v.Parent, Ref: string(v.Ref), New: v.New, Old: v.Old, Index: string(v.Index), Author: v.Author.ident(), Committer: v.Committer.ident(),
	}
}

// settings gives a request's settings back.
func (q request) settings() (list []Setting) {
	for _, s := range q.Settings {
		list = append(list, Setting{s.Key, string(s.Value)})
	}
	return list
}

func bytesOf(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

func stringsOf(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}

// reply says how a git ended.
type reply struct {
	ID     uint64 `cbor:"id"`
	Code   int    `cbor:"code"`   // its exit code; -1 where a signal ended it
	Failed string `cbor:"failed"` // why it could not be started
}

// socketPair gives both ends.
func socketPair() (here *net.UnixConn, there *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a pair of sockets: %w", err)
	}
	for _, fd := range fds {
		// A request and its paths are one message.
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 2*maxMessage)
	}
	there = os.NewFile(uintptr(fds[1]), "runner")
	here, err = connOf(os.NewFile(uintptr(fds[0]), "daemon"))
	if err != nil {
		there.Close()
	}
	return here, there, err
}

// connOf takes a socket over.
func connOf(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("taking a socket: %w", err)
	}
	uc, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("[unexpected] it is no Unix socket")
	}
	return uc, nil
}

// send sends a message and handles, which stay the caller's.
func send(c *net.UnixConn, m any, handles ...*os.File) error {
	b, err := canon.Encode(m)
	if err != nil {
		return err
	}
	if len(b) > maxMessage || len(handles) > maxHandles {
		return fmt.Errorf("%w: %d bytes and %d handles", errTooLarge, len(b), len(handles))
	}
	if len(handles) == 0 {
		_, err = c.Write(b)
		return err
	}
	fds := make([]int, len(handles))
	for i, h := range handles {
		fds[i] = int(h.Fd())
	}
	_, _, err = c.WriteMsgUnix(b, unix.UnixRights(fds...), nil)
	return err
}

var errTooLarge = errors.New("a message to the runner is larger than it may be")

// receive takes the next message and its handles; io.EOF where no more will
// come.
func receive(c *net.UnixConn, buf []byte, m any) (handles []*os.File, err error) {
	oob := make([]byte, unix.CmsgSpace(4*maxHandles))
	n, on, flags, _, err := c.ReadMsgUnix(buf, oob)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			closeAll(handles)
			handles = nil
		}
	}()
	controls, err := unix.ParseSocketControlMessage(oob[:on])
	if err != nil {
		return nil, fmt.Errorf("reading handles: %w", err)
	}
	for _, c := range controls {
		fds, err := unix.ParseUnixRights(&c)
		if err != nil {
			return handles, fmt.Errorf("reading handles: %w", err)
		}
		for _, fd := range fds {
			handles = append(handles, os.NewFile(uintptr(fd), "passed"))
		}
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		return handles, errTooLarge
	}
	return handles, canon.Decode(buf[:n], m)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
