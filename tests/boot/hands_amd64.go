package boot

import (
	"fmt"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// borrowed are the hands of a running process: a thread of it that rests in a
// system call is stopped, made to make another, and put back as it was. What
// the kernel answers is what it would answer the process itself, whatever its
// code can be talked into.
type borrowed struct {
	pid   int
	saved syscall.PtraceRegs
	room  uintptr // where put places the next bytes
}

// The instruction that enters the kernel on amd64.
func enter() [2]byte { return [2]byte{0x0f, 0x05} }

// borrow takes hold of a process by its first thread. The caller's thread is
// locked, and is the only one that may use what it gives.
func borrow(pid int) (*borrowed, error) {
	runtime.LockOSThread()
	if err := ptrace(unix.PTRACE_SEIZE, pid, 0); err != nil {
		return nil, fmt.Errorf("taking hold of process %d: %w", pid, err)
	}
	const tries = 200
	for range tries {
		b := &borrowed{pid: pid}
		resting, err := b.stop()
		if err != nil {
			return nil, err
		}
		if resting {
			b.clear()
			return b, nil
		}
		if err := syscall.PtraceCont(pid, 0); err != nil {
			return nil, err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil, fmt.Errorf("process %d rests in no system call", pid)
}

// clear makes room for what put places: below the stack's end and its red
// zone, where the process itself went while it started.
func (b *borrowed) clear() {
	const room = 2 << 10
	b.room = uintptr(b.saved.Rsp)&^7 - room
}

// stop stops the thread, and says whether it was resting in a system call.
func (b *borrowed) stop() (bool, error) {
	if err := ptrace(unix.PTRACE_INTERRUPT, b.pid, 0); err != nil {
		return false, err
	}
	if err := b.wait(); err != nil {
		return false, err
	}
	if err := syscall.PtraceGetRegs(b.pid, &b.saved); err != nil {
		return false, err
	}
	var at [2]byte
	if _, err := syscall.PtracePeekText(b.pid, uintptr(b.saved.Rip)-2, at[:]); err != nil {
		return false, err
	}
	return at == enter(), nil
}

func (b *borrowed) wait() error {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(b.pid, &status, syscall.WALL, nil); err != nil {
		return err
	}
	if !status.Stopped() {
		return fmt.Errorf("process %d ended: %v", b.pid, status)
	}
	return nil
}

func ptrace(request, pid int, data uintptr) error {
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), 0, data, 0, 0); e != 0 {
		return e
	}
	return nil
}

func (b *borrowed) put(p []byte) (uintptr, error) {
	at := b.room
	b.room += uintptr(len(p)+7) &^ 7
	word := make([]byte, (len(p)+7)&^7)
	copy(word, p)
	_, err := syscall.PtracePokeData(b.pid, at, word)
	return at, err
}

func (b *borrowed) call(nr uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r := b.saved
	r.Rip -= 2
	r.Rax, r.Orig_rax = uint64(nr), ^uint64(0)
	r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9 = uint64(a[0]), uint64(a[1]), uint64(a[2]), uint64(a[3]), uint64(a[4]), uint64(a[5])
	if err := syscall.PtraceSetRegs(b.pid, &r); err != nil {
		return 0, err
	}
	if err := syscall.PtraceSingleStep(b.pid); err != nil {
		return 0, err
	}
	if err := b.wait(); err != nil {
		return 0, err
	}
	if err := syscall.PtraceGetRegs(b.pid, &r); err != nil {
		return 0, err
	}
	return uintptr(r.Rax), nil
}

// giveBack lets the process go on as if its call had been interrupted.
func (b *borrowed) giveBack() error {
	r := b.saved
	interrupted := -int64(unix.EINTR)
	r.Rax, r.Orig_rax = uint64(interrupted), ^uint64(0)
	if err := syscall.PtraceSetRegs(b.pid, &r); err != nil {
		return err
	}
	return syscall.PtraceDetach(b.pid)
}
