// Package service keeps the programs of a machine running.
package service

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/lab/machines/guest"
)

// Program describes a service.
type Program struct {
	Service guest.Service
	Path    string
	Args    []string
	Env     []string // its whole environment
	Memlock uint64   // bytes that it and its children may lock in memory; 0: the limit of this process
}

// Services are the services of a machine.
type Services struct {
	// Logs is the folder of their logs, one per service.
	Logs string
	// Say tells the console about a service that ended by itself.
	Say func(string)
	// Pause is the time before a service that ended by itself is restarted.
	Pause time.Duration

	mu  sync.Mutex
	all map[guest.Service]*keeper
}

// Start starts a program and keeps it running until an order stops it.
func (s *Services) Start(p Program) error {
	log, err := s.log(p.Service)
	if err != nil {
		return err
	}
	k := &keeper{program: p, log: log, services: s, orders: make(chan order)}
	cmd, err := k.start()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[guest.Service]*keeper{}
	}
	s.all[p.Service] = k
	go k.keep(cmd)
	return nil
}

func (s *Services) log(name guest.Service) (*os.File, error) {
	if err := os.MkdirAll(s.Logs, 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(s.Logs, string(name)+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

// Order carries an order out. The error is fs.ErrNotExist where there is no such service.
func (s *Services) Order(o guest.ServiceOrder) error {
	s.mu.Lock()
	k := s.all[o.Service]
	s.mu.Unlock()
	if k == nil {
		return fmt.Errorf("service %q: %w", o.Service, fs.ErrNotExist)
	}
	done := make(chan error)
	k.orders <- order{o.Running, done}
	return <-done
}

// Ends counts how often a service has ended by itself, with the last error.
func (s *Services) Ends(name guest.Service) (times int, how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.all[name]; k != nil {
		return k.ends, k.how
	}
	return 0, ""
}

// keeper runs one program.
type keeper struct {
	program  Program
	log      *os.File
	services *Services
	orders   chan order

	// Of the times that it ended by itself; with the lock of services.
	ends int
	how  string
}

type order struct {
	running bool
	done    chan<- error
}

func (k *keeper) start() (*exec.Cmd, error) {
	cmd := exec.Command(k.program.Path, k.program.Args...)
	cmd.Env = k.program.Env
	cmd.Stdout, cmd.Stderr = k.log, k.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", k.program.Service, err)
	}
	if most := k.program.Memlock; most != 0 {
		// A limit is the process's, so it holds for children that are started later; a service needs longer for its
		// first.
		limit := unix.Rlimit{Cur: most, Max: most}
		if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_MEMLOCK, &limit, nil); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return nil, fmt.Errorf("limit the memory that %s locks: %w", k.program.Service, err)
		}
	}
	return cmd, nil
}

// keep has the program running, or not, as the last order says. cmd runs.
func (k *keeper) keep(cmd *exec.Cmd) {
	ended := wait(cmd)
	var again <-chan time.Time
	for {
		var err error
		select {
		case how := <-ended:
			k.note(how)
			cmd, ended, again = nil, nil, time.After(k.services.Pause)
		case <-again:
			if cmd, ended, err = k.again(); err != nil {
				k.services.Say(err.Error())
				again = time.After(k.services.Pause)
			}
		case o := <-k.orders:
			again = nil
			switch {
			case o.running && cmd == nil:
				cmd, ended, err = k.again()
			case !o.running && cmd != nil:
				_ = cmd.Process.Kill()
				<-ended
				cmd, ended = nil, nil
			}
			o.done <- err
		}
	}
}

// note tells that the program ended by itself.
func (k *keeper) note(how string) {
	k.services.mu.Lock()
	k.ends, k.how = k.ends+1, how
	k.services.mu.Unlock()
	k.services.Say(fmt.Sprintf("%s ended: %s; it is started again in %v", k.program.Service, how, k.services.Pause))
}

func (k *keeper) again() (*exec.Cmd, <-chan string, error) {
	cmd, err := k.start()
	if err != nil {
		return nil, nil, err
	}
	return cmd, wait(cmd), nil
}

// wait tells how a command ended.
func wait(cmd *exec.Cmd) <-chan string {
	ended := make(chan string, 1)
	go func() {
		_ = cmd.Wait()
		ended <- cmd.ProcessState.String()
	}()
	return ended
}
