package fileread

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/testas"
)

// R3 R4 R12: while somebody swaps directories of a tree for links to elsewhere,
// and moves them out of the grant and back, as fast as they can, no walk, read
// or stat ever gives a byte or a name from outside, and none hangs.
func TestSwappedWhileWalked(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home := t.TempDir()
	for _, d := range []string{"a", "a/b", "a/b/c", "x"} {
		put(t, home, "in/"+d+"/inside", "out/"+d+"/OUTSIDE")
	}
	put(t, home, "out/moved/OUTSIDE", "away/")
	must(t, os.Symlink(home+"/out/a", home+"/in/link"), os.Symlink("../../out/a/b", home+"/in/a/link"), os.Symlink("../out", home+"/link"), unix.Mkfifo(home+"/in/a/pipe", 0o644))
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swap := func(f func()) {
		swapping.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					f()
				}
			}
		})
	}
	in, err := os.Open(home + "/in/a") // held, or the swaps would go through one another
	must(t, err)
	defer in.Close()
	exchange := func(dir int, a, b string) { unix.Renameat2(dir, a, dir, b, unix.RENAME_EXCHANGE) }
	swap(func() { exchange(unix.AT_FDCWD, home+"/in/a", home+"/in/link") })
	swap(func() { exchange(int(in.Fd()), "b", "link") })
	swap(func() { exchange(int(in.Fd()), "inside", "pipe") })
	swap(func() { // what is in a directory only while it is away may be named, and is not read
		os.Rename(home+"/in/x", home+"/away/x")
		os.WriteFile(home+"/away/x/away", []byte("OUTSIDE"), 0o644)
		os.Remove(home + "/away/x/away")
		os.Rename(home+"/away/x", home+"/in/x")
	})
	defer swapping.Wait()
	defer close(stop)
	ctx := context.Background()
	f := granting(t, home, grant.Grant{Root: home + "/in"}, grant.Grant{Root: home + "/in/x"})
	inside, gone := 0, 0
	for begin := time.Now(); time.Since(begin) < 2*time.Second || inside == 0; {
		for _, from := range []string{"/in", "/in/a", "/in/x", "/in/a/b"} {
			w, err := f.openWalk(walking{path: action.Path(home + from), look: true})
			if err != nil {
				gone++
				continue
			}
			w.each(ctx, func(s seen) bool {
				if s.name == "OUTSIDE" {
					t.Errorf("met %s", s.path())
				}
				if s.kind != unix.S_IFREG && s.kind != unix.S_IFIFO {
					return true
				}
				if file, _, err := w.content(s); err == nil {
					b, _ := file.Read(make([]byte, 1<<10))
					file.Close()
					if inside++; strings.Contains(string(b), "OUTSIDE") {
						t.Errorf("read %q", b)
					}
				}
				return true
			})
			w.Close()
		}
		res, err := f.Read(ctx, protocol.ReadParams{Files: []protocol.ReadWanted{{Path: action.Path(home + "/in/a/b/inside")}, {Path: action.Path(home + "/in/a/b/OUTSIDE")}, {Path: action.Path(home + "/in/x/away")}}})
		must(t, err)
		if res.Files[1].Text != "" || res.Files[2].Text != "" || strings.Contains(res.Files[0].Text, "OUTSIDE") {
			t.Errorf("read %+v", res.Files)
		}
		st, err := f.Stat(ctx, protocol.StatParams{Paths: []action.Path{action.Path(home + "/in/a/OUTSIDE"), action.Path(home + "/in/a/b/OUTSIDE")}})
		must(t, err)
		if st.Files[0].About != nil || st.Files[1].About != nil {
			t.Errorf("told of %+v", st.Files)
		}
	}
	t.Logf("%d files read, %d starts not there", inside, gone)
	if gone == 0 {
		t.Error("nothing was ever swapped")
	}
}
