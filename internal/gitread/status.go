package gitread

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"countersign/internal/action"
	"countersign/internal/gitrun"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// maxRecord bounds one record of git's, in bytes.
const maxRecord = 4 << 20

// records calls each with every record of git's that ends with a byte.
func records(r io.Reader, end byte, each func(record []byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), maxRecord)
	s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, end); i >= 0 {
			return i + 1, data[:i], nil
		}
		if atEOF && len(data) > 0 {
			return 0, nil, io.ErrUnexpectedEOF
		}
		return 0, nil, nil
	})
	for s.Scan() {
		if err := each(s.Bytes()); err != nil {
			return err
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return refusal.New(refusal.TooLarge, "a record of git's", "it is over %d bytes", maxRecord)
	}
	return s.Err()
}

// errForm says that git's output has another form than it should.
func errForm(record []byte) error { return fmt.Errorf("[unexpected] git said %.200q", record) }

// Status says what is changed in a work tree, and where its branch stands.
func (g *Git) Status(ctx context.Context, p protocol.GitStatusParams) (protocol.GitStatusResult, error) {
	r, err := g.open(ctx, p.Repository)
	if err != nil {
		return protocol.GitStatusResult{}, err
	}
	defer r.Close()
	res := protocol.GitStatusResult{GitAbout: r.about, Kinds: r.Kinds, Doing: r.Doing}
	page := newPage(p.Skip, p.Limit, protocol.MaxGitEntries)
	var worked []string
	err = r.git(gitrun.Status, gitrun.Values{}, nil, func(out io.Reader) error {
		return records(out, 0, func(rec []byte) error {
			if header, ok := bytes.CutPrefix(rec, []byte("# ")); ok {
				branch(&res, string(header))
				return nil
			}
			c, ok := change(rec)
			if !ok {
				return errForm(rec)
			}
			if !r.sees(strings.TrimSuffix(string(c.Path), "/")) {
				return nil
			}
			if c.Work != "." && c.Work != "?" && c.Work != "D" && !c.Submodule {
				worked = append(worked, string(c.Path))
			}
			if page.takes() {
				res.Entries = append(res.Entries, c)
			}
			return nil
		})
	})
	if err == nil {
		err = r.unfiltered(worked)
	}
	res.More = page.more
	return res, err
}

// branch takes what a status says of the branch.
func branch(res *protocol.GitStatusResult, header string) {
	key, value, _ := strings.Cut(header, " ")
	switch key {
	case "branch.oid":
		if value != "(initial)" {
			res.Commit = value
		}
	case "branch.head":
		if value != "(detached)" {
			res.Branch = valid(value)
		}
	case "branch.upstream":
		res.Upstream = valid(value)
	}
}

// change reads one entry of a status in porcelain form, version 2.
func change(rec []byte) (c protocol.GitChange, ok bool) {
	kind, rest, ok := strings.Cut(string(rec), " ")
	if !ok {
		return c, false
	}
	if kind == "?" {
		return protocol.GitChange{Path: action.Path(rest), Index: "?", Work: "?"}, true
	}
	fields, known := map[string]int{"1": 8, "u": 10}[kind]
	parts := strings.SplitN(rest, " ", fields)
	if !known || len(parts) != fields || len(parts[0]) != 2 {
		return c, false
	}
	return protocol.GitChange{
		Path: action.Path(parts[fields-1]), Index: parts[0][:1], Work: parts[0][1:], Unmerged: kind == "u", Submodule: parts[1][0] == 'S',
	}, true
}

// unfiltered refuses where the work tree's content of one of the paths is what a
// filter made: compared without the filter it would look changed where it is not.
func (r *reading) unfiltered(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	var of []string // path, attribute, value, and again
	err := r.git(gitrun.Attributes, gitrun.Values{}, []byte(strings.Join(paths, "\x00")+"\x00"), func(out io.Reader) error {
		return records(out, 0, func(rec []byte) error {
			of = append(of, string(rec))
			return nil
		})
	})
	if err != nil {
		return err
	}
	for ; len(of) >= 3; of = of[3:] {
		switch of[2] {
		case "unspecified", "unset", "set":
		default:
			return refusal.New(refusal.GitFilter, action.Path(of[0]).String(), "the filter %s", action.Path(of[2]))
		}
	}
	return nil
}
