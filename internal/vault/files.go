package vault

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
)

// tempPrefix begins the name of a file that is not yet whole. No hash does.
const tempPrefix = "new-"

const maxPerson = 32 // bytes; what useradd allows

// personOK says whether a name can be a directory: [a-z_][a-z0-9_-]*. The
// policy has checked it already; a path is built from nothing else.
func personOK(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= maxPerson
}

func (v *Vault) path(person, name string) string { return filepath.Join(v.cfg.Dir, person, name) }

// write puts content on disk under its hash: content first, then the name.
func (v *Vault) write(person string, hash action.Hash, content []byte) error {
	if err := v.makeDir(person); err != nil {
		return err
	}
	temp := v.path(person, tempPrefix+rand.Text())
	if err := v.createNew(temp, content); err != nil {
		return err
	}
	if err := os.Rename(temp, v.path(person, hash.String())); err != nil {
		return errors.Join(fmt.Errorf("naming a capture: %w", err), os.Remove(temp))
	}
	// A name that may not be on disk stays where the sync fails: its content
	// is whole, and the next Open takes it in.
	return v.syncDir(person)
}

// createNew writes and syncs a new file, or leaves none.
func (v *Vault) createNew(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("making a capture's file: %w", err)
	}
	if _, err = f.Write(content); err == nil {
		err = v.cfg.Sync(f)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing a capture's file: %w", err), os.Remove(name))
	}
	return nil
}

// makeDir makes a person's directory, its name on disk, where this process
// does not know of one.
func (v *Vault) makeDir(person string) error {
	v.mu.Lock()
	made := v.shelf(person).made
	v.mu.Unlock()
	if made {
		return nil
	}
	err := os.Mkdir(v.path(person, ""), 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making a person's directory: %w", err)
	}
	if err := v.syncDir(""); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shelf(person).made = true
	return nil
}

// syncDir syncs a person's directory, or with no person the vault's.
func (v *Vault) syncDir(person string) error {
	d, err := os.OpenFile(v.path(person, ""), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("opening the vault's directory: %w", err)
	}
	defer d.Close()
	if err := v.cfg.SyncDir(d); err != nil {
		return fmt.Errorf("syncing the vault's directory: %w", err)
	}
	return nil
}

// list takes in every person's files, and syncs their names.
func (v *Vault) list() error {
	dirs, err := os.ReadDir(v.cfg.Dir)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		if !d.IsDir() || !personOK(d.Name()) {
			v.cfg.Log.Warn("vault: ignoring what is no person's directory", "name", d.Name())
			continue
		}
		if err := v.listPerson(d.Name()); err != nil {
			return err
		}
	}
	return v.syncDir("")
}

func (v *Vault) listPerson(person string) error {
	files, err := os.ReadDir(v.path(person, ""))
	if err != nil {
		return err
	}
	s := v.shelf(person)
	s.made = true
	for _, f := range files {
		if strings.HasPrefix(f.Name(), tempPrefix) {
			if err := os.Remove(v.path(person, f.Name())); err != nil {
				return err
			}
			continue
		}
		var hash action.Hash
		st, err := f.Info()
		if err != nil {
			return err
		}
		if hash.UnmarshalText([]byte(f.Name())) != nil || hash.String() != f.Name() || !st.Mode().IsRegular() {
			v.cfg.Log.Warn("vault: ignoring what is no capture", "person", person, "name", f.Name())
			continue
		}
		s.held[hash] = place{size: st.Size()}
		s.used += st.Size()
	}
	return v.syncDir(person)
}

// read gives the bytes at a place, unchecked where they are a file's.
func (v *Vault) read(person string, hash action.Hash, p place) ([]byte, error) {
	if !p.inFile() {
		return v.cfg.Bodies.ReadBody(p.ref)
	}
	f, err := os.OpenFile(v.path(person, hash.String()), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a capture: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, MaxContent+1))
	if err != nil {
		return nil, fmt.Errorf("reading a capture: %w", err)
	}
	return content, nil
}
