package vault

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/journal"
	"countersign/internal/testas"
)

const (
	xfsGoingDown  = 0x8004587d // XFS_IOC_GOINGDOWN
	noLogFlush    = 2
	cuts          = 25
	captureMost   = 40 << 10
	segmentOfCuts = 200 << 10
)

// disk is an xfs of the test's own, on a loop device.
type disk struct {
	t     *testing.T
	image string
	at    string
	loop  string // the device that is mounted
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	testas.Root(t)
	dir := t.TempDir()
	d := &disk{t: t, image: filepath.Join(dir, "image"), at: filepath.Join(dir, "mount")}
	if err := os.Mkdir(d.at, 0o700); err != nil {
		t.Fatal(err)
	}
	d.run("truncate", "-s", "400M", d.image)
	d.run("mkfs.xfs", "-q", d.image)
	d.mount()
	t.Cleanup(func() {
		unix.Unmount(d.at, unix.MNT_DETACH)
		d.run("losetup", "--detach", d.loop)
	})
	return d
}

func (d *disk) run(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// mount mounts the image through a device of its own each time: a mount
// namespace that was made meanwhile, of another test's, may hold the filesystem
// that was cut, and the same device would lead there.
func (d *disk) mount() {
	d.t.Helper()
	if d.loop != "" {
		d.run("losetup", "--detach", d.loop)
	}
	out, err := exec.Command("losetup", "--find", "--show", d.image).Output()
	if err != nil {
		d.t.Fatalf("losetup: %v", err)
	}
	d.loop = strings.TrimSpace(string(out))
	d.run("mount", "-o", "nouuid", d.loop, d.at)
}

// cut stops the filesystem where it is: what no sync has put on disk is gone.
func (d *disk) cut() error {
	root, err := os.Open(d.at)
	if err != nil {
		return err
	}
	defer root.Close()
	return unix.IoctlSetPointerInt(int(root.Fd()), xfsGoingDown, noLogFlush)
}

// promise is what was acknowledged before a cut.
type promise struct {
	records  []journal.Record
	captures []action.Hash
}

// powered is a keeper's store on a disk whose power is cut.
type powered struct {
	disk *disk
	sync func(*os.File) error // nil for the real one
	mu   sync.Mutex
	off  bool // from just before the power goes
	kept promise
}

// start opens journal and vault and says what of the promise does not hold.
func (p *powered) start() (*Vault, *journal.Journal, error) {
	var bodies []journal.Ref
	found := map[uint64]action.Hash{}
	cfg := journal.Config{Dir: filepath.Join(p.disk.at, "journal"), SegmentSize: segmentOfCuts, Sync: p.sync, SyncDir: p.sync}
	j, _, err := journal.Open(cfg, func(r journal.Record) error {
		found[r.Seq] = r.Hash
		bodies = append(bodies, r.Bodies...)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	v, err := Open(Config{Dir: filepath.Join(p.disk.at, "vault"), Bodies: j, Quota: 1 << 30, Sync: p.sync, SyncDir: p.sync})
	if err != nil {
		return nil, nil, err
	}
	for _, b := range bodies {
		v.Note("alice", b)
	}
	if _, err := j.Verify(p.disk.t.Context()); err != nil {
		return nil, nil, err
	}
	for _, r := range p.kept.records {
		if found[r.Seq] != r.Hash {
			return nil, nil, fmt.Errorf("record %d was acknowledged and is gone", r.Seq)
		}
	}
	for _, h := range p.kept.captures {
		if _, err := v.Get("alice", h); err != nil {
			return nil, nil, fmt.Errorf("a capture was acknowledged: %w", err)
		}
	}
	return v, j, nil
}

// work captures and commits until the power goes.
func (p *powered) work(v *Vault, j *journal.Journal, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	for n := uint64(0); ; n++ {
		size := 16 + random.IntN(captureMost)
		if random.IntN(20) == 0 {
			size += Inline
		}
		content := bytes.Repeat([]byte{byte(n)}, size)
		binary.BigEndian.PutUint64(content, seed<<32|n)
		held, err := v.Prepare("alice", content)
		if err != nil {
			return
		}
		e := journal.Entry{Kind: "intent", ID: "alice"}
		if held.Body != nil {
			e.Bodies = []journal.Body{*held.Body}
		}
		recs, err := j.Commit(e)
		if err != nil {
			return
		}
		p.mu.Lock()
		if p.off {
			// Nobody hears an answer given without power. The filesystem gives
			// some: a sync that its shutdown overtakes can report success.
			p.mu.Unlock()
			return
		}
		p.kept.records = append(p.kept.records, recs...)
		p.kept.captures = append(p.kept.captures, held.Hash)
		p.mu.Unlock()
		if _, err := j.Append(journal.Entry{Kind: "outcome", ID: "alice"}); err != nil {
			return
		}
	}
}

// round starts, works, and cuts the power after a while.
func (p *powered) round(n uint64) error {
	v, j, err := p.start()
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	for w := range uint64(3) {
		group.Go(func() { p.work(v, j, 10*n+w+1) })
	}
	time.Sleep(time.Duration(5+n*7%40) * time.Millisecond)
	p.mu.Lock()
	p.off = true
	p.mu.Unlock()
	if err := p.disk.cut(); err != nil {
		return err
	}
	group.Wait()
	p.off = false
	j.Close() // its error is the power's
	if err := unix.Unmount(p.disk.at, 0); err != nil {
		return fmt.Errorf("unmounting: %w", err)
	}
	p.disk.mount()
	return nil
}

func newPowered(t *testing.T, sync func(*os.File) error) *powered {
	p := &powered{disk: newDisk(t), sync: sync}
	for _, name := range []string{"vault", "journal"} {
		if err := os.Mkdir(filepath.Join(p.disk.at, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	unix.Sync()
	return p
}

// T11, T14, T18: whenever the power goes, each record and each capture that was
// acknowledged is there when it comes back, and the rest is cut off and said.
func TestPowerCuts(t *testing.T) {
	p := newPowered(t, nil)
	for n := range uint64(cuts) {
		if err := p.round(n); err != nil {
			t.Fatalf("cut %d: %v", n, err)
		}
	}
	_, j, err := p.start()
	if err != nil {
		t.Fatal(err)
	}
	j.Close()
	t.Logf("%d cuts, %d commits and %d captures kept", cuts, len(p.kept.records), len(p.kept.captures))
	if len(p.kept.records) < cuts {
		t.Fatal("too little was done to show anything")
	}
}

// T18: the control that shows the power is cut: without syncs, what was called
// kept is lost.
func TestPowerCutsAreSeen(t *testing.T) {
	p := newPowered(t, func(*os.File) error { return nil })
	for n := range uint64(cuts) {
		if err := p.round(n); err != nil {
			t.Log(err)
			return
		}
	}
	if _, j, err := p.start(); err == nil {
		j.Close()
		t.Fatal("nothing was synced, and nothing was lost")
	}
}
