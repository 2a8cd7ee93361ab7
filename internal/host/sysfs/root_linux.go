package sysfs

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/netlink"
)

func live() Machine {
	return Machine{
		Live: true,
		Root: liveRoot{os.DirFS("/"), map[string]int{}, make([]byte, 4096)},
		Probes: Probes{
			Now:           time.Now,
			Environ:       environ,
			OpenDevice:    openDevice,
			Interfaces:    interfaces,
			UID:           os.Getuid,
			ShmBytes:      shmBytes,
			ShmFree:       shmFree,
			LockMemory:    lockMemory,
			VFs:           virtualFunctions,
			Route:         route,
			Wire:          wire,
			Namespace:     processes("/proc").namespace,
			InterfaceMTUs: processes("/proc").interfaceMTUs,
		},
	}
}

// environ returns the variables of this process, and of the container's first process the ones with a dash in the name:
// dash, busybox and mksh do not pass them on (tried: 0.5.12, 1.35.0, 59c). A device plugin makes them of the name of
// its resource.
func environ() []string {
	first, _ := os.ReadFile("/proc/1/environ") // not readable: of another user
	return withDashed(os.Environ(), string(first))
}

func wire() (host.Wire, error) { return netlink.Wire(time.Now) }

// procMagic is the type of a proc file system (include/uapi/linux/magic.h).
const procMagic = 0x9fa0

// mounted returns the probes of a folder that is the root of the running machine, such as /host in a debug pod: its
// /proc is a real one. Interfaces are read in this network namespace, which with host networking is the host's.
func mounted(place string) Probes {
	var st syscall.Statfs_t
	if err := syscall.Statfs(place+"/proc", &st); err != nil || st.Type != procMagic {
		return Probes{}
	}
	all := processes(place + "/proc")
	return Probes{
		Now: time.Now, VFs: virtualFunctions, Wire: wire,
		Namespace: all.namespace, InterfaceMTUs: all.interfaceMTUs,
	}
}

// liveRoot reads small kernel files with three system calls instead of the six of os.ReadFile, and walks the long path
// to a device once.
type liveRoot struct {
	fs.FS
	devices map[string]int // RDMA device -> its open folder; closed by execve, before the next reading or at the end
	page    []byte         // for one read; on the stack it would make the stack grow, link by link of the call chain
}

// at makes a path below /sys/class/infiniband/<device> relative to that folder: its link leads a dozen folders deep.
func (l liveRoot) at(name string) (dir int, path string) {
	rest, ok := strings.CutPrefix(name, classInfiniBand+"/")
	device, file, below := strings.Cut(rest, "/")
	if !ok || !below {
		return atCWD, "/" + name
	}
	fd, known := l.devices[device]
	if !known {
		var err error
		if fd, err = syscall.Open("/"+classInfiniBand+"/"+device, oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC,
			0); err != nil {
			return atCWD, "/" + name
		}
		l.devices[device] = fd
	}
	return fd, file
}

func (l liveRoot) closeDevices() {
	for _, fd := range l.devices {
		closeFile(fd)
	}
	clear(l.devices)
}

func (l liveRoot) openFile(name string) (int, error) {
	dir, path := l.at(name)
	return openat(dir, path, syscall.O_RDONLY)
}

func (l liveRoot) readBounded(name string) (string, error) {
	fd, err := l.openFile(name)
	if err != nil {
		return "", &fs.PathError{Op: "open", Path: name, Err: err}
	}
	n, err := read(fd, l.page)
	// A sysfs attribute comes whole with the first read (Documentation/filesystems/sysfs.rst); /proc may give pieces.
	if err == nil && (strings.HasPrefix(name, "sys/") && n < len(l.page) || n == 0) {
		closeFile(fd)
		return string(l.page[:n]), nil
	}
	data := append([]byte(nil), l.page[:n]...)
	for n > 0 && err == nil && len(data) <= maxFile {
		n, err = read(fd, l.page)
		data = append(data, l.page[:n]...)
	}
	closeFile(fd)
	if err == nil && len(data) > maxFile {
		data, err = data[:maxFile], errTooLong
	}
	if err != nil {
		err = &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return string(data), err
}

func (l liveRoot) exists(name string) bool {
	dir, path := l.at(name)
	_, err := direct(syscall.SYS_FACCESSAT, dir, path, 0, 0)
	return err == nil
}

func (l liveRoot) names(name string) ([]string, error) {
	dir, path := l.at(name)
	fd, err := openat(dir, path, syscall.O_RDONLY|syscall.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer closeFile(fd)
	var names []string
	for {
		n, err := syscall.ReadDirent(fd, l.page)
		if err != nil {
			return names, &fs.PathError{Op: "readdir", Path: name, Err: err}
		}
		if n <= 0 {
			return names, nil
		}
		_, _, names = syscall.ParseDirent(l.page[:n], -1, names)
	}
}

// ReadLink implements fs.ReadLinkFS.
func (l liveRoot) ReadLink(name string) (string, error) {
	dir, path := l.at(name)
	n, err := direct(syscall.SYS_READLINKAT, dir, path, uintptr(unsafe.Pointer(&l.page[0])), uintptr(len(l.page)))
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return string(l.page[:n]), nil
}

// Lstat implements fs.ReadLinkFS.
func (liveRoot) Lstat(name string) (fs.FileInfo, error) { return os.Lstat("/" + name) }

// Stat implements fs.StatFS; the embedded FS would open the file, which a device must not be.
func (liveRoot) Stat(name string) (fs.FileInfo, error) { return os.Stat("/" + name) }

// ReadDir implements fs.ReadDirFS.
func (liveRoot) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir("/" + name) }

// openDevice opens the node as libibverbs does and closes it; no command is sent to the device.
func openDevice(name string) error {
	fd, err := openat(atCWD, "/"+name, syscall.O_RDWR)
	if err == nil {
		closeFile(fd)
	}
	return err
}

func shmBytes() (uint64, error) {
	st, err := shm()
	return st.Blocks * uint64(st.Bsize), err
}

func shmFree() (uint64, error) {
	st, err := shm()
	return st.Bavail * uint64(st.Bsize), err
}

func shm() (st syscall.Statfs_t, err error) {
	err = syscall.Statfs("/dev/shm", &st)
	return st, err
}

// lockMemory locks a mapping as registering it would: the kernel counts it against the same limit, and the same
// capability lifts it (mm/mlock.c do_mlock; drivers/infiniband/core/umem.c). MLOCK_ONFAULT takes no memory for it.
func lockMemory(bytes uint64) error {
	const onFault = 1
	// The mapping is not Go's memory: it is neither read nor written, and given back at once.
	at, _, errno := syscall.Syscall6(syscall.SYS_MMAP, 0, uintptr(bytes), syscall.PROT_NONE,
		syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS|syscall.MAP_NORESERVE, ^uintptr(0), 0)
	if errno != 0 {
		return errno
	}
	defer func() { _, _, _ = syscall.Syscall(syscall.SYS_MUNMAP, at, uintptr(bytes), 0) }()
	if _, _, errno = syscall.Syscall(sysMlock2, at, uintptr(bytes), onFault); errno != 0 {
		return errno
	}
	return nil
}
