// Package boot boots whole machines with systemd and Countersign installed,
// and tries, as each of its users, what must hold there.
//
// A machine is systemd-nspawn over a throw-away overlay of a root directory:
// that of the system the tests run on and, where COUNTERSIGN_BOOT_ROOT names
// one, another (`make boot-trixie` makes one of Debian 13). Homes lie on the disk beneath it, since an overlay is no filesystem of a home's.
// Mount namespaces, modes, system call filters and Landlock in it are the
// kernel's own; limits of memory and tasks are not enforced.
//
// It is a package for tests alone, and needs root and systemd-container.
package boot
