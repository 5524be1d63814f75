package fault

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// trace stands between a process and the kernel. It counts the calls of all
// its threads together, in the order in which the kernel is asked, and makes
// one of them fail.
type trace struct {
	pid   int
	fault fault
	kernel
	calls []call

	hit  *call        // what the fault fell on; nil as long as it did not
	held map[int]bool // threads
	fail map[int]bool // of them, those whose call is to fail when it returns
	end  atomic.Bool
	done chan struct{} // closed once nothing is held any more
}

// hold takes hold of every thread of a process, those to come included, and
// returns once each of them is.
func hold(pid int, f fault) (*trace, error) {
	t := &trace{pid: pid, fault: f, kernel: newKernel(), held: make(map[int]bool), fail: make(map[int]bool), done: make(chan struct{})}
	held := make(chan error)
	go func() {
		runtime.LockOSThread() // what holds a process is a thread; it ends with this goroutine
		defer close(t.done)
		err := t.seize()
		held <- err
		if err == nil {
			t.run()
		}
	}()
	return t, <-held
}

// letGo lets go of the process, which goes on, and waits until it does.
func (t *trace) letGo() {
	t.end.Store(true)
	for _, tid := range tasks(t.pid) {
		unix.Tgkill(t.pid, tid, unix.SIGURG) // stops a thread for its tracer, and is nothing to a Go program
	}
	<-t.done
}

func tasks(pid int) (tids []int) {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

func (t *trace) seize() error {
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE
	for more := true; more; {
		more = false
		for _, tid := range tasks(t.pid) {
			if t.held[tid] {
				continue
			}
			t.held[tid], more = true, true
			if err := ptrace(unix.PTRACE_SEIZE, tid, 0, options); err != nil && err != unix.EPERM { // EPERM: its maker's hold took it along
				return fmt.Errorf("taking hold of thread %d: %w", tid, err)
			}
			if err := ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0); err != nil {
				return fmt.Errorf("stopping thread %d: %w", tid, err)
			}
		}
	}
	for range len(t.held) { // each stops once for the interrupt
		t.step()
	}
	return nil
}

// run follows the process until it is gone or let go of.
func (t *trace) run() {
	for len(t.held) > 0 && !t.end.Load() {
		t.step()
	}
	for tid := range t.held {
		ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0)
	}
	for len(t.held) > 0 {
		if tid, _, signal, stopped := t.wait(); stopped {
			ptrace(unix.PTRACE_DETACH, tid, 0, uintptr(signal))
			delete(t.held, tid)
		}
	}
}

// step waits for one thread to stop, and makes it go on.
func (t *trace) step() {
	tid, atCall, signal, stopped := t.wait()
	if stopped && atCall {
		t.atCall(tid)
	}
	if stopped {
		t.resume(tid, signal)
	}
}

// wait waits until something becomes of a thread. One that stopped may have
// done so at a call, or for a signal, which it is to get. Only what this thread
// holds is waited for.
func (t *trace) wait() (tid int, atCall bool, signal int, stopped bool) {
	var ws unix.WaitStatus
	tid, err := unix.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, nil)
	switch {
	case err == unix.EINTR:
		return 0, false, 0, false
	case err != nil: // nothing is left to be held
		clear(t.held)
		return 0, false, 0, false
	case !ws.Stopped():
		delete(t.held, tid)
		return tid, false, 0, false
	}
	t.held[tid] = true // one that was made, and says so before its maker does
	switch sig := ws.StopSignal(); {
	case sig == unix.SIGTRAP|0x80:
		atCall = true
	case int(ws)>>16 == unix.PTRACE_EVENT_CLONE:
		if made, err := syscall.PtraceGetEventMsg(tid); err == nil {
			t.held[int(made)] = true
		}
	case int(ws)>>16 == 0:
		signal = int(sig)
	}
	return tid, atCall, signal, true
}

// resume lets a thread run to its next system call, or once the fault has
// fallen, on its way.
func (t *trace) resume(tid, signal int) {
	how := unix.PTRACE_SYSCALL
	if t.hit != nil && len(t.fail) == 0 {
		how = unix.PTRACE_CONT
	}
	ptrace(how, tid, 0, uintptr(signal)) // of one that was killed there is nothing to resume
}

// atCall is a thread that enters a call, or comes out of one.
func (t *trace) atCall(tid int) {
	var regs syscall.PtraceRegs
	info, err := infoOf(tid)
	if err != nil {
		return
	}
	switch info.op {
	case atExit:
		if t.fail[tid] && syscall.PtraceGetRegs(tid, &regs) == nil {
			delete(t.fail, tid)
			regs.Rax = uint64(-int64(t.fault.errno))
			syscall.PtraceSetRegs(tid, &regs)
		}
	case atEntry:
		c, counted := t.callOf(t.pid, int(info.nr), info.args[0])
		if !counted || t.hit != nil {
			return
		}
		t.calls = append(t.calls, c)
		if len(t.calls) != t.fault.at || t.fault.after && !c.mutates() { // another call than was planned
			return
		}
		t.hit = &c
		if t.fault.kill {
			unix.Kill(t.pid, unix.SIGKILL)
			return
		}
		t.fail[tid] = true
		if t.fault.after || c.name == "close" { // a close that fails has closed all the same
			return
		}
		if syscall.PtraceGetRegs(tid, &regs) == nil {
			regs.Orig_rax = ^uint64(0) // no call at all
			syscall.PtraceSetRegs(tid, &regs)
		}
	}
}

const (
	atEntry = 1 // PTRACE_SYSCALL_INFO_ENTRY
	atExit  = 2 // PTRACE_SYSCALL_INFO_EXIT
)

// info is the beginning of struct ptrace_syscall_info.
type info struct {
	op   uint8
	_    [3]uint8
	arch uint32
	_    [2]uint64 // instruction and stack
	nr   uint64
	args [6]uint64
	_    [8]byte
}

func infoOf(tid int) (i info, err error) {
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(i), uintptr(unsafe.Pointer(&i)), 0, 0)
	if e != 0 {
		return i, e
	}
	return i, nil
}

func ptrace(request, tid int, addr, data uintptr) error {
	if _, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0); e != 0 {
		return e
	}
	return nil
}
