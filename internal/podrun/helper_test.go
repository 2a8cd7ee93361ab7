//go:build linux

package podrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
)

// step is a task of the test binary, done in place of testing when the variable holds one: limits, capabilities and
// execve change a process for good.
type step struct {
	Do    string   // "prepare", then "raise", then "report"; or "start"
	Given *limits  // prepare
	Argv  []string // start
	Env   []byte   // start: as in /proc/self/environ, since JSON has no strings of any bytes
}

const stepVariable = "LAUNCH_TEST_STEP"

// The programs of the later steps are open files: their folders need not be open to the user that runs them.
const (
	reporter = "/proc/self/fd/3"
	raiser   = "/proc/self/fd/4" // the same program, or a copy of it with file capabilities
)

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(stepVariable); ok {
		os.Exit(play(text))
	}
	os.Exit(m.Run())
}

// environ is the environment that makes a process of the test binary do a step.
func (s step) environ() []string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and numbers
	}
	// Under the race detector a program sleeps for a second before it ends, unless told otherwise.
	return []string{stepVariable + "=" + string(text), "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH")}
}

// play does one step. A step that goes well ends in the next one.
func play(text string) int {
	var s step
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic(err)
	}
	var err error
	switch s.Do {
	case "prepare":
		if err = s.Given.apply(); err == nil {
			err = syscall.Exec(raiser, []string{"raiser"}, step{Do: "raise"}.environ())
		}
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
			tell(told{Forbidden: err.Error()})
			return 0
		}
	case "raise":
		err = raise()
	case "report":
		tell(report())
		return 0
	case "start":
		err = Exec(s.Argv, strings.Split(strings.TrimSuffix(string(s.Env), "\x00"), "\x00"))
	default:
		err = fmt.Errorf("no step %q", s.Do)
	}
	fmt.Fprintln(os.Stderr, err)
	return int(ExitCode(err))
}

// limits are a container's limits and capabilities, as far as locked memory depends on them.
type limits struct {
	Soft, Hard   uint64 // RLIMIT_MEMLOCK
	DropBounding []uintptr
	User         int // 0: stays
	Powerless    bool
	NoNewPrivs   bool
	NoAmbient    bool // ambient capabilities cannot be raised
}

// apply changes this thread, from which the next step is executed.
func (l *limits) apply() error {
	runtime.LockOSThread()
	lim := unix.Rlimit{Cur: l.Soft, Max: l.Hard}
	if err := unix.Prlimit(0, unix.RLIMIT_MEMLOCK, &lim, nil); err != nil {
		return fmt.Errorf("set the locked-memory limit to %d soft, %d hard: %w", l.Soft, l.Hard, err)
	}
	for _, capability := range l.DropBounding {
		if in, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, capability, 0, 0, 0); err == nil && in == 0 {
			continue // dropping asks for CAP_SETPCAP even so
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d from the bounding set: %w", capability, err)
		}
	}
	if l.NoAmbient {
		const noAmbientRaise = 1 << 6 // SECBIT_NO_CAP_AMBIENT_RAISE (include/uapi/linux/securebits.h)
		if err := unix.Prctl(unix.PR_SET_SECUREBITS, noAmbientRaise, 0, 0, 0); err != nil {
			return fmt.Errorf("forbid ambient capabilities: %w", err)
		}
	}
	if l.User != 0 {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(l.User), uintptr(l.User),
			uintptr(l.User)); errno != 0 {
			return fmt.Errorf("become user %d: %w", l.User, errno)
		}
	}
	if l.Powerless {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		if err := unix.Capset(&header, &new([2]unix.CapUserData)[0]); err != nil {
			return fmt.Errorf("give up all capabilities: %w", err)
		}
	}
	if l.NoNewPrivs {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("set no_new_privs: %w", err)
		}
	}
	return nil
}

// told is the report of the steps, one JSON value each.
type told struct {
	Forbidden string `json:",omitempty"` // the situation cannot be made here

	Raised *raised  `json:",omitempty"`
	Truth  *command `json:",omitempty"`
}

// raised is the launcher's claim.
type raised struct {
	Words, How string
	Finding    *check.Finding
}

// command describes the started command's own view.
type command struct {
	PID        int
	Soft, Hard uint64
	Locks      map[string]string // size -> error of mlock(2), "" when the memory could be locked
}

// sizes to lock; the limits of the tests lie between them.
var sizes = map[string]int{"256K": 256 << 10, "768K": 768 << 10, "2M": 2 << 20}

func tell(t told) {
	if err := json.NewEncoder(os.Stdout).Encode(t); err != nil {
		panic(err)
	}
}

// raise climbs the ladder and starts the command.
func raise() error {
	here, err := sysfs.Open("/")
	if err != nil {
		return err
	}
	m := RaiseMemlock(here)
	said := &raised{Words: m.String(), How: m.How}
	if f, short := m.Finding(); short {
		said.Finding = &f
	}
	tell(told{Raised: said})
	return Exec([]string{reporter}, step{Do: "report"}.environ())
}

func report() told {
	lim, err := memlock()
	if err != nil {
		panic(err)
	}
	c := &command{PID: os.Getpid(), Soft: lim.Cur, Hard: lim.Max, Locks: map[string]string{}}
	for name, size := range sizes {
		c.Locks[name] = tryLock(size)
	}
	return told{Truth: c}
}

// tryLock locks fresh memory as a driver that registers it would have it pinned, and names the error.
func tryLock(size int) string {
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err.Error()
	}
	defer unix.Munmap(memory)
	var errno syscall.Errno
	if errors.As(unix.Mlock(memory), &errno) {
		return unix.ErrnoName(errno)
	}
	return ""
}

// withFileCap copies the program and gives the copy CAP_IPC_LOCK.
func withFileCap(t *testing.T, program io.Reader) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "launcher")
	content, err := io.ReadAll(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o755); err != nil {
		t.Fatal(err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(name, &st); err != nil {
		t.Fatal(err)
	}
	if st.Flags&unix.ST_NOSUID != 0 {
		t.Skipf("file capabilities have no effect on %s: mounted with nosuid", name)
	}
	if err := unix.Setxattr(name, "security.capability", capabilityXattr(host.CapIPCLock), 0); err != nil {
		t.Skipf("file capabilities may not be set on %s: %v", name, err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// capabilityXattr is a security.capability attribute that grants one capability below 32, permitted and effective
// (include/uapi/linux/capability.h vfs_cap_data, revision 2).
func capabilityXattr(capability int) []byte {
	granted := uint32(1) << capability
	const revision2AndEffective = 0x02000001
	words := []uint32{revision2AndEffective, granted, 0, 0, 0}
	var b strings.Builder
	for _, w := range words {
		b.Write([]byte{byte(w), byte(w >> 8), byte(w >> 16), byte(w >> 24)})
	}
	return []byte(b.String())
}
