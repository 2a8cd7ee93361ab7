package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain is also the program that TestOrphan kills: it starts a child and says its process id.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PROCESS_TEST_LOGS"); dir != "" {
		p, err := NewGroup(dir).Start(Command{
			Name:      "child",
			Program:   "sleep",
			Args:      []string{"600"},
			OwnMounts: os.Getenv("PROCESS_TEST_MOUNTS") != "",
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(p.PID())
		select {}
	}
	os.Exit(m.Run())
}

func TestStart(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"ends with its own error": {"echo no port; exit 3", "exit status 3"},
		"ends well":               {"echo no port", "exit status 0"},
		"is killed":               {"echo no port; kill -9 $$", "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGroup(t.TempDir())
			defer g.Close()
			p, err := g.Start(Command{Name: "server", Program: "sh", Args: []string{"-c", test.script}})
			if err != nil {
				t.Fatal(err)
			}
			<-p.Exited()
			if err := p.Err(); err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), "no port") {
				t.Errorf("got %v, want %q and the log", err, test.want)
			}
		})
	}
}

func TestTail(t *testing.T) {
	const registers = "goroutine 1 [running]:\n\t/src/main.go:1\nrax 0x0\nrbx 0x0\nrcx 0x0\nrdx 0x0\n"
	for name, test := range map[string]struct{ log, want string }{
		"short": {"a\nb\n", "a\nb"},
		"long":  {"a\nb\nc\nd\ne\n", "b\nc\nd\ne"},
		"empty": {"", ""},
		"panic": {
			"started\nserving\nlistening\npanic: no port\n" + registers,
			"serving\nlistening\npanic: no port\ngoroutine 1 [running]:",
		},
		"klog's fatal": {
			"started\nF1121 07:20:13.000000 1 main.go:1] no port\n" + registers,
			"started\nF1121 07:20:13.000000 1 main.go:1] no port\ngoroutine 1 [running]:\n\t/src/main.go:1",
		},
		"no klog's": {"Failed: no port\nb\nc\nd\ne\n", "b\nc\nd\ne"},
	} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(log, []byte(test.log), 0o600); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, (&Process{Log: log}).Tail(4)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunning(t *testing.T) {
	g := NewGroup(t.TempDir())
	defer g.Close()
	p, err := g.Start(Command{Name: "server", Program: "sleep", Args: []string{"600"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Err(); err != nil {
		t.Errorf("a running process has ended: %v", err)
	}
	for range 2 { // the second time is no error
		p.Kill()
	}
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("got %v", err)
	}
}

func TestNoProgram(t *testing.T) {
	g := NewGroup(t.TempDir())
	defer g.Close()
	if _, err := g.Start(Command{
		Name:    "server",
		Program: "/nowhere",
	}); err == nil || !strings.HasPrefix(err.Error(), "start server: ") {
		t.Errorf("got %v", err)
	}
}

// TestOrphan kills a process that has a child: the child must not outlive it.
func TestOrphan(t *testing.T) {
	t.Run("plain", func(t *testing.T) { orphan(t, "PROCESS_TEST_MOUNTS=") })
	t.Run("in namespaces of its own", func(t *testing.T) {
		if err := exec.Command("unshare", "--user", "--mount", "true").Run(); err != nil {
			t.Skip("this machine has no user namespaces: ", err)
		}
		orphan(t, "PROCESS_TEST_MOUNTS=yes")
	})
}

func orphan(t *testing.T, mounts string) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "PROCESS_TEST_LOGS="+t.TempDir(), mounts)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	timeout := time.After(5 * time.Minute) // it stays
	for alive(child) {
		select {
		case <-ticks.C:
		case <-timeout:
			t.Fatalf("child %d outlived its killed parent", child)
		}
	}
}

// alive reports whether a process runs; one that has ended and was not yet reaped does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
