// Package process runs child processes that never outlive this one.
package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// Group starts processes that the kernel kills when this process ends, however it ends.
//
// prctl(PR_SET_PDEATHSIG) is bound to the thread that forked, not to its process: a child would be killed as soon as Go
// retires that thread. So one goroutine, locked to a thread that stays, starts all of the group's processes.
type Group struct {
	logs  string
	start chan request
}

type request struct {
	cmd  *exec.Cmd
	done chan error
}

// NewGroup returns a group whose processes write their output to files in the folder logs.
func NewGroup(logs string) *Group {
	g := &Group{logs: logs, start: make(chan request)}
	go g.fork()
	return g
}

func (g *Group) fork() {
	runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine, after Close
	for r := range g.start {
		r.done <- r.cmd.Start()
	}
}

// Close ends the group. Processes that still run are killed.
func (g *Group) Close() { close(g.start) }

// Process is a running child.
type Process struct {
	Name   string
	Log    string // file with its output; a process of the same name appends to it
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // how it ended; valid when exited is closed
}

// Certificates is the folder in which a program of lab/modules/injector/in-cluster finds its files. Controllers look
// there for their certificate (sigs.k8s.io/controller-runtime pkg/webhook defaultCertDir).
const Certificates = "/tmp/k8s-webhook-server/serving-certs"

// Command describes a process to start.
type Command struct {
	Name    string // of the process and of its log
	Program string
	Args    []string
	Env     []string // besides the environment of this process
	// OwnMounts gives it user and mount namespaces of its own, in which it may mount without privilege.
	OwnMounts bool
}

// Start starts a process.
func (g *Group) Start(c Command) (*Process, error) {
	log := filepath.Join(g.logs, c.Name+".log")
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	defer f.Close()
	cmd := exec.Command(c.Program, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = f, f
	// A process group of its own: a Ctrl-C on the terminal is for this process, which then stops its children in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if c.OwnMounts {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	r := request{cmd, make(chan error, 1)}
	g.start <- r
	if err := <-r.done; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &Process{Name: c.Name, Log: log, cmd: cmd, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns an error that carries the end of the log when the process has ended, else nil.
func (p *Process) Err() error {
	select {
	case <-p.exited:
		how := "exit status 0"
		if p.err != nil {
			how = p.err.Error()
		}
		return fmt.Errorf("%s ended: %s; the end of %s:\n%s", p.Name, how, p.Log, p.Tail(20))
	default:
		return nil
	}
}

// Kill kills the process and waits for its end. To kill one that has ended, or none, is no error.
func (p *Process) Kill() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Tail returns the last lines of the log, or the first ones of a crash: a Go program's last words are its registers.
func (p *Process) Tail(lines int) string {
	const enough = 1 << 20
	f, err := os.Open(p.Log)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > enough {
		_, _ = f.Seek(-enough, io.SeekEnd)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	from := max(0, len(all)-lines)
	if crash := slices.IndexFunc(all, crashes); crash >= 0 {
		from = min(from, max(0, crash-lines/2))
	}
	return strings.Join(all[from:min(len(all), from+lines)], "\n")
}

// crashes reports whether a line is the first one of a Go program's crash: a panic, an error of the runtime, or what
// klog and glog write before they end a program ("F1121 07:20:13.000000 ...").
func crashes(line string) bool {
	fatal := len(line) > 6 && line[0] == 'F' && line[5] == ' ' && strings.Trim(line[1:5], "0123456789") == ""
	return fatal || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") ||
		strings.HasPrefix(line, "SIG")
}
