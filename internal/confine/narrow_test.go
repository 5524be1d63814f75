package confine

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// R15, G4: a thread that was narrowed opens what it was given and nothing beside,
// also where the walls around the process let others; a path that is replaced
// afterwards leads it nowhere else.
func TestNarrow(t *testing.T) {
	walls := func(dir string) Walls {
		return Walls{Calls: GitRead, Notify: -1, Read: []string{dir + "/home"}, Closed: []string{dir + "/second"}}
	}
	enclosed(t, walls, func(string) {}, func(dir string) {
		work, err := os.Open(dir + "/home/work")
		must(t, err)
		narrowed, looked := make(chan error), make(chan error, 2)
		go func() {
			runtime.LockOSThread() // and never unlocked
			if err := Narrow(Narrowed{Read: []*os.File{work}}); err != nil {
				narrowed <- err
				return
			}
			looked <- openAt(dir+"/home/work/f", unix.O_RDONLY)
			looked <- openAt(dir+"/home/other/f", unix.O_RDONLY)
			narrowed <- nil
		}()
		must(t, <-narrowed, <-looked)
		if err := <-looked; !errors.Is(err, unix.EACCES) {
			t.Errorf("beside what it was given: %v", err)
		}
		must(t, openAt(dir+"/home/other/f", unix.O_RDONLY)) // from another thread
	})
}
