package gitplan

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"countersign/internal/gitrun"
	"countersign/internal/refusal"
)

// maxIndex bounds the entries of an index that a tree is worked out from.
const maxIndex = 1_000_000

// tree works out the tree that the index would have, with what is to be staged.
func (w *Work) tree(finds []*found) (string, error) {
	now := make(map[string]entry)
	err := w.git(gitrun.Listed, gitrun.Values{}, nil, func(out io.Reader) error {
		return records(out, 0, func(rec []byte) error {
			// mode hash stage TAB path
			head, path, ok := strings.Cut(string(rec), "\t")
			parts := strings.Split(head, " ")
			if !ok || len(parts) != 3 {
				return fmt.Errorf("[unexpected] git said %.200q", rec)
			}
			if len(now) >= maxIndex {
				return refusal.New(refusal.TooLarge, w.Path.String(), "its index has over %d entries", maxIndex)
			}
			now[path] = entry{parts[0], parts[1]}
			return nil
		})
	})
	if err != nil {
		return "", err
	}
	for _, f := range finds {
		if f.work == unchanged {
			continue
		}
		if f.now == (entry{}) {
			delete(now, f.path)
		} else {
			now[f.path] = f.now
		}
	}
	paths := make([]string, 0, len(now))
	for p := range now {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return w.treeOf(paths, now, 0), nil
}

// treeOf hashes the tree of sorted paths that have the first at bytes, a
// directory, in common.
func (w *Work) treeOf(paths []string, all map[string]entry, at int) string {
	type item struct {
		name string // of a directory with a slash behind it, by which git sorts
		entry
	}
	var items []item
	for len(paths) > 0 {
		rest := paths[0][at:]
		name, _, deeper := strings.Cut(rest, "/")
		if !deeper {
			items = append(items, item{name, all[paths[0]]})
			paths = paths[1:]
			continue
		}
		prefix := paths[0][:at] + name + "/"
		n := 0
		for n < len(paths) && strings.HasPrefix(paths[n], prefix) {
			n++
		}
		items = append(items, item{name + "/", entry{"40000", w.treeOf(paths[:n], all, len(prefix))}})
		paths = paths[n:]
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	for _, i := range items {
		raw, _ := hex.DecodeString(i.hash) // git gave it, or the hash below
		fmt.Fprintf(&b, "%s %s\x00%s", i.mode, strings.TrimSuffix(i.name, "/"), raw)
	}
	return w.objectHash("tree", b.Bytes())
}

func (w *Work) blobHash(content []byte) string { return w.objectHash("blob", content) }

// objectHash names an object as git does.
func (w *Work) objectHash(kind string, content []byte) string {
	var h hash.Hash = sha1.New()
	if format, _ := w.Config("extensions", "", "objectformat"); format == "sha256" {
		h = sha256.New()
	}
	fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// maxRecord bounds one record of git's, in bytes.
const maxRecord = 1 << 20

// records calls each with every record of git's that ends with a byte.
func records(r io.Reader, end byte, each func(record []byte) error) error {
	b := bufio.NewReaderSize(r, 64<<10)
	for {
		var rec []byte
		for {
			part, err := b.ReadSlice(end)
			rec = append(rec, part...)
			if err == nil {
				break
			}
			switch {
			case errors.Is(err, io.EOF) && len(rec) == 0:
				return nil
			case errors.Is(err, io.EOF):
				return io.ErrUnexpectedEOF
			case !errors.Is(err, bufio.ErrBufferFull):
				return err
			case len(rec) > maxRecord:
				return refusal.New(refusal.TooLarge, "a record of git's", "it is over %d bytes", maxRecord)
			}
		}
		if err := each(rec[:len(rec)-1]); err != nil {
			return err
		}
	}
}
